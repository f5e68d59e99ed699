//! Histories of other tools, read as files.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod damaged;
mod files;
mod replays;
mod test_claude_code;
mod test_codex;
mod test_gemini;
