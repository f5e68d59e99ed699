//! When a model that did not answer is asked again.

use std::time::Duration;

use super::ModelError;

/// As often a model is asked again that is busy.
const MOST_WHEN_BUSY: u32 = 4;

/// As often one is that can't be reached: somebody may have forgotten to start it.
const MOST_WHEN_LOST: u32 = 2;

/// The first wait; each is twice the one before.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// A provider that wants more time than this is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long to wait before a model is asked again that was asked again `n_before` times; `None` to give up.
pub(crate) fn wait(error: &ModelError, n_before: u32) -> Option<Duration> {
    let by_itself = FIRST_WAIT * 2_u32.saturating_pow(n_before);
    match error {
        ModelError::Busy { retry_after, .. } if n_before < MOST_WHEN_BUSY => {
            let wait = retry_after.unwrap_or(by_itself);
            (wait <= LONGEST_WAIT).then_some(wait)
        }
        ModelError::Lost(_) if n_before < MOST_WHEN_LOST => Some(by_itself),
        ModelError::Busy { .. }
        | ModelError::Lost(_)
        | ModelError::Auth(_)
        | ModelError::TooLong(_)
        | ModelError::Failed(_)
        | ModelError::Turn(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: Option<u64>) -> ModelError {
        ModelError::Busy { text: "busy".to_owned(), retry_after: seconds.map(Duration::from_secs) }
    }

    fn waits(error: &ModelError) -> Vec<u128> {
        (0..9).map_while(|n_before| wait(error, n_before)).map(|wait| wait.as_millis()).collect()
    }

    #[test]
    fn a_busy_model_is_asked_again_after_longer_and_longer() {
        assert_eq!(waits(&busy(None)), [500, 1000, 2000, 4000]);
    }

    #[test]
    fn the_provider_says_when_unless_that_is_too_late() {
        assert_eq!(waits(&busy(Some(3))), [3000, 3000, 3000, 3000]);
        assert_eq!(waits(&busy(Some(0))), [0, 0, 0, 0]);
        assert_eq!(waits(&busy(Some(3600))), [0; 0]);
    }

    #[test]
    fn what_would_fail_again_is_not_asked_again() {
        assert_eq!(waits(&ModelError::Lost("lost".to_owned())), [500, 1000]);
        assert_eq!(waits(&ModelError::Auth("no key".to_owned())), [0; 0]);
        assert_eq!(waits(&ModelError::Failed("bad".to_owned())), [0; 0]);
    }
}
