//! Every method, once.

use rejoin_testing::{TestClient, fold};
use rejoin_wire::Direction;
use serde_json::json;

use crate::world::{agent_that_can, plain_agent};

#[tokio::test]
async fn session_abilities_are_there_whatever_the_agent_can_do() {
    let world = plain_agent().start();
    let client = TestClient::connect(&world.layer);

    let result = client.initialize(json!({})).await;

    let abilities = &result["agentCapabilities"];
    let mut names: Vec<&String> = abilities["sessionCapabilities"].as_object().unwrap().keys().collect();
    names.sort();
    let expected = ["additionalDirectories", "archive", "close", "delete", "fork", "list", "resume", "status", "title"];
    assert_eq!((abilities["loadSession"].clone(), names), (json!(true), expected.map(str::to_owned).iter().collect()));
}

#[tokio::test]
async fn a_session_can_be_made_prompted_listed_and_loaded() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "think hm\nsay hello\ntool t1 Edit\nprogress t1 completed").await;
    let live = fold(&client.updates(&session));

    let rows = client.call("session/list", json!({})).await.unwrap()["sessions"].clone();
    let replay = fold(&world.client().await.load(&session, world.cwd()).await);

    assert_eq!(live, ["thought: hm", "agent: hello", "tool t1: completed"]);
    assert_eq!(replay[1..], live);
    assert_eq!(replay[0], "user: think hm\nsay hello\ntool t1 Edit\nprogress t1 completed");
    assert_eq!((rows[0]["sessionId"].as_str(), rows[0]["cwd"].as_str()), (Some(&*session), Some(world.cwd())));
}

#[tokio::test]
async fn a_resume_replays_nothing() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say hello").await;
    let other = world.client().await;

    other.call("session/resume", json!({ "sessionId": session, "cwd": world.cwd() })).await.unwrap();
    other.turn(&session, "say again").await;

    assert_eq!(fold(&other.updates(&session)), ["agent: again"]);
}

#[tokio::test]
async fn titles_archive_status_and_close_are_ours() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say hello").await;
    let of_session = json!({ "sessionId": session });
    let call = async |method: &str| client.call(method, of_session.clone()).await.unwrap();
    let listed = async |archived: &str| {
        let rows = client.call("session/list", json!({ "archived": archived })).await.unwrap();
        rows["sessions"].as_array().unwrap().len()
    };

    let open = call("session/status").await;
    let titled = client.call("session/set_title", json!({ "sessionId": session, "title": " My  title " })).await;
    call("session/archive").await;
    let archived = (listed("exclude").await, listed("only").await);
    call("session/unarchive").await;
    let unarchived = (listed("exclude").await, listed("only").await);
    call("session/close").await;
    let saved = call("session/status").await;

    assert_eq!((open["status"].as_str(), saved["status"].as_str()), (Some("open"), Some("saved")));
    assert_eq!(titled.unwrap()["title"], "My title");
    assert_eq!((archived, unarchived), ((0, 1), (1, 0)));
}

#[tokio::test]
async fn a_deleted_session_is_gone_here_and_there() {
    let world = agent_that_can(&["close", "delete"]).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say hello").await;
    let of_session = json!({ "sessionId": session });

    client.call("session/delete", of_session.clone()).await.unwrap();
    client.call("session/delete", of_session.clone()).await.unwrap();

    world.to_agents.until(Direction::Out, "session/delete", 1).await;
    let gone = client.call("session/load", json!({ "sessionId": session, "cwd": world.cwd(), "mcpServers": [] })).await;
    let rows = client.call("session/list", json!({})).await.unwrap();
    assert_eq!((gone.unwrap_err().code(), rows["sessions"].clone()), (-32002, json!([])));
}

#[tokio::test]
async fn authenticate_and_logout_go_to_the_agent() {
    let world = plain_agent().start();
    let client = world.client().await;

    client.call("authenticate", json!({ "methodId": "key" })).await.unwrap();
    client.call("logout", json!({})).await.unwrap();

    assert_eq!(world.agent_got("authenticate"), [json!({ "methodId": "key" })]);
    assert_eq!(world.agent_got("logout"), [json!({})]);
}

#[tokio::test]
async fn a_session_that_nobody_has_can_be_deleted_and_nothing_else() {
    let world = plain_agent().start();
    let client = world.client().await;
    for id in ["0123456789abcdef0123456789abcdef", "nope", "../etc"] {
        let of_session = json!({ "sessionId": id });

        let deleted = client.call("session/delete", of_session.clone()).await;
        let closed = client.call("session/close", of_session).await;

        assert_eq!((deleted.is_ok(), closed.unwrap_err().code()), (true, -32002), "{id:?}");
    }
}

#[tokio::test]
async fn a_session_that_nobody_could_have_can_be_deleted() {
    let world = plain_agent().start();
    let client = world.client().await;
    for id in ["", "with a blank", &"long".repeat(51)] {
        let deleted = client.call("session/delete", json!({ "sessionId": id })).await;

        assert!(deleted.is_ok(), "{id:?}: {deleted:?}");
    }
}
