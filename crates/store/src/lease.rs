//! Who may write a session: one process at a time.
//!
//! A lease carries a token that grows with each new holder; a write with an older token is refused, so a holder that
//! was given up for dead can spoil nothing when it wakes. Only a running turn keeps others out: an idle holder gives
//! way, and a dead one is taken over.

use std::fmt;

use rejoin_transcript::{EntryNumber, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// How long a holder on another host is believed to be alive after its last sign, unless it says otherwise.
const LEASE_MILLIS: i64 = 15_000;

/// A process that holds, or wants, a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The host's name, for people.
    pub host: String,
    /// What tells this boot of this host (and, in containers, this space of process ids) from all others.
    pub boot: String,
    /// The process id.
    pub pid: u32,
    /// When the process started, in the system's own unit: tells it from a later process with the same id.
    pub started: u64,
    /// How long it is believed to be alive after its last sign, where nobody can look.
    #[serde(default = "lease_millis")]
    pub lease_millis: i64,
}

fn lease_millis() -> i64 {
    LEASE_MILLIS
}

impl Owner {
    /// This process.
    pub fn this_process() -> Self {
        let pid = std::process::id();
        Self {
            host: host_name(),
            boot: boot_id(),
            pid,
            started: start_time(pid).unwrap_or_default(),
            lease_millis: LEASE_MILLIS,
        }
    }

    /// Whether the process is alive, as far as this host can tell; `None` if it runs elsewhere.
    fn is_alive_here(&self, here: &Self) -> Option<bool> {
        (self.boot == here.boot).then(|| self == here || self.is_running())
    }
}

impl Owner {
    #[cfg(target_os = "linux")]
    fn is_running(&self) -> bool {
        match std::fs::read_to_string(format!("/proc/{}/stat", self.pid)) {
            Ok(stat) => start_time_in(&stat) == Some(self.started),
            // Where `/proc` hides processes (`hidepid`), it hides one that can't be debugged from its own user too.
            Err(_) => exists(self.pid),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn is_running(&self) -> bool {
        exists(self.pid)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

/// The right to write one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: SessionId,
    /// Grows with each new holder.
    pub token: u64,
    /// How long the holder is believed to be alive after its last sign.
    pub(crate) millis: i64,
    /// The session's last entry when the lease was taken.
    pub head: EntryNumber,
    /// The entry that began a turn which its former owner left unfinished; the new holder closes it first.
    pub unfinished_since: Option<EntryNumber>,
    /// Whether its former holder ended without giving it back, as far as this host can tell.
    pub is_orphaned: bool,
}

/// A lease as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) owner: Owner,
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
}

/// Whether `newcomer` may take over from `held` at `now`, given whether a turn is running.
pub(crate) fn may_take_over(held: Option<&Held>, newcomer: &Owner, now: Timestamp, turn_is_running: bool) -> bool {
    let Some(held) = held else { return true };
    if !turn_is_running || held.owner == *newcomer {
        return true;
    }
    match held.owner.is_alive_here(newcomer) {
        Some(is_alive) => !is_alive,
        None => held.until < now,
    }
}

/// Whether the holder has ended, as far as the host of `newcomer` can tell.
pub(crate) fn is_orphaned(held: Option<&Held>, newcomer: &Owner) -> bool {
    held.is_some_and(|held| held.owner.is_alive_here(newcomer) == Some(false))
}

/// Whether the holder, be it this process or another, lives and runs a turn.
pub(crate) fn is_busy(held: Option<&Held>, now: Timestamp, turn_is_running: bool) -> bool {
    turn_is_running && is_held(held, now)
}

/// Whether there is a holder, be it this process or another, and it lives as far as can be told.
pub(crate) fn is_held(held: Option<&Held>, now: Timestamp) -> bool {
    held.is_some_and(|held| held.owner.is_alive_here(&Owner::this_process()).unwrap_or(held.until >= now))
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(target_os = "linux")]
fn boot_id() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // Containers share the boot but not the process ids.
    let pids = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), pids.display())
}

#[cfg(not(target_os = "linux"))]
fn boot_id() -> String {
    host_name()
}

/// When the process `pid` started; `None` if there is none.
#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<u64> {
    start_time_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// When the process started whose line in `/proc` is `stat`; `None` if it has ended.
#[cfg(target_os = "linux")]
fn start_time_in(stat: &str) -> Option<u64> {
    // The second field, the program's name, may itself hold blanks and brackets; field 22 is the start time.
    let mut fields = stat.get(stat.rfind(')')? + 2..)?.split(' ');
    let state = fields.next()?;
    // A zombie runs nothing any more.
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
fn start_time(pid: u32) -> Option<u64> {
    exists(pid).then_some(0)
}

/// Whether there is a process `pid`, be it one that we may not signal.
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(100_000);

    fn held(owner: Owner, until: i64) -> Held {
        Held { owner, since: Timestamp::from_millis(0), until: Timestamp::from_millis(until) }
    }

    fn elsewhere() -> Owner {
        Owner { host: "far".to_owned(), boot: "other".to_owned(), pid: 1, started: 1, lease_millis: LEASE_MILLIS }
    }

    fn check(held: &Held, turn_is_running: bool, expected: bool) {
        assert_eq!(may_take_over(Some(held), &Owner::this_process(), NOW, turn_is_running), expected);
    }

    #[test]
    fn an_idle_holder_gives_way() {
        check(&held(elsewhere(), 200_000), false, true);
    }

    #[test]
    fn a_running_turn_elsewhere_keeps_others_out_until_its_signs_stop() {
        check(&held(elsewhere(), 100_000), true, false);
        check(&held(elsewhere(), 99_999), true, true);
    }

    #[test]
    fn a_dead_process_on_this_host_is_taken_over_at_once() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let owner = Owner { pid: child.id(), started: start_time(child.id()).unwrap(), ..Owner::this_process() };
        check(&held(owner.clone(), 0), true, false);
        child.kill().unwrap();
        child.wait().unwrap();
        check(&held(owner, 200_000), true, true);
    }

    #[test]
    fn a_process_that_got_the_dead_ones_id_is_not_mistaken_for_it() {
        let this = Owner::this_process();
        let earlier = Owner { started: this.started.wrapping_add(1), ..this };
        check(&held(earlier.clone(), 200_000), true, true);
        assert!(is_orphaned(Some(&held(earlier, 200_000)), &Owner::this_process()));
        for lives in [Owner::this_process(), elsewhere()] {
            assert!(!is_orphaned(Some(&held(lives, 0)), &Owner::this_process()));
        }
    }

    #[test]
    fn the_holder_itself_may_always_take_it_again() {
        check(&held(Owner::this_process(), 0), true, true);
    }
}
