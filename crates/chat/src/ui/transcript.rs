//! The conversation as the chat has it: what is finished, what is still going on, and how much of it is kept.
//!
//! Things keep their order: what comes behind a tool call that has not ended waits for it, unless there is no room for it
//! on the screen. Of a long session only the end is kept, whatever came in.

use std::collections::VecDeque;

use crate::protocol::{PlanEntry, Role, Severity, ToolCall, Update};
use crate::render::RenderContext;
use crate::render::item::{Column, Item, Kind, open_thought};
use crate::render::line::Line;
use crate::render::splitter::Splitter;
use crate::render::tool_call::{head, tool_call_lines};
use crate::text::boundary;

/// How much is kept.
const ITEMS: usize = 4_000;
const BYTES: usize = 4 * 1024 * 1024;

/// How many things may wait for one that has not ended.
const WAITING: usize = 200;

/// How much is kept of words that are not finished piece by piece.
const WORDS: usize = 256 * 1024;

/// How many of the things in a history are shown when it is loaded.
const SHOWN_OF_HISTORY: usize = 300;

/// The conversation.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// What is finished, the oldest first.
    kept: VecDeque<Item>,
    n_bytes: usize,
    /// Those from the first number to the second, counted from the first that is kept, are what the terminal was last
    /// given to show.
    n_before: usize,
    n_shown: usize,
    /// How many are not kept any more, and how many of them nobody has seen.
    n_dropped: usize,
    n_missed: usize,
    /// What goes on, in its order.
    open: Vec<Open>,
    plan: Vec<PlanEntry>,
}

#[derive(Debug)]
enum Open {
    /// It is finished, and waits for what stands before it.
    Finished(Item),
    Call(ToolCall),
    /// Words that are still coming; always the last.
    Words {
        role: Role,
        message_id: Option<String>,
        text: Words,
    },
}

#[derive(Debug)]
enum Words {
    /// The agent's, of which pieces get finished.
    Said(Splitter),
    /// Others', which are finished as a whole.
    Whole(String),
}

impl Transcript {
    /// Takes an update that stands in the conversation.
    pub(crate) fn update(&mut self, update: Update) {
        match update {
            Update::Chunk { role, message_id, text } => self.chunk(role, message_id, &text),
            Update::ToolCall(call) => self.call(call),
            Update::Plan(plan) => self.plan = plan,
            Update::Notice { severity, title, description } => self.push(Item::Notice { severity, title, description }),
            Update::Compaction { status } if status == "completed" => {
                self.push(Item::Remark("the conversation so far was summarised for the model".to_owned()));
            }
            Update::Unknown(name) => self.push(Item::Remark(format!("[{name}]"))),
            Update::Compaction { .. }
            | Update::Commands(_)
            | Update::Mode(_)
            | Update::Options(_)
            | Update::Title(_)
            | Update::Usage(_) => {}
        }
    }

    /// Puts `item` behind all there is.
    pub(crate) fn push(&mut self, item: Item) {
        self.end_words();
        if matches!(item, Item::User(_)) {
            self.end_turn();
        }
        self.open.push(Open::Finished(item));
        self.settle();
    }

    /// Nothing more comes in this turn: what still goes on is shown as it is.
    pub(crate) fn end_turn(&mut self) {
        self.end_words();
        for open in std::mem::take(&mut self.open) {
            self.keep(match open {
                Open::Finished(item) => item,
                Open::Call(call) => Item::ToolCall(call),
                Open::Words { .. } => continue,
            });
        }
        let plan = std::mem::take(&mut self.plan);
        if !plan.is_empty() {
            self.keep(Item::Plan(plan));
        }
    }

    /// The history has been loaded: only its end will be shown, below what `heading` makes of how much is left out.
    pub(crate) fn head_history(&mut self, heading: impl FnOnce(usize) -> Vec<Item>) {
        self.end_turn();
        let n_over = self.kept.len().saturating_sub(SHOWN_OF_HISTORY);
        // It begins with what the user said, if that is near.
        let is_users = |item: &Item| matches!(item, Item::User(_));
        let users = self.kept.iter().skip(n_over).position(is_users).filter(|_| n_over > 0).unwrap_or(0);
        let n_skipped = n_over + users;
        for item in heading(self.n_dropped + n_skipped).into_iter().rev() {
            self.n_bytes += item.size();
            self.kept.insert(n_skipped, item);
        }
        (self.n_before, self.n_shown, self.n_missed) = (n_skipped, n_skipped, 0);
    }

    /// What is on the terminal stays there as it is, whatever comes.
    pub(crate) fn begin_below(&mut self) {
        self.n_before = self.n_shown;
    }

    /// Puts `items` of another session before everything.
    pub(crate) fn put_before(&mut self, items: Vec<Item>) {
        for item in items.into_iter().rev() {
            self.n_bytes += item.size();
            self.kept.insert(self.n_shown, item);
        }
    }

    /// What nobody has seen yet.
    pub(crate) fn take_unseen(&mut self) -> Vec<Item> {
        self.end_turn();
        self.kept.split_off(self.n_shown).into()
    }

    pub(crate) fn plan(&self) -> &[PlanEntry] {
        &self.plan
    }

    /// What the user said, the oldest first, as far as it is kept.
    pub(crate) fn said_by_user(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().filter_map(|item| match item {
            Item::User(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The tool call `id`, if it has not ended.
    pub(crate) fn open_call(&self, id: &str) -> Option<&ToolCall> {
        self.open.iter().find_map(|open| match open {
            Open::Call(call) if call.id == id => Some(call),
            _ => None,
        })
    }

    /// The lines of what was finished since this was last asked.
    pub(crate) fn take_finished(&mut self, look: RenderContext<'_>) -> Vec<Line> {
        let above = (self.n_before..self.n_shown).next_back().and_then(|at| self.kept.get(at));
        let mut column = Column::below(above.map(Item::kind));
        let n_missed = std::mem::take(&mut self.n_missed);
        if n_missed > 0 {
            let missed = Item::Remark(format!("{n_missed} parts came too fast to be shown"));
            column.put(missed.kind(), missed.lines(look));
        }
        let column = column.with(self.kept.range(self.n_shown..), look);
        self.n_shown = self.kept.len();
        column.lines
    }

    /// The lines of what goes on; of the call `asked`, which is asked about, only what it is.
    pub(crate) fn open_lines(&self, look: RenderContext<'_>, asked: Option<&str>) -> Vec<Line> {
        let mut column = Column::below(self.kept.back().map(Item::kind));
        for open in &self.open {
            match open {
                Open::Finished(item) => column.put(item.kind(), item.lines(look)),
                Open::Call(call) => {
                    let is_asked = asked.is_some_and(|id| id == call.id);
                    column.put(Kind::Work, if is_asked { head(call, look) } else { tool_call_lines(call, look) });
                }
                Open::Words { role: Role::Thought, text: Words::Whole(text), .. } => {
                    column.put(Kind::Work, vec![open_thought(text, look.width)]);
                }
                Open::Words { role, text: Words::Whole(text), .. } => {
                    let item = whole(*role, text.clone());
                    column.put(item.kind(), item.lines(look));
                }
                Open::Words { text: Words::Said(splitter), .. } => {
                    let item = splitter.tail().map(Item::Said);
                    column = column.with(&item, look);
                }
            }
        }
        column.lines
    }

    /// Finishes the first of what goes on, as it is, because there is no room for it. Says whether there was one.
    pub(crate) fn give_way(&mut self) -> bool {
        if self.open.len() < 2 {
            return false;
        }
        match self.open.remove(0) {
            Open::Finished(item) => self.keep(item),
            Open::Call(call) => self.keep(Item::ToolCall(call)),
            // Words are the last.
            Open::Words { .. } => {}
        }
        self.settle();
        true
    }

    /// The last `n_rows` lines of what is on the screen; all of it, if no number is given.
    pub(crate) fn shown_lines(&self, n_rows: Option<usize>, look: RenderContext<'_>) -> Vec<Line> {
        let (mut first, mut n_lines) = (self.n_shown, 0);
        while first > self.n_before && n_rows.is_none_or(|n_rows| n_lines <= n_rows) {
            first -= 1;
            n_lines += self.kept[first].lines(look).len() + 1;
        }
        let mut lines = Column::default().with(self.kept.range(first..self.n_shown), look).lines;
        if let Some(n_rows) = n_rows {
            lines.drain(..lines.len().saturating_sub(n_rows));
        }
        lines
    }

    /// The lines of all that is kept.
    pub(crate) fn all_lines(&self, look: RenderContext<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.n_dropped > 0 {
            lines.extend(Item::Remark("what came before is not kept here".to_owned()).lines(look));
            lines.push(Line::blank());
        }
        lines.extend(Column::default().with(&self.kept, look).lines);
        lines.extend(self.open_lines(look, None));
        if !self.plan.is_empty() {
            lines.push(Line::blank());
            lines.extend(Item::Plan(self.plan.clone()).lines(look));
        }
        lines
    }

    fn chunk(&mut self, role: Role, message_id: Option<String>, text: &str) {
        let goes_on = matches!(self.open.last(), Some(Open::Words { role: of, message_id: id, .. })
            if *of == role && (message_id.is_none() || *id == message_id));
        if !goes_on {
            self.end_words();
            if role == Role::User {
                self.end_turn();
            }
            let text = if role == Role::Agent { Words::Said(Splitter::default()) } else { Words::Whole(String::new()) };
            self.open.push(Open::Words { role, message_id, text });
        }
        let Some(Open::Words { text: words, .. }) = self.open.last_mut() else { return };
        match words {
            Words::Whole(whole) => {
                let room = WORDS.saturating_sub(whole.len());
                whole.push_str(&text[..boundary(text, room)]);
            }
            Words::Said(splitter) => {
                let pieces = splitter.push(text);
                let at = self.open.len() - 1;
                let pieces = pieces.into_iter().map(|piece| Open::Finished(Item::Said(piece)));
                self.open.splice(at..at, pieces);
                self.settle();
            }
        }
    }

    fn call(&mut self, call: ToolCall) {
        let open = self.open.iter_mut().find_map(|open| match open {
            Open::Call(open) if open.id == call.id => Some(open),
            _ => None,
        });
        if let Some(open) = open {
            open.merge(call);
            return self.settle();
        }
        let known = self.kept.iter_mut().rev().find_map(|item| match item {
            Item::ToolCall(known) if known.id == call.id => Some(known),
            _ => None,
        });
        let call = match known {
            Some(known) => {
                let had_ended = known.has_ended();
                known.merge(call);
                // It was shown before it had ended: how it ended is news.
                if had_ended || !known.has_ended() {
                    return;
                }
                known.clone()
            }
            None => call,
        };
        self.end_words();
        self.open.push(Open::Call(call));
        self.settle();
    }

    /// The words that were coming are whole.
    fn end_words(&mut self) {
        if !matches!(self.open.last(), Some(Open::Words { .. })) {
            return;
        }
        let Some(Open::Words { role, text, .. }) = self.open.pop() else { return };
        let item = match text {
            Words::Said(mut splitter) => splitter.finish().map(Item::Said),
            Words::Whole(text) => (!text.trim().is_empty()).then(|| whole(role, text)),
        };
        self.open.extend(item.map(Open::Finished));
        self.settle();
    }

    /// Moves what is finished, and has nothing before it that is not.
    fn settle(&mut self) {
        let is_finished = |open: &Open| match open {
            Open::Finished(_) => true,
            Open::Call(call) => call.has_ended(),
            Open::Words { .. } => false,
        };
        let n_finished = self.open.iter().take_while(|open| is_finished(open)).count();
        let finished: Vec<Open> = self.open.drain(..n_finished).collect();
        for open in finished {
            match open {
                Open::Finished(item) => self.keep(item),
                Open::Call(call) => self.keep(Item::ToolCall(call)),
                Open::Words { .. } => {}
            }
        }
        if self.open.len() > WAITING {
            self.give_way();
        }
    }

    fn keep(&mut self, item: Item) {
        self.n_bytes += item.size();
        self.kept.push_back(item);
        while (self.kept.len() > ITEMS || self.n_bytes > BYTES) && self.kept.len() > 1 {
            let dropped = self.kept.pop_front();
            self.n_bytes = self.n_bytes.saturating_sub(dropped.as_ref().map_or(0, Item::size));
            self.n_missed += usize::from(self.n_shown == 0);
            self.n_before = self.n_before.saturating_sub(1);
            self.n_shown = self.n_shown.saturating_sub(1);
            self.n_dropped += 1;
        }
    }
}

fn whole(role: Role, text: String) -> Item {
    match role {
        Role::User => Item::User(text),
        Role::Thought => Item::Thought(text),
        Role::Agent | Role::Layer => {
            Item::Notice { severity: Severity::Warning, title: text.trim().to_owned(), description: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::render::Detail;

    const LOOK: RenderContext<'static> = RenderContext { width: 40, detail: Detail::Folded, cwd: "/src" };

    fn update(transcript: &mut Transcript, update: &Value) {
        transcript.update(Update::read(update).unwrap());
    }

    fn chunk(transcript: &mut Transcript, kind: &str, id: &str, text: &str) {
        let content = json!({ "type": "text", "text": text });
        update(transcript, &json!({ "sessionUpdate": kind, "messageId": id, "content": content }));
    }

    fn call(transcript: &mut Transcript, id: &str, status: &str) {
        update(
            transcript,
            &json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Call {id}"), "status": status }),
        );
    }

    fn text(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn blocks_are_finished_one_by_one() {
        let mut transcript = Transcript::default();
        chunk(&mut transcript, "agent_message_chunk", "1", "one\n\ntw");
        assert_eq!(text(&transcript.take_finished(LOOK)), ["one"]);
        assert_eq!(text(&transcript.open_lines(LOOK, None)), ["", "tw"]);
        chunk(&mut transcript, "agent_message_chunk", "1", "o");
        chunk(&mut transcript, "agent_message_chunk", "2", "three");
        assert_eq!(text(&transcript.take_finished(LOOK)), ["", "two"]);
        transcript.end_turn();
        assert_eq!(text(&transcript.take_finished(LOOK)), ["", "three"]);
    }

    #[test]
    fn what_comes_behind_a_running_call_waits_for_it() {
        let mut transcript = Transcript::default();
        call(&mut transcript, "a", "in_progress");
        chunk(&mut transcript, "agent_message_chunk", "1", "meanwhile\n\n");
        call(&mut transcript, "b", "completed");
        assert_eq!(text(&transcript.take_finished(LOOK)), [""; 0]);
        assert_eq!(text(&transcript.open_lines(LOOK, None)), ["◐ Call a", "", "meanwhile", "", "● Call b"]);
        call(&mut transcript, "a", "completed");
        assert_eq!(text(&transcript.take_finished(LOOK)), ["● Call a", "", "meanwhile", "", "● Call b"]);
    }

    #[test]
    fn a_call_that_gave_way_is_shown_again_when_it_ends() {
        let mut transcript = Transcript::default();
        call(&mut transcript, "a", "in_progress");
        chunk(&mut transcript, "agent_message_chunk", "1", "meanwhile\n\n");
        assert!(transcript.give_way());
        assert_eq!(text(&transcript.take_finished(LOOK)), ["◐ Call a"]);
        call(&mut transcript, "a", "failed");
        assert_eq!(text(&transcript.take_finished(LOOK)), ["", "meanwhile", "", "✗ Call a"]);
    }

    #[test]
    fn no_more_waits_for_a_call_than_there_is_room_for() {
        let mut transcript = Transcript::default();
        call(&mut transcript, "a", "in_progress");
        for number in 0..WAITING * 2 {
            transcript.push(Item::Remark(number.to_string()));
        }
        assert!(transcript.open.len() <= WAITING && transcript.kept.len() > WAITING);
    }

    #[test]
    fn a_plan_stands_at_the_end_of_its_turn() {
        let mut transcript = Transcript::default();
        let entries = json!([{ "content": "paint", "status": "completed" }]);
        update(&mut transcript, &json!({ "sessionUpdate": "plan", "entries": entries }));
        chunk(&mut transcript, "agent_message_chunk", "1", "done");
        assert_eq!(transcript.plan().len(), 1);
        chunk(&mut transcript, "user_message_chunk", "2", "thanks");
        transcript.end_turn();
        assert_eq!(text(&transcript.take_finished(LOOK)), ["done", "", "Plan 1/1", "✓ paint", "", "❯ thanks"]);
    }

    #[test]
    fn a_thought_is_one_line_while_it_comes_and_after() {
        let mut transcript = Transcript::default();
        chunk(&mut transcript, "agent_thought_chunk", "1", "First I look at the fence.\n");
        chunk(&mut transcript, "agent_thought_chunk", "1", "Then I look at the paint.");
        assert_eq!(text(&transcript.open_lines(LOOK, None)), ["✻ … the fence. Then I look at the paint."]);
        chunk(&mut transcript, "agent_message_chunk", "2", "Well.");
        assert_eq!(text(&transcript.take_finished(LOOK)), ["✻ First I look at the fence. Then I loo…"]);
    }

    #[test]
    fn of_a_long_session_the_end_is_kept_and_of_a_history_less_is_shown() {
        let mut transcript = Transcript::default();
        for number in 0..ITEMS * 2 {
            transcript.push(Item::Remark(number.to_string()));
        }
        transcript.head_history(|n_hidden| vec![Item::Remark(format!("{n_hidden} more"))]);
        let shown = text(&transcript.take_finished(LOOK));
        let first = format!("{} more", ITEMS * 2 - SHOWN_OF_HISTORY);
        assert_eq!((shown.len(), &shown[0]), (SHOWN_OF_HISTORY + 1, &first));
        assert_eq!(shown.last(), Some(&(ITEMS * 2 - 1).to_string()));
        assert_eq!(transcript.all_lines(LOOK).len(), ITEMS + 3);
        transcript.push(Item::User("x".repeat(BYTES)));
        assert_eq!(transcript.kept.len(), 1);
    }

    #[test]
    fn a_history_begins_with_what_the_user_said() {
        let mut transcript = Transcript::default();
        for number in 0..SHOWN_OF_HISTORY {
            transcript.push(Item::Remark(number.to_string()));
            if number == SHOWN_OF_HISTORY / 2 {
                transcript.push(Item::User("hello".to_owned()));
            }
        }
        transcript.head_history(|n_hidden| vec![Item::Remark(format!("{n_hidden} more"))]);
        let shown = text(&transcript.take_finished(LOOK));
        assert_eq!(shown[..3], ["151 more", "", "❯ hello"]);
    }

    #[test]
    fn what_came_too_fast_is_told_of() {
        let mut transcript = Transcript::default();
        for number in 0..ITEMS + 5 {
            transcript.push(Item::Remark(number.to_string()));
        }
        let shown = text(&transcript.take_finished(LOOK));
        assert_eq!(shown[..2], ["5 parts came too fast to be shown", "5"]);
    }

    #[test]
    fn what_is_on_the_screen_can_be_shown_again() {
        let mut transcript = Transcript::default();
        transcript.push(Item::User("one".to_owned()));
        transcript.push(Item::User("two".to_owned()));
        let all = transcript.take_finished(LOOK);
        transcript.push(Item::User("three".to_owned()));
        assert_eq!(transcript.shown_lines(None, LOOK), all);
        assert_eq!(text(&transcript.shown_lines(Some(2), LOOK)), ["", "❯ two"]);
        transcript.begin_below();
        assert_eq!(text(&transcript.take_finished(LOOK)), ["❯ three"]);
        assert_eq!(text(&transcript.shown_lines(None, LOOK)), ["❯ three"]);
    }
}
