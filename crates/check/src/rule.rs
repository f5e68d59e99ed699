//! What a rule is, and what it can say.

use serde::Serialize;

use crate::run::{Exchange, Run};

/// Something that an agent should do or not do.
pub struct Rule {
    /// What it is called; never changes.
    pub id: &'static str,
    /// How much it matters.
    pub level: Level,
    /// What the agent does if it keeps the rule.
    pub title: &'static str,
    /// Where in the specification it comes from, or what it is about.
    pub(crate) page: &'static str,
    /// What the course must do so that it can be decided.
    pub(crate) part: Part,
    pub(crate) judge: fn(&Run) -> Judged,
}

/// How much a rule matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum Level {
    /// The specification says MUST.
    Must,
    /// The specification says SHOULD.
    Should,
    /// Not spelled out, but agents that do otherwise lose work or confuse clients.
    Quality,
    /// What the agent does is told, and is never wrong.
    Report,
}

/// A stretch of the course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A first process, which is killed in the end.
    First,
    /// A second process, which finds what the first has left.
    Second,
    /// A process that is sent what no client should send.
    Rough,
    /// A process that is asked for a version of the protocol that does not exist.
    Version,
    /// A process whose sessions have MCP servers that fail.
    Servers,
}

/// What a rule says of an agent.
#[derive(Debug)]
pub(crate) enum Verdict {
    Pass,
    Fail(Evidence),
    Report(String),
}

/// Why a rule says nothing.
#[derive(Debug, Clone)]
pub(crate) struct Skipped(pub(crate) String);

pub(crate) type Judged = Result<Verdict, Skipped>;

/// Why a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// What the agent was sent.
    pub sent: String,
    /// What it did.
    pub came: String,
    /// What it should have done.
    pub expected: String,
}

impl Level {
    /// How it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Quality => "quality",
            Self::Report => "report",
        }
    }

    /// Whether an agent that breaks such a rule has failed.
    pub const fn is_binding(self) -> bool {
        matches!(self, Self::Must | Self::Quality)
    }
}

impl From<Level> for &'static str {
    fn from(level: Level) -> Self {
        level.name()
    }
}

impl Rule {
    /// The address of the page that it comes from.
    pub fn spec(&self) -> String {
        format!("https://agentclientprotocol.com/protocol/v1/{}", self.page)
    }
}

/// Passes if `is_kept`; else `exchange` is the evidence.
pub(crate) fn judge(is_kept: bool, exchange: &Exchange, expected: &str) -> Judged {
    if is_kept { Ok(Verdict::Pass) } else { fail(exchange, expected) }
}

/// Fails with `exchange` as the evidence.
pub(crate) fn fail(exchange: &Exchange, expected: &str) -> Judged {
    fail_with(exchange.sent(), exchange.came(), expected)
}

/// Fails because of `came`.
#[expect(clippy::unnecessary_wraps, reason = "a rule ends with it")]
pub(crate) fn fail_with(sent: impl Into<String>, came: impl Into<String>, expected: &str) -> Judged {
    Ok(Verdict::Fail(Evidence { sent: sent.into(), came: came.into(), expected: expected.to_owned() }))
}

/// Says nothing, because of `reason`.
pub(crate) fn skip<T>(reason: impl Into<String>) -> Result<T, Skipped> {
    Err(Skipped(reason.into()))
}

/// Tells `what`.
#[expect(clippy::unnecessary_wraps, reason = "a rule ends with it")]
pub(crate) fn report(what: impl Into<String>) -> Judged {
    Ok(Verdict::Report(what.into()))
}
