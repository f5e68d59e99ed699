//! A process whose sessions have MCP servers that fail.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Folders;
use super::stage::{Stage, Went};
use crate::ability::Ability;
use crate::answers::ClientAbilities;
use crate::run::{Proc, Run, Step};
use crate::{Check, leftovers};

/// What a server is given that nobody else should see.
const SECRET: &str = "rejoin-check-secret-8c1f5a70";

/// Keeps its number and the first thing that it is sent, and never answers.
const HANGING: &str = r#"echo $$ > "$0.pid"; IFS= read -r line; printf '%s' "$line" > "$0"; exec sleep 60"#;

/// Takes a process over this part.
pub(super) async fn run(check: &Check, folders: &Folders) -> Run {
    let Ok(mut stage) = Stage::start(check, folders, Proc::Servers, ClientAbilities::Bare, Run::default()) else {
        return Run::default();
    };
    let went = walk(&mut stage).await;
    stage.conclude(went);
    let file = folders.path("beside").join("server-got");
    stage.run.server_got = std::fs::read_to_string(file).ok();
    stage.run.secret = Some((SECRET.to_owned(), stage.subject.stderr()));
    let Stage { subject, mut run, .. } = stage;
    run.ended_input.insert(Proc::Servers, subject.end_input(check.limits.exit).await);
    run
}

async fn walk(stage: &mut Stage<'_>) -> Went {
    let can_close = Ability::Close.is_in(&stage.greet().await?);
    let folder = stage.folders.path("beside");
    let limit = stage.check.limits.servers;
    let failing = json!({ "cwd": folder, "mcpServers": [failing(&folder)] });
    stage.ask_within(Step::NewWithFailingServer, "session/new", failing, limit).await?;
    let file = folder.join("server-got").display().to_string();
    let hanging = json!({ "cwd": folder, "mcpServers": [server("hanging", "/bin/sh", &["-c", HANGING, &file])] });
    let opened = stage.ask_within(Step::NewWithHangingServer, "session/new", hanging, limit).await?;
    if let (Some(opened), true) = (opened.result(), can_close) {
        // Servers may be started behind the answer.
        stage.listen().await;
        stage.ask(Step::CloseWithServer, "session/close", json!({ "sessionId": opened["sessionId"] })).await?;
        stage.run.is_server_left = is_left(&folder.join("server-got.pid"), stage.check.limits.exit).await;
    }
    Ok(())
}

/// Whether the process whose number is in `file` still runs after `limit`; `None`, if there is no such process.
async fn is_left(file: &Path, limit: Duration) -> Option<bool> {
    let pid = std::fs::read_to_string(file).ok()?.trim().parse().ok()?;
    let deadline = Instant::now() + limit;
    while leftovers::is_running(pid)? {
        if Instant::now() > deadline {
            return Some(true);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Some(false)
}

/// A server that can't be started.
pub(super) fn failing(folder: &Path) -> Value {
    server("failing", &folder.join("no-such-program").display().to_string(), &[])
}

fn server(name: &str, command: &str, args: &[&str]) -> Value {
    json!({ "name": name, "command": command, "args": args, "env": [{ "name": "TOKEN", "value": SECRET }] })
}
