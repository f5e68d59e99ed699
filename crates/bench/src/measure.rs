//! Measuring: times of several contenders that take turns.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::Result;

/// One of those that are compared: does its work once, and says how long the part that counts took.
pub(crate) type Contender<'a> = &'a mut dyn FnMut() -> Result<Duration>;

/// Lets `contenders` take turns for `rounds` rounds, and gives each one's median.
///
/// They take turns so that whatever else the machine does disturbs all alike.
pub(crate) fn medians<const N: usize>(rounds: u32, mut contenders: [Contender<'_>; N]) -> Result<[Duration; N]> {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            times.push(contender()?);
        }
    }
    Ok(times.map(median))
}

/// The one in the middle.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// How long `work` takes.
pub(crate) fn time<T>(work: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let begun = Instant::now();
    std::hint::black_box(work()?);
    Ok(begun.elapsed())
}

/// Runs this program again with `args`, and gives the number that it prints.
pub(crate) fn number_from_child(args: &[&str]) -> Result<u64> {
    let output = Command::new(std::env::current_exe()?).args(args).output()?;
    if !output.status.success() {
        return Err(format!("{args:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_take_turns_and_the_odd_time_does_not_count() {
        let order = std::cell::RefCell::new(String::new());
        let (mut first, mut second) = ([1, 900, 2].into_iter(), [30, 10, 20].into_iter());
        let mut take = |name, times: &mut dyn Iterator<Item = u64>| {
            order.borrow_mut().push(name);
            Ok(Duration::from_millis(times.next().unwrap()))
        };
        let take = std::cell::RefCell::new(&mut take);
        let medians =
            medians(3, [&mut || (take.borrow_mut())('a', &mut first), &mut || (take.borrow_mut())('b', &mut second)]);
        assert_eq!(medians.unwrap(), [Duration::from_millis(2), Duration::from_millis(20)]);
        assert_eq!(order.into_inner(), "ababab");
    }
}
