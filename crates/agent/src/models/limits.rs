//! The most that a provider may send.
//!
//! A provider is a server that anyone may run, and a proxy may stand in between. Each limit is far above what models send
//! today; beyond it the request ends with an error that names the limit.

/// One server-sent event, and each of its lines.
pub(super) const MAX_EVENT_BYTES: usize = 4 << 20;

/// The arguments of one call. Files above this size can't be edited either.
pub(super) const MAX_ARGUMENT_BYTES: usize = 4 << 20;

/// The text, thoughts and calls of one answer.
pub(super) const MAX_ANSWER_BYTES: usize = 16 << 20;

/// All bytes of one answer. Some servers wrap each token in 400 bytes of JSON.
pub(super) const MAX_RECEIVED_BYTES: usize = 256 << 20;

/// The calls of one answer, and its blocks where the API has blocks.
pub(super) const MAX_CALLS: usize = 256;

/// Levels of nesting in the arguments of a call. JSON parsers, ours included, stop at 128, and updates nest arguments.
pub(super) const MAX_ARGUMENT_DEPTH: usize = 64;

/// The name of a tool in a call. Every API allows 64 bytes or fewer.
pub(super) const MAX_TOOL_NAME_BYTES: usize = 128;

/// The id of a call. A longer one is replaced.
pub(super) const MAX_CALL_ID_BYTES: usize = 256;

/// The body of an error. The rest is not read.
pub(super) const MAX_ERROR_BYTES: usize = 64 << 10;

/// A list of models.
pub(super) const MAX_LIST_BYTES: usize = 8 << 20;

/// The models of a list. The rest is left out.
pub(super) const MAX_MODELS: usize = 2_000;

/// The name and the title of a listed model. One with a longer name is left out.
pub(super) const MAX_MODEL_NAME_BYTES: usize = 256;

/// A count of tokens, such as a model's window. A higher one is a mistake, and ignored.
pub(super) const MAX_TOKENS: u64 = 1_000_000_000;

/// The cost of one answer in US dollars. A higher one is a mistake, and ignored.
pub(super) const MAX_COST: f64 = 1_000_000.0;

/// `n` if it can be a number of tokens.
pub(super) fn tokens(n: Option<u64>) -> Option<u64> {
    n.filter(|n| *n <= MAX_TOKENS)
}
