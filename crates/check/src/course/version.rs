//! A process that is asked for a version of the protocol that does not exist, and told to end.

use super::Folders;
use super::stage::{Stage, Went, initialize_params};
use crate::Check;
use crate::answers::ClientAbilities;
use crate::run::{Proc, Run, Step};

/// A version of the protocol that there is not.
pub(crate) const NO_VERSION: u32 = 65_535;

/// Takes a process over this part.
pub(super) async fn run(check: &Check, folders: &Folders) -> Run {
    let Ok(mut stage) = Stage::start(check, folders, Proc::Version, ClientAbilities::Bare, Run::default()) else {
        return Run::default();
    };
    let went = walk(&mut stage).await;
    stage.conclude(went);
    let Stage { subject, mut run, .. } = stage;
    run.terminated = Some(subject.terminate(check.limits.exit).await);
    run
}

async fn walk(stage: &mut Stage<'_>) -> Went {
    let hello = initialize_params(NO_VERSION, ClientAbilities::Bare);
    stage.ask(Step::InitializeHigh, "initialize", hello).await?;
    Ok(())
}
