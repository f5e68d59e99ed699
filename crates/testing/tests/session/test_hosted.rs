//! An agent in this process: the author writes what it says, and all else is there.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rejoin::schema::{
    AvailableCommand, ContentBlock, CreateElicitationRequest, CreateTerminalRequest, ElicitationFormMode,
    ElicitationSchema, ElicitationSessionScope, PermissionOption, PermissionOptionKind, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectOption, SessionUpdate, StopReason, ToolCall, ToolCallUpdate, ToolCallUpdateFields,
};
use rejoin::{About, Agent, AgentError, Chosen, Offer, Past, SessionContext, Turn};
use rejoin_testing::{TestClient, fold};
use serde_json::{Value, json};

use crate::world::{World, plain_agent};

/// An agent that does what the prompt says.
#[derive(Clone, Default)]
struct Puppet {
    closed: Arc<AtomicUsize>,
    commands: Arc<Mutex<Vec<AvailableCommand>>>,
}

struct Strings {
    context: SessionContext,
}

impl Agent for Puppet {
    type Session = Strings;

    fn about(&self) -> About {
        About::new("puppet", "2.0")
    }

    async fn open(&self, context: SessionContext) -> Result<Strings, AgentError> {
        if context.cwd() == Path::new("/") {
            return Err(AgentError::AuthRequired("PUPPET_KEY is not set".to_owned()));
        }
        if context.meta().is_some_and(|meta| meta.contains_key("broken")) {
            context.remark("A string is broken", "The left leg does not move.").await?;
        }
        Ok(Strings { context })
    }

    fn offer(&self, _: &Strings, chosen: &Chosen) -> Offer {
        let select = |id: &'static str, values: &[&str]| {
            let value = |value: &&str| SessionConfigSelectOption::new((*value).to_owned(), (*value).to_owned());
            let current = chosen.get(id).filter(|chosen| values.contains(chosen)).unwrap_or(values[0]);
            SessionConfigOption::select(id, id, current.to_owned(), values.iter().map(value).collect::<Vec<_>>())
        };
        let mut options = vec![
            select("mode", &["sit", "dance"]).category(SessionConfigOptionCategory::Mode),
            select("wood", &["oak", "pine"]).category(SessionConfigOptionCategory::Model),
        ];
        if chosen.get("mode") == Some("dance") {
            options.push(select("music", &["waltz", "polka"]));
        }
        Offer { options, commands: self.commands.lock().unwrap().clone() }
    }

    async fn prompt(&self, turn: Turn<Strings>) -> Result<StopReason, AgentError> {
        let text = turn.prompt_text();
        let (verb, rest) = text.split_once(' ').unwrap_or((&text, ""));
        match verb {
            "say" => turn.say(rest).await?,
            "think" => turn.think(rest).await?,
            "keep" => turn.keep(json!({ "kept": rest })).await?,
            "recall" => turn.say(turn.history().iter().map(recalled).collect::<Vec<_>>().join(" | ")).await?,
            "chosen" => {
                let chosen = turn.chosen();
                let all = ["mode", "wood", "music"].map(|id| chosen.get(id).unwrap_or("-"));
                turn.say(all.join(" ")).await?;
            }
            "dance" => turn.choose("mode", SessionConfigOptionValue::from("dance")).await?,
            "permit" => {
                turn.send(SessionUpdate::ToolCall(ToolCall::new("c1", "Jump"))).await?;
                let option = PermissionOption::new("yes", "Yes", PermissionOptionKind::AllowOnce);
                let call = ToolCallUpdate::new("c1", ToolCallUpdateFields::new());
                let outcome = turn.ask_permission(call, vec![option]).await?;
                turn.say(serde_json::to_string(&outcome).unwrap()).await?;
            }
            "read" => turn.say(turn.read_file(Path::new(rest), None, Some(3)).await?).await?,
            "write" => turn.write_file(Path::new(rest), "new").await?,
            "run" => {
                let request = CreateTerminalRequest::new(turn.id().clone(), rest);
                let terminal = turn.terminal(request).await?;
                let status = terminal.wait().await?;
                let output = terminal.output().await?;
                turn.say(format!("{:?}: {}", status.exit_code, output.output)).await?;
                terminal.release().await?;
            }
            "ask" => {
                let scope = ElicitationSessionScope::new(turn.id().clone());
                let form = ElicitationFormMode::new(scope, ElicitationSchema::new());
                let answer = turn.ask_input(CreateElicitationRequest::new(form, rest)).await?;
                turn.say(serde_json::to_string(&answer).unwrap()).await?;
            }
            "plan" => {
                let entry = PlanEntry::new(rest, PlanEntryPriority::High, PlanEntryStatus::Pending);
                turn.send(SessionUpdate::Plan(Plan::new(vec![entry]))).await?;
            }
            "learn" => {
                self.commands.lock().unwrap().push(AvailableCommand::new(rest, "learned"));
                turn.session().context.refresh();
            }
            "hang" => {
                turn.say("hanging").await?;
                std::future::pending::<()>().await;
            }
            "wait" => {
                turn.say("waiting").await?;
                turn.cancellation().cancelled().await;
                turn.say("let go").await?;
            }
            "title" => turn.set_title(rest).await?,
            "fork" => turn.say(turn.fork().await?).await?,
            "fail" => return Err(AgentError::failed(rest)),
            "panic" => panic!("the puppet fell"),
            _ => turn.say(format!("what is {verb}?")).await?,
        }
        Ok(StopReason::EndTurn)
    }

    async fn close(&self, _: &Strings) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }
}

fn recalled(past: &Past) -> String {
    let text = |blocks: &[ContentBlock]| match blocks {
        [ContentBlock::Text(text)] => text.text.clone(),
        other => format!("{} blocks", other.len()),
    };
    match past {
        Past::User(blocks) => format!("user: {}", text(blocks)),
        Past::Agent(blocks) => format!("agent: {}", text(blocks)),
        Past::Thought(blocks) => format!("thought: {}", text(blocks)),
        Past::ToolCall(call) => format!("tool: {} {:?}", call.title, call.status),
        Past::Kept(value) => format!("kept: {value}"),
    }
}

fn puppet() -> World {
    plain_agent().agent(Puppet::default()).start()
}

/// The same sessions in a process that has just started.
fn restarted(world: &World) -> World {
    plain_agent().agent(Puppet::default()).store(Arc::clone(&world.store)).start()
}

/// What the agent says to `prompt`.
async fn said(client: &TestClient, session: &str, prompt: &str) -> String {
    let from = client.mark();
    assert_eq!(client.turn(session, prompt).await, "end_turn");
    fold(&client.updates_since(from, session)).pop().unwrap_or_default()
}

#[tokio::test]
async fn the_conversation_is_there_in_every_turn_also_after_a_restart() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    client.turn(&session, "think hm").await;
    client.turn(&session, "plan nothing").await;
    client.turn(&session, "permit").await;

    let known = said(&client, &session, "recall").await;

    let outcome = r#"{"outcome":"selected","optionId":"yes"}"#;
    let before = format!(
        "user: say one | agent: one | user: think hm | thought: hm | user: plan nothing | user: permit | \
         tool: Jump Pending | agent: {outcome}"
    );
    assert_eq!(known, format!("agent: {before}"));
    client.leave().await;
    let later = restarted(&world);
    let client = later.client().await;
    client.load(&session, world.cwd()).await;
    let known = said(&client, &session, "recall").await;
    assert_eq!(known, format!("agent: {before} | user: recall | agent: {before}"));
}

#[tokio::test]
async fn what_it_kept_for_itself_comes_back_and_is_shown_to_nobody() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "keep a secret").await;
    client.leave().await;

    let later = restarted(&world);
    let other = later.client().await;
    let replay = other.load(&session, world.cwd()).await;

    assert_eq!(fold(&replay), ["user: keep a secret"]);
    assert_eq!(said(&other, &session, "recall").await, r#"agent: user: keep a secret | kept: {"kept":"a secret"}"#);
}

#[tokio::test]
async fn a_fork_has_the_conversation_of_its_source() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;

    let made = client.call("session/fork", json!({ "sessionId": session, "cwd": world.cwd() })).await.unwrap();
    let fork = made["sessionId"].as_str().unwrap();
    client.turn(&session, "say two").await;

    assert_eq!(said(&client, fork, "recall").await, "agent: user: say one | agent: one");
}

#[tokio::test]
async fn modes_models_and_options_are_one_offer_and_stay_chosen() {
    let world = puppet();
    let client = world.client().await;
    let made = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await.unwrap();
    let session = made["sessionId"].as_str().unwrap();
    assert_eq!((&made["modes"]["currentModeId"], &made["models"]["currentModelId"]), (&json!("sit"), &json!("oak")));

    client.call("session/set_model", json!({ "sessionId": session, "modelId": "pine" })).await.unwrap();
    let set = json!({ "sessionId": session, "configId": "mode", "value": "dance" });
    let told = client.call("session/set_config_option", set).await.unwrap();

    assert_eq!(told["configOptions"].as_array().unwrap().len(), 3, "the option that follows is there: {told}");
    let set = json!({ "sessionId": session, "configId": "music", "value": "polka" });
    client.call("session/set_config_option", set).await.unwrap();
    assert_eq!(said(&client, session, "chosen").await, "agent: dance pine polka");
    client.leave().await;
    let later = restarted(&world);
    let other = later.client().await;
    other.load(session, world.cwd()).await;
    assert_eq!(said(&other, session, "chosen").await, "agent: dance pine polka");
    let set = json!({ "sessionId": session, "modeId": "fly" });
    assert_eq!(other.call("session/set_mode", set).await.unwrap_err().code(), -32602);
}

#[tokio::test]
async fn a_mode_set_the_older_way_brings_the_options_that_follow() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;

    client.call("session/set_mode", json!({ "sessionId": session, "modeId": "dance" })).await.unwrap();
    client.turn(&session, "say now").await;

    let told = client.updates(&session).iter().rev().find_map(|update| update["configOptions"].as_array().cloned());
    assert_eq!(told.map(|options| options.len()), Some(3));
}

#[tokio::test]
async fn what_the_agent_chooses_itself_is_told() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;

    client.turn(&session, "dance").await;

    let kinds: Vec<Value> = client.updates(&session).iter().map(|update| update["sessionUpdate"].clone()).collect();
    assert!(
        kinds.contains(&json!("current_mode_update")) && kinds.contains(&json!("config_option_update")),
        "{kinds:?}"
    );
    assert_eq!(said(&client, &session, "chosen").await, "agent: dance oak waltz");
}

#[tokio::test]
async fn a_cancelled_turn_ends_whether_the_agent_looks_or_not() {
    for (prompt, first) in [("wait", "waiting"), ("hang", "hanging")] {
        let world = puppet();
        let (client, session) = world.client_with_session().await;
        let turn = client.prompt(&session, prompt).await;
        client.until_said(&session, first).await;

        client.cancel(&session).await;

        assert_eq!(turn.result().await["stopReason"], "cancelled");
        assert_eq!(said(&client, &session, "say on").await, "agent: on");
        assert_eq!(world.agent_got("initialize").len(), 1, "the agent went on");
    }
}

#[tokio::test]
async fn a_cancel_right_behind_the_prompt_is_for_its_turn() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;

    for _ in 0..20 {
        let turn = client.prompt(&session, "wait").await;
        client.cancel(&session).await;
        assert_eq!(turn.result().await["stopReason"], "cancelled");
    }

    assert_eq!(world.agent_got("initialize").len(), 1, "the agent obeyed, and was not replaced");
}

#[tokio::test]
async fn a_question_ends_with_its_turn() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;
    client.answer_with(|_, _| None);
    let turn = client.prompt(&session, "permit").await;
    client.until_asked("session/request_permission").await;

    client.cancel(&session).await;

    assert_eq!(turn.result().await["stopReason"], "cancelled");
}

#[tokio::test]
async fn an_error_or_a_panic_ends_the_turn_and_nothing_else() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;

    let failed = client.prompt(&session, "fail the wood is wet").await.error().await;
    let panicked = client.prompt(&session, "panic").await.error().await;

    assert!(failed.message().contains("the wood is wet"), "{failed:?}");
    assert!(panicked.message().contains("panicked"), "{panicked:?}");
    assert_eq!(said(&client, &session, "say on").await, "agent: on");
    assert_eq!(world.agent_got("initialize").len(), 1);
}

#[tokio::test]
async fn a_missing_login_is_said_with_the_code_for_it() {
    let world = puppet();
    let client = world.client().await;
    let error = client.call("session/new", json!({ "cwd": "/", "mcpServers": [] })).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (-32000, "PUPPET_KEY is not set"));
}

#[tokio::test]
async fn the_client_can_be_asked_for_everything() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;
    client.answer_with(|method, params| {
        Some(Ok(match method {
            "fs/read_text_file" => json!({ "content": format!("{} {}", params["path"], params["limit"]) }),
            "terminal/create" => json!({ "terminalId": "t" }),
            "terminal/wait_for_exit" => json!({ "exitCode": 7, "signal": null }),
            "terminal/output" => json!({ "output": "did it", "truncated": false }),
            "elicitation/create" => json!({ "action": "accept", "content": { "name": "Punch" } }),
            _ => Value::Null,
        }))
    });

    assert_eq!(said(&client, &session, "read /a").await, "agent: \"/a\" 3");
    assert_eq!(client.turn(&session, "write /a").await, "end_turn");
    assert_eq!(said(&client, &session, "run make").await, "agent: Some(7): did it");
    assert!(said(&client, &session, "ask who?").await.contains("Punch"));
    client.turn(&session, "plan build").await;
    assert_eq!(client.updates(&session).last().unwrap()["entries"][0]["content"], "build");
}

#[tokio::test]
async fn a_terminal_is_released_when_the_turn_is_cancelled() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;
    client.answer_with(|method, _| match method {
        "terminal/create" => Some(Ok(json!({ "terminalId": "t" }))),
        "terminal/wait_for_exit" => None,
        _ => Some(Ok(Value::Null)),
    });
    let turn = client.prompt(&session, "run make").await;
    client.until_asked("terminal/wait_for_exit").await;

    client.cancel(&session).await;

    assert_eq!(client.until_asked("terminal/release").await.1["terminalId"], "t");
    assert_eq!(turn.result().await["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_terminal_that_the_client_makes_after_a_cancel_is_released() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;
    client.answer_with(|_, _| None);
    let turn = client.prompt(&session, "run make").await;
    let (id, _) = client.until_asked("terminal/create").await;
    client.cancel(&session).await;
    assert_eq!(turn.result().await["stopReason"], "cancelled");

    client.respond(&id, &json!({ "terminalId": "t" })).await;

    let (_, released) = client.until_asked("terminal/release").await;
    assert_eq!(released, json!({ "sessionId": session, "terminalId": "t" }));
}

#[tokio::test]
async fn a_remark_is_a_notice_or_stands_before_what_is_said_next_and_is_not_remembered() {
    let world = puppet();
    for (capabilities, is_notice) in [(json!({ "session": { "notices": {} } }), true), (json!({}), false)] {
        let client = world.client_that_can(capabilities).await;
        let params = json!({ "cwd": world.cwd(), "mcpServers": [], "_meta": { "broken": true } });
        let made = client.call("session/new", params).await.unwrap();
        let session = made["sessionId"].as_str().unwrap();

        assert_eq!(said(&client, session, "say one").await, "agent: one");

        let updates = client.updates(session);
        let notice = updates.iter().find(|update| update["sessionUpdate"] == "notice");
        let message = updates.iter().find(|update| update["_meta"]["rejoin"]["notice"] == true);
        assert_eq!((notice.is_some(), message.is_some()), (is_notice, !is_notice), "{updates:?}");
        assert!(notice.or(message).unwrap().to_string().contains("The left leg"));
        assert_eq!(said(&client, session, "recall").await, "agent: user: say one | agent: one");
    }
}

#[tokio::test]
async fn commands_are_announced_and_again_when_they_change() {
    let puppet = Puppet::default();
    puppet.commands.lock().unwrap().push(AvailableCommand::new("bow", "Bows."));
    let world = plain_agent().agent(puppet).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "learn curtsy").await;

    let two = |update: &Value| update["availableCommands"].as_array().is_some_and(|commands| commands.len() == 2);
    let find =
        |events: &[rejoin_testing::Event]| rejoin_testing::updates_in(events, &session).iter().any(two).then_some(());
    client.until("the second command", find).await;

    let counts = client.updates(&session);
    let counts: Vec<usize> =
        counts.iter().filter_map(|update| Some(update["availableCommands"].as_array()?.len())).collect();
    assert_eq!(counts, [1, 2]);
}

#[tokio::test]
async fn the_agent_can_name_the_session_and_fork_it() {
    let world = puppet();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;

    client.turn(&session, "title The   Dance").await;
    let fork = said(&client, &session, "fork").await.replace("agent: ", "");

    let replay = client.load(&fork, world.cwd()).await;
    assert_eq!(fold(&replay)[..2], ["user: say one", "agent: one"]);
    assert!(!replay.iter().any(|update| update.to_string().contains("user: fork")));
    let listed = client.call("session/list", json!({})).await.unwrap();
    let row = listed["sessions"].as_array().unwrap().iter().find(|row| row["sessionId"] == *session).cloned();
    assert_eq!(row.unwrap()["title"], "The Dance");
}

#[tokio::test]
async fn a_session_is_closed_when_it_is_closed_deleted_or_all_ends() {
    let puppet = Puppet::default();
    let world = plain_agent().agent(puppet.clone()).start();
    let (client, first) = world.client_with_session().await;
    let second = client.new_session(world.cwd()).await;
    client.new_session(world.cwd()).await;

    client.call("session/close", json!({ "sessionId": first })).await.unwrap();
    client.call("session/delete", json!({ "sessionId": second })).await.unwrap();
    world.layer.end().await;

    assert_eq!(puppet.closed.load(Ordering::SeqCst), 3);
}
