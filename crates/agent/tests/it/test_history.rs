//! The conversation that models are told, also after a restart.

use serde_json::json;

use crate::wire::{calls, says};
use crate::world::{openai, roles};

#[tokio::test]
async fn the_conversation_is_whole_after_a_restart() {
    let mut world = openai(vec![calls("one", "no_such_tool", "{\"a\": 1}"), says("I see."), says("Yes.")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "look").await;
    let told = world.wire.last()["messages"].clone();
    let client = world.restart(client, &session).await;
    client.turn(&session, "and now?").await;

    let body = world.wire.last();
    assert_eq!(roles(&body), ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(body["messages"].as_array().unwrap()[..4], told.as_array().unwrap()[..4]);
}

#[tokio::test]
async fn commands_are_not_told() {
    let world = openai(vec![says("one"), says("two")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    client.turn(&session, "/help").await;
    client.turn(&session, "second").await;
    assert_eq!(roles(&world.wire.last()), ["user", "assistant", "user"]);
}

#[tokio::test]
async fn what_the_project_wants_is_told_in_every_mode() {
    let world = openai(vec![says("one"), says("two")]).await;
    std::fs::write(format!("{}/AGENTS.md", world.cwd()), "Write short words.").unwrap();
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    client.call("session/set_mode", json!({ "sessionId": session, "modeId": "architect" })).await.unwrap();
    client.turn(&session, "second").await;
    let systems: Vec<String> = world
        .wire
        .asked()
        .iter()
        .map(|asked| asked.body["messages"][0]["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        systems.iter().all(|system| system.contains("Write short words.")) && systems[0] != systems[1],
        "{systems:?}"
    );
}

#[tokio::test]
async fn a_fork_and_another_model_know_the_conversation() {
    let world = openai(vec![says("one"), says("two")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    let params = json!({ "sessionId": session, "cwd": world.cwd(), "mcpServers": [] });
    let fork = client.call("session/fork", params).await.unwrap()["sessionId"].as_str().unwrap().to_owned();
    let choice = json!({ "sessionId": fork, "configId": "model", "value": "openai/beta" });
    client.call("session/set_config_option", choice).await.unwrap();
    client.turn(&fork, "second").await;
    let body = world.wire.last();
    assert_eq!((body["model"].as_str().unwrap(), roles(&body)), ("beta", vec!["user", "assistant", "user"]));
}
