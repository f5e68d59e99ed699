//! What a process costs: its memory and its time on the processors, as Linux tells them.

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;

use crate::Result;

/// The most memory that process `id` has used so far, in bytes: everything resident, its code too.
pub(crate) fn peak_memory(id: u32) -> Result<u64> {
    bytes_in(&format!("/proc/{id}/status"), "VmHWM:")
}

/// The memory that process `id` has for itself now, in bytes: what it has allocated, without code and mapped files.
pub(crate) fn anonymous_memory(id: u32) -> Result<u64> {
    bytes_in(&format!("/proc/{id}/status"), "RssAnon:")
}

fn bytes_in(file: &str, name: &str) -> Result<u64> {
    let text = fs::read_to_string(file)?;
    let kibibytes = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
    let kibibytes: u64 = kibibytes.ok_or_else(|| format!("{file} tells no {name}"))?.parse()?;
    Ok(kibibytes * 1024)
}

/// How long the threads of process `id` have run so far, those that ended too; not the processes that it started.
///
/// Goes in steps of a tick, usually 10 ms. Also tells it of a process that has ended, until it is waited for.
pub(crate) fn cpu_time(id: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    // The second field is the program's name in brackets, which may hold anything.
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/…/stat has no name")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u32>);
    let ticks = ticks.sum::<std::result::Result<u32, _>>()?;
    Ok(Duration::from_secs(1) * ticks / u32::try_from(clock_ticks_per_second())?)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_time_on_the_processors_is_that_of_ended_threads_too() {
        let id = std::process::id();
        let before = cpu_time(id).unwrap();
        let busy = std::thread::spawn(move || while cpu_time(id).unwrap() < before + Duration::from_millis(50) {});
        busy.join().unwrap();
        assert!(cpu_time(id).unwrap() >= before + Duration::from_millis(50));
    }

    #[test]
    fn the_most_memory_is_at_least_what_is_allocated() {
        let id = std::process::id();
        let filled = vec![Instant::now(); 1024 * 1024];
        assert!(anonymous_memory(id).unwrap() > 8 * 1024 * 1024);
        assert!(peak_memory(id).unwrap() >= anonymous_memory(id).unwrap());
        drop(filled);
    }
}
