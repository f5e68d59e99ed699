//! Files: on the disk, or as the client has them, and never outside.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use rejoin_wire::RpcError;
use serde_json::{Value, json};

use crate::project::{Project, choose};

#[tokio::test]
async fn a_file_is_read_as_a_tool_call_that_says_all() {
    let project = Project::new().await;
    project.write("src/a.txt", "one\ntwo\nthree\n");

    let all = project.call("read_file", json!({ "path": "src/a.txt" })).await;
    let part = project.call("read_file", json!({ "path": "src/../src/a.txt", "line": 2, "limit": 1 })).await;

    assert_eq!((all.told.as_str(), part.told.as_str()), ("one\ntwo\nthree\n", "two\n"));
    let path = project.path("project/src/a.txt");
    let expected = json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": part.shown["toolCallId"],
        "name": "read_file",
        "title": "Read src/a.txt from line 2",
        "kind": "read",
        "status": "completed",
        "locations": [{ "path": path, "line": 2 }],
        "rawInput": { "path": "src/../src/a.txt", "line": 2, "limit": 1 },
        "rawOutput": "two\n",
        "content": [{ "type": "content", "content": { "type": "text", "text": "```\ntwo\n```" } }],
    });
    assert_eq!(part.shown, expected);
}

#[tokio::test]
async fn what_can_not_be_read_is_said() {
    let project = Project::new().await;
    project.write("folder/a.txt", "a");
    project.write("blob", b"\x7fELF\0\0");
    project.write("latin.txt", b"caf\xe9");
    for (arguments, expected) in [
        (json!({ "path": "b.txt" }), "there is no b.txt"),
        (json!({ "path": "folder" }), "folder is a folder; list_files shows what is in it"),
        (json!({ "path": "blob" }), "blob: it is not text in UTF-8"),
        (json!({ "path": "latin.txt" }), "latin.txt: it is not text in UTF-8"),
        (json!({ "path": "folder/a.txt", "line": 2 }), "folder/a.txt: it has no line 2: it ends with line 1"),
        (json!({}), "the arguments of read_file: missing field `path`"),
        (json!({ "path": 1 }), "the arguments of read_file: `path`: invalid type: integer `1`, expected a string"),
    ] {
        assert_eq!(project.call("read_file", arguments.clone()).await.failure(), expected, "{arguments}");
    }
}

#[tokio::test]
async fn what_is_outside_is_refused_by_every_tool() {
    let project = Project::with_client(json!({ "fs": { "readTextFile": true, "writeTextFile": true } }), "code").await;
    std::fs::write(project.path("secret.txt"), "TOPSECRET").unwrap();
    symlink(project.path("secret.txt"), project.path("project/link")).unwrap();
    symlink(project.path("planted.txt"), project.path("project/dangling")).unwrap();
    symlink(project.path(""), project.path("project/up")).unwrap();
    let absolute = project.path("secret.txt").display().to_string();
    let mark = project.client.mark();
    for path in ["../secret.txt", &absolute, "link", "up/secret.txt", "dangling", "up/new/planted.txt"] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
            ("edit_file", json!({ "path": path, "old_text": "TOP", "new_text": "x" })),
            ("list_files", json!({ "path": path })),
            ("glob", json!({ "path": path, "pattern": "*" })),
            ("search", json!({ "path": path, "pattern": "SECRET" })),
            ("run_command", json!({ "cwd": path, "command": "cat *" })),
        ] {
            let called = project.call(tool, arguments).await;
            let failure = called.failure();
            assert_ne!(called.shown["kind"], Value::Null, "{tool}");
            assert!(failure.contains("of this session's folders: ") && failure.contains("/project"), "{failure}");
            assert!(failure.contains(path) && !called.shown.to_string().contains("TOPSECRET"), "{failure}");
        }
    }
    let found = project.call("search", json!({ "pattern": "TOPSECRET" })).await;

    assert_eq!(found.told, "Nothing matches. What .gitignore names was not searched.");
    assert_eq!(project.asked_since(mark), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(project.path("secret.txt")).unwrap(), "TOPSECRET");
    assert!(!project.path("planted.txt").exists() && !project.path("new").exists());
}

#[tokio::test]
async fn additional_folders_are_inside() {
    let project = Project::new().await;
    std::fs::write(project.path("lib/x.txt"), "green roof").unwrap();
    let absolute = project.path("lib/x.txt").display().to_string();
    assert_eq!(project.call("read_file", json!({ "path": absolute })).await.told, "green roof");
    assert_eq!(project.call("list_files", json!({ "path": "../lib" })).await.told, "x.txt\n");
    let found = project.call("search", json!({ "path": project.path("lib"), "pattern": "roof" })).await;
    assert_eq!(found.told, format!("{absolute}:1:green roof\n"));
}

#[tokio::test]
async fn a_file_is_written_and_the_change_shown() {
    let project = Project::new().await;
    project.write("a.txt", "old");

    let replaced = project.call("write_file", json!({ "path": "a.txt", "content": "new\n" })).await;
    let made = project.call("write_file", json!({ "path": "deep/er/b.txt", "content": "b" })).await;

    assert_eq!((project.read("a.txt"), project.read("deep/er/b.txt")), (Some("new\n".into()), Some("b".into())));
    let diff = |name: &str, old: Value, new: &str| json!([{ "type": "diff", "path": project.path("project").join(name), "oldText": old, "newText": new }]);
    assert_eq!(replaced.shown["content"], diff("a.txt", json!("old"), "new\n"));
    let expected = json!([{ "type": "diff", "path": project.path("project/deep/er/b.txt"), "newText": "b" }]);
    assert_eq!(made.shown["content"], expected);
    assert_eq!((&replaced.shown["kind"], &replaced.shown["title"]), (&json!("edit"), &json!("Write a.txt")));
    assert_eq!(replaced.status(), "completed");
}

#[tokio::test]
async fn what_could_not_be_shown_is_not_replaced() {
    let project = Project::new().await;
    let late = ["text ".repeat(4096).as_bytes(), b"\0binary"].concat();
    for (name, bytes, why) in [
        ("blob", b"\x7fELF\0\0".as_slice(), "since it is no text in UTF-8; if it is to be replaced, remove it first"),
        ("late", &late, "it is not text in UTF-8"),
        ("large", &vec![b'x'; 5 << 20], "since it is too large; if it is to be replaced, remove it first"),
    ] {
        project.write(name, bytes);
        let called = project.call("write_file", json!({ "path": name, "content": "new" })).await;
        assert!(called.failure().ends_with(why), "{}", called.told);
        assert_eq!(std::fs::read(project.path("project").join(name)).unwrap(), bytes, "{name}");
    }
}

#[tokio::test]
async fn a_name_that_is_no_text_is_the_calls_trouble_and_not_the_turns() {
    let project = Project::new().await;
    let odd = project.path("project").join(OsStr::from_bytes(b"caf\xe9.txt"));
    std::fs::write(&odd, "a needle").unwrap();
    symlink(&odd, project.path("project/link")).unwrap();
    let found = project.call("search", json!({ "pattern": "needle" })).await;
    assert_eq!(found.told, "caf\u{fffd}.txt:1:a needle\n");
    let read = project.call("read_file", json!({ "path": "link" })).await;
    assert!(read.failure().contains("not text in UTF-8"), "{}", read.told);
}

#[tokio::test]
async fn a_text_is_edited_where_it_is_exactly_once_or_everywhere() {
    let project = Project::new().await;
    project.write("a.txt", "one\ntwo\ntwo\n");

    let twice = project.call("edit_file", json!({ "path": "a.txt", "old_text": "two", "new_text": "2" })).await;
    let never = project.call("edit_file", json!({ "path": "a.txt", "old_text": "three", "new_text": "3" })).await;
    assert!(twice.failure().contains("is in it more than once") && never.failure().contains("is not in it"));
    assert_eq!(project.read("a.txt").unwrap(), "one\ntwo\ntwo\n");

    let once = project.call("edit_file", json!({ "path": "a.txt", "old_text": "one\n", "new_text": "" })).await;
    let arguments = json!({ "path": "a.txt", "old_text": "two", "new_text": "2", "replace_all": true });
    let all = project.call("edit_file", arguments).await;
    assert_eq!(once.told, "Edited 1 place in a.txt, from line 1 on.");
    assert_eq!(all.told, "Edited 2 places in a.txt, from line 1 on.");
    assert_eq!(project.read("a.txt").unwrap(), "2\n2\n");
    let path = project.path("project/a.txt");
    assert_eq!(
        all.shown["content"],
        json!([{ "type": "diff", "path": path, "oldText": "two\ntwo\n", "newText": "2\n2\n" }])
    );
    assert_eq!(all.shown["locations"], json!([{ "path": path, "line": 1 }]));
}

#[tokio::test]
async fn files_go_through_a_client_that_offers_them() {
    let project = Project::with_client(json!({ "fs": { "readTextFile": true, "writeTextFile": true } }), "code").await;
    project.write("a.txt", "saved");
    let path = project.path("project/a.txt").display().to_string();
    let buffers = Arc::new(Mutex::new(BTreeMap::from([(path.clone(), "unsaved\nlines".to_owned())])));
    let open = Arc::clone(&buffers);
    project.client.answer_with(move |method, params| {
        let mut open = open.lock().unwrap();
        let path = params["path"].as_str().unwrap_or_default();
        match method {
            "fs/read_text_file" => Some(match open.get(path) {
                Some(content) => Ok(json!({ "content": content })),
                None => Err(RpcError::new(-32002, "no such buffer")),
            }),
            "fs/write_text_file" => {
                open.insert(path.to_owned(), params["content"].as_str().unwrap().to_owned());
                Some(Ok(Value::Null))
            }
            _ => Some(choose("allow")),
        }
    });

    assert_eq!(project.call("read_file", json!({ "path": "a.txt", "line": 2 })).await.told, "lines");
    assert_eq!(
        project.call("read_file", json!({ "path": "b.txt" })).await.failure(),
        "b.txt: the client: no such buffer"
    );
    project.call("edit_file", json!({ "path": "a.txt", "old_text": "unsaved", "new_text": "edited" })).await;
    project.call("write_file", json!({ "path": "new.txt", "content": "new" })).await;

    let new = project.path("project/new.txt").display().to_string();
    let expected = BTreeMap::from([(path, "edited\nlines".to_owned()), (new, "new".to_owned())]);
    assert_eq!(*buffers.lock().unwrap(), expected);
    assert_eq!((project.read("a.txt"), project.read("new.txt")), (Some("saved".into()), None));
}

#[tokio::test]
async fn folders_are_made_also_where_the_client_writes() {
    let project = Project::with_client(json!({ "fs": { "readTextFile": true, "writeTextFile": true } }), "code").await;
    // It writes as most do, and makes no folders.
    project.client.answer_with(|method, params| {
        Some(match method {
            "fs/write_text_file" => {
                std::fs::write(params["path"].as_str().unwrap(), params["content"].as_str().unwrap())
                    .map(|()| Value::Null)
                    .map_err(|error| RpcError::new(RpcError::INTERNAL, error.to_string()))
            }
            _ => choose("allow"),
        })
    });
    let made = project.call("write_file", json!({ "path": "deep/er/b.txt", "content": "b" })).await;
    assert_eq!((made.status(), project.read("deep/er/b.txt")), ("completed", Some("b".into())));
}

#[tokio::test]
async fn what_a_client_only_says_it_offers_is_done_without_it() {
    let project = Project::with_client(json!({ "fs": { "readTextFile": true, "writeTextFile": true } }), "code").await;
    project.write("a.txt", "saved");
    let unknown = || Err(RpcError::new(RpcError::METHOD_NOT_FOUND, "what?"));
    project
        .client
        .answer_with(move |method, _| Some(if method.starts_with("fs/") { unknown() } else { choose("allow") }));
    project.call("edit_file", json!({ "path": "a.txt", "old_text": "saved", "new_text": "edited" })).await;
    assert_eq!(project.read("a.txt").unwrap(), "edited");
}

#[tokio::test]
async fn folders_are_listed_globbed_and_searched() {
    let project = Project::new().await;
    project.write(".gitignore", "made\n");
    project.write("src/main.rs", "fn main() {}\n");
    project.write("src/lib.rs", "// the main thing\n");
    project.write("made/x.rs", "main");
    symlink("src", project.path("project/link")).unwrap();

    assert_eq!(project.call("list_files", json!({})).await.told, ".gitignore\nlink@\nmade/\nsrc/\n");
    assert_eq!(project.call("glob", json!({ "pattern": "**/*.rs" })).await.told, "src/lib.rs\nsrc/main.rs\n");
    let found = project.call("search", json!({ "pattern": "main", "glob": "*.rs" })).await;
    assert_eq!(found.told, "src/lib.rs:1:// the main thing\nsrc/main.rs:1:fn main() {}\n");
    assert_eq!(found.shown["kind"], "search");
    assert_eq!(found.shown["locations"][1], json!({ "path": project.path("project/src/main.rs"), "line": 1 }));
    let wrong = project.call("search", json!({ "pattern": "(" })).await;
    assert!(wrong.failure().starts_with("the pattern \"(\": "), "{}", wrong.told);
    assert_eq!(project.call("glob", json!({ "pattern": "*", "path": "none" })).await.failure(), "there is no none");
}
