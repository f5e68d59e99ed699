//! What an agent has started and left behind, also outside of its process group.
//!
//! Every process of the agent has a mark in its environment, which what it starts inherits. Such a process can be found
//! only where the system shows environments.

/// The variable that marks what the agent starts. Its name does not begin with `REJOIN_`: a session layer between the agent
/// and us passes on none of those.
pub(crate) const MARK: &str = "CHECKED_BY_REJOIN";

/// A new mark.
pub(crate) fn new_mark() -> String {
    let mut bytes = [0; 16];
    // Without randomness the mark is only less unique: the process id is in it.
    let _ = getrandom::fill(&mut bytes);
    format!("{}-{:032x}", std::process::id(), u128::from_le_bytes(bytes))
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{end, find, is_running};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::MARK;

    /// The names of the living processes with `mark`.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it can't be known")]
    pub(crate) fn find(mark: &str) -> Option<Vec<String>> {
        Some(marked(mark).into_iter().map(|(pid, name)| format!("{name} ({pid})")).collect())
    }

    /// Whether the process `pid` runs: one that has ended and was not waited for does not.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it can't be known")]
    pub(crate) fn is_running(pid: i32) -> Option<bool> {
        Some(name_of(pid).is_some())
    }

    /// Kills all processes with `mark`.
    pub(crate) fn end(mark: &str) {
        for (pid, _) in marked(mark) {
            let Some(handle) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
                continue;
            };
            // The handle is of one process, whatever becomes of its number; it is looked at again because of that.
            let killed = if has_mark(pid, mark) { pidfd_send_signal(&handle, Signal::KILL) } else { Ok(()) };
            if let Err(error) = killed {
                tracing::debug!(%error, pid, "a process that was left behind could not be ended");
            }
        }
    }

    fn marked(mark: &str) -> Vec<(i32, String)> {
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let ids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter(|pid| has_mark(*pid, mark)).filter_map(|pid| Some((pid, name_of(pid)?))).collect()
    }

    fn has_mark(pid: i32, mark: &str) -> bool {
        let wanted = format!("{MARK}={mark}");
        // What can't be read is another user's, or gone.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    }

    /// What the process is called; `None` if it has ended and was not reaped yet.
    fn name_of(pid: i32) -> Option<String> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let is_alive = field("State:").is_some_and(|state| !state.starts_with(['Z', 'X']));
        is_alive.then(|| field("Name:").unwrap_or("a process").to_owned())
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn find(_: &str) -> Option<Vec<String>> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_running(_: i32) -> Option<bool> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn end(_: &str) {}
