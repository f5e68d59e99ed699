//! Points in time, to the millisecond.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::TranscriptError;

/// Milliseconds since 1970-01-01T00:00:00Z. Written as RFC 3339, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The point `milliseconds` after 1970.
    pub const fn from_millis(milliseconds: i64) -> Self {
        Self(milliseconds)
    }

    /// Milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The point this much later (or, with a negative number, earlier).
    #[must_use]
    pub const fn plus_millis(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = jiff::Timestamp::MIN.as_millisecond()..=jiff::Timestamp::MAX.as_millisecond();
        let clamped = self.0.clamp(*range.start(), *range.end());
        match jiff::Timestamp::from_millisecond(clamped) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => write!(f, "{clamped} ms"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TranscriptError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<jiff::Timestamp>() {
            Ok(time) => Ok(Self(time.as_millisecond())),
            Err(_) => Err(TranscriptError::NotATime { text: text.to_owned() }),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read_as_rfc_3339() {
        let time = Timestamp::from_millis(1_767_225_600_120);
        assert_eq!(time.to_string(), "2026-01-01T00:00:00.120Z");
        assert_eq!("2026-01-01T01:00:00.120+01:00".parse::<Timestamp>().unwrap(), time);
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn times_beyond_the_calendar_are_still_written() {
        assert!(!Timestamp::from_millis(i64::MAX).to_string().is_empty());
        assert!(!Timestamp::from_millis(i64::MIN).to_string().is_empty());
    }
}
