//! Gemini CLI

use crate::files::{lines, read_one, steps, written};

const HEADER: &str = r#"{"sessionId":"g-1","projectHash":"h","startTime":"2026-05-04T10:00:00.000Z","lastUpdated":"2026-05-04T10:00:00.000Z","kind":"main"}"#;
const CONTEXT: &str = r#"{"$set":{"messages":[{"id":"c","timestamp":"2026-05-04T10:00:00.000Z","type":"user","content":[{"text":"<session_context>\n- **Workspace Directories:**\n  - /p\n</session_context>"}]}]}}"#;

fn message(id: &str, kind: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","timestamp":"2026-05-04T10:00:0{}.000Z","type":"{kind}","content":"{text}"}}"#, id.len())
}

#[test]
fn what_was_taken_back_is_not_part_of_the_conversation() {
    let text = [
        HEADER.to_owned(),
        CONTEXT.to_owned(),
        message("u1", "user", "one"),
        message("g1", "gemini", "first"),
        message("u2", "user", "two"),
        message("g2", "gemini", "second"),
        r#"{"$rewindTo":"u2"}"#.to_owned(),
        message("u3", "user", "three"),
        message("g3", "gemini", "third"),
    ];
    let (_folder, file) = written("session.jsonl", text.join("\n").as_bytes());
    assert_eq!(read_one(&file).about().cwd, "/p");
    insta::assert_snapshot!(lines(&steps(&file)), @"
    user: one
    agent: first
    user: three
    agent: third
    ");
}

#[test]
fn messages_that_are_set_anew_take_the_place_of_all_before() {
    let text = [
        HEADER.to_owned(),
        CONTEXT.to_owned(),
        message("u1", "user", "one"),
        format!(
            r#"{{"$set":{{"messages":[{},{}]}}}}"#,
            message("u2", "user", "two"),
            message("g2", "gemini", "second")
        ),
    ];
    let (_folder, file) = written("session.jsonl", text.join("\n").as_bytes());
    insta::assert_snapshot!(lines(&steps(&file)), @"
    user: two
    agent: second
    ");
}

#[test]
fn the_older_form_is_one_value() {
    let messages = format!("[{},{}]", message("u1", "user", "one"), message("g1", "gemini", "first"));
    let text = format!(
        "{{\n  \"sessionId\": \"g-1\",\n  \"projectHash\": \"h\",\n  \"startTime\": \"2026-05-04T10:00:00.000Z\",\n  \"messages\": {messages}\n}}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chats/session.json");
    std::fs::create_dir(folder.path().join("chats")).unwrap();
    std::fs::write(folder.path().join(".project_root"), "/beside\n").unwrap();
    std::fs::write(&file, text).unwrap();
    assert_eq!(read_one(&file).about().cwd, "/beside");
    insta::assert_snapshot!(lines(&steps(&file)), @"
    user: one
    agent: first
    ");
}

#[test]
fn the_folder_may_be_in_the_list_of_all_folders() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tmp/almanac/chats/session.jsonl");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let list = r#"{"projects":{"/home/mira/other":"other","/home/mira/almanac":"almanac"}}"#;
    std::fs::write(folder.path().join("projects.json"), list).unwrap();
    let text = [HEADER.to_owned(), message("u1", "user", "one"), message("g1", "gemini", "first")];
    std::fs::write(&file, text.join("\n")).unwrap();

    assert_eq!(read_one(&file).about().cwd, "/home/mira/almanac");
}
