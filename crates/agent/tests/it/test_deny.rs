//! Deny rules: what the configuration denies is refused by every tool, whatever the mode and the user say.

use std::os::unix::fs::symlink;

use rejoin::DenyRules;
use rejoin::deny::DenyList;
use rejoin_agent::AgentConfig;
use serde_json::{Value, json};

use crate::project::Project;

async fn project(capabilities: Value) -> Project {
    let mut deny = DenyRules::default();
    for (list, pattern) in [
        (DenyList::Paths, ".env"),
        (DenyList::Paths, "secrets/**"),
        (DenyList::Commands, "git push"),
        (DenyList::Tools, "update_*"),
    ] {
        deny.add(list, pattern).unwrap();
    }
    let project = Project::with_config(AgentConfig { deny, ..AgentConfig::default() }, capabilities, "code").await;
    project.write(".env", "TOKEN=topsecret");
    project.write("secrets/a.txt", "TOKEN=topsecret");
    project.write("a.txt", "TOKEN, says a");
    symlink(".env", project.path("project/link")).unwrap();
    project
}

#[tokio::test]
async fn a_denied_path_is_neither_read_nor_written_nor_searched() {
    for capabilities in [json!({}), json!({ "fs": { "readTextFile": true, "writeTextFile": true } })] {
        let project = project(capabilities).await;
        let mark = project.client.mark();
        for (tool, arguments) in [
            ("read_file", json!({ "path": ".env" })),
            ("read_file", json!({ "path": "link" })),
            ("read_file", json!({ "path": ".ENV" })),
            ("read_file", json!({ "path": "secrets/a.txt" })),
            ("write_file", json!({ "path": "sub/.env", "content": "x" })),
            ("write_file", json!({ "path": "link", "content": "x" })),
            ("edit_file", json!({ "path": ".env", "old_text": "TOKEN", "new_text": "x" })),
            ("search", json!({ "pattern": "TOKEN", "path": ".env" })),
            ("list_files", json!({ "path": "secrets/sub" })),
            ("run_command", json!({ "command": "cat .env" })),
            ("run_command", json!({ "command": "cat a.txt", "cwd": "secrets/sub" })),
        ] {
            let called = project.call(tool, arguments.clone()).await;
            assert!(called.failure().contains("the user's configuration denies it: `"), "{arguments}: {}", called.told);
            assert!(!called.shown.to_string().contains("topsecret"), "{}", called.shown);
        }
        let found = project.call("search", json!({ "pattern": "TOKEN" })).await;
        assert_eq!(found.told, "a.txt:1:TOKEN, says a\n");
        assert_eq!(project.asked_since(mark), Vec::<String>::new());
        assert_eq!(project.read(".env").unwrap(), "TOKEN=topsecret");
    }
}

#[tokio::test]
async fn a_denied_command_or_tool_is_refused_without_a_question() {
    let project = project(json!({})).await;
    let mark = project.client.mark();
    let pushed = project.call("run_command", json!({ "command": "echo x && sudo git push" })).await;
    assert_eq!(
        pushed.failure(),
        "the command can't be run: the user's configuration denies it: `git push` in deny.commands"
    );
    let planned = project.call("update_plan", json!({ "entries": [] })).await;
    assert_eq!(
        planned.failure(),
        "update_plan can't be used: the user's configuration denies it: `update_*` in deny.tools"
    );
    assert_eq!(project.asked_since(mark), Vec::<String>::new());
}
