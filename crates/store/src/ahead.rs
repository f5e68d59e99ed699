//! Sessions whose last use was stamped by a clock that was ahead.
//!
//! Such a session would be the first of every list until the time has come that its stamp tells. So whenever a session is
//! taken to be used, those that are ahead by then are stamped with the time that it is, in their order: what is used from
//! now on comes before them.

use rejoin_transcript::Timestamp;

/// How far the clocks of hosts that share a store may be apart.
const TOLERANCE_MILLIS: i64 = 60_000;

/// If more sessions are ahead, it is this host's clock that is behind.
pub(crate) const AT_MOST: usize = 100;

/// A session that was last used later than this has a stamp that is ahead.
pub(crate) fn latest_stamp(now: Timestamp) -> Timestamp {
    now.plus_millis(TOLERANCE_MILLIS)
}

/// The stamps for `count` sessions that are ahead, the one that was used first first; none if they stay as they are.
pub(crate) fn stamps(count: usize, now: Timestamp) -> impl Iterator<Item = Timestamp> {
    let count = if count > AT_MOST { 0 } else { count };
    (0..count).rev().map(move |before| now.plus_millis(-i64::try_from(before).unwrap_or_default()))
}
