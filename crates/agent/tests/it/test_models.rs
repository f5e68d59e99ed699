//! Which models there are, and what can be chosen.

use rejoin_agent::{AgentConfig, KeySource, ProviderConfig, ProviderKind};
use rejoin_testing::TestClient;
use serde_json::{Value, json};

use crate::wire::{Wire, says};
use crate::world::{World, openai, provider, said, world};

async fn options(client: &TestClient, world: &World) -> Value {
    let made = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await.unwrap();
    made["configOptions"].clone()
}

fn option<'a>(options: &'a Value, id: &str) -> Option<&'a Value> {
    options.as_array().unwrap().iter().find(|option| option["id"] == id)
}

/// The values of a grouped option, by group.
fn groups(option: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let values =
        |group: &Value| group["options"].as_array().unwrap().iter().map(|value| text(&value["value"])).collect();
    option["options"].as_array().unwrap().iter().map(|group| (text(&group["group"]), values(group))).collect()
}

#[tokio::test]
async fn models_are_those_configured_and_listed_of_providers_that_can_be_asked() {
    let wire = Wire::start(Vec::new()).await;
    let base_url = Some(format!("{}/v1", wire.url));
    let models = vec!["own".to_owned(), "beta".to_owned()];
    let local = ProviderConfig { name: "local".to_owned(), base_url, models, ..provider(ProviderKind::OpenAi) };
    let dead = ProviderConfig {
        name: "dead".to_owned(),
        base_url: Some("http://127.0.0.1:1".to_owned()),
        models: vec!["one".to_owned()],
        ..provider(ProviderKind::Anthropic)
    };
    let keyless = ProviderConfig { key: KeySource::None, ..provider(ProviderKind::Gemini) };
    let world = World::start(wire, AgentConfig { providers: vec![local, dead, keyless], ..AgentConfig::default() });
    let (client, _) = world.session().await;
    let options = options(&client, &world).await;
    let expected = [
        ("offline", vec!["offline/echo"]),
        ("local", vec!["local/own", "local/alpha", "local/beta"]),
        ("dead", vec!["dead/one"]),
    ];
    let expected = expected.map(|(group, values)| (group.to_owned(), values.into_iter().map(str::to_owned).collect()));
    assert_eq!(groups(option(&options, "model").unwrap()), expected);
}

#[tokio::test]
async fn a_list_that_is_broken_stops_nothing() {
    let world = openai(vec![says("hello")]).await;
    world.wire.list(&json!([[[]], { "no": "id" }, null]));
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "hi").await, "end_turn");
}

#[tokio::test]
async fn a_session_keeps_its_model_whatever_its_provider_lists() {
    for listed in [json!({ "data": [{ "id": "gamma" }] }), json!("no list")] {
        let mut world = openai(vec![says("one"), says("two")]).await;
        let (client, session) = world.session().await;
        let choice = json!({ "sessionId": session, "configId": "model", "value": "openai/beta" });
        client.call("session/set_config_option", choice).await.unwrap();
        client.turn(&session, "first").await;
        world.wire.list(&listed);
        let client = world.restart(client, &session).await;
        client.turn(&session, "second").await;
        assert_eq!((&world.wire.last()["model"], said(&client, &session).as_str()), (&json!("beta"), "onetwo"));
    }
}

#[tokio::test]
async fn the_model_that_sessions_begin_with_can_be_chosen_again() {
    let world = world(ProviderKind::OpenAi, "unlisted", vec![says("hello")]).await;
    let (client, session) = world.session().await;
    for model in ["openai/alpha", "openai/unlisted"] {
        let choice = json!({ "sessionId": session, "configId": "model", "value": model });
        let answer = client.call("session/set_config_option", choice).await.unwrap();
        assert_eq!(option(&answer["configOptions"], "model").unwrap()["currentValue"], model);
    }
}

#[tokio::test]
async fn options_follow_the_model() {
    let world = world(ProviderKind::OpenAi, "gpt-5", vec![says("hello")]).await;
    let (client, session) = world.session().await;
    let options = options(&client, &world).await;
    assert_eq!(option(&options, "temperature").unwrap()["currentValue"], "medium");
    let thinking = option(&options, "thinking").unwrap();
    assert_eq!((&thinking["currentValue"], &thinking["category"]), (&json!("default"), &json!("thought_level")));
    let choose = async |id: &str, value: &str| {
        let params = json!({ "sessionId": session, "configId": id, "value": value });
        client.call("session/set_config_option", params).await.unwrap()["configOptions"].clone()
    };
    choose("thinking", "low").await;
    client.turn(&session, "hi").await;
    let body = world.wire.last();
    assert_eq!((&body["reasoning_effort"], body.get("temperature")), (&json!("low"), None));
    assert!(option(&choose("model", "openai/alpha").await, "thinking").is_none());
}
