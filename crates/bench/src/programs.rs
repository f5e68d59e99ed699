//! The programs that are measured, and where they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::bench::Scale;

/// The version of the conductor that we compare with.
const CONDUCTOR_VERSION: &str = "5.0.0";

/// Its package and its program.
const CONDUCTOR: &str = "agent-client-protocol-conductor";

/// The programs that were named on the command line.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Programs {
    /// The program `rejoin` to measure [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    rejoin: Option<PathBuf>,
    /// The program `agent-client-protocol-conductor` to compare with [default: it is installed below `target`].
    #[arg(long, value_name = "PATH", env = "REJOIN_BENCH_CONDUCTOR")]
    conductor: Option<PathBuf>,
}

impl Programs {
    /// The program `rejoin`.
    ///
    /// Fails if it was not built.
    pub(crate) fn rejoin(&self) -> Result<PathBuf> {
        let path = match &self.rejoin {
            Some(path) => std::path::absolute(path)?,
            None => folder_of_this()?.join("rejoin"),
        };
        if path.is_file() {
            return Ok(path);
        }
        let hint = "build it with `cargo build --release -p rejoin-cli`, or name it with --rejoin";
        Err(format!("there is no program {}: {hint}", path.display()).into())
    }

    /// The conductor; if it is not there and this is no quick run, it is installed. Says why it can't be had.
    pub(crate) fn conductor(&self, scale: Scale) -> std::result::Result<PathBuf, String> {
        if let Some(path) = &self.conductor {
            return std::path::absolute(path).map_err(|error| error.to_string());
        }
        let root = folder_of_this().map_err(|error| error.to_string())?.with_file_name("bench-tools");
        let path = root.join("bin").join(CONDUCTOR);
        if path.is_file() {
            return Ok(path);
        }
        match scale {
            Scale::Quick => Err("not installed".to_owned()),
            Scale::Full => install_conductor(&root).map(|()| path),
        }
    }

    /// The floor agent and Node.js for it, which `./setup` installs. Says why they can't be had.
    pub(crate) fn floor_agent() -> std::result::Result<[PathBuf; 2], String> {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
        let (node, sdk) = (peers.join("node_modules/.bin/node"), peers.join("node_modules/@agentclientprotocol/sdk"));
        let are_there = node.exists() && sdk.exists();
        if are_there { Ok([node, peers.join("floor.mjs")]) } else { Err("not installed; see ./setup".to_owned()) }
    }
}

/// How the conductor is called in the table.
pub(crate) fn conductor_name() -> String {
    format!("conductor {CONDUCTOR_VERSION}, which records nothing")
}

/// A command that knows nothing of what the user has set.
pub(crate) fn plain_command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", folder).current_dir(folder);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

fn folder_of_this() -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    Ok(this.parent().ok_or("this program is in no folder")?.to_owned())
}

fn install_conductor(root: &Path) -> std::result::Result<(), String> {
    let package = format!("{CONDUCTOR}@{CONDUCTOR_VERSION}");
    let mut cargo = Command::new("cargo");
    cargo.args(["install", "--quiet", "--locked", "--root"]).arg(root).arg(package);
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo install ended with {status}")),
        Err(error) => Err(format!("cargo can't be run: {error}")),
    }
}
