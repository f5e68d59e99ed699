//! The steps of a script, one a line.

use serde_json::Value;

/// What the agent does in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `say TEXT`: a message.
    Say(String),
    /// `big MIB`: a message of so many mebibytes.
    Big(usize),
    /// `think TEXT`: a thought.
    Think(String),
    /// `stream N`: one message in the chunks `0 `, `1 `, …
    Stream(usize),
    /// `tool ID TITLE`: a tool call begins.
    Tool(String, String),
    /// `progress ID STATUS`: a tool call goes on.
    Progress(String, String),
    /// `emit JSON`: exactly this update.
    Emit(String),
    /// `stranger TEXT`: a message of a session that nobody else knows.
    Stranger(String),
    /// `recall`: says all that the user said, as far as it remembers.
    Recall,
    /// `settings`: says what is set.
    Settings,
    /// `call METHOD JSON`: asks the client, and says the answer. The session's id is added.
    Call(String, Value),
    /// `retract METHOD JSON`: the same, and takes the question back at once.
    Retract(String, Value),
    /// `permit TOOL`: asks the client for permission, and says the answer.
    Permit(String),
    /// `notify METHOD JSON`: tells the client. The session's id is added.
    Notify(String, Value),
    /// `set NAME VALUE`: sets a mode, a model or an option by itself, and tells the client.
    Set(String, String),
    /// `gate`: waits for the client's notification `_go`, or for a cancel.
    Gate,
    /// `wait`: waits until it is cancelled.
    Wait,
    /// `hang`: never answers, whatever happens.
    Hang,
    /// `stop REASON`: the stop reason.
    Stop(String),
    /// `late TEXT`: a message after the answer.
    Late(String),
    /// `fail CODE TEXT`: answers with an error.
    Fail(i64, String),
    /// `crash CODE`: ends the process.
    Crash(i32),
    /// `orphan CODE`: ends the process, and leaves another behind that has its output.
    Orphan(i32),
}

impl Step {
    /// The steps in `text`; none if it is no script.
    pub fn read_all(text: &str) -> Option<Vec<Self>> {
        text.lines().map(Self::read).collect()
    }

    fn read(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        let text = rest.to_owned();
        let (one, other) = (first.to_owned(), second.to_owned());
        let json = || serde_json::from_str(if second.is_empty() { "{}" } else { second }).ok();
        Some(match name {
            "say" => Self::Say(text),
            "big" => Self::Big(rest.parse().ok()?),
            "think" => Self::Think(text),
            "stream" => Self::Stream(rest.parse().ok()?),
            "tool" => Self::Tool(one, other),
            "progress" => Self::Progress(one, other),
            "emit" => Self::Emit(text),
            "stranger" => Self::Stranger(text),
            "recall" => Self::Recall,
            "settings" => Self::Settings,
            "call" => Self::Call(one, json()?),
            "retract" => Self::Retract(one, json()?),
            "permit" => Self::Permit(text),
            "notify" => Self::Notify(one, json()?),
            "set" => Self::Set(one, other),
            "gate" => Self::Gate,
            "wait" => Self::Wait,
            "hang" => Self::Hang,
            "stop" => Self::Stop(text),
            "late" => Self::Late(text),
            "fail" => Self::Fail(first.parse().ok()?, other),
            "crash" => Self::Crash(rest.parse().ok()?),
            "orphan" => Self::Orphan(rest.parse().ok()?),
            _ => return None,
        })
    }
}
