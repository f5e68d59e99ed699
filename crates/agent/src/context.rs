//! The conversation as a model is told it: record → messages.
//!
//! The messages are well-formed whatever happened: they begin with the user, user and assistant take turns, every call is
//! followed by its result, and no message is empty. A turn that runs adds to its context just what later turns will read from
//! the record.

use std::collections::{HashMap, HashSet};

use rejoin::Past;
use rejoin::schema::{ContentBlock, ToolCall, ToolCallContent, ToolCallStatus};
use serde_json::Value;

use crate::commands::parts_of;
use crate::kept::{Kept, KeptAnswer, Remainder};
use crate::models::{Message, Part, Said, ToolUse};
use crate::shorten::shortened_parts;

const NO_ANSWER: &str = "(There was no answer to this.)";
const NO_PROMPT: &str = "(The conversation begins here.)";
const NO_RESULT: &str = "The call was interrupted. There is no result.";
const EMPTY: &str = "(empty)";

/// About as many bytes are one token.
const BYTES_OF_A_TOKEN: u64 = 4;

/// About as many tokens are one image.
const TOKENS_OF_AN_IMAGE: u64 = 1_500;

/// A conversation.
#[derive(Debug, Default)]
pub(crate) struct Context {
    items: Vec<Item>,
    /// What happened before the items.
    summary: Option<String>,
    /// How many tokens there were when there were so many items.
    measured: Option<(u64, usize)>,
    /// The ids of all calls.
    ids: HashSet<String>,
    /// The first number that may be unused, by the id that it makes another of.
    next_numbers: HashMap<String, usize>,
    /// What all answers cost so far, in US dollars, as far as it is known.
    cost: Option<f64>,
    /// Whether the last turn is a command.
    is_aside: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Item {
    User(Vec<Part>),
    Answer(Answer),
    /// A call that no answer of ours has: another agent's, or a command's.
    Foreign(String),
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Answer {
    text: String,
    thoughts: Option<Value>,
    calls: Vec<(ToolUse, Option<Given>)>,
    is_over: bool,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
struct Given {
    parts: Vec<Part>,
    is_error: bool,
}

impl Context {
    /// The conversation that `past` was.
    pub(crate) fn of(past: &[Past]) -> Self {
        let mut context = Self::default();
        for past in past {
            match past {
                Past::User(blocks) => context.prompt(parts_of(blocks)),
                Past::Agent(blocks) => {
                    let parts = parts_of(blocks);
                    context.say(&parts.iter().filter_map(Part::text).collect::<String>());
                }
                Past::Thought(_) => {}
                Past::ToolCall(call) => context.record(call),
                Past::Kept(value) => context.kept(Kept::read(value)),
            }
        }
        context.end_turn();
        context
    }

    /// The user says `parts`.
    pub(crate) fn prompt(&mut self, parts: Vec<Part>) {
        self.end_turn();
        self.items.push(Item::User(parts));
    }

    /// The assistant says more.
    pub(crate) fn say(&mut self, text: &str) {
        self.answer().text.push_str(text);
    }

    /// The answer is over.
    pub(crate) fn end_answer(&mut self, kept: &KeptAnswer) {
        self.ids.extend(kept.calls.iter().map(|call| call.id.clone()));
        let answer = self.answer();
        answer.thoughts.clone_from(&kept.thoughts);
        answer.calls = kept.calls.iter().map(|call| (call.clone(), None)).collect();
        answer.is_over = true;
        self.spend(kept.cost);
        if let Some(used) = kept.used {
            self.measured = Some((used, self.items.len()));
        }
    }

    /// The call `id` gave `parts`.
    pub(crate) fn end_call(&mut self, id: &str, parts: Vec<Part>, is_error: bool) {
        if let Some(given) = self.given(id) {
            *given = Some(Given { parts, is_error });
        }
    }

    /// What all answers cost so far, in US dollars; nothing if no price is known.
    pub(crate) fn cost(&self) -> Option<f64> {
        self.cost
    }

    /// Replaces all but `remainder` by `summary`, which cost this.
    pub(crate) fn compact(&mut self, summary: String, remainder: Remainder, cost: Option<f64>) {
        self.spend(cost);
        let results = self.items.pop_if(|item| remainder == Remainder::PromptAndResults && has_calls(item));
        let prompt = self.items.iter().rposition(|item| matches!(item, Item::User(_)));
        let prompt = prompt.map(|prompt| self.items.swap_remove(prompt));
        self.items = prompt.into_iter().chain(results).collect();
        self.summary = Some(summary);
        self.measured = None;
    }

    /// `id`, or one like it that no other call has.
    pub(crate) fn unused_id(&mut self, id: &str) -> String {
        // Where the API has no ids, its reader makes `call#name#0`, and such an id is not sent.
        let made =
            id.rsplit_once('#').filter(|(start, number)| start.starts_with("call#") && number.parse::<u64>().is_ok());
        let another = |n: usize| match made {
            Some((start, _)) => format!("{start}#{n}"),
            None if id.is_empty() => format!("call_{n}"),
            None => format!("{id}_{n}"),
        };
        let mut unused = if id.is_empty() { another(0) } else { id.to_owned() };
        if self.ids.contains(&unused) {
            // Some models give all calls of a session the same id.
            let next = self.next_numbers.entry(another(0)).or_insert(1);
            while self.ids.contains(&unused) {
                unused = another(*next);
                *next += 1;
            }
        }
        self.ids.insert(unused.clone());
        unused
    }

    /// About how many tokens it has: what the provider counted, and an estimate of what is new.
    pub(crate) fn tokens(&self) -> u64 {
        let (counted, from) = self.measured.filter(|(_, from)| *from <= self.items.len()).unwrap_or_default();
        let summary = if from == 0 { self.summary.as_deref().unwrap_or_default().len() } else { 0 };
        // Results come after the count of the answer that asked for them.
        let results = self.items[..from].last().map_or(0, |item| match item {
            Item::Answer(answer) => tokens_of_results(answer),
            Item::User(_) | Item::Foreign(_) => 0,
        });
        counted + results + tokens_of_bytes(summary) + self.items[from..].iter().map(tokens_of).sum::<u64>()
    }

    /// The most that a compaction can leave, if there is anything that it would replace.
    pub(crate) fn remainder(&self) -> Option<Remainder> {
        let has_results = self.items.last().is_some_and(has_calls);
        match self.items.len() {
            0 | 1 => None,
            2 if has_results => None,
            _ if has_results => Some(Remainder::PromptAndResults),
            _ => Some(Remainder::Prompt),
        }
    }

    /// Whether there is something before what the user said last, or behind it.
    pub(crate) fn has_more_than_a_prompt(&self) -> bool {
        self.items.len() > 1
    }

    /// Shortens the newest results to about `most` tokens in all, and returns those that changed, by their calls.
    pub(crate) fn shorten_results(&mut self, most: u64) -> Vec<(String, Vec<Part>)> {
        let Some(Item::Answer(answer)) = self.items.last_mut() else { return Vec::new() };
        if tokens_of_results(answer) <= most {
            return Vec::new();
        }
        let share = most * BYTES_OF_A_TOKEN / (answer.calls.len() as u64).max(1);
        let share = usize::try_from(share).unwrap_or(usize::MAX);
        let mut changed = Vec::new();
        for (call, given) in &mut answer.calls {
            let Some(given) = given else { continue };
            let short = shortened_parts(given.parts.clone(), share);
            if short != given.parts {
                given.parts.clone_from(&short);
                changed.push((call.id.clone(), short));
            }
        }
        changed
    }

    /// The messages, as any provider takes them.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.messages_of(&self.items)
    }

    /// The messages that a compaction replaces. What the user said last is not part of what happened.
    pub(crate) fn messages_before(&self, remainder: Remainder) -> Vec<Message> {
        let n_items = match remainder {
            Remainder::Prompt => self.items.len(),
            Remainder::PromptAndResults => self.items.len().saturating_sub(1),
        };
        let mut messages = self.messages_of(&self.items[..n_items]);
        if messages.len() > 1 && matches!(messages.last(), Some(Message::User(_))) {
            messages.pop();
        }
        messages
    }

    fn messages_of(&self, items: &[Item]) -> Vec<Message> {
        let mut messages: Vec<Message> = Vec::new();
        for item in items {
            match item {
                Item::User(parts) => {
                    if matches!(messages.last(), Some(Message::User(_))) {
                        messages.push(Message::Assistant(vec![Said::Text(NO_ANSWER.to_owned())]));
                    }
                    messages.push(Message::User(not_empty(parts)));
                }
                Item::Foreign(text) => push_said(&mut messages, vec![Said::Text(text.clone())]),
                Item::Answer(answer) => push_answer(&mut messages, answer),
            }
        }
        if let Some(summary) = &self.summary {
            let text = Part::Text(format!("What happened so far, in a summary:\n\n{summary}"));
            match messages.first_mut() {
                Some(Message::User(parts)) => parts.insert(0, text),
                _ => messages.insert(0, Message::User(vec![text])),
            }
        } else if !matches!(messages.first(), Some(Message::User(_)) | None) {
            messages.insert(0, Message::User(vec![Part::Text(NO_PROMPT.to_owned())]));
        }
        messages
    }

    fn kept(&mut self, kept: Option<Kept>) {
        match kept {
            Some(Kept::Answer(answer)) => self.end_answer(&answer),
            Some(Kept::Result { call, parts }) => {
                if let Some(Some(given)) = self.given(&call) {
                    given.parts = parts;
                }
            }
            Some(Kept::Prompt(parts)) => {
                if let Some(item) = self.items.iter_mut().rev().find(|item| matches!(item, Item::User(_))) {
                    *item = Item::User(parts);
                }
            }
            Some(Kept::Aside) => self.is_aside = true,
            Some(Kept::Refused) => {
                let turn = self.turn();
                self.items.truncate(turn);
            }
            Some(Kept::Compacted { summary, remainder, cost }) => self.compact(summary, remainder, cost),
            Some(Kept::Seen { .. }) | None => {}
        }
    }

    fn spend(&mut self, cost: Option<f64>) {
        if let Some(cost) = cost {
            *self.cost.get_or_insert_default() += cost;
        }
    }

    /// A command is no part of the conversation, whatever came of it, but what a tool said to the user is.
    fn end_turn(&mut self) {
        if !std::mem::take(&mut self.is_aside) {
            return;
        }
        let turn = self.turn();
        let mut items = self.items.split_off(turn);
        if items.iter().any(|item| matches!(item, Item::Foreign(_))) {
            items.retain(|item| !matches!(item, Item::Foreign(_)));
            self.items.append(&mut items);
        }
    }

    /// A call as it ended.
    fn record(&mut self, call: &ToolCall) {
        let id = call.tool_call_id.to_string();
        let given = given_by(call);
        if let Some(slot) = self.given(&id) {
            *slot = given.map(|given| if is_interrupted(call) { interrupted(given) } else { given });
            return;
        }
        let how = if given.as_ref().is_some_and(|given| !given.is_error) { "was made" } else { "failed" };
        let texts: Vec<&str> = given.iter().flat_map(|given| &given.parts).filter_map(Part::text).collect();
        self.items.push(Item::Foreign(format!("(The call {:?} {how}. {})", call.title, texts.join("\n"))));
        self.ids.insert(id);
    }

    /// Where the last turn begins.
    fn turn(&self) -> usize {
        self.items.iter().rposition(|item| matches!(item, Item::User(_))).unwrap_or_default()
    }

    /// The answer that is being given.
    fn answer(&mut self) -> &mut Answer {
        if !matches!(self.items.last(), Some(Item::Answer(answer)) if !answer.is_over) {
            self.items.push(Item::Answer(Answer::default()));
        }
        match self.items.last_mut() {
            Some(Item::Answer(answer)) => answer,
            _ => unreachable!("an answer was pushed just now"),
        }
    }

    fn given(&mut self, id: &str) -> Option<&mut Option<Given>> {
        let answers = self.items.iter_mut().rev().filter_map(|item| match item {
            Item::Answer(answer) => Some(answer),
            Item::User(_) | Item::Foreign(_) => None,
        });
        answers.flat_map(|answer| &mut answer.calls).find(|(call, _)| call.id == id).map(|(_, given)| given)
    }
}

/// Whether this is an answer whose calls have the newest results.
fn has_calls(item: &Item) -> bool {
    matches!(item, Item::Answer(answer) if !answer.calls.is_empty())
}

/// What a call, which people were shown with these contents, gave a model; nothing if it has not ended.
fn given_by(call: &ToolCall) -> Option<Given> {
    let is_error = match call.status {
        ToolCallStatus::Completed => false,
        ToolCallStatus::Failed => true,
        _ => return None,
    };
    Some(Given { parts: parts_shown(&call.content, call.raw_output.as_ref(), is_error), is_error })
}

/// Whether a call of ours was ended by others: we say what went wrong, also in what is for those who look closer.
fn is_interrupted(call: &ToolCall) -> bool {
    call.status == ToolCallStatus::Failed && call.raw_output.is_none()
}

/// What was shown of a call until it was interrupted is no result.
fn interrupted(mut given: Given) -> Given {
    if given.parts != [Part::Text(NO_RESULT.to_owned())] {
        given.parts.insert(0, Part::Text(format!("{NO_RESULT} Until then people were shown this:")));
    }
    given
}

/// What a model is told of a call of which people were shown this.
pub(crate) fn parts_shown(content: &[ToolCallContent], raw: Option<&Value>, is_error: bool) -> Vec<Part> {
    let blocks: Vec<ContentBlock> = content
        .iter()
        .filter_map(|content| match content {
            ToolCallContent::Content(content) => Some(content.content.clone()),
            _ => None,
        })
        .collect();
    let parts = parts_of(&blocks);
    if !parts.is_empty() {
        return parts;
    }
    let text = match raw {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None if is_error => NO_RESULT.to_owned(),
        Some(Value::Null) | None => "Done.".to_owned(),
        Some(raw) => raw.to_string(),
    };
    vec![Part::Text(text)]
}

fn push_answer(messages: &mut Vec<Message>, answer: &Answer) {
    let text = (!answer.text.trim().is_empty()).then(|| Said::Text(answer.text.clone()));
    let calls = answer.calls.iter().map(|(call, _)| Said::Call(call.clone()));
    let mut said: Vec<Said> = text.into_iter().chain(calls).collect();
    if said.is_empty() {
        return;
    }
    said.extend(answer.thoughts.clone().map(Said::Kept));
    push_said(messages, said);
    for (call, given) in &answer.calls {
        let (parts, is_error) = match given {
            Some(given) => (not_empty(&given.parts), given.is_error),
            None => (vec![Part::Text(NO_RESULT.to_owned())], true),
        };
        messages.push(Message::ToolResult { call: call.id.clone(), name: call.name.clone(), parts, is_error });
    }
}

/// The assistant says this too.
fn push_said(messages: &mut Vec<Message>, mut said: Vec<Said>) {
    match messages.last_mut() {
        Some(Message::Assistant(before)) => before.append(&mut said),
        _ => messages.push(Message::Assistant(said)),
    }
}

/// `parts` without empty texts, but never nothing.
fn not_empty(parts: &[Part]) -> Vec<Part> {
    let is_something = |part: &&Part| part.text().is_none_or(|text| !text.trim().is_empty());
    let some: Vec<Part> = parts.iter().filter(is_something).cloned().collect();
    if some.is_empty() { vec![Part::Text(EMPTY.to_owned())] } else { some }
}

fn tokens_of(item: &Item) -> u64 {
    match item {
        Item::User(parts) => tokens_of_parts(parts),
        Item::Foreign(text) => tokens_of_bytes(text.len()),
        Item::Answer(answer) => {
            let calls = answer.calls.iter().map(|(call, _)| Value::Object(call.arguments.clone()).to_string().len());
            tokens_of_bytes(answer.text.len() + calls.sum::<usize>()) + tokens_of_results(answer)
        }
    }
}

fn tokens_of_results(answer: &Answer) -> u64 {
    answer.calls.iter().filter_map(|(_, given)| given.as_ref()).map(|given| tokens_of_parts(&given.parts)).sum()
}

fn tokens_of_parts(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.text().map_or(TOKENS_OF_AN_IMAGE, |text| tokens_of_bytes(text.len()))).sum()
}

fn tokens_of_bytes(n_bytes: usize) -> u64 {
    (n_bytes as u64).div_ceil(BYTES_OF_A_TOKEN)
}

#[cfg(test)]
mod tests;
