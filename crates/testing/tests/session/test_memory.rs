//! What an agent knows of a session that it opens again: all that was said in it, and nothing else.

use std::process::Command;
use std::time::Duration;

use rejoin_testing::{TestClient, fold};
use rejoin_wire::Direction;
use serde_json::{Value, json};

use crate::test_store::two_hosts;
use crate::world::{World, agent_that_can, plain_agent};

/// All that the user said, as far as the agent remembers.
async fn recalled(client: &TestClient, session: &str) -> String {
    let from = client.mark();
    assert_eq!(client.turn(session, "recall").await, "end_turn");
    let mut updates = client.updates_since(from, session);
    updates.retain(|update| update["_meta"]["rejoin"]["notice"].is_null());
    fold(&updates).into_iter().rfind(|line| line.starts_with("agent: ")).unwrap()
}

#[tokio::test]
async fn an_agent_that_has_a_session_open_reads_it_anew_when_others_used_it_meanwhile() {
    for abilities in [&["load", "close"][..], &["resume", "close"], &["load"], &["resume"], &["load", "resume"], &[]] {
        let (_kept, here, there) = two_hosts();
        let state = tempfile::tempdir().unwrap();
        let start =
            |store| agent_that_can(abilities).with("--state", state.path().to_str().unwrap()).store(store).start();
        let (first, second) = (start(here), start(there));
        let (client, session) = first.client_with_session().await;
        client.turn(&session, "say one").await;
        let other = second.client().await;
        other.load(&session, first.cwd()).await;
        other.turn(&session, "say two").await;

        let known = recalled(&client, &session).await;

        assert!(known.contains("say one") && known.contains("say two"), "{abilities:?}: {known}");
    }
}

#[tokio::test]
async fn an_agent_that_was_killed_while_idle_is_started_for_the_next_prompt() {
    let world = agent_that_can(&["load"]).with_memory().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    let pid = process_of(&world, 0);

    assert!(signal("-9", &pid));
    until_gone(&pid).await;

    assert_eq!(recalled(&client, &session).await, "agent: say one | recall");
}

#[tokio::test]
async fn a_prompt_that_a_dying_agent_has_not_read_is_given_to_the_next() {
    let world = agent_that_can(&["load"]).with_memory().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    let pid = process_of(&world, 0);
    // From now on it is as one that is being killed: it is there, and reads nothing.
    assert!(signal("-STOP", &pid));
    let from = client.mark();
    let prompt = client.prompt(&session, "recall").await;
    while world.agent_got("session/prompt").len() < 2 {
        tokio::task::yield_now().await;
    }

    assert!(signal("-9", &pid));

    assert_eq!(prompt.result().await["stopReason"], "end_turn");
    assert_eq!(fold(&client.updates_since(from, &session)), ["agent: say one | recall"]);
}

/// The process of the agent that got the `n`th prompt.
pub(crate) fn process_of(world: &World, n: usize) -> String {
    let agents_id = world.agent_got("session/prompt")[n]["sessionId"].as_str().unwrap().to_owned();
    agents_id.split('-').nth(1).unwrap().to_owned()
}

pub(crate) fn signal(signal: &str, pid: &str) -> bool {
    Command::new("kill").args([signal, pid]).output().unwrap().status.success()
}

pub(crate) async fn until_gone(pid: &str) {
    while signal("-0", pid) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn sessions_share_a_process_unless_the_agent_cannot_keep_them_apart() {
    for (setup, is_shared) in [(plain_agent(), true), (plain_agent().one_each(), false)] {
        let world = setup.start();
        let (client, first) = world.client_with_session().await;
        let second = client.new_session(world.cwd()).await;
        client.turn(&first, "say one").await;
        client.turn(&second, "say two").await;

        assert_eq!(process_of(&world, 0) == process_of(&world, 1), is_shared);
        assert_eq!(recalled(&client, &first).await, "agent: say one | recall");
    }
}

#[tokio::test]
async fn a_process_of_one_session_ends_with_it() {
    let world = agent_that_can(&["close", "delete"]).one_each().with_memory().start();
    let (client, first) = world.client_with_session().await;
    let second = client.new_session(world.cwd()).await;
    client.turn(&first, "say one").await;
    client.turn(&second, "say two").await;

    client.call("session/delete", json!({ "sessionId": first })).await.unwrap();

    until_gone(&process_of(&world, 0)).await;
    assert_eq!(world.agent_got("session/delete").len(), 1);
    assert_eq!(recalled(&client, &second).await, "agent: say two | recall");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_never_gets_the_process_that_another_gave_up() {
    let limit = Duration::from_millis(50);
    let setup = plain_agent().with("--fault", "ignore-cancel");
    let world = setup.options(|options| options.cancel_deadline = limit).start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "hang").await;
    client.cancel(&session).await;
    assert_eq!(turn.result().await["stopReason"], "cancelled");

    let other = client.new_session(world.cwd()).await;
    client.turn(&other, "say two").await;

    assert_ne!(process_of(&world, 0), process_of(&world, 1));
    until_gone(&process_of(&world, 0)).await;
}

#[tokio::test]
async fn a_fork_never_knows_what_was_said_in_its_source_later() {
    for abilities in [&["fork"][..], &["fork", "load"], &["load"], &[]] {
        for is_cut_off in [false, true] {
            let world = agent_that_can(abilities).with_memory().start();
            let (client, session) = world.client_with_session().await;
            client.turn(&session, "say one").await;
            let made = client.call("session/fork", json!({ "sessionId": session, "cwd": world.cwd() })).await.unwrap();
            let fork = made["sessionId"].as_str().unwrap();
            client.turn(&session, "say secret").await;
            if is_cut_off {
                let prompt = client.prompt(fork, "say nothing").await;
                client.call("session/close", json!({ "sessionId": fork })).await.unwrap();
                prompt.result().await;
                client.load(fork, world.cwd()).await;
            }

            let known = recalled(&client, fork).await;

            let is_right = known.contains("say one") && !known.contains("secret");
            assert!(is_right, "{abilities:?}, cut off: {is_cut_off}: {known}");
        }
    }
}

#[tokio::test]
async fn an_agents_fork_is_used_while_neither_has_had_a_turn_since() {
    let world = agent_that_can(&["fork"]).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    let made = client.call("session/fork", json!({ "sessionId": session, "cwd": world.cwd() })).await.unwrap();

    let known = recalled(&client, made["sessionId"].as_str().unwrap()).await;

    assert_eq!((world.agent_got("session/fork").len(), known.as_str()), (1, "agent: say one | recall"));
}

#[tokio::test]
async fn an_agents_fork_is_used_for_a_fork_of_a_fork_that_it_has_never_seen() {
    // Whether the fork in between goes its own way makes no difference to the source.
    for is_used in [false, true] {
        let world = agent_that_can(&["fork"]).start();
        let (client, session) = world.client_with_session().await;
        client.turn(&session, "say one").await;
        let fork = client.fork(&session, world.cwd()).await;
        let fork_of_fork = client.fork(&fork, world.cwd()).await;
        if is_used {
            client.turn(&fork, "say secret").await;
        }

        let known = recalled(&client, &fork_of_fork).await;

        assert_eq!(known, "agent: say one | recall");
        let forked: Vec<Value> = world.agent_got("session/fork").iter().map(|fork| fork["sessionId"].clone()).collect();
        let source = world.agent_got("session/prompt")[0]["sessionId"].clone();
        assert_eq!(forked, vec![source; 1 + usize::from(is_used)]);
    }
}

#[tokio::test]
async fn a_fork_of_a_fork_never_knows_what_was_said_since_in_the_source_of_both() {
    let world = agent_that_can(&["fork"]).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    let fork = client.fork(&session, world.cwd()).await;
    let fork_of_fork = client.fork(&fork, world.cwd()).await;
    client.turn(&session, "say secret").await;

    let known = recalled(&client, &fork_of_fork).await;

    assert!(known.contains("say one") && !known.contains("secret"), "{known}");
    assert_eq!(world.agent_got("session/fork").len(), 0);
}

#[tokio::test]
async fn a_session_to_which_the_agent_gives_another_id_goes_on_under_that() {
    for ability in ["load", "resume"] {
        let world = agent_that_can(&[ability]).with_memory().with("--fault", "renames").declare("agent-").start();
        let (client, session) = world.client_with_session().await;
        client.turn(&session, "say one").await;
        for _ in 0..2 {
            client.prompt(&session, "crash 1").await.error().await;

            let known = recalled(&client, &session).await;

            assert!(known.starts_with("agent: say one | crash 1 | "), "{ability}: {known}");
        }
        assert_eq!(world.agent_got("session/new").len(), 1, "{ability}");
        assert!(client.since(0).iter().all(|event| !format!("{event:?}").contains("agent-")), "{ability}");
    }
}

#[tokio::test]
async fn a_session_in_which_the_agent_hangs_goes_on_in_a_fresh_process() {
    for ability in ["load", "resume"] {
        let agent = agent_that_can(&[ability]).with_memory().with("--deaf-to", &format!("session/{ability}"));
        let world = agent.options(|options| options.restore_limit = Duration::from_secs(2)).start();
        let (client, session) = world.client_with_session().await;
        client.turn(&session, "say one").await;
        client.prompt(&session, "crash 1").await.error().await;

        client.turn(&session, "say two").await;

        let briefed = were_briefed(&world.prompts_to_agent(), "User: say one");
        assert_eq!(briefed, [false, false, true], "{ability}");
        assert_eq!(world.agent_got("initialize").len(), 3, "{ability}");
    }
}

/// Whether each prompt that the agent got was preceded by a briefing that holds `word`.
fn were_briefed(prompts: &[Vec<String>], word: &str) -> Vec<bool> {
    prompts.iter().map(|blocks| blocks.len() == 2 && blocks[0].contains(word)).collect()
}

#[tokio::test]
async fn a_briefing_is_repeated_until_a_prompt_that_carried_it_was_answered() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    client.prompt(&session, "crash 1").await.error().await;

    let refused = client.prompt(&session, "fail -32000 log in first").await.error().await;
    client.turn(&session, "say two").await;
    client.turn(&session, "say three").await;

    let briefed = were_briefed(&world.prompts_to_agent(), "User: say one");
    assert_eq!((refused.code(), briefed), (-32000, vec![false, false, true, true, false]));
}

#[tokio::test]
async fn a_briefing_whose_prompt_was_cancelled_while_the_agent_opened_the_session_goes_with_the_next() {
    let world = plain_agent().with("--holds", "session/new").start();
    let client = world.client().await;
    client.notify("_go", json!({})).await;
    let session = client.new_session(world.cwd()).await;
    client.turn(&session, "say one").await;
    client.prompt(&session, "crash 1").await.error().await;
    let cancelled = client.prompt(&session, "say two").await;
    world.to_agents.until(Direction::Out, "session/new", 2).await;

    client.cancel(&session).await;
    let reason = cancelled.result().await["stopReason"].clone();
    client.notify("_go", json!({})).await;
    client.notify("_go", json!({})).await;
    client.turn(&session, "say three").await;
    client.turn(&session, "say four").await;

    let briefed = were_briefed(&world.prompts_to_agent(), "User: say one");
    assert_eq!((reason, briefed), (json!("cancelled"), vec![false, false, true, false]));
}

#[tokio::test]
async fn a_session_that_the_agent_no_longer_knows_is_opened_again_and_the_prompt_repeated() {
    let world = agent_that_can(&["load"]).with_memory().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;

    client.notify("_forget", json!({ "sessionId": session })).await;
    let known = recalled(&client, &session).await;

    assert_eq!((known.as_str(), world.agent_got("session/load").len()), ("agent: say one | recall", 1));
    assert_eq!(world.prompts_to_agent(), [["say one"], ["recall"], ["recall"]]);
}

#[tokio::test]
async fn a_prompt_is_repeated_once_and_only_if_the_agent_did_nothing() {
    let world = agent_that_can(&["load"]).with_memory().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;

    let idle = client.prompt(&session, "fail -32002 no such session").await.error().await;
    let busy = client.prompt(&session, "say two\nfail -32002 no such file").await.error().await;

    assert_eq!((idle.code(), busy.code(), world.prompts_to_agent().len()), (-32002, -32002, 4));
    assert_eq!(fold(&client.updates(&session)), ["agent: one", "agent: two"]);
}

#[tokio::test]
async fn a_replay_that_comes_behind_the_answer_to_a_load_is_neither_kept_nor_shown() {
    for fault in ["none", "no-ids"] {
        let world =
            agent_that_can(&["load"]).with_memory().with("--fault", "late-replay").with("--fault", fault).start();
        let (client, session) = world.client_with_session().await;
        let blocks = ["first", "second", "say one\nstream 20"].map(|text| json!({ "type": "text", "text": text }));
        for _ in 0..2 {
            client.call("session/prompt", json!({ "sessionId": session, "prompt": blocks })).await.unwrap();
        }
        client.prompt(&session, "crash 1").await.error().await;
        let from = client.mark();

        client.turn(&session, "say two").await;

        let kept = world.client().await.load(&session, world.cwd()).await;
        let of_agent = |updates: &[Value]| fold(updates).into_iter().filter(|line| line.starts_with("agent")).count();
        assert_eq!(fold(&client.updates_since(from, &session)), ["agent: two"], "{fault}");
        assert_eq!(of_agent(&kept), of_agent(&client.updates(&session)), "{fault}");
        assert_eq!((world.agent_got("session/load").len(), world.agent_got("session/new").len()), (1, 1), "{fault}");
    }
}
