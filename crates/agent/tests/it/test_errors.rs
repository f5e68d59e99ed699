//! What goes wrong with providers, and what users are told.

use std::time::Duration;

use rejoin_agent::{AgentConfig, KeySource, ProviderConfig, ProviderKind, Secret};
use serde_json::json;

use crate::wire::{Reply, Wire, chunk, says};
use crate::world::{KEY, World, of_kind, openai, provider, roles, said, world};

const AUTH_REQUIRED: i64 = -32000;

fn failed(status: u16) -> Reply {
    Reply::error(status, &json!({ "error": { "message": format!("made up with {KEY}"), "type": "made_up" } }))
}

#[tokio::test]
async fn a_busy_model_is_asked_again_when_it_wants() {
    let busy = [failed(429).header("retry-after: 1"), failed(503).header("retry-after-ms: 10")];
    let world = openai(busy.into_iter().chain([says("fine"), says("next")]).collect()).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "hi").await, "end_turn");

    // The user is told, once; the model is not.
    let said = said(&client, &session);
    assert!(said.starts_with("The model does not answer yet. openai (127.0.0.1:") && said.ends_with("fine"), "{said}");
    assert_eq!(said.matches("does not answer").count(), 1, "{said}");
    let at: Vec<_> = world.wire.asked().iter().map(|asked| asked.at).collect();
    assert!(at[1] - at[0] >= Duration::from_secs(1), "{:?}", at[1] - at[0]);
    client.turn(&session, "again").await;
    assert_eq!(world.wire.last()["messages"][2]["content"], "fine");
}

#[tokio::test]
async fn a_model_that_stays_busy_is_given_up_with_what_it_said() {
    let world = openai((0..5).map(|_| failed(500).header("retry-after: 0")).collect()).await;
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "hi").await.error().await;
    let text = error.message();
    assert!(
        text.contains("openai") && text.contains("127.0.0.1") && text.contains("500") && text.contains("made up"),
        "{text}"
    );
    assert!(!text.contains(KEY), "{text}");
    assert_eq!(world.wire.asked().len(), 5);
}

#[tokio::test]
async fn a_model_that_wants_too_much_time_is_not_waited_for() {
    let world = openai(vec![failed(429).header("retry-after: 3600")]).await;
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "hi").await.error().await;
    assert!(error.message().contains("429"), "{}", error.message());
}

#[tokio::test]
async fn what_the_user_is_told_of_a_busy_model_is_a_notice_where_the_client_has_them_and_the_model_never_hears_it() {
    let world = openai(vec![failed(529).header("retry-after: 0"), says("fine"), says("next")]).await;
    let (client, session) = world.session_of(json!({ "session": { "notices": {} } })).await;
    client.turn(&session, "hi").await;
    client.turn(&session, "again").await;
    let notices = of_kind(&client, &session, "notice");
    assert_eq!((notices.len(), &notices[0]["title"]), (1, &json!("The model does not answer yet")));
    assert_eq!(said(&client, &session), "finenext");
    assert_eq!(roles(&world.wire.last()), ["user", "assistant", "user"]);
}

#[tokio::test]
async fn an_account_with_nothing_left_is_not_asked_again() {
    let body = json!({ "error": { "message": "You have no credit.", "code": "insufficient_quota" } });
    let world = openai(vec![Reply::error(429, &body)]).await;
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "hi").await.error().await;
    assert!(error.message().contains("You have no credit."), "{}", error.message());
    assert_eq!(world.wire.asked().len(), 1);
}

#[tokio::test]
async fn a_long_wait_is_told_and_can_be_cancelled() {
    let world = openai(vec![failed(429).header("retry-after: 50"), says("late")]).await;
    let (client, session) = world.session().await;
    let turn = client.prompt(&session, "hi").await;
    client.until_said(&session, "The model does not answer yet").await;
    client.cancel(&session).await;
    assert_eq!(turn.result().await["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_refused_key_is_a_missing_login_that_names_the_variable() {
    for status in [401, 403] {
        let world = openai(vec![failed(status)]).await;
        let (client, session) = world.session().await;
        let error = client.prompt(&session, "hi").await.error().await;
        let text = error.message();
        assert_eq!(
            (error.code(), text.contains("OPENAI_API_KEY"), text.contains(KEY)),
            (AUTH_REQUIRED, true, false),
            "{text}"
        );
        assert_eq!(world.wire.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_key_of_a_command_that_has_expired_is_asked_for_again() {
    let wire = Wire::start(vec![failed(401), says("fine"), failed(401), says("more")]).await;
    let folder = tempfile::tempdir().unwrap();
    let script = format!("cd '{}'; echo x >> n; echo key-$(wc -l < n)", folder.path().display());
    let key = KeySource::Command(["sh", "-c", &script].map(str::to_owned).to_vec());
    let base_url = Some(format!("{}/v1", wire.url));
    let provider = ProviderConfig { base_url, key, ..provider(ProviderKind::OpenAi) };
    let model = Some("openai/alpha".parse().unwrap());
    let world = World::start(wire, AgentConfig { model, providers: vec![provider], ..AgentConfig::default() });
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "hi").await, "end_turn");
    assert_eq!(client.turn(&session, "again").await, "end_turn");

    let keys: Vec<bool> = [1, 2, 2, 3]
        .iter()
        .zip(world.wire.asked())
        .map(|(n, asked)| asked.headers.contains(&format!("authorization: bearer key-{n}\r\n")))
        .collect();
    assert_eq!((keys, said(&client, &session)), (vec![true; 4], "finemore".to_owned()));
}

#[tokio::test]
async fn a_key_that_can_not_be_sent_is_told() {
    for key in ["sk-\u{e4}", "one\ntwo"] {
        let wire = Wire::start(Vec::new()).await;
        let key = KeySource::Given(Secret::new(key));
        let provider = ProviderConfig { key, ..provider(ProviderKind::OpenAi) };
        let model = Some("openai/alpha".parse().unwrap());
        let world = World::start(wire, AgentConfig { model, providers: vec![provider], ..AgentConfig::default() });
        let (client, session) = world.session().await;
        let error = client.prompt(&session, "hi").await.error().await;
        let text = error.message();
        assert_eq!((error.code(), text.contains("OPENAI_API_KEY"), text.contains("sk-")), (AUTH_REQUIRED, true, false));
    }
}

#[tokio::test]
async fn a_missing_key_is_told_and_none_is_needed_where_the_address_is_given() {
    let wire = Wire::start(vec![says("hello")]).await;
    let local = ProviderConfig {
        name: "local".to_owned(),
        base_url: Some(format!("{}/v1", wire.url)),
        key: KeySource::None,
        ..provider(ProviderKind::OpenAi)
    };
    let anthropic = ProviderConfig { key: KeySource::None, ..provider(ProviderKind::Anthropic) };
    let model = Some("anthropic/claude".parse().unwrap());
    let world = World::start(wire, AgentConfig { model, providers: vec![local, anthropic], ..AgentConfig::default() });
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "hi").await.error().await;
    assert_eq!(
        (error.code(), error.message().contains("ANTHROPIC_API_KEY")),
        (AUTH_REQUIRED, true),
        "{}",
        error.message()
    );

    let choice = json!({ "sessionId": session, "configId": "model", "value": "local/alpha" });
    client.call("session/set_config_option", choice).await.unwrap();
    assert_eq!(client.turn(&session, "hi").await, "end_turn");
    assert!(!world.wire.asked()[0].headers.contains("authorization"), "{}", world.wire.asked()[0].headers);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_and_what_was_shown_stays() {
    let half =
        Reply::openai(&[chunk(&json!({ "content": "half an " }), None), chunk(&json!({ "content": "answer" }), None)]);
    for reply in [half.cut_after(2), Reply::openai(&[]).cut_after(0)] {
        let replies = vec![reply, says("fine"), says("next")];
        let world = openai(replies).await;
        let (client, session) = world.session().await;
        if let Err(error) = client.prompt(&session, "tell me").await.answer().await {
            let text = error.message();
            assert!(text.contains("openai") && text.contains("127.0.0.1"), "{text}");
            assert_eq!(world.wire.asked().len(), 1);
            client.turn(&session, "go on").await;
            assert_eq!(world.wire.last()["messages"][2]["content"], "half an answer");
        } else {
            // Nothing was shown, so it was asked again.
            assert!(said(&client, &session).ends_with("fine"), "{}", said(&client, &session));
            assert_eq!(world.wire.asked().len(), 2);
        }
    }
}

#[tokio::test]
async fn nobody_there_is_an_error_that_names_the_host() {
    let wire = Wire::start(Vec::new()).await;
    let nowhere = ProviderConfig {
        base_url: Some("http://user:hush@127.0.0.1:1/v1?token=hush".to_owned()),
        ..provider(ProviderKind::OpenAi)
    };
    let model = Some("openai/alpha".parse().unwrap());
    let world = World::start(wire, AgentConfig { model, providers: vec![nowhere], ..AgentConfig::default() });
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "hi").await.error().await;
    let text = error.message();
    assert!(text.contains("openai can't be reached at 127.0.0.1:1") && !text.contains("hush"), "{text}");
}

#[tokio::test]
async fn what_is_no_stream_of_events_is_an_error() {
    let world = openai(vec![Reply::error(404, &json!("no such model")), Reply::error(302, &json!({}))]).await;
    let (client, session) = world.session().await;
    for status in ["404", "302"] {
        let error = client.prompt(&session, "hi").await.error().await;
        assert!(error.message().contains(status), "{}", error.message());
    }
}

#[tokio::test]
async fn a_page_in_place_of_an_answer_is_an_error_that_says_so() {
    let pages =
        [("text/html", "<html>Welcome</html>"), ("application/json", "{\"hello\": \"there\"}"), ("text/plain", "")];
    for (kind, body) in pages {
        for provider in ProviderKind::ALL {
            let world = world(provider, "alpha", vec![Reply::page(kind, body); 3]).await;
            let (client, session) = world.session().await;
            let error = client.prompt(&session, "hi").await.error().await;
            let text = error.message();
            let expected = format!("{} (127.0.0.1:", provider.name());
            assert!(text.contains(&expected) && text.contains("no stream of events"), "{kind}: {text}");
        }
    }
}

#[tokio::test]
async fn a_cancel_ends_a_request_that_has_no_answer_yet() {
    let world = openai(vec![Reply::nothing(), says("next")]).await;
    let (client, session) = world.session().await;
    let turn = client.prompt(&session, "hi").await;
    world.wire.until_asked(1).await;
    client.cancel(&session).await;
    assert_eq!(turn.result().await["stopReason"], "cancelled");
    world.wire.until_left().await;
    assert_eq!(client.turn(&session, "go on").await, "end_turn");
    assert_eq!(roles(&world.wire.last()), ["user", "assistant", "user"]);
}

#[tokio::test]
async fn a_model_without_a_temperature_is_asked_without_one() {
    let refusal = json!({ "error": { "message": "Unsupported value: 'temperature' does not support 0.7" } });
    let world = openai(vec![Reply::error(400, &refusal), says("fine"), says("again")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "hi").await;
    client.turn(&session, "again").await;
    let told: Vec<bool> = world.wire.asked().iter().map(|asked| asked.body.get("temperature").is_some()).collect();
    assert_eq!(told, [true, false, false]);
}
