//! A conversation as people read it, turn by turn, in one form or another.
//!
//! A turn is folded and written when the next begins, so that only one is in memory. A tool call that goes on in a later
//! turn is told there again, under its name.

mod content;
mod diff;
mod html;
mod markdown;

use std::collections::HashMap;
use std::io::{self, Write};

use rejoin_transcript::json::write_string;
use rejoin_transcript::{Entry, Fold, Json, SessionFacts, Timestamp, ToolCall, View, What};

pub(crate) use self::html::Html;
pub(crate) use self::markdown::{Detail, Markdown};

/// A form in which a conversation can be written.
pub(crate) trait Form {
    /// Writes what comes before the first turn.
    fn begin(&mut self, out: &mut dyn Write, facts: &SessionFacts) -> io::Result<()>;

    /// Writes the next turn.
    fn turn(&mut self, out: &mut dyn Write, turn: &Section) -> io::Result<()>;

    /// Writes what comes behind the last turn.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// A turn, and what came after it. What came before the first turn is that of number 0.
pub(crate) struct Section {
    pub(crate) number: u32,
    pub(crate) began_at: Timestamp,
    pub(crate) view: View,
}

/// A conversation that is being written.
pub(crate) struct Conversation<F> {
    form: F,
    open: Option<Open>,
    /// The titles of tool calls that had not ended when their turn had.
    open_calls: HashMap<String, String>,
}

/// A turn that is being folded.
struct Open {
    number: u32,
    began_at: Timestamp,
    fold: Fold,
}

impl<F: Form> Conversation<F> {
    /// Begins to write the conversation of the session with these facts.
    pub(crate) fn begin(mut form: F, out: &mut dyn Write, facts: &SessionFacts) -> io::Result<Self> {
        form.begin(out, facts)?;
        Ok(Self { form, open: None, open_calls: HashMap::new() })
    }

    /// Takes the next entry, and writes what came before it once it begins another turn.
    pub(crate) fn push(&mut self, out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
        let number = entry.step.turn.number();
        if self.open.as_ref().is_none_or(|open| open.number != number) {
            self.write_turn(out)?;
            self.open = Some(Open { number, began_at: entry.step.at, fold: Fold::default() });
        }
        if let Some(open) = &mut self.open {
            open.fold.push(entry);
        }
        Ok(())
    }

    /// Writes what is left.
    pub(crate) fn end(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.write_turn(out)?;
        self.form.end(out)
    }

    fn write_turn(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some(Open { number, began_at, fold }) = self.open.take() else { return Ok(()) };
        let mut section = Section { number, began_at, view: fold.finish() };
        for item in &mut section.view.items {
            if let What::ToolCall(call) = &mut item.what {
                self.name(call);
            }
        }
        self.form.turn(out, &section)
    }

    /// Gives `call` the title that it had in an earlier turn, if it has none, and remembers it if it goes on.
    fn name(&mut self, call: &mut ToolCall) {
        let told = call.title();
        let title = told.clone().or_else(|| self.open_calls.get(&call.id).cloned());
        let title = title.unwrap_or_else(|| format!("tool call {}", call.id));
        if told.is_none() {
            call.members.insert("title".to_owned(), Json::from_stored(write_string(&title)));
        }
        if matches!(call.status().as_deref(), Some("completed" | "failed")) {
            self.open_calls.remove(&call.id);
        } else {
            self.open_calls.insert(call.id.clone(), title);
        }
    }
}
