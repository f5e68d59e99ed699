//! How long things may take.

use std::time::Duration;

/// How long things may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// An answer, a turn included.
    pub answer: Duration,
    /// An answer that needs no work, such as a refusal.
    pub refusal: Duration,
    /// The end of a turn that was cancelled or closed.
    pub cancel: Duration,
    /// A new session, although one of its MCP servers hangs.
    pub servers: Duration,
    /// The exit of a process whose input has ended, or that was told to end.
    pub exit: Duration,
    /// What is waited for what comes late.
    pub listen: Duration,
}

impl Limits {
    /// The usual limits, with `answer` for an answer: nothing else takes longer.
    pub fn with_answer(answer: Duration) -> Self {
        let at_most = |seconds| Duration::from_secs(seconds).min(answer);
        Self {
            answer,
            refusal: at_most(10),
            cancel: at_most(5),
            servers: at_most(15),
            exit: at_most(5),
            listen: Duration::from_millis(700),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::with_answer(Duration::from_secs(30))
    }
}
