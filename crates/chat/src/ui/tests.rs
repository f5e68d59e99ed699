//! The chat as a table of what happens: keys and messages in, requests and a screen out.

#![expect(clippy::needless_pass_by_value, reason = "what happens reads better without a borrow")]

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rejoin_wire::{RawValue, Received, RequestId, RpcError};
use serde_json::{Value, json};

use super::chat::Chat;
use super::{Effect, End, Event, Tag};
use crate::options::{ChatOptions, Start};
use crate::protocol::FailureKind;
use crate::render::line::Line;
use crate::render::screen::{Colours, Size};

/// A chat, and what it has asked to be done.
struct Desk {
    chat: Chat,
    now: Instant,
    /// What was sent, in short form.
    sent: Vec<String>,
    /// The finished lines so far.
    finished: Vec<String>,
}

impl Desk {
    fn new(start: Start, width: usize, height: usize) -> Self {
        let options = ChatOptions {
            start,
            cwd: "/src/app".to_owned(),
            colours: Colours::Shown,
            is_of_another: Box::new(|agent| agent == "gardener"),
            version: "1.2.3",
            age: Box::new(|at| format!("at {at}")),
            path: Box::new(|path| path.replace("/src", "~")),
        };
        let now = Instant::now();
        let (chat, first) = Chat::new(options, Size { width, height }, now);
        let mut desk = Self { chat, now, sent: Vec::new(), finished: Vec::new() };
        desk.note(first);
        desk.answer(
            Tag::Initialize,
            json!({ "agentInfo": { "name": "robot" }, "authMethods": [{ "id": "key", "name": "A key" }] }),
        );
        desk
    }

    /// A chat in the new session `s1`, whose agent has modes and a command.
    fn open() -> Self {
        let mut desk = Self::new(Start::New, 60, 24);
        let modes = json!({ "currentModeId": "ask", "availableModes": [
            { "id": "ask", "name": "Ask" }, { "id": "code", "name": "Code", "description": "does all" },
        ] });
        desk.answer(Tag::New, json!({ "sessionId": "s1", "modes": modes }));
        let commands = json!([
            { "name": "plan", "description": "Makes a plan", "input": { "hint": "of what" } },
            { "name": "help", "description": "Helps" },
        ]);
        desk.tell(json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands }));
        desk.sent.clear();
        desk
    }

    fn happen(&mut self, event: Event) {
        let effects = self.chat.handle(event, self.now);
        self.note(effects);
    }

    fn note(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.sent.push(match effect {
                Effect::Request { method, params, .. } => format!("{method} {params}"),
                Effect::Notify { method, params } => format!("notify {method} {params}"),
                Effect::Respond { id, outcome: Ok(result) } => format!("respond {} {result}", id.as_json()),
                Effect::Respond { id, outcome: Err(error) } => format!("refuse {} {error}", id.as_json()),
                Effect::BeginBelow => "begin below".to_owned(),
                Effect::Redraw => "redraw".to_owned(),
                Effect::Suspend => "suspend".to_owned(),
            });
        }
    }

    fn answer(&mut self, tag: Tag, result: Value) {
        self.happen(Event::Received(Received::Response { tag, outcome: Ok(raw(&result)) }));
    }

    fn refuse(&mut self, tag: Tag, error: RpcError) {
        self.happen(Event::Received(Received::Response { tag, outcome: Err(error) }));
    }

    fn tell(&mut self, update: Value) {
        self.tell_of("s1", update);
    }

    fn tell_of(&mut self, session: &str, update: Value) {
        let params = Some(raw(&json!({ "sessionId": session, "update": update })));
        self.happen(Event::Received(Received::Notification { method: "session/update".to_owned(), params }));
    }

    fn say(&mut self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.tell(json!({ "sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content }));
    }

    fn ask(&mut self, number: u64) {
        let options = json!([
            { "optionId": "yes", "name": "Allow", "kind": "allow_once" },
            { "optionId": "no", "name": "Reject", "kind": "reject_once" },
        ]);
        let params =
            json!({ "sessionId": "s1", "toolCall": { "toolCallId": "t", "title": "Write" }, "options": options });
        let (id, method) = (RequestId::from_number(number), "session/request_permission".to_owned());
        self.happen(Event::Received(Received::Request { id, method, params: Some(raw(&params)) }));
    }

    fn key(&mut self, code: KeyCode) {
        self.happen(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn control(&mut self, letter: char) {
        self.happen(Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)));
    }

    fn type_text(&mut self, text: &str) {
        for letter in text.chars() {
            self.key(KeyCode::Char(letter));
        }
    }

    fn prompt(&mut self, text: &str) {
        self.type_text(text);
        self.key(KeyCode::Enter);
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.happen(Event::Tick);
    }

    fn take_sent(&mut self) -> Vec<String> {
        std::mem::take(&mut self.sent)
    }

    /// Everything that is to be seen, the cursor as `▮`.
    fn screen(&mut self) -> String {
        let frame = self.chat.frame();
        self.finished.extend(frame.finished.iter().map(Line::text));
        let mut live: Vec<String> = frame.live.iter().map(Line::text).collect();
        assert!(live.len() <= self.chat.size().height, "{live:#?}");
        // In less than this even a single character may have no room.
        let width = self.chat.size().width.max(6);
        let too_wide = frame.finished.iter().chain(&frame.live).find(|line| line.width() > width);
        assert_eq!(too_wide, None, "in {width} columns");
        let mut lines = frame.finished.iter().chain(&frame.live);
        assert_eq!(lines.find(|line| line.text().contains(char::is_control)), None, "it commands the terminal");
        if let Some((row, column)) = frame.cursor {
            let at = crate::text::fitting_bytes(&live[row], column);
            live[row].insert(at, '▮');
        }
        self.finished.iter().chain(&live).map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
    }

    /// The input line alone.
    fn input(&mut self) -> String {
        self.screen().lines().rev().find(|line| line.contains('❯')).unwrap_or_default().to_owned()
    }
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn stopped(reason: &str) -> Value {
    json!({ "stopReason": reason })
}

fn sessions(next: Option<&str>) -> Value {
    let row = |id: &str, title: &str| {
        let meta = json!({ "rejoin": { "agent": "robot", "messages": 2 } });
        json!({ "sessionId": id, "cwd": "/src/app", "title": title, "updatedAt": "noon", "_meta": meta })
    };
    json!({ "sessions": [row("s7", "Paint the fence"), row("s8", "Mow")], "nextCursor": next })
}

#[test]
fn a_new_session_can_be_talked_in() {
    let mut desk = Desk::open();
    desk.prompt("Paint it");
    desk.say("I **will**.\n\nFirst the le");
    assert_eq!(desk.take_sent(), [r#"session/prompt {"sessionId":"s1","prompt":[{"type":"text","text":"Paint it"}]}"#]);
    insta::assert_snapshot!(desk.screen(), @"
    rejoin 1.2.3 · robot · ~/app
    new session s1 · ? shows the keys

    ❯ Paint it

    I will.

    First the le

    ⠋ working · 0s · Esc cancels
    ────────────────────────────────────────────────────────────
    ❯ ▮say what comes next
      Ask                                                ? keys
    ");
    desk.say("ft side.");
    desk.answer(Tag::Prompt(0), stopped("end_turn"));
    insta::assert_snapshot!(desk.screen(), @"
    rejoin 1.2.3 · robot · ~/app
    new session s1 · ? shows the keys

    ❯ Paint it

    I will.

    First the left side.

    ────────────────────────────────────────────────────────────
    ❯ ▮say something
      Ask                                                ? keys
    ");
}

#[test]
fn where_there_are_sessions_one_can_be_picked() {
    let mut desk = Desk::new(Start::Pick, 60, 24);
    desk.answer(Tag::List, sessions(None));
    insta::assert_snapshot!(desk.screen(), @"
    ────────────────────────────────────────────────────────────
    Sessions of this folder
    ❯ + new session
      Paint the fence  at noon · 2 messages · robot
      Mow              at noon · 2 messages · robot
      Enter chooses · type to narrow · Esc closes
    ");
    desk.take_sent();
    desk.key(KeyCode::Down);
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_sent(), [r#"session/load {"sessionId":"s7","cwd":"/src/app","mcpServers":[]}"#]);
    let chunk = |kind: &str, text: &str| json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
    desk.tell_of("s7", chunk("user_message_chunk", "How?"));
    desk.tell_of("s7", chunk("agent_message_chunk", "So."));
    assert!(desk.screen().contains("loading · 2 parts"));
    desk.answer(Tag::Load, json!({}));
    desk.key(KeyCode::Up);
    insta::assert_snapshot!(desk.screen(), @"
    rejoin 1.2.3 · robot · ~/app
    session s7 · Paint the fence · ? shows the keys

    ❯ How?

    So.

    ────────────────────────────────────────────────────────────
    ❯ How?▮
      Paint the fence                                    ? keys
    ");
}

#[test]
fn a_session_of_another_agent_is_opened_with_that_one() {
    let mut desk = Desk::new(Start::Pick, 60, 24);
    let meta = json!({ "rejoin": { "agent": "gardener" } });
    desk.answer(Tag::List, json!({ "sessions": [{ "sessionId": "s9", "cwd": "/src/app", "_meta": meta }] }));
    desk.take_sent();
    desk.key(KeyCode::Down);
    desk.key(KeyCode::Enter);
    assert_eq!((desk.take_sent(), desk.chat.end()), (Vec::new(), Some(&End::Elsewhere("s9".to_owned()))));
}

#[test]
fn where_there_are_none_a_new_one_is_made() {
    let mut desk = Desk::new(Start::Pick, 60, 24);
    desk.take_sent();
    desk.answer(Tag::List, json!({ "sessions": [] }));
    assert_eq!(desk.take_sent(), [r#"session/new {"cwd":"/src/app","mcpServers":[]}"#]);
}

#[test]
fn more_sessions_are_fetched_when_the_last_is_reached() {
    let mut desk = Desk::new(Start::Pick, 60, 24);
    desk.answer(Tag::List, sessions(Some("more")));
    desk.take_sent();
    desk.key(KeyCode::Up);
    assert_eq!(desk.take_sent(), [r#"session/list {"cwd":"/src/app","cursor":"more"}"#]);
    desk.answer(Tag::ListMore, sessions(None));
    assert_eq!(desk.screen().matches("Paint the fence").count(), 2);
}

#[test]
fn a_prompt_that_is_sent_during_a_turn_waits_for_its_own() {
    let mut desk = Desk::open();
    desk.prompt("one");
    desk.prompt("two");
    assert_eq!(desk.take_sent().len(), 2);
    assert!(desk.screen().contains("  queued  two"));
    desk.answer(Tag::Prompt(0), stopped("end_turn"));
    let screen = desk.screen();
    assert!(screen.contains("❯ two") && !screen.contains("queued"), "{screen}");
    desk.answer(Tag::Prompt(1), stopped("max_tokens"));
    assert!(desk.screen().contains("! stopped: the model reached its token limit"));
}

#[test]
fn esc_cancels_the_turn_and_gives_back_what_waits() {
    let mut desk = Desk::open();
    desk.prompt("one");
    desk.prompt("two");
    desk.ask(7);
    desk.take_sent();
    desk.key(KeyCode::Esc);
    assert_eq!(
        desk.take_sent(),
        [r#"respond 7 {"outcome":{"outcome":"cancelled"}}"#, r#"notify session/cancel {"sessionId":"s1"}"#]
    );
    desk.answer(Tag::Prompt(0), stopped("cancelled"));
    desk.answer(Tag::Prompt(1), stopped("cancelled"));
    assert_eq!(desk.input(), "❯ two▮");
    assert_eq!(desk.screen().matches("! cancelled").count(), 1);
}

#[test]
fn ctrl_c_clears_then_cancels_then_quits() {
    let mut desk = Desk::open();
    desk.prompt("one");
    desk.type_text("draft");
    desk.take_sent();
    desk.control('c');
    assert_eq!((desk.take_sent().len(), desk.input().as_str()), (0, "❯ ▮say what comes next"));
    desk.wait(Duration::from_secs(3));
    desk.control('c');
    assert_eq!(desk.take_sent(), [r#"notify session/cancel {"sessionId":"s1"}"#]);
    assert!(desk.screen().contains("Ctrl-C again quits") && desk.chat.end().is_none());
    desk.control('c');
    assert_eq!(desk.chat.end(), Some(&End::Quit));
}

#[test]
fn ctrl_d_quits_on_an_empty_line_alone() {
    let mut desk = Desk::open();
    desk.type_text("x");
    desk.control('d');
    assert_eq!(desk.chat.end(), None);
    desk.key(KeyCode::Backspace);
    desk.control('d');
    assert_eq!((desk.chat.end(), desk.chat.session_to_rejoin()), (Some(&End::Quit), None));
}

#[test]
fn a_session_that_was_talked_in_can_be_rejoined() {
    let mut desk = Desk::open();
    desk.prompt("one");
    assert_eq!(desk.chat.session_to_rejoin().as_deref(), Some("s1"));
}

#[test]
fn a_permission_is_asked_once_and_answered_by_key() {
    let mut desk = Desk::open();
    desk.prompt("one");
    let diff = json!({ "type": "diff", "path": "/src/app/a", "newText": "wood\n" });
    desk.tell(json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Write a", "kind": "edit", "content": [diff] }));
    desk.ask(7);
    insta::assert_snapshot!(desk.screen(), @"
    rejoin 1.2.3 · robot · ~/app
    new session s1 · ? shows the keys

    ❯ one

    ○ Write a  edit · +1 -0

    ⠋ working · 0s · Esc cancels
    ────────────────────────────────────────────────────────────
    ? Allow Write?
      │ 1 + wood
    ❯ 1 y Allow
      2 n Reject
      Esc cancels the turn
    ");
    desk.take_sent();
    desk.key(KeyCode::Char('y'));
    assert_eq!(desk.take_sent(), [r#"respond 7 {"outcome":{"outcome":"selected","optionId":"yes"}}"#]);
    assert!(!desk.screen().contains("Allow"));
}

#[test]
fn a_question_that_is_taken_back_goes_away() {
    let mut desk = Desk::open();
    desk.ask(7);
    desk.take_sent();
    let params = Some(raw(&json!({ "requestId": 7 })));
    desk.happen(Event::Received(Received::Notification { method: "$/cancel_request".to_owned(), params }));
    assert_eq!(desk.take_sent(), [r#"respond 7 {"outcome":{"outcome":"cancelled"}}"#]);
    assert!(!desk.screen().contains("Allow"));
}

#[test]
fn whoever_is_typing_does_not_answer_by_accident() {
    let mut desk = Desk::open();
    desk.prompt("one");
    desk.type_text("wh");
    desk.ask(7);
    desk.take_sent();
    desk.type_text("y");
    assert_eq!(desk.take_sent(), [""; 0]);
    assert!(desk.screen().contains("❯ why▮") && desk.screen().contains("Allow Write?"));
    desk.wait(Duration::from_secs(1));
    desk.type_text("y");
    assert_eq!(desk.take_sent().len(), 1);
    assert_eq!(desk.input(), "❯ why▮");
}

#[test]
fn what_the_chat_can_not_do_is_refused() {
    let mut desk = Desk::open();
    let (id, method) = (RequestId::from_number(3), "fs/read_text_file".to_owned());
    desk.happen(Event::Received(Received::Request { id, method, params: None }));
    assert_eq!(desk.take_sent(), ["refuse 3 the chat can't do `fs/read_text_file`"]);
}

#[test]
fn modes_are_switched_by_key_and_by_menu() {
    let mut desk = Desk::open();
    desk.key(KeyCode::BackTab);
    assert_eq!(desk.take_sent(), [r#"session/set_mode {"sessionId":"s1","modeId":"code"}"#]);
    desk.answer(Tag::Choose("mode".to_owned(), json!("code")), json!({}));
    assert!(desk.screen().contains("  Code"));
    desk.control('o');
    desk.key(KeyCode::Enter);
    insta::assert_snapshot!(desk.screen(), @"
    rejoin 1.2.3 · robot · ~/app
    new session s1 · ? shows the keys

    ────────────────────────────────────────────────────────────
    Mode
      Ask
    ❯ Code  does all
      Enter chooses · type to narrow · Esc closes
    ");
    desk.key(KeyCode::Up);
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_sent(), [r#"session/set_mode {"sessionId":"s1","modeId":"ask"}"#]);
    desk.prompt("/mode");
    assert!(desk.screen().contains("does all"));
    desk.key(KeyCode::Esc);
    desk.prompt("/model");
    assert!(desk.screen().contains("the agent has nothing to choose from there"));
    assert_eq!(desk.take_sent(), [""; 0]);
}

#[test]
fn commands_are_completed() {
    let mut desk = Desk::open();
    desk.type_text("/");
    insta::assert_snapshot!(desk.screen(), @"
    rejoin 1.2.3 · robot · ~/app
    new session s1 · ? shows the keys

    ────────────────────────────────────────────────────────────
    ❯ /▮
    ❯ /plan      Makes a plan
      /help      Helps
      /mode      Choose the mode
      /model     Choose the model
      /options   Choose the mode, the model and other options
      /new       Begin another session
      /sessions  Go to another session of this folder
      /details   Show the whole conversation
    ");
    desk.type_text("p");
    desk.key(KeyCode::Tab);
    assert_eq!(desk.input(), "❯ /plan ▮");
    desk.prompt("a fence");
    desk.prompt("/he");
    let prompted: Vec<String> = desk.take_sent();
    assert!(prompted[0].contains("/plan a fence") && prompted[1].contains("/help"), "{prompted:?}");
    desk.prompt("/pl");
    assert_eq!((desk.take_sent().len(), desk.input().as_str()), (0, "❯ /plan ▮"));
}

#[test]
fn no_name_of_a_command_commands_the_terminal() {
    let mut desk = Desk::open();
    let commands = json!([{ "name": "x\x1b[2J\ny", "description": "\x1b[2J" }]);
    desk.tell(json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands }));
    desk.type_text("/x");
    assert!(desk.screen().contains("❯ /x␛[2J y"), "{}", desk.screen());
}

#[test]
fn what_is_pasted_with_tabs_has_the_cursor_behind_it() {
    let mut desk = Desk::open();
    desk.happen(Event::Paste("\tfn main()\n\t\tx".to_owned()));
    let screen = desk.screen();
    assert!(screen.contains("\n❯     fn main()\n          x▮\n"), "{screen}");
}

#[test]
fn a_prompt_may_have_several_lines() {
    let mut desk = Desk::open();
    desk.type_text("one\\");
    desk.key(KeyCode::Enter);
    desk.type_text("two");
    desk.control('j');
    desk.happen(Event::Paste("three\r\nfour".to_owned()));
    desk.key(KeyCode::Enter);
    assert!(desk.take_sent()[0].contains(r#""text":"one\ntwo\nthree\nfour""#));
}

#[test]
fn prompts_are_called_back() {
    let mut desk = Desk::open();
    desk.prompt("one");
    desk.prompt("two");
    desk.type_text("draft");
    for (code, expected) in [
        (KeyCode::Up, "two"),
        (KeyCode::Up, "one"),
        (KeyCode::Up, "one"),
        (KeyCode::Down, "two"),
        (KeyCode::Down, "draft"),
    ] {
        desk.key(code);
        assert_eq!(desk.input(), format!("❯ {expected}▮"));
    }
}

#[test]
fn an_agent_that_wants_a_login_gets_one() {
    let mut desk = Desk::new(Start::New, 60, 24);
    let error = || RpcError::new(-32000, "no key").with_data(&json!({ "kind": "auth_required" }));
    desk.refuse(Tag::New, error());
    insta::assert_snapshot!(desk.screen(), @"
    ────────────────────────────────────────────────────────────
    no key: log in by
    ❯ A key
      Enter chooses · type to narrow · Esc closes
    ");
    desk.take_sent();
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_sent(), [r#"authenticate {"methodId":"key"}"#]);
    desk.answer(Tag::Authenticate, json!({}));
    assert_eq!(desk.take_sent(), [r#"session/new {"cwd":"/src/app","mcpServers":[]}"#]);
}

#[test]
fn a_turn_that_needs_a_login_offers_one() {
    let mut desk = Desk::open();
    desk.prompt("one");
    desk.refuse(Tag::Prompt(0), RpcError::new(-32000, "expired").with_data(&json!({ "kind": "auth_required" })));
    let screen = desk.screen();
    assert!(screen.contains("✗ expired") && screen.contains("The agent wants a login: log in by"), "{screen}");
    desk.key(KeyCode::Enter);
    desk.answer(Tag::Authenticate, json!({}));
    assert!(desk.screen().contains("logged in: say it again"));
}

#[test]
fn what_is_typed_before_there_is_a_session_is_not_lost() {
    let mut desk = Desk::new(Start::New, 60, 24);
    desk.take_sent();
    desk.prompt("early");
    assert!(desk.screen().contains("opening a session") && desk.input() == "❯ early▮");
    desk.answer(Tag::New, json!({ "sessionId": "s1" }));
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_sent().len(), 1);
}

#[test]
fn without_a_session_a_failure_is_the_end() {
    let mut desk = Desk::new(Start::New, 60, 24);
    desk.refuse(Tag::New, RpcError::new(-32010, "it died").with_data(&json!({ "kind": "agent_failed" })));
    let Some(End::Failed(failure)) = desk.chat.end() else { panic!("it goes on") };
    assert_eq!((failure.message.as_str(), failure.kind), ("it died", FailureKind::Agent));
}

#[test]
fn with_a_session_a_failure_is_shown() {
    let mut desk = Desk::open();
    desk.prompt("one");
    desk.refuse(Tag::Prompt(0), RpcError::new(-32010, "it died"));
    desk.prompt("/new");
    desk.refuse(Tag::New, RpcError::new(-32010, "it is dead"));
    insta::assert_snapshot!(desk.screen(), @"
    rejoin 1.2.3 · robot · ~/app
    new session s1 · ? shows the keys

    ❯ one

    ✗ it died

    ✗ it is dead

    ────────────────────────────────────────────────────────────
    ❯ ▮say something
      Ask                                                ? keys
    ");
    assert_eq!(desk.chat.end(), None);
}

#[test]
fn another_session_can_be_gone_to() {
    let mut desk = Desk::open();
    desk.prompt("/new");
    desk.answer(Tag::New, json!({ "sessionId": "s2" }));
    assert_eq!(
        desk.take_sent(),
        [r#"session/new {"cwd":"/src/app","mcpServers":[]}"#, r#"session/close {"sessionId":"s1"}"#, "begin below"]
    );
    desk.tell_of("s1", json!({ "sessionUpdate": "weather" }));
    desk.prompt("hi");
    assert!(!desk.screen().contains("weather") && desk.take_sent()[0].contains("s2"));
    desk.prompt("/sessions");
    assert!(desk.screen().contains("a turn is running: Esc cancels it"));
}

#[test]
fn the_whole_conversation_is_shown_on_a_screen_of_its_own() {
    let mut desk = Desk::open();
    desk.prompt("one");
    let content = json!({ "type": "text", "text": format!("deep {}", "thought ".repeat(20)) });
    desk.tell(json!({ "sessionUpdate": "agent_thought_chunk", "content": content }));
    desk.say("Well.");
    desk.control('t');
    let lines = desk.chat.full_screen().unwrap();
    assert_eq!(lines.len(), 24);
    let text: Vec<String> = lines.iter().map(Line::text).collect();
    assert!(text.iter().any(|line| line == "  thought thought thought thought thought thought thought"), "{text:#?}");
    desk.key(KeyCode::Char('q'));
    assert_eq!(desk.chat.full_screen(), None);
    desk.key(KeyCode::Char('?'));
    assert!(desk.chat.full_screen().unwrap()[0].text().starts_with("  Enter"));
}

#[test]
fn what_has_no_room_on_the_screen_is_finished() {
    let mut desk = Desk::new(Start::New, 30, 10);
    desk.answer(Tag::New, json!({ "sessionId": "s1" }));
    desk.prompt("one");
    for number in 0..12 {
        desk.tell(json!({ "sessionUpdate": "tool_call", "toolCallId": number.to_string(), "title": format!("Call {number}"), "status": "in_progress" }));
    }
    desk.say(&"word ".repeat(200));
    let screen = desk.screen();
    assert!(screen.contains("◐ Call 0") && screen.contains("◐ Call 11"), "{screen}");
    desk.happen(Event::Resized(Size { width: 4, height: 2 }));
    desk.screen();
}

#[test]
fn unknown_updates_have_a_place() {
    let mut desk = Desk::open();
    desk.tell(json!({ "sessionUpdate": "weather" }));
    assert!(desk.screen().contains("\n[weather]\n"));
}

#[test]
fn whatever_happens_fits_on_the_screen() {
    let keys = [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Backspace,
        KeyCode::Char('/'),
        KeyCode::Char('?'),
        KeyCode::Char('東'),
        KeyCode::Char('y'),
    ];
    let texts = [
        "# 東京\n\n- a",
        "```rust\nlet x = 1;\n",
        "```\n",
        "| a | b |\n|---|---|\n| 1 |",
        "word ",
        "\n\n",
        "👨‍👩‍👧\t\x1b[2J",
        "&#27;[2J [a](b&#155;c)\n\n",
        "~~~\x1b[2J\n",
    ];
    for seed in 1..=20_u64 {
        let (mut desk, mut state, mut n_prompts) = (Desk::open(), seed, 0);
        let mut pick = |count: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % count
        };
        for step in 0..300 {
            match pick(10) {
                0..4 => desk.key(keys[pick(keys.len())]),
                4 => desk.control(['t', 'o', 'j', 'w', 'k'][pick(5)]),
                5 | 6 => desk.say(texts[pick(texts.len())]),
                7 => {
                    let status = ["pending", "in_progress", "completed", "failed"][pick(4)];
                    let (id, text) = (pick(3).to_string(), texts[pick(texts.len())]);
                    let content = json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
                    desk.tell(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": text, "status": status, "content": content }));
                }
                8 => desk.happen(Event::Resized(Size { width: 1 + pick(90), height: 1 + pick(30) })),
                _ if pick(2) == 0 => desk.ask(step),
                _ => {
                    desk.answer(Tag::Prompt(n_prompts), stopped("end_turn"));
                    n_prompts += 1;
                }
            }
            desk.wait(Duration::from_millis(300));
            desk.screen();
            let size = desk.chat.size();
            let full = desk.chat.full_screen().unwrap_or_default();
            assert!(full.len() <= size.height.max(2), "{full:#?}");
        }
    }
}
