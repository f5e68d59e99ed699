//! MCP servers that fail, and what happens to the session and to secrets then.

use crate::rule::{Judged, Level, Part, Rule, Verdict, fail_with, judge, report, skip};
use crate::run::{Proc, Run, Step, Who};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "mcp.failing-server",
        level: Level::Quality,
        title: "opens a session although an MCP server can't be started",
        page: "session-setup#mcp-servers",
        part: Part::Servers,
        judge: failing_server,
    },
    Rule {
        id: "mcp.hanging-server",
        level: Level::Quality,
        title: "opens a session although an MCP server hangs",
        page: "session-setup#mcp-servers",
        part: Part::Servers,
        judge: hanging_server,
    },
    Rule {
        id: "mcp.stdio",
        level: Level::Report,
        title: "starts an MCP server over stdio and greets it",
        page: "session-setup#stdio-transport",
        part: Part::Servers,
        judge: stdio,
    },
    Rule {
        id: "mcp.secrets",
        level: Level::Quality,
        title: "writes no value of an MCP server's environment to stderr or into a message",
        page: "session-setup#mcp-servers",
        part: Part::Servers,
        judge: secrets,
    },
];

fn failing_server(run: &Run) -> Judged {
    run.session(Who::Main)?;
    let exchange = run.one(Step::NewWithFailingServer)?;
    judge(exchange.result().is_some(), exchange, "a session, although that server does not work")
}

fn hanging_server(run: &Run) -> Judged {
    run.session(Who::Main)?;
    let exchange = run.one(Step::NewWithHangingServer)?;
    let expected =
        format!("a session within {} s, although that server never answers", run.limits.servers.as_secs_f32());
    judge(exchange.result().is_some(), exchange, &expected)
}

fn stdio(run: &Run) -> Judged {
    run.one(Step::NewWithHangingServer)?;
    report(match &run.server_got {
        Some(line) if line.contains("initialize") => "the server was started and greeted when the session was opened",
        Some(_) => "the server was started, but got no `initialize`",
        None => "the server was not started when the session was opened",
    })
}

fn secrets(run: &Run) -> Judged {
    run.one(Step::NewWithFailingServer)?;
    let Some((secret, stderr)) = &run.secret else { return skip("that process was not started") };
    let log = run.log(Proc::Servers)?;
    let lines = log.came_in(0..usize::MAX);
    let leaked = stderr.lines().chain(lines.iter().map(String::as_str)).find(|line| line.contains(secret));
    match leaked {
        Some(line) => fail_with(
            "an MCP server with a secret in its `env`",
            line,
            "the secret goes to the server and nowhere else",
        ),
        None => Ok(Verdict::Pass),
    }
}
