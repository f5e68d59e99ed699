//! Turns that the user took back: their lines stay in the file, and an event behind them says how many they are.

use std::io;
use std::ops::RangeInclusive;

use rejoin_transcript::json::Members;

use crate::lines::Lines;

/// The lines of turns that were taken back.
#[derive(Debug, Default)]
pub(super) struct TakenBack(Vec<RangeInclusive<u64>>);

/// A turn that was not taken back so far.
struct Turn {
    /// Its first line.
    from: u64,
    /// Whether the user said something in it; only such turns are counted.
    is_users: bool,
}

impl TakenBack {
    /// Reads all of `lines`.
    pub(super) fn read(mut lines: Lines) -> io::Result<Self> {
        let (mut taken_back, mut turns): (Self, Vec<Turn>) = (Self::default(), Vec::new());
        let mut is_running = false;
        while let Some((number, text)) = lines.next()? {
            let Some((kind, event)) = text.contains("event_msg").then(|| event_in(text)).flatten() else { continue };
            match kind.as_str() {
                "task_started" | "turn_started" => {
                    turns.push(Turn { from: number, is_users: false });
                    is_running = true;
                }
                "task_complete" | "turn_complete" | "turn_aborted" => is_running = false,
                "user_message" => match turns.last_mut().filter(|_| is_running) {
                    Some(turn) => turn.is_users = true,
                    None => turns.push(Turn { from: number, is_users: true }),
                },
                "thread_rolled_back" => {
                    let count = event.get("num_turns").and_then(|count| count.parse().ok()).unwrap_or(0);
                    if let Some(from) = take_back(&mut turns, count) {
                        taken_back.0.push(from..=number);
                    }
                    is_running = false;
                }
                _ => {}
            }
        }
        Ok(taken_back)
    }

    /// Whether the line `number` is of such a turn.
    pub(super) fn has(&self, number: u64) -> bool {
        self.0.iter().any(|lines| lines.contains(&number))
    }
}

/// Takes the last `count` turns of the user out of `turns`, and gives the first line of them.
fn take_back(turns: &mut Vec<Turn>, count: usize) -> Option<u64> {
    let first = turns.iter().enumerate().rev().filter(|(_, turn)| turn.is_users).take(count).last()?.0;
    turns.drain(first..).next().map(|turn| turn.from)
}

/// The kind of the event in `text`, and the event.
fn event_in(text: &str) -> Option<(String, Members<'_>)> {
    let line = Members::read(text).filter(|line| line.get_string("type").as_deref() == Some("event_msg"))?;
    let event = Members::read(line.get("payload")?)?;
    let kind = event.get_string("type")?.into_owned();
    let item = || Members::read(event.get("item")?)?.get_string("type").map(std::borrow::Cow::into_owned);
    let is_users = kind == "item_completed" && item().as_deref() == Some("UserMessage");
    Some((if is_users { "user_message".to_owned() } else { kind }, event))
}
