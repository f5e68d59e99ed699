//! Modes, models and options: in force, in step, and told to everyone.

use std::sync::Arc;

use rejoin_testing::{Event, TestClient, fold, updates_in};
use rejoin_wire::Direction;
use serde_json::{Value, json};

use crate::world::{World, agent_that_can, plain_agent};

/// What is in force by a result or an update: the mode, the model, and the options' values by their ids.
fn in_force(told: &Value) -> Value {
    let options = told["configOptions"].as_array().cloned().unwrap_or_default();
    let values =
        options.iter().map(|option| (option["id"].as_str().unwrap().to_owned(), option["currentValue"].clone()));
    json!({
        "mode": told["modes"]["currentModeId"],
        "model": told["models"]["currentModelId"],
        "options": Value::Object(values.collect()),
    })
}

/// The updates about settings that a client got, in a few words.
fn told(client: &TestClient, session: &str) -> Vec<String> {
    let tell = |update: &Value| match update["sessionUpdate"].as_str()? {
        "current_mode_update" => Some(format!("mode {}", update["currentModeId"].as_str()?)),
        "config_option_update" => Some(format!("options {}", in_force(update)["options"])),
        _ => None,
    };
    client.updates(session).iter().filter_map(tell).collect()
}

async fn loaded(world: &World, session: &str) -> Value {
    let client = world.client().await;
    let params = json!({ "sessionId": session, "cwd": world.cwd(), "mcpServers": [] });
    client.call("session/load", params).await.unwrap()
}

/// A client with a session, and another that follows it.
async fn two_clients(world: &World) -> (TestClient, TestClient, String) {
    let (client, session) = world.client_with_session().await;
    let other = world.client().await;
    other.load(&session, world.cwd()).await;
    (client, other, session)
}

/// Waits until everything that was told to `client` has come.
async fn settle(client: &TestClient, session: &str) {
    client.call("session/status", json!({ "sessionId": session })).await.unwrap();
}

#[tokio::test]
async fn a_mode_that_a_client_sets_is_in_force_as_an_option_too() {
    let world = agent_that_can(&["modes", "models", "options"]).start();
    let (client, other, session) = two_clients(&world).await;

    client.call("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
    settle(&other, &session).await;

    let options = r#"options {"speed":"low","mode":"code","model":"m1"}"#;
    assert_eq!(
        (told(&client, &session), told(&other, &session)),
        (vec![options.into()], vec!["mode code".into(), options.into()])
    );
    assert_eq!(in_force(&loaded(&world, &session).await)["mode"], "code");
    assert_eq!(world.agent_got("session/set_mode").len(), 1);
}

#[tokio::test]
async fn a_model_that_a_client_sets_is_in_force_as_an_option_too() {
    let world = agent_that_can(&["modes", "models", "options"]).start();
    let (client, other, session) = two_clients(&world).await;

    client.call("session/set_model", json!({ "sessionId": session, "modelId": "m2" })).await.unwrap();
    settle(&other, &session).await;

    let options = r#"options {"speed":"low","mode":"ask","model":"m2"}"#;
    assert_eq!((told(&client, &session), told(&other, &session)), (vec![options.into()], vec![options.into()]));
    let expected = json!({ "mode": "ask", "model": "m2", "options": { "speed": "low", "mode": "ask", "model": "m2" } });
    assert_eq!(in_force(&loaded(&world, &session).await), expected);
}

#[tokio::test]
async fn an_option_of_the_category_mode_sets_the_mode() {
    let world = agent_that_can(&["modes", "models", "options"]).start();
    let (client, other, session) = two_clients(&world).await;

    let params = json!({ "sessionId": session, "configId": "mode", "value": "code" });
    let result = client.call("session/set_config_option", params).await.unwrap();
    settle(&other, &session).await;

    assert_eq!(in_force(&result)["options"]["mode"], "code");
    assert_eq!(told(&client, &session), ["mode code"]);
    assert_eq!(told(&other, &session)[0], "mode code");
    assert_eq!(in_force(&loaded(&world, &session).await)["mode"], "code");
}

#[tokio::test]
async fn a_mode_that_the_agent_sets_is_in_force_as_an_option_too() {
    let world = agent_that_can(&["modes", "models", "options"]).start();
    let (client, session) = world.client_with_session().await;

    client.turn(&session, "set mode code").await;

    let options = r#"options {"speed":"low","mode":"code","model":"m1"}"#;
    assert_eq!(told(&client, &session), ["mode code", options]);
    assert_eq!(in_force(&loaded(&world, &session).await)["options"]["mode"], "code");
}

#[tokio::test]
async fn an_option_that_the_agent_sets_is_in_force_as_mode_and_model_too() {
    let world = agent_that_can(&["modes", "models", "options"]).start();
    let (client, session) = world.client_with_session().await;

    client.turn(&session, "set model m2").await;

    let expected = json!({ "mode": "ask", "model": "m2", "options": { "speed": "low", "mode": "ask", "model": "m2" } });
    assert_eq!(in_force(&loaded(&world, &session).await), expected);
}

#[tokio::test]
async fn what_is_in_force_is_set_again_in_an_agent_that_was_started_anew() {
    let world = agent_that_can(&["modes", "models", "options"]).start();
    let (client, session) = world.client_with_session().await;
    client.call("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
    let params = json!({ "sessionId": session, "configId": "speed", "value": "high" });
    client.call("session/set_config_option", params).await.unwrap();
    client.prompt(&session, "crash 1").await.error().await;

    client.turn(&session, "say hello").await;

    let options: Vec<Value> =
        world.agent_got("session/set_config_option").iter().map(|params| params["configId"].clone()).collect();
    assert_eq!((world.agent_got("session/set_mode").len(), options), (2, vec![json!("speed"), json!("speed")]));
    assert_eq!(in_force(&loaded(&world, &session).await)["options"]["speed"], "high");
}

#[tokio::test]
async fn options_that_are_on_or_off_are_shown_to_those_who_can_show_them() {
    let world = agent_that_can(&["booleans"]).start();
    let able = world.client_that_can(json!({ "session": { "configOptions": { "boolean": {} } } })).await;
    let unable = world.client().await;
    let params = json!({ "cwd": world.cwd(), "mcpServers": [] });

    let shown = able.call("session/new", params.clone()).await.unwrap();
    let left_out = unable.call("session/new", params).await.unwrap();

    let ids = |result: &Value| in_force(result)["options"].clone();
    assert_eq!(ids(&shown), json!({ "speed": "low", "verbose": false }));
    assert_eq!(ids(&left_out), json!({ "speed": "low" }));
}

#[tokio::test]
async fn an_option_can_be_switched_on() {
    let world = agent_that_can(&["booleans"]).start();
    let client = world.client_that_can(json!({ "session": { "configOptions": { "boolean": {} } } })).await;
    let session = client.new_session(world.cwd()).await;

    let params = json!({ "sessionId": session, "configId": "verbose", "type": "boolean", "value": true });
    let result = client.call("session/set_config_option", params).await.unwrap();

    assert_eq!(in_force(&result)["options"], json!({ "speed": "low", "verbose": true }));
    assert_eq!(world.agent_got("session/set_config_option")[0]["value"], true);
}

#[tokio::test]
async fn what_is_not_offered_and_older_names_are_refused_by_the_fields_name() {
    let world = agent_that_can(&["modes", "models", "options"]).start();
    let (client, session) = world.client_with_session().await;
    for (method, params, field) in [
        ("session/set_mode", json!({ "modeId": "no" }), "modeId"),
        ("session/set_mode", json!({ "mode": "code" }), "modeId"),
        ("session/set_mode", json!({}), "modeId"),
        ("session/set_model", json!({ "modelId": "no" }), "modelId"),
        ("session/set_model", json!({ "model": "m2" }), "modelId"),
        ("session/set_config_option", json!({ "configId": "no", "value": "x" }), "configId"),
        ("session/set_config_option", json!({ "optionId": "mode", "value": "code" }), "configId"),
        ("session/set_config_option", json!({ "configId": "mode", "valueId": "code" }), "value"),
        ("session/set_config_option", json!({ "configId": "mode", "value": "no" }), "value"),
        ("session/set_config_option", json!({ "configId": "mode", "value": 7 }), "value"),
        ("session/prompt", json!({ "messages": [] }), "prompt"),
        ("session/prompt", json!({ "prompt": [{}] }), "prompt[0].type"),
        ("session/set_title", json!({ "title": " " }), "title"),
    ] {
        let mut with_id = params.clone();
        with_id["sessionId"] = json!(session);

        let error = client.call(method, with_id).await.unwrap_err();

        let data: Value = serde_json::from_str(error.as_json()).unwrap();
        assert_eq!((error.code(), data["data"]["field"].as_str()), (-32602, Some(field)), "{method} {params}");
    }
}

#[tokio::test]
async fn an_agent_that_does_not_answer_a_choice_in_a_turn_does_not_keep_the_client_waiting() {
    let world = agent_that_can(&["modes"]).with("--deaf-to", "session/set_mode").start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate").await;
    client.until_said(&session, "one").await;

    client.call("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
    client.go(&session).await;
    turn.result().await;

    assert_eq!(in_force(&loaded(&world, &session).await)["mode"], "code");
}

/// The titles that a client was told, in order.
fn titles(client: &TestClient, session: &str) -> Vec<Value> {
    let infos = client.updates(session).into_iter().filter(|update| update["sessionUpdate"] == "session_info_update");
    infos.map(|update| update["title"].clone()).collect()
}

async fn listed_title(client: &TestClient) -> Value {
    client.call("session/list", json!({})).await.unwrap()["sessions"][0]["title"].clone()
}

#[tokio::test]
async fn the_title_comes_from_the_first_prompt_and_is_told_once() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;

    client.turn(&session, "Fix the login").await;
    client.turn(&session, "And the logout").await;

    assert_eq!(titles(&client, &session), [json!("Fix the login")]);
    assert_eq!(listed_title(&client).await, "Fix the login");
}

#[tokio::test]
async fn the_agents_title_replaces_the_first_and_null_takes_it_away_again() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "Fix the login").await;

    client.turn(&session, r#"emit {"sessionUpdate":"session_info_update","title":"Login fixes"}"#).await;
    let better = listed_title(&client).await;
    client.turn(&session, r#"emit {"sessionUpdate":"session_info_update","title":null}"#).await;

    assert_eq!((better, listed_title(&client).await), (json!("Login fixes"), json!("Fix the login")));
}

#[tokio::test]
async fn a_manual_title_wins() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "Fix the login").await;
    client.call("session/set_title", json!({ "sessionId": session, "title": "Mine" })).await.unwrap();

    client.turn(&session, r#"emit {"sessionUpdate":"session_info_update","title":"Login fixes"}"#).await;

    assert_eq!(titles(&client, &session).last(), Some(&json!("Mine")));
    assert_eq!(listed_title(&client).await, "Mine");
}

#[tokio::test]
async fn an_agents_commands_are_told_to_whoever_joins() {
    let world = agent_that_can(&["commands"]).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say hello").await;
    let (loads, resumes) = (world.client().await, world.client().await);

    let replay = loads.load(&session, world.cwd()).await;
    resumes.call("session/resume", json!({ "sessionId": session, "cwd": world.cwd() })).await.unwrap();
    settle(&resumes, &session).await;

    let commands =
        |updates: &[Value]| updates.iter().filter(|one| one["sessionUpdate"] == "available_commands_update").count();
    assert_eq!((commands(&replay), commands(&resumes.updates(&session))), (1, 1));
    assert_eq!(fold(&resumes.updates(&session)), Vec::<String>::new());
}

/// What is set in the agent itself, by its own words.
async fn set_in_agent(client: &TestClient, session: &str) -> Value {
    client.turn(session, "settings").await;
    serde_json::from_str(client.updates(session).last().unwrap()["content"]["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn what_is_set_while_the_agent_opens_the_session_is_in_force_afterwards() {
    for (ability, method) in [("load", "session/load"), ("resume", "session/resume")] {
        let abilities = [ability, "modes", "models", "options"];
        let world = agent_that_can(&abilities).with("--holds", method).with_memory().start();
        let (client, session) = world.client_with_session().await;
        client.turn(&session, "say one").await;
        client.prompt(&session, "crash 1").await.error().await;
        let turn = client.prompt(&session, "say two").await;
        world.to_agents.until(Direction::Out, method, 1).await;

        client.call("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
        let params = json!({ "sessionId": session, "configId": "speed", "value": "high" });
        client.call("session/set_config_option", params).await.unwrap();
        client.notify("_go", json!({})).await;
        turn.result().await;

        let agents = set_in_agent(&client, &session).await;
        let ours = in_force(&loaded(&world, &session).await);
        assert_eq!((&agents["mode"], &agents["speed"]), (&json!("code"), &json!("high")), "{ability}");
        assert_eq!((&ours["mode"], &ours["options"]["speed"]), (&json!("code"), &json!("high")), "{ability}");
    }
}

#[tokio::test]
async fn what_is_set_right_before_the_prompt_that_opens_the_session_is_in_force_in_its_turn() {
    for abilities in [&["modes", "options"][..], &["modes", "options", "load"], &["modes", "options", "resume"]] {
        let state = tempfile::tempdir().unwrap();
        let setup = || agent_that_can(abilities).with("--state", state.path().to_str().unwrap());
        let first = setup().start();
        let (client, session) = first.client_with_session().await;
        client.turn(&session, "say one").await;
        client.leave().await;
        let world = setup().store(Arc::clone(&first.store)).start();
        let other = world.client().await;
        other.load(&session, first.cwd()).await;

        let set = other.begin("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await;
        let turn = other.prompt(&session, "settings").await;
        set.result().await;
        turn.result().await;

        let params = json!({ "sessionId": session, "cwd": first.cwd(), "mcpServers": [] });
        let ours = in_force(&world.client().await.call("session/load", params).await.unwrap());
        let said = fold(&other.updates(&session)).pop().unwrap();
        assert_eq!(ours["mode"], "code", "{abilities:?}");
        assert!(said.contains(r#""mode":"code""#), "{abilities:?}: {said}");
    }
}

#[tokio::test]
async fn what_an_agent_does_not_tell_when_it_opens_a_session_again_stays_and_is_set_again() {
    for ability in ["load", "resume"] {
        let abilities = [ability, "modes", "models", "options"];
        let world = agent_that_can(&abilities).with("--fault", "tells-no-settings").with_memory().start();
        let (client, session) = world.client_with_session().await;
        client.turn(&session, "say one").await;
        client.call("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
        let before = loaded(&world, &session).await;
        client.prompt(&session, "crash 1").await.error().await;

        let agents = set_in_agent(&client, &session).await;

        let after = loaded(&world, &session).await;
        assert_eq!((&agents["mode"], &after), (&json!("code"), &before), "{ability}");
        assert_eq!(in_force(&after)["options"], json!({ "speed": "low", "mode": "code", "model": "m1" }), "{ability}");
    }
}

#[tokio::test]
async fn a_refusal_to_set_what_is_in_force_already_is_not_told() {
    let setup = agent_that_can(&["resume", "modes"]).with("--fault", "tells-no-settings");
    let world = setup.with("--fault", "refuses-what-is-set").with_memory().start();
    let client = world.client_that_can(json!({ "session": { "notices": {} } })).await;
    let session = client.new_session(world.cwd()).await;
    client.call("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
    client.turn(&session, "say one").await;
    client.prompt(&session, "crash 1").await.error().await;

    client.turn(&session, "say two").await;

    assert_eq!(world.agent_got("session/set_mode").len(), 2);
    let titles: Vec<Value> = client.updates(&session).iter().map(|update| update["title"].clone()).collect();
    assert!(!titles.contains(&json!("Not all settings could be restored")), "{titles:?}");
}

#[tokio::test]
async fn settings_of_another_agent_are_not_named() {
    let first = agent_that_can(&["effort", "options"]).start();
    let (client, session) = first.client_with_session().await;
    for (option, value) in [("model", "m2"), ("effort", "high")] {
        let params = json!({ "sessionId": session, "configId": option, "value": value });
        client.call("session/set_config_option", params).await.unwrap();
    }
    client.turn(&session, "say one").await;
    client.leave().await;
    let world = agent_that_can(&["booleans"]).with("--name", "another").store(Arc::clone(&first.store)).start();
    let other = world.client_that_can(json!({ "session": { "notices": {} } })).await;
    other.load(&session, first.cwd()).await;

    other.turn(&session, "say two").await;

    let titles: Vec<Value> = other.updates(&session).iter().map(|update| update["title"].clone()).collect();
    assert!(!titles.contains(&json!("Not all settings could be restored")), "{titles:?}");
}

#[tokio::test]
async fn a_choice_that_the_agent_refuses_late_is_taken_back_and_everyone_is_told() {
    let refused = "session/set_mode";
    let world = agent_that_can(&["modes", "options"]).with("--holds", refused).with("--refuses", refused).start();
    let (client, other, session) = two_clients(&world).await;
    client.turn(&session, "say one").await;

    client.call(refused, json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
    client.notify("_go", json!({})).await;

    let is_back = |events: &[Event]| {
        let is_mode = |update: &Value| update["sessionUpdate"] == "current_mode_update";
        (updates_in(events, &session).into_iter().rfind(is_mode)?["currentModeId"] == "ask").then_some(())
    };
    client.until("the mode from before", is_back).await;
    other.until("the mode from before", is_back).await;
    let ours = in_force(&loaded(&world, &session).await);
    assert_eq!((&ours["mode"], &ours["options"]["mode"]), (&json!("ask"), &json!("ask")));
    assert_eq!(world.agent_got("$/cancel_request").len(), 0);
}

#[tokio::test]
async fn what_an_agent_says_while_it_is_brought_to_the_settings_is_no_news() {
    for abilities in [&["modes", "models", "options"][..], &["modes", "models", "options", "resume"]] {
        let world = agent_that_can(abilities).with("--fault", "tells-choices").with_memory().start();
        let (client, session) = world.client_with_session().await;
        client.turn(&session, "say one").await;
        client.call("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
        client.call("session/set_model", json!({ "sessionId": session, "modelId": "m2" })).await.unwrap();
        client.prompt(&session, "crash 1").await.error().await;
        let from = client.mark();

        client.turn(&session, "settings").await;

        let updates = client.updates_since(from, &session);
        let options: Vec<Value> =
            updates.iter().filter(|one| one["sessionUpdate"] == "config_option_update").cloned().collect();
        let said = fold(&updates).concat();
        let ours = in_force(&loaded(&world, &session).await);
        assert_eq!((options, ours["model"].as_str(), ours["mode"].as_str()), (Vec::new(), Some("m2"), Some("code")));
        assert!(said.contains(r#""model":"m2""#) && !said.contains("[set "), "{abilities:?}: {said}");
    }
}

#[tokio::test]
async fn an_option_that_the_choice_of_the_model_resets_is_set_again() {
    let world = agent_that_can(&["options", "effort"]).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    for (option, value) in [("model", "m2"), ("effort", "high")] {
        let params = json!({ "sessionId": session, "configId": option, "value": value });
        client.call("session/set_config_option", params).await.unwrap();
    }
    client.prompt(&session, "crash 1").await.error().await;

    let agents = set_in_agent(&client, &session).await;

    assert_eq!((&agents["model"], &agents["effort"]), (&json!("m2"), &json!("high")));
    assert_eq!(in_force(&loaded(&world, &session).await)["options"]["effort"], "high");
}

#[tokio::test]
async fn settings_that_the_agent_no_longer_has_are_named_together_and_once() {
    let state = tempfile::tempdir().unwrap();
    let setup = |abilities: &[&str]| agent_that_can(abilities).with("--state", state.path().to_str().unwrap());
    let first = setup(&["load", "modes", "effort", "options"]).start();
    let (client, session) = first.client_with_session().await;
    client.turn(&session, "say one").await;
    client.call("session/set_mode", json!({ "sessionId": session, "modeId": "code" })).await.unwrap();
    let params = json!({ "sessionId": session, "configId": "effort", "value": "high" });
    client.call("session/set_config_option", params).await.unwrap();
    client.leave().await;
    let world = setup(&["load", "booleans"]).store(Arc::clone(&first.store)).start();
    let other = world.client_that_can(json!({ "session": { "notices": {} } })).await;
    other.load(&session, first.cwd()).await;

    other.turn(&session, "say two").await;
    other.prompt(&session, "crash 1").await.error().await;
    other.turn(&session, "say three").await;

    let notices: Vec<Value> =
        other.updates(&session).into_iter().filter(|update| update["sessionUpdate"] == "notice").collect();
    let [notice] = notices.as_slice() else { panic!("{notices:?}") };
    let told = notice["description"].as_str().unwrap();
    assert!(
        told.contains(r#""high" for the option `effort`"#) && told.contains(r#""code" for the option `mode`"#),
        "{told}"
    );
}

#[tokio::test]
async fn the_current_model_is_one_of_those_offered_also_if_the_option_has_other_values() {
    let abilities = ["models", "options", "load"];
    let world = agent_that_can(&abilities).with("--fault", "long-models").with_memory().start();
    let client = world.client_that_can(json!({ "session": { "notices": {} } })).await;
    let session = client.new_session(world.cwd()).await;
    client.turn(&session, "say one").await;

    let params = json!({ "sessionId": session, "configId": "model", "value": "m2" });
    client.call("session/set_config_option", params).await.unwrap();
    let before = in_force(&loaded(&world, &session).await);
    client.prompt(&session, "crash 1").await.error().await;
    let agents = set_in_agent(&client, &session).await;

    let after = in_force(&loaded(&world, &session).await);
    let is_offered = |told: &Value| ["m1[long]", "m2[long]"].contains(&told["model"].as_str().unwrap());
    assert!(is_offered(&before) && is_offered(&after), "{before} {after}");
    assert_eq!((&agents["model"], &after["options"]["model"]), (&json!("m2"), &json!("m2")));
    assert!(client.updates(&session).iter().all(|update| update["sessionUpdate"] != "notice"));
}
