//! What each benchmark is given: a folder, a runtime, and how big to be.

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;

use rejoin_store::SqliteStore;
use tokio::runtime::Runtime;

use crate::Result;
use crate::programs::{Programs, plain_command};

/// How big the benchmarks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Big enough to trust the figures.
    Full,
    /// A tenth of it.
    Quick,
}

/// What a benchmark works with.
pub(crate) struct Bench {
    folder: PathBuf,
    scale: Scale,
    programs: Programs,
    runtime: Runtime,
}

impl Bench {
    /// Makes `folder`.
    pub(crate) fn new(folder: PathBuf, scale: Scale, programs: Programs) -> Result<Self> {
        fs::create_dir(&folder)?;
        Ok(Self { folder, scale, programs, runtime: Runtime::new()? })
    }

    /// Removes the folder, so that the next benchmark finds the disk as this one did.
    pub(crate) fn clean_up(self) -> Result<()> {
        Ok(fs::remove_dir_all(self.folder)?)
    }

    /// `full`, or what is left of it in a quick run.
    pub(crate) fn size(&self, full: u32) -> u32 {
        match self.scale {
            Scale::Full => full,
            Scale::Quick => full / 10,
        }
    }

    /// How often to measure.
    pub(crate) fn rounds(&self) -> u32 {
        match self.scale {
            Scale::Full => 9,
            Scale::Quick => 2,
        }
    }

    /// The benchmark's folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// `rejoin acp` with the store `store` of this benchmark and with `agent` behind it.
    pub(crate) fn rejoin(&self, store: &str, agent: &Command) -> Result<Command> {
        let mut command = self.built_in(store)?;
        command.arg("--").arg(agent.get_program()).args(agent.get_args());
        Ok(command)
    }

    /// The same with the built-in agent.
    pub(crate) fn built_in(&self, store: &str) -> Result<Command> {
        let mut command = plain_command(&self.programs.rejoin()?, &self.folder);
        command.arg("--store").arg(self.path(store)).arg("acp");
        Ok(command)
    }

    /// `rejoin import` of all in `folder` to the store `store` of this benchmark.
    pub(crate) fn import(&self, store: &str, folder: &Path) -> Result<Command> {
        let mut command = plain_command(&self.programs.rejoin()?, &self.folder);
        command.arg("--store").arg(self.path(store)).arg("import").arg(folder);
        Ok(command)
    }

    /// The conductor, or why it can't be had.
    pub(crate) fn find_conductor(&self) -> std::result::Result<PathBuf, String> {
        self.programs.conductor(self.scale)
    }

    /// The conductor `program` with `agent` behind it.
    pub(crate) fn conductor(&self, program: &Path, agent: &Command) -> Result<Command> {
        let words = std::iter::once(agent.get_program()).chain(agent.get_args());
        let words = words.map(|word| word.to_str().map(|word| format!("'{word}'"))).collect::<Option<Vec<_>>>();
        let mut command = plain_command(program, &self.folder);
        command.arg("agent").arg(words.ok_or("the agent's command is not text")?.join(" "));
        Ok(command)
    }

    /// This program with `args`, which name one of its hidden commands.
    pub(crate) fn child(&self, args: &[&str]) -> Result<Command> {
        let mut command = plain_command(&std::env::current_exe()?, &self.folder);
        command.args(args);
        Ok(command)
    }

    /// The path `name` in the benchmark's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The store `name`, which is made if it is not there.
    pub(crate) fn store(&self, name: &str) -> Result<SqliteStore> {
        Ok(SqliteStore::open(self.path(name))?)
    }

    /// Runs `work` to its end.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

/// The bytes of `path`: of a file, or of all files below a folder.
pub(crate) fn bytes_on_disk(path: &Path) -> Result<u64> {
    if path.is_file() {
        return Ok(fs::metadata(path)?.len());
    }
    fs::read_dir(path)?.map(|entry| bytes_on_disk(&entry?.path())).sum()
}
