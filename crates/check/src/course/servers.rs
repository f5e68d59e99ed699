//! A process whose sessions have MCP servers that fail.

use serde_json::{Value, json};

use super::Folders;
use super::stage::{Stage, Went};
use crate::Check;
use crate::answers::ClientAbilities;
use crate::run::{Proc, Run, Step};

/// What a server is given that nobody else should see.
const SECRET: &str = "rejoin-check-secret-8c1f5a70";

/// Keeps the first thing that it is sent, and never answers.
const HANGING: &str = r#"IFS= read -r line; printf '%s' "$line" > "$0"; exec sleep 60"#;

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
    stage.greet().await?;
    let folder = stage.folders.path("beside");
    let limit = stage.check.limits.servers;
    let program = folder.join("no-such-program").display().to_string();
    let failing = json!({ "cwd": folder, "mcpServers": [server("failing", &program, &[])] });
    stage.ask_within(Step::NewWithFailingServer, "session/new", failing, limit).await?;
    let file = folder.join("server-got").display().to_string();
    let hanging = json!({ "cwd": folder, "mcpServers": [server("hanging", "/bin/sh", &["-c", HANGING, &file])] });
    stage.ask_within(Step::NewWithHangingServer, "session/new", hanging, limit).await?;
    Ok(())
}

fn server(name: &str, command: &str, args: &[&str]) -> Value {
    json!({ "name": name, "command": command, "args": args, "env": [{ "name": "TOKEN", "value": SECRET }] })
}
