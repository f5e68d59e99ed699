//! Each rule finds what breaks it, and nothing else.

use std::time::Duration;

use futures::StreamExt;
use rejoin_check::{Check, CheckError, Finding, Level, Limits, Prompts, Report, Status, rules};
use rejoin_wire::Command;
use tempfile::TempDir;

/// How many agents are checked at the same time. They mostly wait.
const AT_ONCE: usize = 12;

/// The agent that keeps every rule but `rule`, and its folder.
fn check_of(rule: &str) -> (Check, TempDir) {
    let state = tempfile::tempdir().unwrap();
    let args = vec![state.path().display().to_string(), rule.to_owned()];
    let command = Command::new(env!("CARGO_BIN_EXE_faulty-agent"), args);
    let seconds = Duration::from_secs;
    let limits = Limits {
        answer: seconds(12),
        refusal: seconds(3),
        cancel: seconds(2),
        servers: seconds(3),
        exit: seconds(3),
        listen: Duration::from_millis(150),
    };
    (Check { command, limits, prompts: Prompts::default(), only: Vec::new(), tap: None, progress: None }, state)
}

async fn report_of(rule: &'static str) -> Report {
    let (check, _state) = check_of(rule);
    check.run().await.unwrap()
}

/// The rules that came out as `status`.
fn with_status(report: &Report, status: Status) -> Vec<&str> {
    report.rules.iter().filter(|finding| finding.status == status).map(|finding| finding.rule).collect()
}

fn broken(report: &Report) -> Vec<String> {
    let is_broken = |finding: &&Finding| finding.status == Status::Fail;
    let tell = |finding: &Finding| format!("{}: {:#?}", finding.rule, finding.evidence);
    report.rules.iter().filter(is_broken).map(tell).collect()
}

#[tokio::test]
async fn an_agent_that_keeps_every_rule_is_found_to_do_so() {
    let report = report_of("").await;

    assert_eq!(broken(&report), Vec::<String>::new());
    // What it has every ability for, and yet nothing to show.
    assert_eq!(with_status(&report, Status::Skip), ["wire.unadvertised", "load.usage"]);
    assert!(report.is_good());
}

#[tokio::test]
async fn what_is_not_advertised_is_skipped_and_never_passed() {
    let report = report_of("bare").await;

    assert_eq!(broken(&report), Vec::<String>::new());
    let skipped = with_status(&report, Status::Skip);
    let families = ["list.", "load.", "resume.", "fork.", "close.", "delete.", "title.", "archive.", "status."];
    let is_of_them = |rule: &&str| families.iter().any(|family| rule.starts_with(family));
    let all: Vec<&str> = rules().map(|rule| rule.id).filter(is_of_them).collect();
    assert_eq!(skipped.into_iter().filter(is_of_them).collect::<Vec<_>>(), all);
    assert!(with_status(&report, Status::Pass).contains(&"cancel.stop-reason"));
}

#[tokio::test]
async fn a_client_with_files_has_no_terminals() {
    let report = report_of("terminal").await;

    assert_eq!(with_status(&report, Status::Fail), ["wire.only-advertised"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_rule_is_found_broken_by_an_agent_that_breaks_just_that() {
    let breakable: Vec<&'static str> = rules().filter(|rule| rule.level != Level::Report).map(|rule| rule.id).collect();
    let found = futures::stream::iter(breakable.iter().copied())
        .map(|rule| async move { (rule, tokio::spawn(report_of(rule)).await.unwrap()) })
        .buffered(AT_ONCE);
    let found: Vec<(&str, Report)> = found.collect().await;

    let wrong: Vec<String> = found
        .iter()
        .filter(|(rule, report)| with_status(report, Status::Fail) != [*rule])
        .map(|(rule, report)| format!("{rule}: broken are {:#?}", broken(report)))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test]
async fn an_agent_that_does_not_start_is_told_with_its_last_words() {
    let (mut check, _state) = check_of("");
    check.command.program = "/bin/sh".to_owned();
    check.command.args = vec!["-c".to_owned(), "echo no licence >&2; exit 7".to_owned()];

    let error = check.run().await.unwrap_err();

    assert!(matches!(&error, CheckError::NoAgent { .. }), "{error:?}");
    assert!(error.to_string().contains("no licence"), "{error}");
}

#[tokio::test]
async fn an_agent_that_never_answers_is_given_up() {
    let (mut check, _state) = check_of("");
    check.command.program = "/bin/sh".to_owned();
    check.command.args = vec!["-c".to_owned(), "sleep 60".to_owned()];
    check.limits = Limits::with_answer(Duration::from_millis(200));

    let error = check.run().await.unwrap_err();

    assert!(error.to_string().contains("no answer within 0.2 s"), "{error}");
}

#[tokio::test]
async fn only_the_rules_that_were_asked_for_are_told() {
    let (mut check, _state) = check_of("");
    check.only = vec!["initialize.".to_owned(), "new.unique-id".to_owned()];

    let report = check.run().await.unwrap();

    let told: Vec<&str> = report.rules.iter().map(|finding| finding.rule).collect();
    let initialize = ["initialize.version", "initialize.unknown-version", "initialize.capabilities", "initialize.info"];
    assert_eq!(told, [&initialize[..], &["new.unique-id"]].concat());
    assert_eq!(report.count(Status::Pass), told.len());
}

#[test]
fn every_rule_is_documented() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/check.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `") && line.contains(" | ")).collect();
    let expected: Vec<String> =
        rules().map(|rule| format!("| `{}` | {} | {} |", rule.id, rule.level.name(), rule.title)).collect();
    assert_eq!(rows, expected);
}
