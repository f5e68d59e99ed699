//! The course: what is done with the agent. It notes what was seen, and decides nothing.
//!
//! The first process and the second one come after each other; the others run beside them, in folders of their own.

mod first;
mod rough;
mod second;
mod servers;
mod stage;
mod version;

pub(crate) use first::TITLE;

use std::path::PathBuf;

use tempfile::TempDir;

use crate::rule::{Part, Rule};
use crate::run::Run;
use crate::{Check, CheckError};

/// Takes the agent of `check` over the parts of the course that `rules` need.
pub(crate) async fn run(check: &Check, rules: &[&Rule]) -> Result<Run, CheckError> {
    let folders = Folders::new()?;
    let needs = |part: Part| rules.iter().any(|rule| rule.part == part);
    let main = async {
        let mut run = first::run(check, &folders).await?;
        if needs(Part::Second) {
            run = second::run(check, &folders, run).await;
        }
        Ok::<Run, CheckError>(run)
    };
    let rough = async { if needs(Part::Rough) { rough::run(check, &folders).await } else { Run::default() } };
    let version = async { if needs(Part::Version) { version::run(check, &folders).await } else { Run::default() } };
    let servers = async { if needs(Part::Servers) { servers::run(check, &folders).await } else { Run::default() } };
    let beside = async { tokio::join!(rough, version, servers) };
    // The others are of no use without the first.
    tokio::pin!(main, beside);
    let (mut run, beside) = tokio::select! {
        run = &mut main => (run?, beside.await),
        others = &mut beside => (main.await?, others),
    };
    let (rough, version, servers) = beside;
    for other in [rough, version, servers] {
        run.merge(other);
    }
    run.limits = check.limits.clone();
    Ok(run)
}

/// The folders that sessions work in; they are gone with this.
pub(crate) struct Folders {
    root: TempDir,
}

impl Folders {
    fn new() -> Result<Self, CheckError> {
        let root = tempfile::Builder::new().prefix("rejoin-check-").tempdir().map_err(CheckError::NoFolder)?;
        let folders = Self { root };
        for name in ["here", "there", "nowhere", "gone", "more", "beside"] {
            std::fs::create_dir(folders.path(name)).map_err(CheckError::NoFolder)?;
        }
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
