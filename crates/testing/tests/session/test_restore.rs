//! How a session gets back into an agent, and what is said of it.

use std::sync::Arc;

use rejoin::Restore;
use rejoin_store::{Owner, SqliteStore};
use rejoin_testing::{TempStore, TestClient, chunk, fold, found, prompt, update};
use rejoin_transcript::EntryNumber;
use serde_json::{Value, json};

use crate::world::{World, agent_that_can, plain_agent};

/// The notices that a client got, by their titles.
fn notices(client: &TestClient, session: &str) -> Vec<String> {
    let title =
        |update: &Value| (update["sessionUpdate"] == "notice").then(|| update["title"].as_str().unwrap().to_owned());
    client.updates(session).iter().filter_map(title).collect()
}

/// The notices that a client got, by what they say.
fn described(client: &TestClient, session: &str) -> Vec<String> {
    let said = |update: &Value| {
        (update["sessionUpdate"] == "notice").then(|| update["description"].as_str().unwrap().to_owned())
    };
    client.updates(session).iter().filter_map(said).collect()
}

/// The texts of messages that are marked as ours.
fn remarks(updates: &[Value]) -> Vec<String> {
    let is_ours = |update: &&Value| update["_meta"]["rejoin"]["notice"] == true;
    updates.iter().filter(is_ours).map(|update| update["content"]["text"].as_str().unwrap().to_owned()).collect()
}

/// A client that shows notices, with a session of one turn whose agent has died.
async fn with_dead_agent(world: &World, capabilities: Value) -> (TestClient, String) {
    let client = world.client_that_can(capabilities).await;
    let session = client.new_session(world.cwd()).await;
    client.turn(&session, "say one").await;
    client.prompt(&session, "crash 1").await.error().await;
    (client, session)
}

fn with_notices() -> Value {
    json!({ "session": { "notices": {} } })
}

#[tokio::test]
async fn an_agent_without_memory_is_briefed_once_and_the_users_words_stay_as_they_are() {
    let world = plain_agent().start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    client.turn(&session, "say two").await;
    client.turn(&session, "say three").await;

    let prompts = world.prompts_to_agent();
    let [_, _, briefed, plain] = prompts.as_slice() else { panic!("{prompts:?}") };
    assert_eq!((briefed.len(), briefed.last().unwrap().as_str(), plain.len()), (2, "say two", 1));
    assert!(briefed[0].contains("User: say one\nYou: one"), "{}", briefed[0]);
    let replay = world.client().await.load(&session, world.cwd()).await;
    assert!(!fold(&replay).concat().contains("began earlier"), "{:?}", fold(&replay));
}

#[tokio::test]
async fn a_rebuild_is_a_notice_for_those_who_show_notices() {
    let world = plain_agent().start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    client.turn(&session, "say two").await;

    assert_eq!(notices(&client, &session), ["The session was rebuilt"]);
    assert_eq!(remarks(&client.updates(&session)), Vec::<String>::new());
}

#[tokio::test]
async fn a_rebuild_is_a_marked_message_at_the_next_turn_for_the_others() {
    let world = plain_agent().start();
    let (client, session) = with_dead_agent(&world, json!({})).await;
    let from = client.mark();

    client.turn(&session, "say two").await;

    let updates = client.updates_since(from, &session);
    assert_eq!((remarks(&updates).len(), remarks(&updates[..1]).len(), notices(&client, &session).len()), (1, 1, 0));
}

#[tokio::test]
async fn agents_never_get_what_we_said_ourselves() {
    let world = plain_agent().start();
    let (client, session) = with_dead_agent(&world, json!({})).await;
    client.turn(&session, "say two").await;
    client.prompt(&session, "crash 1").await.error().await;

    client.turn(&session, "say three").await;

    let briefing = world.prompts_to_agent().last().unwrap()[0].clone();
    assert!(briefing.contains("two") && !briefing.contains("rebuilt"), "{briefing}");
}

#[tokio::test]
async fn nothing_is_said_of_a_session_that_had_no_turn() {
    let first = plain_agent().start();
    let (client, session) = first.client_with_session().await;
    client.leave().await;
    let world = plain_agent().store(Arc::clone(&first.store)).start();
    let other = world.client_that_can(with_notices()).await;

    other.load(&session, first.cwd()).await;
    other.turn(&session, "say one").await;

    assert_eq!((notices(&other, &session).len(), remarks(&other.updates(&session)).len()), (0, 0));
    assert_eq!(world.prompts_to_agent(), [["say one"]]);
}

#[tokio::test]
async fn an_agent_that_resumes_or_loads_is_asked_to_and_its_replay_is_not_shown() {
    for (ability, method) in [("resume", "session/resume"), ("load", "session/load")] {
        let world = agent_that_can(&[ability]).with_memory().start();
        let (client, session) = with_dead_agent(&world, with_notices()).await;

        client.turn(&session, "say two").await;

        assert_eq!(world.agent_got(method).len(), 1, "{ability}");
        assert_eq!(world.prompts_to_agent().last().unwrap().last().unwrap(), "say two", "{ability}");
        let mut shown = client.updates(&session);
        shown.retain(|update| update["sessionUpdate"] != "notice");
        assert_eq!(fold(&shown), ["agent: one", "agent: two"], "{ability}");
    }
}

#[tokio::test]
async fn an_agent_that_has_forgotten_is_rebuilt() {
    let world = agent_that_can(&["load"]).start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    client.turn(&session, "say two").await;

    assert_eq!((world.agent_got("session/load").len(), notices(&client, &session).len()), (1, 1));
}

#[tokio::test]
async fn an_agent_that_takes_transcripts_gets_the_record_and_so_has_the_session() {
    for restore in [Restore::Rebuild, Restore::Required, Restore::Fresh] {
        let world = agent_that_can(&["transcript"]).options(|options| options.restore = restore).start();
        let (client, session) = with_dead_agent(&world, with_notices()).await;

        client.turn(&session, "say two").await;

        let given = world.agent_got("session/new").pop().unwrap();
        let transcript = given["_meta"]["rejoin"]["transcript"].as_array().cloned().unwrap();
        assert_eq!(fold(&transcript), ["user: say one", "agent: one", "user: crash 1"]);
        assert_eq!(world.prompts_to_agent().last().unwrap(), &["say two"]);
        assert!(notices(&client, &session).is_empty(), "{restore:?}");
    }
}

#[tokio::test]
async fn what_is_private_is_given_back_to_the_agent_and_shown_to_nobody() {
    let private = r#"emit {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"secret"},"_meta":{"rejoin":{"private":true}}}"#;
    let world = agent_that_can(&["transcript"]).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, private).await;
    client.prompt(&session, "crash 1").await.error().await;

    client.turn(&session, "say two").await;

    let given = world.agent_got("session/new").pop().unwrap();
    let transcript = given["_meta"]["rejoin"]["transcript"].as_array().cloned().unwrap();
    let replay = world.client().await.load(&session, world.cwd()).await;
    assert!(fold(&transcript).contains(&"thought: secret".to_owned()), "{transcript:?}");
    assert!(!fold(&replay).contains(&"thought: secret".to_owned()), "{replay:?}");
    assert_eq!(fold(&client.updates(&session)).last().unwrap(), "agent: two");
}

#[tokio::test]
async fn where_restore_is_required_a_load_fails_if_the_agent_cannot() {
    let first = plain_agent().start();
    let (client, session) = first.client_with_session().await;
    client.turn(&session, "say one").await;
    client.leave().await;
    let store = Arc::clone(&first.store);
    let world = plain_agent().store(store).options(|options| options.restore = Restore::Required).start();
    let other = world.client().await;

    let params = json!({ "sessionId": session, "cwd": first.cwd(), "mcpServers": [] });
    let error = other.call("session/load", params).await.unwrap_err();

    let data: Value = serde_json::from_str(error.as_json()).unwrap();
    assert_eq!((error.code(), data["data"]["kind"].as_str()), (-32010, Some("restore_failed")));
}

#[tokio::test]
async fn under_fresh_the_agent_is_told_nothing_and_the_client_is() {
    let world = plain_agent().options(|options| options.restore = Restore::Fresh).start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    client.turn(&session, "say two").await;

    assert_eq!(world.prompts_to_agent().last().unwrap(), &["say two"]);
    assert_eq!(notices(&client, &session).len(), 1);
}

#[tokio::test]
async fn a_turn_whose_owner_died_is_closed_by_whoever_opens_the_session_next() {
    let world = plain_agent().start();
    let id = rejoin_testing::create(&*world.store).await;
    let dead = Owner { pid: u32::MAX, started: 1, ..Owner::this_process() };
    let lease = world.store.acquire(&id, &dead).await.unwrap();
    let tool = update(1, r#"{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Edit","status":"in_progress"}"#);
    let steps = vec![prompt(1, "go"), chunk(1, "m", "half an ans"), tool];
    world.store.append(&lease, EntryNumber::START, steps, Vec::new()).await.unwrap();

    let replay = world.client().await.load(id.as_str(), "/project").await;

    assert_eq!(fold(&replay), ["user: go", "agent: half an ans", "tool t1: failed"]);
}

#[tokio::test]
async fn a_briefing_that_the_agent_sends_back_is_not_shown() {
    let world = plain_agent().with("--fault", "echo").start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    client.turn(&session, "say two").await;

    let replay = world.client().await.load(&session, world.cwd()).await;
    assert_eq!(fold(&replay), ["user: say one", "agent: one", "user: crash 1", "user: say two", "agent: two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_with_more_than_a_page_of_its_own_is_loaded_and_briefed_of_whole() {
    let kept = TempStore::new();
    let store = Arc::new(SqliteStore::open(kept.store.path()).unwrap());
    let world = plain_agent().store(store).start();
    let client = world.client_that_can(with_notices()).await;
    let session = client.new_session(world.cwd()).await;
    client.turn(&session, "say one").await;
    let params = json!({ "sessionId": session, "cwd": world.cwd(), "mcpServers": [] });
    let fork = client.call("session/fork", params).await.unwrap()["sessionId"].as_str().unwrap().to_owned();
    let output = "x".repeat(600 * 1024);
    let tool = json!({ "sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Draw", "status": "completed", "rawOutput": output });
    client.turn(&fork, &format!("emit {tool}\nsay two")).await;
    found(&*world.store, "two").await;

    let replay = world.client().await.load(&fork, world.cwd()).await;
    client.prompt(&fork, "crash 1").await.error().await;
    client.turn(&fork, "say three").await;

    let seen: Vec<String> = fold(&replay).into_iter().filter(|line| !line.starts_with("user: emit")).collect();
    assert_eq!(seen, ["user: say one", "agent: one", "tool t1: completed", "agent: two"]);
    let briefing = world.prompts_to_agent().last().unwrap()[0].clone();
    assert!(
        briefing.contains("User: say one\nYou: one") && briefing.contains("[tool: Draw (completed)]\ntwo"),
        "{briefing}"
    );
}

#[tokio::test]
async fn a_briefing_is_not_taken_for_a_title() {
    let world = plain_agent().with("--fault", "titles").start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    client.turn(&session, "say two").await;

    let loads = world.client().await;
    let replay = loads.load(&session, world.cwd()).await;
    let title = client.call("session/list", json!({})).await.unwrap()["sessions"][0]["title"].clone();
    let told = [client.updates(&session), replay].concat();
    assert_eq!(title, "say one…");
    assert!(told.iter().all(|update| !update.to_string().contains("began earlier")), "{told:?}");
}

#[tokio::test]
async fn an_agent_that_only_says_that_it_has_resumed_is_given_a_new_session() {
    let world = agent_that_can(&["resume"]).with("--fault", "pretends").start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    let reason = client.turn(&session, "say two").await;
    let refused = client.turn(&session, "stop refusal").await;

    let said = described(&client, &session);
    assert_eq!((reason.as_str(), refused.as_str(), said.len()), ("end_turn", "refusal", 1), "{said:?}");
    assert!(said[0].contains("refused the first prompt"), "{said:?}");
    assert_eq!(fold(&client.updates(&session)).last().unwrap(), "agent: two");
    assert_eq!(world.agent_got("session/resume").len(), 1);
}

#[tokio::test]
async fn an_agent_that_resumes_what_it_does_not_know_is_given_a_new_session() {
    let world = agent_that_can(&["resume"]).with("--fault", "resumes-all").start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    client.turn(&session, "say two").await;

    let said = described(&client, &session);
    assert!(said.len() == 1 && said[0].contains("did not know it at the first prompt"), "{said:?}");
    assert_eq!(fold(&client.updates(&session)).last().unwrap(), "agent: two");
}

#[tokio::test]
async fn nobody_waits_for_an_agent_that_dies_behind_its_answer_to_a_load() {
    for (ability, method) in [("resume", "session/resume"), ("load", "session/load")] {
        let world = agent_that_can(&[ability]).with_memory().with("--dies-behind", method).start();
        let (client, session) = with_dead_agent(&world, with_notices()).await;

        // When exactly it dies decides whether it is rebuilt at once, or the turn fails.
        let told = client.prompt(&session, "say two").await.answer().await;

        assert!(told.as_ref().is_ok_and(|result| result["stopReason"] == "end_turn") || told.is_err(), "{told:?}");
    }
}

#[tokio::test]
async fn a_fork_that_is_rebuilt_does_not_blame_resume_or_load() {
    for (abilities, reason) in [(&["load", "resume"][..], "can't fork"), (&["resume", "fork"], "its source as it was")]
    {
        let world = agent_that_can(abilities).with_memory().start();
        let client = world.client_that_can(with_notices()).await;
        let session = client.new_session(world.cwd()).await;
        client.turn(&session, "say one").await;
        let params = json!({ "sessionId": session, "cwd": world.cwd(), "mcpServers": [] });
        let fork = client.call("session/fork", params).await.unwrap()["sessionId"].as_str().unwrap().to_owned();
        client.turn(&session, "say two").await;

        client.turn(&fork, "say three").await;

        let said = described(&client, &fork);
        assert!(said.len() == 1 && said[0].contains(reason), "{said:?}");
    }
}

#[tokio::test]
async fn the_reason_of_a_rebuild_has_what_the_agent_said_in_the_data_of_its_error() {
    let world = agent_that_can(&["load"]).with("--fault", "vague").start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    client.turn(&session, "say two").await;

    let said = described(&client, &session);
    assert!(said.len() == 1 && said[0].contains("(Internal error: the agent has no session"), "{said:?}");
}

#[tokio::test]
async fn an_agent_that_does_not_remember_all_is_used_and_that_is_said_once() {
    let world = agent_that_can(&["load"]).with("--fault", "short-replay").with_memory().start();
    let (client, session) = with_dead_agent(&world, with_notices()).await;

    client.turn(&session, "say two").await;
    client.prompt(&session, "crash 1").await.error().await;
    client.turn(&session, "say three").await;

    let said = described(&client, &session);
    assert!(said.len() == 1 && said[0].contains("1 of the 2 messages"), "{said:?}");
    assert_eq!(world.agent_got("session/load").len(), 2);
}

#[tokio::test]
async fn an_agent_that_was_briefed_is_not_said_to_have_forgotten_what_came_before() {
    let state = tempfile::tempdir().unwrap();
    let with = |abilities: &[&str]| agent_that_can(abilities).with("--state", state.path().to_str().unwrap());
    let first = with(&[]).start();
    let (client, session) = with_dead_agent(&first, with_notices()).await;
    client.turn(&session, "say two").await;
    client.leave().await;
    let world = with(&["load"]).store(Arc::clone(&first.store)).start();
    let other = world.client_that_can(with_notices()).await;
    other.load(&session, first.cwd()).await;

    other.turn(&session, "say three").await;

    assert_eq!((world.agent_got("session/load").len(), described(&other, &session)), (1, Vec::new()));
}

#[tokio::test]
async fn two_processes_take_turns_with_an_agent_that_locks_its_sessions() {
    let state = tempfile::tempdir().unwrap();
    let setup = || {
        let agent = agent_that_can(&["resume", "close"]).with("--fault", "locks");
        agent.with("--state", state.path().to_str().unwrap())
    };
    let here = setup().start();
    let there = setup().store(Arc::clone(&here.store)).start();
    let (one, other) = (here.client_that_can(with_notices()).await, there.client_that_can(with_notices()).await);
    let session = one.new_session(here.cwd()).await;
    one.turn(&session, "say one").await;
    other.load(&session, here.cwd()).await;

    other.turn(&session, "say two").await;
    one.turn(&session, "recall").await;

    assert_eq!((notices(&one, &session).len(), notices(&other, &session).len()), (0, 0));
    assert_eq!(fold(&one.updates(&session)).last().unwrap(), "agent: say one | say two | recall");
}
