//! What is exported comes back as it was.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rejoin_transcript::export::{ReadError, Reader, write_entry, write_header};
use rejoin_transcript::{
    AgentInfo, Audience, Cwd, Entry, EntryNumber, InForce, Json, LayerKind, MessageId, Session, SessionId, Step,
    Timestamp, TranscriptError, Turn, TurnEnd,
};

fn session() -> Session {
    let cwd = Cwd { raw: "/p/../p".to_owned(), canonical: "/p".to_owned() };
    let agent = AgentInfo { name: "a".to_owned(), command: vec!["a".to_owned(), "--acp".to_owned()], version: None };
    let mut session = Session::new(SessionId::parse("s-1").unwrap(), cwd, agent, Timestamp::from_millis(7));
    session.settings.modes = Some(Json::parse(r#"{"currentModeId":"ask","availableModes":[ ]}"#).unwrap());
    session
}

fn entries() -> Vec<Entry> {
    let at = Timestamp::from_millis(1_700_000_000_123);
    let json = |text: &str| Json::parse(text).unwrap();
    let odd = r#"{"sessionUpdate":"odd","n":123456789012345678901234567890,"f":1.50,"z":null,"a":"\ud800"}"#;
    let steps = [
        Step::prompt(at, 1, MessageId::new("m1"), json(r#"[{"type":"text","text":"hé"}]"#)).unwrap(),
        Step::update(at, Turn::In(1), json(odd)).unwrap().with_extra(json(r#"{"_meta":{"x":1}}"#)),
        Step::update(at, Turn::In(1), json(r#"{"sessionUpdate":"x"}"#)).unwrap().with_audience(Audience::Agent),
        Step::of_layer(at, Turn::In(1), LayerKind::PermissionAsked, json(r#"{"options":[]}"#)),
        Step::of_layer(at, Turn::In(1), LayerKind::PermissionAnswered, json(r#"{"outcome":"cancelled"}"#)),
        Step::turn_ended(at, 1, &TurnEnd::Stopped { reason: "end_turn".to_owned() }),
        Step::of_layer(at, Turn::After(1), LayerKind::StateSet, InForce::default().to_json()),
    ];
    (1..).zip(steps).map(|(number, step)| Entry { number: EntryNumber::new(number), step }).collect()
}

fn exported() -> Vec<u8> {
    let mut file = Vec::new();
    write_header(&mut file, &session()).unwrap();
    for entry in entries() {
        write_entry(&mut file, &entry).unwrap();
    }
    file
}

/// All entries of `file`, or the first thing wrong with it.
fn read(file: &[u8]) -> Result<(Session, Vec<Entry>), ReadError> {
    let (session, mut reader) = Reader::open(file)?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(entry);
    }
    Ok((session, entries))
}

#[test]
fn an_export_is_read_back_unchanged() {
    assert_eq!(read(&exported()).unwrap(), (session(), entries()));
}

#[test]
fn a_file_of_another_kind_is_refused_at_its_first_line() {
    for file in [
        "",
        "\n",
        "hello\n",
        "{\"type\":\"user\"}\n",
        "{\"rejoin\":\"other\",\"version\":1,\"session\":{},\"settings\":{}}\n",
    ] {
        assert!(matches!(read(file.as_bytes()), Err(ReadError::Content(TranscriptError::NotAnExport))), "{file}");
    }
}

#[test]
fn a_newer_version_is_named() {
    let file = b"{\"rejoin\":\"transcript\",\"version\":9,\"session\":{},\"settings\":{}}\n";
    assert!(matches!(read(file), Err(ReadError::Content(TranscriptError::UnknownVersion { found: 9, known: 1 }))));
}

#[test]
fn a_damaged_line_is_named_by_its_number() {
    let mut lines: Vec<&[u8]> = Vec::new();
    let file = exported();
    lines.extend(file.split_inclusive(|byte| *byte == b'\n'));
    let torn = [lines[0], lines[1], b"{\"number\":2,\"at\"\n"].concat();
    assert!(matches!(read(&torn), Err(ReadError::Content(TranscriptError::BadLine { line: 3, .. }))));
    for turn in ["\"turn\":0", "\"afterTurn\":1"] {
        let line = String::from_utf8(lines[1].to_vec()).unwrap().replace("\"turn\":1", turn);
        let nowhere = [lines[0], line.as_bytes()].concat();
        assert!(matches!(read(&nowhere), Err(ReadError::Content(TranscriptError::BadLine { line: 2, .. }))), "{turn}");
    }
    let missing = [lines[0], lines[1], lines[3]].concat();
    assert!(matches!(
        read(&missing),
        Err(ReadError::Content(TranscriptError::OutOfOrder { line: 3, expected: 2, found: 3 }))
    ));
}
