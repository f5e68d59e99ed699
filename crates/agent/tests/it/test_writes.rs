//! Writes: over what the model has seen, in the form that the file has, and never as a way to run something.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::{Arc, Mutex};

use rejoin_testing::Event;
use serde_json::{Value, json};

use crate::project::{Project, choose};
use crate::world::{openai, said};

/// The texts of the permission requests behind `mark`, and the kinds of their options.
fn questions(project: &Project, mark: usize) -> Vec<(String, Vec<Value>)> {
    let question = |event: Event| match event {
        Event::Asked { method, params, .. } if method == "session/request_permission" => {
            let content = params["toolCall"]["content"].as_array().unwrap().clone();
            let text = content.iter().filter_map(|content| content["content"]["text"].as_str()).collect();
            let kinds = params["options"].as_array().unwrap().iter().map(|option| option["kind"].clone()).collect();
            Some((text, kinds))
        }
        _ => None,
    };
    project.client.since(mark).into_iter().filter_map(question).collect()
}

#[tokio::test]
async fn a_write_that_other_programs_run_is_asked_for_each_time_in_every_mode() {
    for capabilities in [json!({}), json!({ "fs": { "readTextFile": true, "writeTextFile": true } })] {
        let project = Project::with_client(capabilities, "code").await;
        project.write(".git/config", "[core]\n");
        symlink(".git", project.path("project/innocent")).unwrap();
        symlink(".git/config", project.path("project/x")).unwrap();
        project.client.answer_with(|method, params| {
            Some(match method {
                "fs/read_text_file" => {
                    Ok(json!({ "content": std::fs::read_to_string(params["path"].as_str().unwrap()).unwrap() }))
                }
                "fs/write_text_file" => {
                    std::fs::write(params["path"].as_str().unwrap(), params["content"].as_str().unwrap()).unwrap();
                    Ok(Value::Null)
                }
                _ => choose("always"),
            })
        });
        let edit = json!({ "path": "x", "old_text": "[core]", "new_text": "[core]\nfsmonitor=evil" });
        for mode in ["code", "ask"] {
            project.set_mode(mode).await;
            for (tool, arguments) in [
                ("write_file", json!({ "path": ".git/config", "content": "evil" })),
                ("write_file", json!({ "path": "a/../.git/config", "content": "evil" })),
                ("write_file", json!({ "path": "x", "content": "evil" })),
                ("write_file", json!({ "path": "innocent/hooks/post-checkout", "content": "evil" })),
                ("edit_file", edit.clone()),
                ("write_file", json!({ "path": ".GIT/config", "content": "evil" })),
                ("write_file", json!({ "path": "sub/.envrc", "content": "evil" })),
                ("write_file", json!({ "path": ".vscode/tasks.json", "content": "evil" })),
            ] {
                let mark = project.client.mark();
                let called = project.call(tool, arguments.clone()).await;
                let asked = questions(&project, mark);
                assert_eq!(asked.len(), 1, "{mode} {arguments}");
                let (why, kinds) = &asked[0];
                assert!(why.contains("you are asked each time"), "{why}");
                assert_eq!(*kinds, [json!("allow_once"), json!("reject_once")], "{arguments}");
                assert_eq!(called.failure(), "the user did not allow it", "{arguments}");
            }
        }
        assert_eq!(project.read(".git/config").unwrap(), "[core]\n");
    }
}

#[tokio::test]
async fn what_is_not_run_is_written_freely_in_code_mode() {
    let project = Project::new().await;
    project.client.answer_with(|_, _| Some(choose("reject")));
    for path in ["src/main.rs", ".gitignore", ".github/workflows/ci.yml", "config", "git/config", "env"] {
        let called = project.call("write_file", json!({ "path": path, "content": "x" })).await;
        assert_eq!(called.status(), "completed", "{path}: {}", called.told);
    }
}

#[tokio::test]
async fn the_user_may_allow_a_write_that_other_programs_run() {
    let project = Project::new().await;
    let called = project.call("write_file", json!({ "path": ".envrc", "content": "export A=1\n" })).await;
    assert_eq!((called.status(), project.read(".envrc").as_deref()), ("completed", Some("export A=1\n")));
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let project = Project::new().await;
    project.write("a.txt", "one\n");
    project.call("read_file", json!({ "path": "a.txt" })).await;
    project.write("a.txt", "one, and the user's\n");

    let stale = project.call("write_file", json!({ "path": "./a.txt", "content": "two\n" })).await;
    assert_eq!(stale.failure(), "a.txt was changed since you last read it, so it was left alone; read it again");
    assert_eq!(project.read("a.txt").unwrap(), "one, and the user's\n");

    project.call("read_file", json!({ "path": "a.txt" })).await;
    for content in ["two\n", "three\n"] {
        let fresh = project.call("write_file", json!({ "path": "a.txt", "content": content })).await;
        assert_eq!((fresh.status(), project.read("a.txt").as_deref()), ("completed", Some(content)));
    }
    project.write("a.txt", "the user's again\n");
    let stale = project.call("write_file", json!({ "path": "a.txt", "content": "four\n" })).await;
    assert!(stale.failure().contains("was changed since you last read it"));
}

#[tokio::test]
async fn an_edit_keeps_what_others_changed_and_does_not_make_the_file_read() {
    let project = Project::new().await;
    project.write("a.txt", "a = 1\nb = 1\n");
    project.call("read_file", json!({ "path": "a.txt" })).await;
    project.write("a.txt", "a = 1\nb = 2\n");

    project.call("edit_file", json!({ "path": "a.txt", "old_text": "a = 1", "new_text": "a = 3" })).await;
    assert_eq!(project.read("a.txt").unwrap(), "a = 3\nb = 2\n");
    let stale = project.call("write_file", json!({ "path": "a.txt", "content": "x" })).await;
    assert!(stale.failure().contains("was changed since you last read it"));
}

#[tokio::test]
async fn a_file_that_the_client_has_is_not_overwritten_either_once_it_changed() {
    let project = Project::with_client(json!({ "fs": { "readTextFile": true, "writeTextFile": true } }), "code").await;
    project.write("a.txt", "saved");
    let path = project.path("project/a.txt").display().to_string();
    let buffers = Arc::new(Mutex::new(BTreeMap::from([(path.clone(), "unsaved".to_owned())])));
    let open = Arc::clone(&buffers);
    project.client.answer_with(move |method, params| {
        let mut open = open.lock().unwrap();
        let path = params["path"].as_str().unwrap_or_default();
        if method == "fs/write_text_file" {
            open.insert(path.to_owned(), params["content"].as_str().unwrap().to_owned());
        }
        Some(Ok(json!({ "content": open[path] })))
    });
    project.call("read_file", json!({ "path": "a.txt" })).await;
    buffers.lock().unwrap().insert(path.clone(), "typed meanwhile".to_owned());
    let stale = project.call("write_file", json!({ "path": "a.txt", "content": "model" })).await;
    assert!(stale.failure().contains("was changed since you last read it"));
    assert_eq!(buffers.lock().unwrap()[&path], "typed meanwhile");
}

#[tokio::test]
async fn a_file_that_was_never_read_or_is_gone_may_be_written() {
    let project = Project::new().await;
    project.write("never.txt", "old");
    project.write("gone.txt", "old");
    project.call("read_file", json!({ "path": "gone.txt" })).await;
    std::fs::remove_file(project.path("project/gone.txt")).unwrap();
    for path in ["never.txt", "gone.txt"] {
        let called = project.call("write_file", json!({ "path": path, "content": "new" })).await;
        assert_eq!((called.status(), project.read(path).as_deref()), ("completed", Some("new")), "{path}");
    }
}

#[tokio::test]
async fn line_ends_and_a_byte_order_mark_stay_as_they_are() {
    let project = Project::new().await;
    project.write("a.txt", "\u{feff}one\r\ntwo\r\nthree");

    project.call("edit_file", json!({ "path": "a.txt", "old_text": "one\ntwo", "new_text": "1\n2" })).await;
    assert_eq!(project.read("a.txt").unwrap(), "\u{feff}1\r\n2\r\nthree");
    project.call("edit_file", json!({ "path": "a.txt", "old_text": "three", "new_text": "3\n4" })).await;
    assert_eq!(project.read("a.txt").unwrap(), "\u{feff}1\r\n2\r\n3\r\n4");
    project.call("write_file", json!({ "path": "a.txt", "content": "new\nlines\n" })).await;
    assert_eq!(project.read("a.txt").unwrap(), "\u{feff}new\r\nlines\r\n");
    project.call("write_file", json!({ "path": "b.txt", "content": "new\nlines" })).await;
    assert_eq!(project.read("b.txt").unwrap(), "new\nlines");
}

#[tokio::test]
async fn a_write_keeps_mode_and_links() {
    let project = Project::new().await;
    let at = |name: &str| project.path("project").join(name);
    project.write("real.sh", "old");
    std::fs::set_permissions(at("real.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real.sh", at("link.sh")).unwrap();
    project.write("one.txt", "old");
    std::fs::hard_link(at("one.txt"), at("other.txt")).unwrap();

    project.call("write_file", json!({ "path": "link.sh", "content": "new" })).await;
    project.call("write_file", json!({ "path": "one.txt", "content": "new" })).await;

    assert!(std::fs::symlink_metadata(at("link.sh")).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(at("real.sh")).unwrap().mode() & 0o7777, 0o750);
    assert_eq!((project.read("real.sh").as_deref(), project.read("other.txt").as_deref()), (Some("new"), Some("new")));
    let mut names: Vec<_> = std::fs::read_dir(at("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["link.sh", "one.txt", "other.txt", "real.sh"]);
}

#[tokio::test]
async fn what_the_model_knows_of_files_outlives_a_restart() {
    let mut world = openai(Vec::new()).await;
    let (client, session) = world.session().await;
    client.call("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
    let path = std::path::Path::new(world.cwd()).join("a.txt");
    std::fs::write(&path, "one").unwrap();
    client.turn(&session, "/call read_file {\"path\":\"a.txt\"}").await;
    std::fs::write(&path, "the user's").unwrap();

    let client = world.restart(client, &session).await;
    client.turn(&session, "/call write_file {\"path\":\"a.txt\",\"content\":\"the model's\"}").await;

    let told = said(&client, &session);
    assert!(told.contains("a.txt was changed since you last read it"), "{told}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "the user's");
}
