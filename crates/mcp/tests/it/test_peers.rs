//! Real servers, pinned in `peers/`: the reference server over each transport, and the one for files.
