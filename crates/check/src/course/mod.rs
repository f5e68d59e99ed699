//! The course: what is done with the agent. It notes what was seen, and decides nothing.
//!
//! The first process and the second one come after each other. The others run beside them, one by one and in folders of their own, from
//! when the first has said hello: an agent may set itself up when it is first started.

mod first;
mod rough;
mod second;
mod servers;
mod stage;
mod version;

pub(crate) use first::{LINKED_TEXT, TITLE};

use std::path::PathBuf;

use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::rule::{Part, Rule};
use crate::run::Run;
use crate::{Check, CheckError};

/// Takes the agent of `check` over the parts of the course that `rules` need.
pub(crate) async fn run(check: &Check, rules: &[&Rule]) -> Result<Run, CheckError> {
    let folders = Folders::new()?;
    let needs = |part: Part| rules.iter().any(|rule| rule.part == part);
    let (greeted, is_greeted) = oneshot::channel();
    let main = async {
        let mut run = first::run(check, &folders, greeted).await?;
        if needs(Part::Second) {
            run = second::run(check, &folders, run).await;
        }
        Ok::<Run, CheckError>(run)
    };
    let beside = async {
        let mut run = Run::default();
        // It never comes where the first process fails, which ends this too.
        if is_greeted.await.is_err() {
            return run;
        }
        if needs(Part::Version) {
            run.merge(version::run(check, &folders).await);
        }
        if needs(Part::Servers) {
            run.merge(servers::run(check, &folders).await);
        }
        if needs(Part::Rough) {
            run.merge(rough::run(check, &folders).await);
        }
        run
    };
    let (main, beside) = tokio::join!(main, beside);
    let mut run = main?;
    run.merge(beside);
    run.limits = check.limits.clone();
    Ok(run)
}

/// The folder that is a link to another one.
const LINK: &str = "Linked";

/// The folders that sessions work in; they are gone with this.
pub(crate) struct Folders {
    root: TempDir,
}

impl Folders {
    fn new() -> Result<Self, CheckError> {
        let root = tempfile::Builder::new().prefix("rejoin-check-").tempdir().map_err(CheckError::NoFolder)?;
        let folders = Self { root };
        for name in ["here", "there", "nowhere", "gone", "more", "beside", "target", "last"] {
            std::fs::create_dir(folders.path(name)).map_err(CheckError::NoFolder)?;
        }
        std::os::unix::fs::symlink(folders.path("target"), folders.path(LINK)).map_err(CheckError::NoFolder)?;
        Ok(folders)
    }

    /// The folder of all of them, without links in its path.
    fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap_or_else(|_| self.root.path().to_owned())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }
}
