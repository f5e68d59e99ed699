//! Ends a process group when we die without having ended it, even by `kill -9`.
//!
//! A small shell waits at a pipe that only we hold open. If the pipe ends, we are gone, and the shell ends the group. If
//! a line comes instead, the group's leader was reaped and its number may soon be another's: the shell leaves without
//! touching anything. It holds nothing of ours or of the user's: no pipe to our client, no argument, no environment.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;
use tokio::signal::unix::Signal;

use crate::process::exit_of;

// Our own descriptors are closed when the shell starts, so those it closes are ones that we were given. It can name none
// beyond 9: one of those stays open until the shell leaves, which is a second after us at the latest.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
read -r group || exit 0
if read -r _; then exit 0; fi
kill -s TERM -- "-$group"
sleep 1
kill -s KILL -- "-$group"
"#;

/// The shell that watches over one process group.
pub(crate) struct Watchdog {
    shell: Child,
    pipe: io::PipeWriter,
}

impl Watchdog {
    /// Watches over `group` from now on.
    pub(crate) fn start(group: Pid) -> io::Result<Self> {
        let (input, mut pipe) = io::pipe()?;
        // There is room for a line in the pipe before anyone reads it.
        writeln!(pipe, "{}", group.as_raw_nonzero())?;
        let shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(input)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { shell, pipe })
    }

    /// Lets the shell go once the group's leader was reaped. `exits` wakes when a process of ours exits.
    pub(crate) async fn dismiss(mut self, exits: &mut Signal) {
        // If it can't be told, it is gone already.
        let _ = self.pipe.write_all(b"\n");
        exit_of(Pid::from_child(&self.shell), exits).await;
        if let Err(error) = self.shell.try_wait() {
            tracing::debug!(%error, "reaping the watchdog failed");
        }
    }
}
