//! Steps of a session. Those of turn N happened about 10 N seconds after 1970.

use rejoin_transcript::{EntryNumber, Json, MessageId, Step, Timestamp, Turn, TurnEnd};

/// The point in time `millis` milliseconds after 1970.
pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// The entry `number`.
pub fn number(number: u32) -> EntryNumber {
    EntryNumber::new(number)
}

/// The prompt `text`, which begins turn `turn`.
pub fn prompt(turn: u32, text: &str) -> Step {
    let blocks = Json::from_value(&serde_json::json!([{ "type": "text", "text": text }])).unwrap();
    Step::prompt(at(i64::from(turn) * 10_000), turn, MessageId::new(format!("u{turn}")), blocks).unwrap()
}

/// A chunk of the agent's message `id` of turn `turn`.
pub fn chunk(turn: u32, id: &str, text: &str) -> Step {
    let content = serde_json::json!({ "type": "text", "text": text });
    update(turn, &format!(r#"{{"sessionUpdate":"agent_message_chunk","messageId":"{id}{turn}","content":{content}}}"#))
}

/// The update `update`, as JSON, in turn `turn`.
pub fn update(turn: u32, update: &str) -> Step {
    Step::update(at(i64::from(turn) * 10_000 + 1), Turn::In(turn), Json::parse(update).unwrap()).unwrap()
}

/// The good end of turn `turn`.
pub fn end(turn: u32) -> Step {
    Step::turn_ended(at(i64::from(turn) * 10_000 + 2), turn, &TurnEnd::Stopped { reason: "end_turn".to_owned() })
}
