//! A command in a terminal of the client, which shows it itself.

use rejoin::AgentError;
use rejoin::schema::{
    CreateTerminalRequest, Terminal as Embedded, TerminalExitStatus, ToolCallContent, ToolCallUpdateFields,
};
use tokio::time::timeout;

use super::{End, Job, Ran};
use crate::calls::Call;
use crate::tools::ToolError;
use crate::tools::files::is_unknown;

/// So many bytes of its output the client keeps.
const KEPT: u64 = 32 * 1024;

/// Runs `job` to its end; nothing if the client has no terminals after all.
pub(super) async fn run(job: &Job, call: &Call<'_>) -> Result<Option<Ran>, ToolError> {
    // A command that begins so would be taken for an option.
    let end_of_options = job.command.starts_with(['-', '+']).then_some("--");
    let args = ["-c"].into_iter().chain(end_of_options).chain([job.command.as_str()]);
    let args: Vec<String> = args.map(str::to_owned).collect();
    let request = CreateTerminalRequest::new(call.turn.id().clone(), "/bin/sh").args(args);
    let request = request.cwd(job.cwd.clone()).output_byte_limit(KEPT);
    // Dropped at any time from here on, it is released, and the command ends.
    let terminal = match call.turn.terminal(request).await {
        Err(error) if is_unknown(&error) => return Ok(None),
        terminal => terminal.map_err(failed)?,
    };
    let embedded = ToolCallContent::Terminal(Embedded::new(terminal.id().clone()));
    call.show(ToolCallUpdateFields::new().content(vec![embedded])).await?;
    let end = if let Ok(status) = timeout(job.limit, terminal.wait()).await {
        end_of(&status.map_err(failed)?)
    } else {
        terminal.kill().await.map_err(failed)?;
        End::TimedOut
    };
    // How it ended is known, whatever the client has forgotten by now.
    let (output, is_cut) = match terminal.output().await.map_err(failed) {
        Ok(output) => (output.output, output.truncated),
        Err(ToolError::Failed(why)) => (format!("[its output can't be had: {why}]"), false),
        Err(error @ ToolError::Turn(_)) => return Err(error),
    };
    match terminal.release().await.map_err(failed) {
        Ok(()) => {}
        Err(ToolError::Failed(why)) => tracing::debug!(why, "the client did not release a terminal"),
        Err(error @ ToolError::Turn(_)) => return Err(error),
    }
    let cut = if is_cut { "[… the beginning is left out …]\n" } else { "" };
    Ok(Some(Ran { end, output: format!("{cut}{output}"), is_cut, is_shown: true }))
}

fn end_of(status: &TerminalExitStatus) -> End {
    match (status.exit_code.map(i32::try_from), &status.signal) {
        (Some(Ok(code)), _) => End::Exited(code),
        (_, Some(signal)) => End::Killed(signal.clone()),
        (_, None) => End::Unknown,
    }
}

/// What the client can't do is the call's failure, not the turn's.
fn failed(error: AgentError) -> ToolError {
    match error {
        AgentError::Client(_) | AgentError::Failed(_) => ToolError::failed(error),
        error => ToolError::Turn(error),
    }
}
