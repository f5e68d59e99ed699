//! `rejoin stats`

use crate::world::{Transcript, World};

/// A session of `agent` that was used at `at`, with so many messages, and cost this.
fn session(id: &str, agent: &str, at: &str, messages: usize, cost: &str) -> Transcript {
    let usage = format!(r#"{{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{cost}}}"#);
    let transcript = Transcript::new(id).at(at.parse().unwrap()).prompt(id);
    let mut transcript = (1..messages).fold(transcript, |transcript, _| transcript.say("x")).update(&usage).end_well();
    agent.clone_into(&mut transcript.session.facts.agent.name);
    transcript
}

fn filled() -> World {
    let world = World::new();
    let dollars = |amount: f64| format!(r#"{{"amount":{amount},"currency":"USD"}}"#);
    session("a", "robot", "2024-05-06T07:08:00Z", 9, &dollars(1.5)).import(&world);
    session("b", "robot", "2024-05-06T23:59:59Z", 3, &dollars(0.001)).import(&world);
    session("c", "\u{1b}[31mother", "2024-05-08T00:00:00Z", 2, r#"{"amount":2,"currency":"CHF"}"#).import(&world);
    session("d", "other", "2024-05-09T00:00:00Z", 1, "null").import(&world);
    assert_eq!(world.run(&["archive", "d"]).code, Some(0));
    world
}

/// What depends on the machine is left out.
fn without_size(shown: &str) -> String {
    let lines = shown.lines().filter(|line| !line.starts_with("size ") && !line.contains("\"bytes\""));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["stats"]), @"
    Show how much there is, by agent and by day

    Usage: rejoin stats [OPTIONS]

    Options:
          --days <N>  Show the last N days [default: 14]
          --json      Write a JSON object
      -h, --help      Print help

    A session counts, with all its messages and what it cost, for the day on which it was last used; a
    fork with what it has of its source. Sessions that were never prompted do not count.

    Examples:
      rejoin stats
      rejoin stats --days 30
      rejoin stats --json                 all days, for a program
    --- exit 0
    ");
}

#[test]
fn sessions_messages_and_costs_are_told_by_agent_and_by_day() {
    let world = filled();
    insta::assert_snapshot!(without_size(&world.run(&["stats"]).to_string()), @"
    sessions  4 (1 archived)
    messages  15
    cost      2.00 CHF + $1.50

    AGENT       SESSIONS  MESSAGES      COST
    robot              2        12     $1.50
    ␛[31mother         1         2  2.00 CHF
    other              1         1

    DAY         SESSIONS  MESSAGES      COST
    2024-05-06         2        12     $1.50  ████████████████████████
    2024-05-08         1         2  2.00 CHF  ████
    2024-05-09         1         1            ██
    --- exit 0
    ");
    insta::assert_snapshot!(without_size(&world.run(&["stats", "--days", "1"]).to_string()), @"
    sessions  4 (1 archived)
    messages  15
    cost      2.00 CHF + $1.50

    AGENT       SESSIONS  MESSAGES      COST
    robot              2        12     $1.50
    ␛[31mother         1         2  2.00 CHF
    other              1         1

    DAY         SESSIONS  MESSAGES
    2024-05-09         1         1  ████████████████████████
    --- exit 0
    ");
}

#[test]
fn days_are_those_of_the_place() {
    let world = filled();
    let mut command = world.command(&["stats", "--days", "9"]);
    command.env("TZ", "America/New_York");
    let shown = world.finish(command, "").to_string();
    insta::assert_snapshot!(shown.lines().filter(|line| line.starts_with("2024")).collect::<Vec<_>>().join("\n"), @"
    2024-05-06         2        12     $1.50  ████████████████████████
    2024-05-07         1         2  2.00 CHF  ████
    2024-05-08         1         1            ██
    ");
}

#[test]
fn json_holds_all_days() {
    insta::assert_snapshot!(without_size(&filled().run(&["stats", "--json"]).to_string()), @r#"
    {
      "sessions": 4,
      "messages": 15,
      "cost": {
        "CHF": 2.0,
        "USD": 1.501
      },
      "archived": 1,
      "agents": [
        {
          "agent": "\u001b[31mother",
          "sessions": 1,
          "messages": 2,
          "cost": {
            "CHF": 2.0
          }
        },
        {
          "agent": "other",
          "sessions": 1,
          "messages": 1,
          "cost": {}
        },
        {
          "agent": "robot",
          "sessions": 2,
          "messages": 12,
          "cost": {
            "USD": 1.501
          }
        }
      ],
      "days": [
        {
          "day": "2024-05-06",
          "sessions": 2,
          "messages": 12,
          "cost": {
            "USD": 1.501
          }
        },
        {
          "day": "2024-05-08",
          "sessions": 1,
          "messages": 2,
          "cost": {
            "CHF": 2.0
          }
        },
        {
          "day": "2024-05-09",
          "sessions": 1,
          "messages": 1,
          "cost": {}
        }
      ]
    }
    --- exit 0
    "#);
}

#[test]
fn without_sessions_a_hint_is_given() {
    let world = World::new();
    insta::assert_snapshot!(world.run(&["stats"]), @"
    --- stderr
    no sessions yet
    hint: begin one with `rejoin chat`, or take in those of other tools with `rejoin import --all`
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["stats", "--json"]), @r#"
    {
      "sessions": 0,
      "messages": 0,
      "cost": {},
      "archived": 0,
      "bytes": 0,
      "agents": [],
      "days": []
    }
    --- exit 0
    "#);
}
