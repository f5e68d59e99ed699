//! The second process: what is left of the sessions of the first.

use serde_json::json;

use super::stage::{Stage, UNKNOWN, Went};
use super::{Folders, servers};
use crate::ability::Ability;
use crate::answers::ClientAbilities;
use crate::run::{Proc, Run, Step, Who};
use crate::{Check, Prompts};

/// How many pages of a list are read.
const PAGES: usize = 20;

/// Takes a second process over its part, with what was seen of the first.
pub(super) async fn run(check: &Check, folders: &Folders, run: Run) -> Run {
    let stage = Stage::start(check, folders, Proc::Second, ClientAbilities::Bare, run);
    // It has started before.
    let Ok(mut stage) = stage else { return Run::default() };
    stage.say("starting it again");
    let went = walk(&mut stage).await;
    stage.conclude(went);
    stage.say("ending its input");
    let Stage { subject, mut run, .. } = stage;
    run.ended_input.insert(Proc::Second, subject.end_input(check.limits.exit).await);
    run
}

async fn walk(stage: &mut Stage<'_>) -> Went {
    stage.initialize(Step::InitializeAgain, ClientAbilities::Bare).await?;
    // The folder of one session is gone.
    if let Err(error) = std::fs::remove_dir_all(stage.folders.path("gone")) {
        tracing::debug!(%error, "the folder was not removed");
    }
    if stage.run.session(Who::Main).is_err() {
        return Ok(());
    }
    if stage.can(Ability::List) {
        let here = stage.folders.path("here");
        stage.list(Step::ListAfterKill, json!({ "cwd": here }), PAGES).await?;
    }
    if stage.can(Ability::Load) {
        stage.say("loading");
        load(stage).await?;
    }
    if stage.can(Ability::Resume) {
        stage.say("resuming");
        resume(stage).await?;
    }
    Ok(())
}

async fn load(stage: &mut Stage<'_>) -> Went {
    open(stage, Step::LoadMain, "session/load", Who::Main).await?;
    stage.listen().await;
    let main = stage.session(Who::Main)?;
    if stage.can(Ability::List) {
        stage.list(Step::ListAfterLoad, json!({ "cwd": main.cwd }), PAGES).await?;
    }
    open(stage, Step::LoadAgain, "session/load", Who::Main).await?;
    beside(stage).await;
    if stage.run.done(Step::LoadMain).is_ok() {
        let recall = Prompts::about(&stage.check.prompts.recall, &main.word);
        stage.prompt(Step::RecallLoaded, Who::Main, &recall).await?;
    }
    for (step, who) in [
        (Step::LoadTool, Who::Tool),
        (Step::LoadCancelled, Who::Cancel),
        (Step::LoadKilled, Who::Killed),
        (Step::LoadLast, Who::Last),
    ] {
        if stage.run.session(who).is_ok() {
            open(stage, step, "session/load", who).await?;
        }
    }
    if let Ok(spare) = stage.session(Who::Spare(0)) {
        let with_server =
            json!({ "sessionId": spare.id, "cwd": spare.cwd, "mcpServers": [servers::failing(&spare.cwd)] });
        let limit = stage.check.limits.servers;
        stage.ask_within(Step::LoadWithServer, "session/load", with_server, limit).await?;
    }
    let unknown = json!({ "sessionId": UNKNOWN, "cwd": main.cwd, "mcpServers": [] });
    stage.provoke(Step::LoadUnknown, "session/load", unknown).await?;
    if let Ok(spare) = stage.session(Who::Spare(4)) {
        let elsewhere = json!({ "sessionId": spare.id, "cwd": stage.folders.path("there"), "mcpServers": [] });
        stage.provoke(Step::LoadElsewhere, "session/load", elsewhere).await?;
    }
    if let Ok(gone) = stage.session(Who::Spare(6)) {
        let params = json!({ "sessionId": gone.id, "cwd": gone.cwd, "mcpServers": [] });
        stage.provoke(Step::LoadGone, "session/load", params).await?;
    }
    Ok(())
}

async fn resume(stage: &mut Stage<'_>) -> Went {
    let Ok(spare) = stage.session(Who::Spare(5)) else { return Ok(()) };
    open(stage, Step::Resume, "session/resume", Who::Spare(5)).await?;
    stage.listen().await;
    if stage.run.done(Step::Resume).is_ok() {
        let recall = Prompts::about(&stage.check.prompts.recall, &spare.word);
        stage.prompt(Step::RecallResumed, Who::Spare(5), &recall).await?;
    }
    if let Ok(last) = stage.session(Who::Last) {
        open(stage, Step::ResumeLast, "session/resume", Who::Last).await?;
        if stage.run.done(Step::ResumeLast).is_ok() {
            let recall = Prompts::about(&stage.check.prompts.recall, &last.word);
            stage.prompt(Step::RecallLast, Who::Last, &recall).await?;
        }
    }
    let unknown = json!({ "sessionId": UNKNOWN, "cwd": spare.cwd, "mcpServers": [] });
    stage.provoke(Step::ResumeUnknown, "session/resume", unknown).await?;
    Ok(())
}

async fn open(stage: &mut Stage<'_>, step: Step, method: &str, who: Who) -> Went {
    let session = stage.session(who)?;
    let params = json!({ "sessionId": session.id, "cwd": session.cwd, "mcpServers": [] });
    stage.ask(step, method, params).await?;
    Ok(())
}

/// Loads the session in a third process, while the second one has it open.
async fn beside(stage: &mut Stage<'_>) {
    let started = Stage::start(stage.check, stage.folders, Proc::Third, ClientAbilities::Bare, Run::default());
    let (Ok(mut other), Ok(main)) = (started, stage.session(Who::Main)) else { return };
    if other.greet().await.is_err() {
        return stage.run.leave_out(Step::LoadBeside, "a further process did not get through `initialize`");
    }
    let limit = stage.check.limits.answer;
    let params = json!({ "sessionId": main.id, "cwd": main.cwd, "mcpServers": [] });
    let exchange = other.subject.ask("session/load", params, limit).await;
    stage.run.add(Step::LoadBeside, exchange);
    stage.run.logs.append(&mut other.run.logs);
    other.subject.end_input(stage.check.limits.exit).await;
}
