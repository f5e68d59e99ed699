//! The rule that ends every loop that reads on from where it stands: each step must come behind the one before.
//!
//! A damaged file may answer "what comes behind X?" with X itself, or with something in front of it. A loop that
//! believes the answer never ends, and keeps what it reads.

/// A position that only ever moves forward.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Advance<P> {
    at: P,
}

impl<P: PartialOrd + Copy> Advance<P> {
    /// Starts at `at`: the first step must come behind it.
    pub(crate) fn from(at: P) -> Self {
        Self { at }
    }

    /// Moves on to `next`. Returns `false`, and stays, if that does not come behind the position.
    #[must_use]
    pub(crate) fn to(&mut self, next: P) -> bool {
        let is_behind = next > self.at;
        if is_behind {
            self.at = next;
        }
        is_behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_does_not_come_behind_the_last_is_refused() {
        let mut advance = Advance::from(3);
        assert!(advance.to(4) && advance.to(9));
        assert!(!advance.to(9) && !advance.to(4));
        assert!(advance.to(10));
    }
}
