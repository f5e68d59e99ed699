//! A process that is sent what no client should send.

use serde_json::json;

use super::Folders;
use super::stage::{Stage, Went};
use crate::Check;
use crate::answers::ClientAbilities;
use crate::run::{Proc, Run, Step};

/// How long a long line is, in bytes.
const LONG_LINE: usize = 10 * 1024 * 1024;

/// Takes a process over this part.
pub(super) async fn run(check: &Check, folders: &Folders) -> Run {
    let Ok(mut stage) = Stage::start(check, folders, Proc::Rough, ClientAbilities::Bare, Run::default()) else {
        return Run::default();
    };
    let went = walk(&mut stage).await;
    stage.conclude(went);
    let Stage { subject, mut run, .. } = stage;
    run.ended_input.insert(Proc::Rough, subject.end_input(check.limits.exit).await);
    run
}

async fn walk(stage: &mut Stage<'_>) -> Went {
    stage.greet().await?;
    stage.subject.tell("_rejoin_check/unknown", &json!({})).await;
    is_it_there(stage, Step::AfterUnknownNotification).await?;
    stage.subject.send_raw("this is no message").await;
    is_it_there(stage, Step::AfterGarbage).await?;
    stage.subject.tell("_rejoin_check/long", &json!({ "padding": "x".repeat(LONG_LINE) })).await;
    is_it_there(stage, Step::AfterLongLine).await
}

/// Asks for something that any agent answers, if only with an error.
async fn is_it_there(stage: &mut Stage<'_>, step: Step) -> Went {
    stage.provoke(step, "session/new", json!({ "mcpServers": [] })).await?;
    Ok(())
}
