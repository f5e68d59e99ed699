//! Settings: what the mode and the option `tools` leave, and what the agent may change of them.

use serde_json::{Value, json};

use crate::project::{Project, choose};

/// One call of each tool of ours that changes something, and of one that does not.
fn calls() -> [(&'static str, Value); 4] {
    [
        ("read_file", json!({ "path": "a.txt" })),
        ("write_file", json!({ "path": "b.txt", "content": "x" })),
        ("edit_file", json!({ "path": "a.txt", "old_text": "old", "new_text": "new" })),
        ("run_command", json!({ "command": "touch c.txt" })),
    ]
}

#[tokio::test]
async fn what_is_not_allowed_is_not_done_and_says_who_forbids_it() {
    for (mode, tools, works, why) in [
        ("architect", "read-write", vec!["read_file"], "the mode architect does not allow it"),
        ("architect", "enabled", vec!["read_file"], "the mode architect does not allow it"),
        ("code", "read-only", vec!["read_file"], "the user has set `tools` to read-only"),
        ("code", "disabled", vec!["read_file", "write_file", "edit_file"], "the user has set `tools` to disabled"),
        ("code", "enabled", vec!["read_file", "write_file", "edit_file", "run_command"], ""),
        ("code", "read-write", vec!["read_file", "write_file", "edit_file", "run_command"], ""),
    ] {
        let project = Project::with_client(json!({}), mode).await;
        project.set_tools(tools).await;
        project.write("a.txt", "old");
        for (tool, arguments) in calls() {
            let called = project.call(tool, arguments).await;
            if works.contains(&tool) {
                assert_eq!(called.status(), "completed", "{tool} in {mode} with {tools}: {}", called.told);
            } else {
                assert_eq!(called.failure(), format!("{tool} can't be used: {why}"), "in {mode} with {tools}");
            }
        }
        let changed =
            (project.read("a.txt").unwrap(), project.read("b.txt").is_some(), project.read("c.txt").is_some());
        let edited = if works.contains(&"edit_file") { "new" } else { "old" };
        let expected = (edited.to_owned(), works.contains(&"write_file"), works.contains(&"run_command"));
        assert_eq!(changed, expected, "in {mode} with {tools}");
    }
}

#[tokio::test]
async fn the_option_is_grouped_and_begins_with_reading_and_writing() {
    let project = Project::new().await;
    let params = json!({ "sessionId": project.session, "configId": "tools", "value": "read-write" });
    let set = project.client.call("session/set_config_option", params).await.unwrap();
    let options = set["configOptions"].as_array().unwrap();
    let tools = options.iter().find(|option| option["id"] == "tools").unwrap();
    let group = |group: &Value| {
        let values = group["options"].as_array().unwrap().iter();
        let values: Vec<&str> = values.filter(|value| value["description"].is_string()).map(id_of).collect();
        format!("{}: {}", group["group"].as_str().unwrap(), values.join(", "))
    };
    let groups: Vec<String> = tools["options"].as_array().unwrap().iter().map(group).collect();
    assert_eq!(groups, ["filesystem: read-only, read-write", "terminal: disabled, enabled"]);
    assert_eq!(tools["currentValue"], "read-write");
}

fn id_of(value: &Value) -> &str {
    value["value"].as_str().unwrap()
}

#[tokio::test]
async fn a_plan_is_shown_in_every_mode_without_asking() {
    let entries = json!([{ "content": "Look", "priority": "high", "status": "in_progress" }]);
    for mode in ["ask", "code", "architect"] {
        let project = Project::with_client(json!({}), mode).await;
        project.set_tools("read-only").await;
        let mark = project.client.mark();
        let called = project.call("update_plan", json!({ "entries": entries })).await;
        let wrong = project.call("update_plan", json!({ "entries": [{ "content": "x", "status": "lost" }] })).await;
        let updates = project.client.updates_since(mark, &project.session);
        let plans: Vec<&Value> = updates.iter().filter(|update| update["sessionUpdate"] == "plan").collect();
        assert_eq!((plans.len(), &plans[0]["entries"]), (1, &entries));
        assert_eq!((called.status(), &called.shown["kind"]), ("completed", &json!("think")));
        assert!(wrong.failure().contains("lost"), "{}", wrong.told);
        assert!(project.asked_since(mark).is_empty());
    }
}

#[tokio::test]
async fn the_agent_works_in_another_mode_once_the_user_agreed() {
    let project = Project::with_client(json!({}), "architect").await;
    project.client.answer_with(|_, _| Some(choose("reject")));
    let refused = project.call("switch_mode", json!({ "mode": "code" })).await;
    assert_eq!(refused.failure(), "the user did not allow it");
    project.call("write_file", json!({ "path": "a.txt", "content": "x" })).await.failure();

    project.client.answer_with(|_, _| Some(choose("allow")));
    let mark = project.client.mark();
    let switched = project.call("switch_mode", json!({ "mode": "code" })).await;

    assert_eq!((switched.status(), &switched.shown["kind"]), ("completed", &json!("switch_mode")));
    let (_, asked) = project.client.until_asked("session/request_permission").await;
    assert_eq!(asked["options"].as_array().unwrap().len(), 2, "always is not offered");
    let updates = project.client.updates_since(mark, &project.session);
    assert!(updates.iter().any(|update| update["currentModeId"] == "code"), "{updates:?}");
    assert_eq!(project.call("write_file", json!({ "path": "a.txt", "content": "x" })).await.status(), "completed");
    let again = project.call("switch_mode", json!({ "mode": "code" })).await;
    let unknown = project.call("switch_mode", json!({ "mode": "party" })).await;
    assert_eq!(again.failure(), "the mode is code already");
    assert_eq!(unknown.failure(), "there is no mode \"party\"; there are ask, code, architect");
}

#[tokio::test]
async fn a_tool_that_nobody_has_is_an_error_of_the_call() {
    let project = Project::new().await;
    assert_eq!(project.call("fly", json!({})).await.failure(), "there is no tool \"fly\" here");
    project.client.turn(&project.session, "/call").await;
    project.client.until_said(&project.session, "There are `read_file`, ").await;
}
