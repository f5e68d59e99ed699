//! The briefing: what an agent is told of a conversation that it has no memory of, or whose end it may have lost.

use std::collections::VecDeque;

use futures::{StreamExt, pin_mut};
use rejoin_store::{ReplayPlace, SessionStore, StoreError, entries, replay_pages};
use rejoin_transcript::json::Members;
use rejoin_transcript::{EntryNumber, Replay, SessionId, UpdateKind, content_text};

/// One piece of the conversation is given at most this much of the briefing.
const PIECE: usize = 4096;

const HEAD: &str = "This conversation began earlier, in another process, and you have no memory of it. \
                    What was said until now, for your information only; do not answer it again:\n";
/// The same for an agent that may have lost only the end.
const HEAD_OF_END: &str = "Your process ended out of order, and the end of this conversation may be missing from your memory. \
                           What was said there, for your information only; do not answer it again:\n";
const FOOT: &str = "\nEnd of what was said until now. The message that follows is new; go on from here.";
const GAP: &str = "\n[…]\n";

/// The briefing of `session` up to the entry `upto`, in at most `limit` bytes: how it began, and, as far as there is
/// room, what was said last.
pub(crate) async fn briefing(
    store: &dyn SessionStore,
    session: &SessionId,
    upto: EntryNumber,
    limit: usize,
) -> Result<String, StoreError> {
    let mut digest = Digest::new(HEAD, limit);
    let pages = replay_pages(store, session, ReplayPlace::up_to(upto));
    pin_mut!(pages);
    while let Some(page) = pages.next().await {
        for line in page?.lines() {
            digest.push(line);
        }
    }
    Ok(digest.finish())
}

/// The briefing of the end of `session`: of what is behind the entry `after`, up to the entry `upto`.
pub(crate) async fn briefing_of_end(
    store: &dyn SessionStore,
    session: &SessionId,
    (after, upto): (EntryNumber, EntryNumber),
    limit: usize,
) -> Result<String, StoreError> {
    let (mut digest, mut replay) = (Digest::new(HEAD_OF_END, limit), Replay::default());
    let last = entries(store, session, after);
    pin_mut!(last);
    while let Some(entry) = last.next().await {
        let entry = entry?;
        if entry.number > upto {
            break;
        }
        replay.push(&entry).iter().for_each(|replayed| digest.push(replayed.params.as_str()));
    }
    replay.finish().0.iter().for_each(|replayed| digest.push(replayed.params.as_str()));
    Ok(digest.finish())
}

/// Whether `title` is made of the beginning of a briefing: agents name a session by its first prompt, whole or cut off,
/// in quotes, in other letters.
pub(crate) fn is_of_briefing(title: &str) -> bool {
    /// Shorter ones may be anyone's.
    const SHORTEST: usize = 20;
    /// So much of the head is nobody else's.
    const ENOUGH: usize = 40;
    let title = words(title);
    let is_of = |head: &str| {
        let head = words(head);
        head.starts_with(&title) || title.starts_with(&head[..ENOUGH])
    };
    title.len() >= SHORTEST && [HEAD, HEAD_OF_END].into_iter().any(is_of)
}

/// The letters and digits of `text` in small letters, with one blank between words.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// The beginning of a conversation and as much of its end as there is room for.
struct Digest {
    head: &'static str,
    room: usize,
    first: Option<String>,
    last: VecDeque<String>,
    /// The bytes of `last`.
    bytes: usize,
    has_gap: bool,
    speaker: Option<&'static str>,
}

impl Digest {
    fn new(head: &'static str, limit: usize) -> Self {
        let room = limit.saturating_sub(head.len() + FOOT.len() + GAP.len());
        Self { head, room, first: None, last: VecDeque::new(), bytes: 0, has_gap: false, speaker: None }
    }

    /// Takes the next update, the params of a `session/update`.
    fn push(&mut self, params: &str) {
        let Some((speaker, text)) = told(params) else { return };
        let text = shorten(&text, PIECE.min(self.room / 4));
        let text = if self.speaker.replace(speaker) == Some(speaker) { text } else { format!("\n{speaker}: {text}") };
        if self.first.is_none() {
            self.room = self.room.saturating_sub(text.len());
            self.first = Some(text);
            return;
        }
        self.bytes += text.len();
        self.last.push_back(text);
        while self.bytes > self.room
            && let Some(dropped) = self.last.pop_front()
        {
            self.bytes -= dropped.len();
            self.has_gap = true;
        }
    }

    fn finish(self) -> String {
        let gap = if self.has_gap { GAP } else { "" };
        let last: String = self.last.into_iter().collect();
        [self.head, &self.first.unwrap_or_default(), gap, &last, FOOT].concat()
    }
}

/// Who said what in an update; nothing, if an agent need not know it.
fn told(params: &str) -> Option<(&'static str, String)> {
    let update = Members::read(params)?.get("update")?;
    let members = Members::read(update)?;
    let name = members.get_string("sessionUpdate")?;
    let content =
        || Some(content_text(members.get("content")?).unwrap_or("[content that is no text]".into()).into_owned());
    match UpdateKind::from_name(&name) {
        // What we said ourselves.
        _ if is_notice(&members) => None,
        UpdateKind::UserMessageChunk => Some(("User", content()?)),
        UpdateKind::AgentMessageChunk => Some(("You", content()?)),
        UpdateKind::ToolCall | UpdateKind::ToolCallUpdate => {
            let title = members.get_string("title")?;
            let status = members.get_string("status").unwrap_or("pending".into());
            Some(("You", format!("\n[tool: {title} ({status})]\n")))
        }
        UpdateKind::AgentThoughtChunk
        | UpdateKind::Plan
        | UpdateKind::AvailableCommands
        | UpdateKind::CurrentMode
        | UpdateKind::ConfigOption
        | UpdateKind::SessionInfo
        | UpdateKind::Usage
        | UpdateKind::Notice
        | UpdateKind::Other => None,
    }
}

/// Whether an update is one of our own remarks, which agents never get.
pub(crate) fn is_notice(members: &Members<'_>) -> bool {
    let ours = || Members::read(Members::read(members.get_some("_meta")?)?.get_some("rejoin")?)?.get("notice");
    ours().is_some()
}

/// `text`, its middle left out if it is longer than `limit` bytes.
fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let half = limit / 2;
    let head = (0..=half).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let tail = (text.len() - half..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    format!("{} […] {}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &str, text: &str) -> String {
        format!(r#"{{"update":{{"sessionUpdate":"{kind}_chunk","content":{{"type":"text","text":"{text}"}}}}}}"#)
    }

    #[test]
    fn it_says_who_said_what() {
        let mut digest = Digest::new(HEAD, 32 * 1024);
        for params in [
            chunk("user_message", "Fix it"),
            chunk("agent_thought", "hm"),
            chunk("agent_message", "I "),
            chunk("agent_message", "will."),
            r#"{"update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"Edit","status":"failed"}}"#.to_owned(),
            r#"{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"rebuilt"},"_meta":{"rejoin":{"notice":true}}}}"#.to_owned(),
            chunk("user_message", "Thanks"),
        ] {
            digest.push(&params);
        }
        let expected = "\nUser: Fix it\nYou: I will.\n[tool: Edit (failed)]\n\nUser: Thanks";
        assert_eq!(digest.finish(), format!("{HEAD}{expected}{FOOT}"));
    }

    #[test]
    fn titles_that_are_made_of_it_are_known() {
        let cut = |at: usize, behind: &str| format!("{}{behind}", &HEAD[..at]);
        for title in [
            HEAD.to_owned(),
            cut(80, "…"),
            cut(31, "..."),
            cut(47, ""),
            HEAD.to_uppercase(),
            format!("\"{}\"", cut(50, "…")),
            "**This Conversation Began Earlier**".to_owned(),
            "this-conversation-began-earlier-in-another".to_owned(),
            format!("{HEAD}\nUser: Fix the login"),
            HEAD_OF_END[..60].to_owned(),
        ] {
            assert!(is_of_briefing(&title), "{title}");
        }
        for title in
            ["", "This", "This conversation", "This conversation began with a bug", "Fix the login", "Ünïcödé …"]
        {
            assert!(!is_of_briefing(title), "{title}");
        }
    }

    #[test]
    fn it_keeps_the_beginning_and_the_end_within_its_limit() {
        let mut digest = Digest::new(HEAD, 2048);
        for number in 0..1000 {
            digest.push(&chunk("user_message", &format!("prompt {number}")));
            digest.push(&chunk("agent_message", &"é".repeat(500)));
        }
        let text = digest.finish();
        assert!(text.len() <= 2048, "{}", text.len());
        assert!(text.contains("prompt 0") && text.contains("prompt 999") && text.contains(GAP), "{text}");
    }
}
