//! What an agent is told that may have lost the end of a session with its process.

use std::sync::Arc;
use std::time::Duration;

use rejoin::Restore;
use rejoin_store::Owner;
use rejoin_testing::{TestClient, chunk, end, fold, prompt};
use rejoin_transcript::{AgentMemory, Fact, SessionId};
use serde_json::{Value, json};

use crate::test_memory::{process_of, signal, until_gone};
use crate::world::{Setup, World, agent_that_can};

const CUT_OFF: &str = "The agent may not remember its last answer, which was cut off; it was told what you saw.";
const NOT_STORED: &str = "The agent may not remember its last answer; it was told what you saw.";

/// What clients were told beside the conversation.
fn remarks(client: &TestClient, session: &str) -> Vec<String> {
    let said = |update: &Value| {
        (update["sessionUpdate"] == "notice").then(|| update["description"].as_str().unwrap().to_owned())
    };
    client.updates(session).iter().filter_map(said).collect()
}

/// What went before the user's words in the last prompt.
fn briefing(world: &World) -> Option<String> {
    let mut blocks = world.prompts_to_agent().pop().unwrap();
    blocks.pop();
    assert!(blocks.len() < 2, "{blocks:?}");
    blocks.pop()
}

async fn client_with_notices(world: &World) -> TestClient {
    world.client_that_can(json!({ "session": { "notices": {} } })).await
}

fn with_state(abilities: &[&str], fault: &str, state: &tempfile::TempDir) -> Setup {
    agent_that_can(abilities).with("--fault", fault).with("--state", state.path().to_str().unwrap())
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_told_to_the_agent_once_and_shown_to_nobody() {
    for abilities in [&["load"][..], &["resume"], &["load", "resume"]] {
        let world = agent_that_can(abilities).with("--fault", "forgets-cut").with_memory().start();
        let client = client_with_notices(&world).await;
        let session = client.new_session(world.cwd()).await;
        client.turn(&session, "say one").await;
        client.prompt(&session, "say half an answer\ncrash 1").await.error().await;

        client.turn(&session, "say three").await;
        let told = briefing(&world).unwrap();
        client.turn(&session, "say four").await;

        assert!(told.contains("You: half an answer") && !told.contains("say one"), "{abilities:?}: {told}");
        assert_eq!((briefing(&world), remarks(&client, &session)), (None, vec![CUT_OFF.to_owned()]), "{abilities:?}");
        let replay = world.client().await.load(&session, world.cwd()).await;
        let said = fold(&replay).concat();
        assert!(!said.contains("out of order") && !said.contains("may not remember"), "{abilities:?}: {said}");
        let n_loads = usize::from(abilities.contains(&"load"));
        assert_eq!(world.agent_got("session/load").len(), n_loads, "{abilities:?}");
    }
}

#[tokio::test]
async fn an_agent_whose_replay_has_all_is_told_nothing() {
    for abilities in [&["load"][..], &["load", "resume"]] {
        for fault in ["none", "no-ids", "late-replay"] {
            let world = agent_that_can(abilities).with("--fault", fault).with_memory().start();
            let client = client_with_notices(&world).await;
            let session = client.new_session(world.cwd()).await;
            client.turn(&session, "say one").await;
            client.prompt(&session, "say half\ntool t1 Edit\ncrash 1").await.error().await;

            client.turn(&session, "say three").await;

            assert_eq!((briefing(&world), remarks(&client, &session)), (None, Vec::new()), "{abilities:?} {fault}");
        }
    }
}

#[tokio::test]
async fn a_turn_that_had_ended_and_was_not_stored_is_told_to_the_agent() {
    for ability in ["load", "resume"] {
        let world = agent_that_can(&[ability]).with("--fault", "stores-late").with_memory().start();
        let client = client_with_notices(&world).await;
        let session = client.new_session(world.cwd()).await;
        client.turn(&session, "say one").await;
        client.notify("_store", json!({ "sessionId": session })).await;
        client.turn(&session, "say two").await;
        let pid = process_of(&world, 0);
        assert!(signal("-9", &pid));
        until_gone(&pid).await;

        client.turn(&session, "say three").await;

        let told = briefing(&world).unwrap();
        assert!(told.contains("User: say two\nYou: two") && !told.contains("say one"), "{ability}: {told}");
        assert_eq!(remarks(&client, &session), [NOT_STORED], "{ability}");
    }
}

#[tokio::test]
async fn an_agent_that_was_ended_in_order_is_told_nothing() {
    for ability in ["load", "resume"] {
        let state = tempfile::tempdir().unwrap();
        let first = with_state(&[ability], "stores-late", &state).start();
        let (client, session) = first.client_with_session().await;
        client.turn(&session, "say one").await;
        first.layer.end().await;
        let world = with_state(&[ability], "stores-late", &state).store(Arc::clone(&first.store)).start();
        let other = client_with_notices(&world).await;
        other.load(&session, first.cwd()).await;

        other.turn(&session, "say two").await;

        assert_eq!((briefing(&world), remarks(&other, &session)), (None, Vec::new()), "{ability}");
    }
}

#[tokio::test]
async fn an_agent_that_was_idle_and_stopped_is_told_nothing() {
    let state = tempfile::tempdir().unwrap();
    let setup = || with_state(&["resume"], "stores-late", &state);
    let first = setup().options(|options| options.idle_agent_limit = Duration::from_millis(300)).start();
    let (client, session) = first.client_with_session().await;
    client.turn(&session, "say one").await;
    let id = SessionId::parse(session.as_str()).unwrap();
    while first.store.session(&id).await.unwrap().facts.agent_memory != AgentMemory::default() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let world = setup().store(Arc::clone(&first.store)).start();
    let other = client_with_notices(&world).await;
    other.load(&session, first.cwd()).await;

    other.turn(&session, "say two").await;

    assert_eq!((briefing(&world), remarks(&other, &session)), (None, Vec::new()));
}

#[tokio::test]
async fn what_was_shown_before_this_program_was_killed_is_told_to_the_agent() {
    for (ability, has_ended) in [("load", false), ("load", true), ("resume", false), ("resume", true)] {
        let state = tempfile::tempdir().unwrap();
        let first = with_state(&[ability], "forgets-cut", &state).start();
        let (client, session) = first.client_with_session().await;
        client.turn(&session, "say one").await;
        first.layer.end().await;
        let dead = Owner { pid: u32::MAX, started: 1, ..Owner::this_process() };
        let lease = first.store.acquire(&SessionId::parse(session.as_str()).unwrap(), &dead).await.unwrap();
        let mut steps = vec![prompt(2, "go"), chunk(2, "m", "half an answer")];
        steps.extend(has_ended.then(|| end(2)));
        first.store.append(&lease, lease.head, steps, vec![Fact::AtRisk { from: 2 }]).await.unwrap();
        let world = with_state(&[ability], "forgets-cut", &state).store(Arc::clone(&first.store)).start();
        let other = client_with_notices(&world).await;
        other.load(&session, first.cwd()).await;

        other.turn(&session, "say three").await;

        let told = briefing(&world).unwrap();
        let remark = if has_ended { NOT_STORED } else { CUT_OFF };
        assert!(told.contains("User: go\nYou: half an answer") && !told.contains("say one"), "{ability}: {told}");
        assert_eq!(remarks(&other, &session), [remark], "{ability}");
    }
}

#[tokio::test]
async fn an_answer_that_the_agent_would_not_stop_is_told_to_the_next() {
    let limit = Duration::from_millis(50);
    let setup = agent_that_can(&["resume"]).with("--fault", "ignore-cancel").with("--fault", "forgets-cut");
    let world = setup.with_memory().options(|options| options.cancel_deadline = limit).start();
    let client = client_with_notices(&world).await;
    let session = client.new_session(world.cwd()).await;
    client.turn(&session, "say one").await;
    let stuck = client.prompt(&session, "say half\nhang").await;
    client.until_said(&session, "half").await;
    client.cancel(&session).await;
    assert_eq!(stuck.result().await["stopReason"], "cancelled");

    client.turn(&session, "say three").await;

    let told = briefing(&world).unwrap();
    assert!(told.contains("You: half") && !told.contains("say one"), "{told}");
    assert_eq!(remarks(&client, &session), [CUT_OFF]);
}

#[tokio::test]
async fn what_an_agent_was_told_is_told_again_if_it_is_lost_too() {
    let world = agent_that_can(&["resume"]).with("--fault", "forgets-cut").with_memory().start();
    let client = client_with_notices(&world).await;
    let session = client.new_session(world.cwd()).await;
    client.turn(&session, "say one").await;
    for text in ["say two\ncrash 1", "say three\ncrash 1"] {
        client.prompt(&session, text).await.error().await;
    }

    client.turn(&session, "say four").await;

    let told = briefing(&world).unwrap();
    assert!(told.contains("You: two") && told.contains("You: three") && !told.contains("say one"), "{told}");
}

#[tokio::test]
async fn a_fork_of_a_session_whose_agent_died_is_told_what_that_may_have_lost() {
    let world = agent_that_can(&["fork", "resume"]).with("--fault", "forgets-cut").with_memory().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    client.prompt(&session, "say half\ncrash 1").await.error().await;
    let fork = client.fork(&session, world.cwd()).await;

    client.turn(&fork, "say three").await;

    let told = briefing(&world).unwrap();
    assert!(told.contains("You: half") && !told.contains("say one"), "{told}");
    assert_eq!(world.agent_got("session/fork").len(), 1);
}

#[tokio::test]
async fn no_agent_is_told_where_agents_are_to_begin_without_memory() {
    let setup = agent_that_can(&["resume"]).with("--fault", "forgets-cut").with_memory();
    let world = setup.options(|options| options.restore = Restore::Fresh).start();
    let client = client_with_notices(&world).await;
    let session = client.new_session(world.cwd()).await;
    client.turn(&session, "say one").await;
    client.prompt(&session, "say half\ncrash 1").await.error().await;

    client.turn(&session, "say two").await;

    let said = "The agent may not remember its last answer, which was cut off.";
    assert_eq!((briefing(&world), remarks(&client, &session)), (None, vec![said.to_owned()]));
}

#[tokio::test]
async fn what_is_told_of_a_long_answer_fits_the_limit() {
    let setup = agent_that_can(&["resume"]).with("--fault", "forgets-cut").with_memory();
    let world = setup.options(|options| options.briefing_limit = 2048).start();
    let client = client_with_notices(&world).await;
    let session = client.new_session(world.cwd()).await;
    client.turn(&session, "say one").await;
    client.prompt(&session, "stream 5000\ncrash 1").await.error().await;

    client.turn(&session, "say two").await;

    let told = briefing(&world).unwrap();
    assert!(told.len() <= 2048 && told.contains("4999"), "{told}");
}
