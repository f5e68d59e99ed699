use rejoin::schema::{Content, TextContent, ToolCallId};
use serde_json::json;

use super::*;

fn blocks(text: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::Text(TextContent::new(text))]
}

fn user(text: &str) -> Past {
    Past::User(blocks(text))
}

fn agent(text: &str) -> Past {
    Past::Agent(blocks(text))
}

fn kept(kept: &Kept) -> Past {
    Past::Kept(serde_json::to_value(kept).unwrap())
}

/// An answer that makes these calls.
fn calls(ids: &[&str]) -> Past {
    let call = |id: &&str| ToolUse { id: (*id).to_owned(), name: "look".to_owned(), arguments: serde_json::Map::new() };
    kept(&Kept::Answer(KeptAnswer { calls: ids.iter().map(call).collect(), ..KeptAnswer::default() }))
}

fn call(id: &str, status: ToolCallStatus, text: Option<&str>) -> Past {
    let call = ToolCall::new(ToolCallId::new(id.to_owned()), "Look").status(status);
    let content = text.map(|text| ToolCallContent::Content(Content::new(ContentBlock::Text(TextContent::new(text)))));
    Past::ToolCall(Box::new(call.content(content.into_iter().collect())))
}

fn done(id: &str, text: &str) -> Past {
    call(id, ToolCallStatus::Completed, Some(text))
}

fn compacted(summary: &str, remainder: Remainder) -> Past {
    kept(&Kept::Compacted { summary: summary.to_owned(), remainder, cost: None })
}

/// Messages, one a line.
fn written(messages: &[Message]) -> String {
    let texts =
        |parts: &[Part]| parts.iter().map(|part| part.text().unwrap_or("[image]")).collect::<Vec<_>>().join(" + ");
    let said = |said: &Said| match said {
        Said::Text(text) => text.clone(),
        Said::Call(call) => format!("call {}", call.id),
        Said::Kept(value) => format!("kept {value}"),
    };
    let line = |message: &Message| match message {
        Message::User(parts) => format!("user: {}", texts(parts)),
        Message::Assistant(all) => format!("assistant: {}", all.iter().map(said).collect::<Vec<_>>().join(" + ")),
        Message::ToolResult { call, parts, is_error, .. } => {
            format!("{} {call}: {}", if *is_error { "error" } else { "result" }, texts(parts))
        }
    };
    messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn check(past: &[Past], expected: &[&str]) {
    assert_eq!(written(&Context::of(past).messages()), expected.join("\n"));
}

#[test]
fn a_conversation_is_told_as_it_was() {
    check(&[], &[]);
    check(&[user("a"), agent("b"), user("c")], &["user: a", "assistant: b", "user: c"]);
    let past = [user("a"), agent("b"), calls(&["1", "2"]), done("1", "x"), done("2", "y"), agent("c")];
    check(&past, &["user: a", "assistant: b + call 1 + call 2", "result 1: x", "result 2: y", "assistant: c"]);
}

#[test]
fn every_call_has_a_result_whatever_happened() {
    let interrupted = "error 1: The call was interrupted. There is no result.";
    let begun = [user("a"), calls(&["1"])];
    check(&begun, &["user: a", "assistant: call 1", interrupted]);
    let pending = [user("a"), calls(&["1"]), call("1", ToolCallStatus::InProgress, Some("half")), user("b")];
    let answerless = ["user: a", "assistant: call 1", interrupted, "user: b"];
    check(&pending, &answerless);
    let failed = [user("a"), calls(&["1"]), call("1", ToolCallStatus::Failed, None), user("b")];
    check(&failed, &answerless);
    let half = [user("a"), calls(&["1"]), call("1", ToolCallStatus::Failed, Some("half"))];
    let told = "error 1: The call was interrupted. There is no result. Until then people were shown this: + half";
    check(&half, &["user: a", "assistant: call 1", told]);
    let mut said_why = half.clone();
    if let Past::ToolCall(call) = &mut said_why[2] {
        call.raw_output = Some(json!("half"));
    }
    check(&said_why, &["user: a", "assistant: call 1", "error 1: half"]);
}

#[test]
fn roles_take_turns_and_no_message_is_empty() {
    let unanswered = "assistant: (There was no answer to this.)";
    check(&[user("a"), user("b")], &["user: a", unanswered, "user: b"]);
    check(&[user("a"), agent(" \n"), user("b")], &["user: a", unanswered, "user: b"]);
    check(&[user(""), agent("b")], &["user: (empty)", "assistant: b"]);
    check(&[agent("a"), user("b")], &["user: (The conversation begins here.)", "assistant: a", "user: b"]);
    check(&[user("a"), calls(&[]), user("b")], &["user: a", unanswered, "user: b"]);
}

#[test]
fn what_the_provider_wants_back_is_told_with_its_answer() {
    let thoughts = Some(json!("signed"));
    let answer = kept(&Kept::Answer(KeptAnswer { thoughts, ..KeptAnswer::default() }));
    check(&[user("a"), agent("b"), answer], &["user: a", "assistant: b + kept \"signed\""]);
}

#[test]
fn a_call_gives_what_the_model_was_given_or_what_people_were_shown() {
    let parts = vec![Part::Text("all of it".to_owned())];
    let result = kept(&Kept::Result { call: "1".to_owned(), parts });
    let past = [user("a"), calls(&["1"]), done("1", "20 lines"), result];
    check(&past, &["user: a", "assistant: call 1", "result 1: all of it"]);
    let shown = |raw: Option<Value>, is_error| written(&[Message::User(parts_shown(&[], raw.as_ref(), is_error))]);
    assert_eq!(shown(Some(json!("text")), false), "user: text");
    assert_eq!(shown(Some(json!({ "a": 1 })), false), "user: {\"a\":1}");
    assert_eq!(shown(None, false), "user: Done.");
}

#[test]
fn commands_are_left_out_but_for_what_a_tool_said() {
    let aside = kept(&Kept::Aside);
    let help = [user("a"), agent("b"), user("/help"), aside.clone(), agent("- /help"), user("c")];
    check(&help, &["user: a", "assistant: b", "user: c"]);
    let cut_short = [user("a"), agent("b"), user("/compact"), aside.clone()];
    check(&cut_short, &["user: a", "assistant: b"]);
    let called = [user("/call s.t"), aside, done("call-0", "4"), agent("4"), user("c")];
    check(&called, &["user: /call s.t", "assistant: 4", "user: c"]);
}

#[test]
fn the_prompt_of_a_server_stands_for_the_command() {
    let prompt = kept(&Kept::Prompt(vec![Part::Text("Describe Rome.".to_owned())]));
    let past = [user("/s.city Rome"), prompt, agent("old")];
    check(&past, &["user: Describe Rome.", "assistant: old"]);
}

#[test]
fn what_was_refused_is_not_told_again() {
    let past = [user("a"), agent("b"), user("bad"), agent("I ca"), kept(&Kept::Refused), user("c")];
    check(&past, &["user: a", "assistant: b", "user: c"]);
}

#[test]
fn a_call_of_another_agent_is_told_in_words() {
    let past = [user("a"), agent("b"), done("x", "4"), user("c")];
    check(&past, &["user: a", "assistant: b + (The call \"Look\" was made. 4)", "user: c"]);
}

#[test]
fn after_a_compaction_the_summary_goes_before_the_prompt_and_what_follows() {
    let compacted = |summary: &str| compacted(summary, Remainder::Prompt);
    let head = "user: What happened so far, in a summary:\n\nS + c";
    let before_the_answer = [user("a"), agent("b"), user("c"), compacted("S"), agent("d"), user("e")];
    check(&before_the_answer, &[head, "assistant: d", "user: e"]);
    let in_a_turn = [user("c"), calls(&["1"]), done("1", "x"), compacted("S"), agent("d")];
    check(&in_a_turn, &[head, "assistant: d"]);
    let by_command =
        [user("a"), agent("b"), user("/compact"), kept(&Kept::Aside), compacted("S"), agent("ok"), user("c")];
    check(&by_command, &[head]);
    let twice = [user("a"), compacted("R"), user("c"), compacted("S")];
    check(&twice, &[head]);
}

#[test]
fn a_compaction_can_leave_the_newest_results() {
    let compacted = compacted("S", Remainder::PromptAndResults);
    let past = [user("c"), calls(&["1"]), done("1", "x"), calls(&["2"]), done("2", "y"), compacted.clone(), agent("d")];
    let head = "user: What happened so far, in a summary:\n\nS + c";
    check(&past, &[head, "assistant: call 2", "result 2: y", "assistant: d"]);
    check(&[user("a"), agent("b"), user("c"), compacted], &[head]);
}

#[test]
fn a_compaction_replaces_something_or_is_not_made() {
    let remainder = |past: &[Past]| Context::of(past).remainder();
    assert_eq!(remainder(&[user("a"), agent("b"), user("c")]), Some(Remainder::Prompt));
    let two_steps = [user("a"), calls(&["1"]), done("1", "x"), calls(&["2"]), done("2", "y")];
    assert_eq!((remainder(&two_steps[..1]), remainder(&two_steps[..3])), (None, None));
    assert_eq!(remainder(&two_steps), Some(Remainder::PromptAndResults));
    let replaced = Context::of(&two_steps).messages_before(Remainder::PromptAndResults);
    assert_eq!(written(&replaced), "user: a\nassistant: call 1\nresult 1: x");
}

#[test]
fn the_newest_results_share_the_room_that_they_are_given() {
    let long = "x".repeat(4_000);
    let mut context = Context::of(&[user("a"), calls(&["1", "2"]), done("1", &long), done("2", "short")]);
    assert_eq!(context.shorten_results(2_000), []);
    let changed = context.shorten_results(200);
    assert_eq!(changed.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["1"]);
    assert!(context.tokens() < 250, "{}", context.tokens());
    // What is kept of them is what the model is told.
    let told =
        Past::Kept(serde_json::to_value(Kept::Result { call: "1".into(), parts: changed[0].1.clone() }).unwrap());
    let past = [user("a"), calls(&["1", "2"]), done("1", &long), done("2", "short"), told];
    assert_eq!(Context::of(&past).messages(), context.messages());
}

#[test]
fn calls_get_ids_that_no_other_has() {
    let mut context = Context::of(&[user("a"), calls(&["1", "call#look#0"]), done("x", "4")]);
    let ids = ["1", "2", "2", "x", "call#look#0", "", ""].map(|id| context.unused_id(id));
    assert_eq!(ids, ["1_1", "2", "2_1", "x_1", "call#look#1", "call_0", "call_1"]);
    // Each takes up the search where the last one ended.
    let n_same = 20_000;
    let same: HashSet<String> = (0..n_same).map(|_| context.unused_id("same")).collect();
    assert_eq!((same.len(), context.next_numbers["same_0"]), (n_same, n_same));
}

#[test]
fn tokens_are_those_counted_and_an_estimate_of_the_rest() {
    let counted = kept(&Kept::Answer(KeptAnswer { used: Some(1000), ..KeptAnswer::default() }));
    let past = [user("a"), agent("b"), counted, user(&"x".repeat(400))];
    assert_eq!(Context::of(&past).tokens(), 1100);
    assert_eq!(Context::of(&past[3..]).tokens(), 100);
    let image = Past::User(vec![ContentBlock::Image(rejoin::schema::ImageContent::new("AAAA", "image/png"))]);
    assert_eq!(Context::of(&[image]).tokens(), TOKENS_OF_AN_IMAGE);
}

#[test]
fn what_was_spent_stays_spent() {
    let answer = |cost| kept(&Kept::Answer(KeptAnswer { cost, ..KeptAnswer::default() }));
    let remainder = Remainder::Prompt;
    let compacted = kept(&Kept::Compacted { summary: "S".to_owned(), remainder, cost: Some(0.25) });
    let past = [user("a"), answer(Some(0.5)), user("b"), answer(None), kept(&Kept::Refused), user("c"), compacted];
    assert_eq!(Context::of(&past).cost(), Some(0.75));
    assert_eq!(Context::of(&past[2..4]).cost(), None);
}
