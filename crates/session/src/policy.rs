//! What becomes of an agent's update: which entry, for whom, with which message id.

use rejoin_store::new_session_id;
use rejoin_transcript::json::{Members, other_members};
use rejoin_transcript::{
    Audience, Json, MessageId, MessageIds, Step, StepKind, Timestamp, Turn, UpdateKind, content_text,
};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use crate::agent::is_of_briefing;

/// An agent's `session/update`, read once.
#[derive(Debug)]
pub(crate) struct AgentUpdate {
    /// The object `update`, whatever it is.
    pub(crate) update: Json,
    /// The other members of the params, without the session id.
    extra: Option<Json>,
    /// The room that it takes until it is recorded.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

impl AgentUpdate {
    /// Reads the params of a `session/update`: the session's id, and the rest.
    pub(crate) fn read(params: &str) -> Option<(String, Self)> {
        let members = Members::read(params)?;
        let known = ["sessionId", "update"];
        let extra = if members.are_all_among(&known) { None } else { other_members(params, &known) };
        let update = Json::from_stored(members.get("update")?.to_owned());
        Some((members.get_string("sessionId")?.into_owned(), Self { update, extra, room: None }))
    }
}

/// The step that an agent's update becomes; `None` if it is none.
pub(crate) fn step_of(
    AgentUpdate { update, extra, .. }: AgentUpdate,
    at: Timestamp,
    turn: Turn,
    ids: &mut MessageIds,
    echo: &mut Echo,
) -> Option<Step> {
    let step = Step { extra, ..Step::update(at, turn, update).ok()? };
    if is_private(&step.body) {
        return Some(step.with_audience(Audience::Agent));
    }
    let StepKind::Update(kind) = step.kind else { return None };
    let is_ours = match kind {
        UpdateKind::UserMessageChunk => echo.takes(&step.body),
        UpdateKind::SessionInfo => is_named_by_briefing(&step.body),
        _ => false,
    };
    if is_ours {
        return Some(step.with_audience(Audience::Layer));
    }
    Some(match ids.assign(turn, kind, &step.body, new_message_id) {
        Some(id) => step.with_message_id(id),
        None => step,
    })
}

/// A new message's id.
pub(crate) fn new_message_id() -> MessageId {
    MessageId::new(new_session_id().as_str())
}

/// Whether the agent wants this back on restore, and nobody to see it.
fn is_private(update: &Json) -> bool {
    // Nearly no update is, so the text is looked through before it is read.
    let private = || {
        let meta = update.members()?.get_some("_meta")?;
        Some(Members::read(Members::read(meta)?.get_some("rejoin")?)?.get("private")? == "true")
    };
    update.as_str().contains("\"private\"") && private().unwrap_or(false)
}

/// Whether the agent names the session by what it was told in a briefing, which nobody is to see.
fn is_named_by_briefing(update: &Json) -> bool {
    let title = update.members().and_then(|members| Some(is_of_briefing(&members.get_string("title")?)));
    title.unwrap_or(false)
}

/// What of a prompt an agent may send back as the user's words. The client knows what it said, so it is not shown again.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    /// The text that has not come back yet.
    text: String,
    /// The blocks that are not text.
    blocks: Vec<Value>,
}

impl Echo {
    /// The echo of the content blocks in `prompt`, an array.
    pub(crate) fn of(prompt: &Json) -> Self {
        let mut echo = Self::default();
        for block in prompt.elements().unwrap_or_default() {
            match text_of(block) {
                Some(text) => echo.text.push_str(&text),
                None => echo.blocks.extend(serde_json::from_str(block).ok()),
            }
        }
        echo
    }

    /// Whether `update` brings back a part of it.
    fn takes(&mut self, update: &Json) -> bool {
        let Some(content) = update.members().and_then(|members| members.get("content")) else { return false };
        if let Some(text) = text_of(content) {
            // Some agents leave out the blanks between blocks.
            let rest = self.text.trim_start();
            let Some(rest) = rest.strip_prefix(text.trim_start()) else { return false };
            self.text = rest.to_owned();
            return true;
        }
        let Ok(content) = serde_json::from_str::<Value>(content) else { return false };
        let found = self.blocks.iter().position(|block| *block == content);
        found.map(|at| self.blocks.remove(at)).is_some()
    }
}

fn text_of(block: &str) -> Option<std::borrow::Cow<'_, str>> {
    let is_text = Members::read(block)?.get_string("type")? == "text";
    is_text.then(|| content_text(block)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(params: &str, echo: &mut Echo) -> Option<Step> {
        let params = params.replacen('{', "{\"sessionId\":\"s\",", 1);
        step_of(AgentUpdate::read(&params)?.1, Timestamp::from_millis(0), Turn::In(1), &mut MessageIds::default(), echo)
    }

    #[test]
    fn what_is_no_update_becomes_nothing() {
        for params in
            [r#"{"content":{}}"#, r#"{"update":{}}"#, r#"{"update":"x"}"#, r#"{"update":{"sessionUpdate":7}}"#]
        {
            assert_eq!(step(params, &mut Echo::default()), None, "{params}");
        }
    }

    #[test]
    fn other_members_of_the_params_are_kept() {
        let params = r#"{"update":{"sessionUpdate":"x"},"_meta":{"n":1.50}}"#;
        let step = step(params, &mut Echo::default()).unwrap();
        assert_eq!(step.extra.unwrap().as_str(), r#"{"_meta":{"n":1.50}}"#);
    }

    #[test]
    fn what_is_private_is_for_the_agent_alone() {
        let audience = |meta: &str| {
            let params = format!(r#"{{"update":{{"sessionUpdate":"x","_meta":{meta}}}}}"#);
            step(&params, &mut Echo::default()).unwrap().audience
        };
        assert_eq!(audience(r#"{"rejoin":{"private":true}}"#), Audience::Agent);
        assert_eq!(audience(r#"{"rejoin":{"private":"true"}}"#), Audience::Client);
        assert_eq!(audience(r#"{"private":true}"#), Audience::Client);
    }

    #[test]
    fn the_users_own_words_are_not_shown_twice() {
        let image = r#"{"type":"image","mimeType":"image/png","data":"AA=="}"#;
        let prompt = format!(r#"[{{"type":"text","text":"fix the "}},{image},{{"type":"text","text":"login"}}]"#);
        let mut echo = Echo::of(&Json::parse(prompt).unwrap());
        let mut audience = |content: &str| {
            let params = format!(r#"{{"update":{{"sessionUpdate":"user_message_chunk","content":{content}}}}}"#);
            step(&params, &mut echo).unwrap().audience
        };
        let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        assert_eq!(audience(&text("fix")), Audience::Layer);
        assert_eq!(audience(&text("the login")), Audience::Layer);
        assert_eq!(audience(image), Audience::Layer);
        assert_eq!(audience(image), Audience::Client);
        assert_eq!(audience(&text("something else")), Audience::Client);
    }
}
