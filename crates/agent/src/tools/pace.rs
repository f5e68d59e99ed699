//! How often what goes on in a call is shown: at once at first, and ever less often, since each time it is stored.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// When to show something again.
#[derive(Debug)]
pub(super) struct Pace {
    next: Instant,
    wait: Duration,
    /// How often it may be shown without waiting.
    n_free: u32,
}

impl Pace {
    const FIRST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_secs(10);

    /// The pace of something that is shown `n_free` times without waiting.
    pub(super) fn new(n_free: u32) -> Self {
        let next = if n_free > 0 { Instant::now() } else { Instant::now() + Self::FIRST };
        Self { next, wait: Self::FIRST, n_free }
    }

    /// Waits until it may be shown.
    pub(super) async fn due(&self) {
        sleep_until(self.next).await;
    }

    /// It was shown.
    pub(super) fn shown(&mut self) {
        if self.n_free > 1 {
            self.n_free -= 1;
            return;
        }
        self.wait = (self.wait * 3 / 2).min(Self::LONGEST);
        self.next = Instant::now() + self.wait;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn waits(n_free: u32, n: usize) -> Vec<u128> {
        let mut pace = Pace::new(n_free);
        let mut waits = Vec::new();
        for _ in 0..n {
            let begun = Instant::now();
            pace.due().await;
            pace.shown();
            waits.push(begun.elapsed().as_millis());
        }
        waits
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_shown_less_and_less_often() {
        assert_eq!(waits(0, 4).await, [100, 150, 225, 338]);
        assert_eq!(waits(3, 5).await, [0, 0, 0, 150, 225]);
        assert_eq!(waits(0, 100).await.last(), Some(&10_000));
    }
}
