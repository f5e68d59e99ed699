//! A command beside us: a process group of its own, which ends with the call, and with us.

use std::error::Error as _;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rejoin::schema::ToolCallUpdateFields;
use rejoin_wire::{Command, Process, ProcessError};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep, sleep_until};

use super::output::Written;
use super::{End, Job, Ran};
use crate::calls::Call;
use crate::tools::ToolError;
use crate::tools::pace::Pace;
use crate::tools::shown::fenced;

/// Both outputs become one, in their order. A command that begins with `-` is not an option.
const SHELL: &str = r#"exec /bin/sh -c -- "$0" 2>&1 </dev/null"#;

/// So long what it wrote is read after its exit: what it left running may hold that open.
const AFTER_EXIT: Duration = Duration::from_millis(200);

/// Runs `job` to its end, and shows what it writes meanwhile.
pub(super) async fn run(job: &Job, call: &Call<'_>) -> Result<Ran, ToolError> {
    let args = ["-c", SHELL, &job.command].map(str::to_owned);
    let inherited = call.turn.session().command_environment.clone();
    let command = Command { inherited, cwd: Some(job.cwd.clone()), ..Command::new("/bin/sh", args) };
    // What a command writes may be secret, and is not for our log.
    let (process, stdin, mut stdout) = Process::start_unlogged(&command).map_err(|error| cannot_start(&error))?;
    drop(stdin);
    let mut written = Written::default();
    let mut bytes = vec![0; 8192];
    let (mut pace, mut has_news) = (Pace::new(0), false);
    let end = {
        let exit = process.wait();
        let limit = sleep(job.limit);
        tokio::pin!(exit, limit);
        let mut is_open = true;
        // Its end, and how long we listen then.
        let mut ended: Option<(End, Instant)> = None;
        loop {
            let until = ended.as_ref().map(|(_, until)| *until);
            tokio::select! {
                read = stdout.read(&mut bytes), if is_open => match read {
                    Ok(n_bytes @ 1..) => {
                        written.push(&bytes[..n_bytes]);
                        has_news = true;
                    }
                    Ok(0) | Err(_) => is_open = false,
                },
                exit = &mut exit, if ended.is_none() => ended = Some((end_of(exit), Instant::now() + AFTER_EXIT)),
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => is_open = false,
                () = pace.due(), if has_news => {
                    call.show(ToolCallUpdateFields::new().content(vec![fenced(&written.text())])).await?;
                    pace.shown();
                    has_news = false;
                }
                () = &mut limit => break End::TimedOut,
            }
            if let (false, Some((end, _))) = (is_open, &ended) {
                break end.clone();
            }
        }
    };
    // What it left running ends too.
    process.end().await;
    Ok(Ran { end, output: written.text(), is_cut: written.is_cut(), is_shown: false })
}

fn end_of(exit: Option<ExitStatus>) -> End {
    match exit.map(|exit| (exit.code(), exit.signal())) {
        Some((Some(code), _)) => End::Exited(code),
        Some((None, Some(signal))) => End::Killed(signal.to_string()),
        Some((None, None)) | None => End::Unknown,
    }
}

/// Why nothing was started.
fn cannot_start(error: &ProcessError) -> ToolError {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    ToolError::Failed(format!("{error}{cause}"))
}
