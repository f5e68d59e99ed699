//! Turns: what happens (events), what is done about it (effects), and the machine that decides.

mod effect;
mod event;
mod machine;
#[cfg(test)]
mod tests;

pub(crate) use effect::{Effect, End};
pub(crate) use event::{Answer, AskId, AskKind, Event, Ticket};
pub(crate) use machine::Machine;
pub use machine::WhileBusy;
