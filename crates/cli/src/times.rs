//! Times, as people read them.

use jiff::tz::TimeZone;
use rejoin_transcript::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How long ago `at` was; `None`, if that is more than a month.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> Option<String> {
    let seconds = (now.as_millis().saturating_sub(at.as_millis())) / 1000;
    Some(match seconds {
        // Clocks of several machines differ.
        ..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ if seconds < 2 * DAY => "1 day ago".to_owned(),
        _ if seconds < 31 * DAY => format!("{} days ago", seconds / DAY),
        _ => return None,
    })
}

/// `at` by the clock of this place, to the day.
pub(crate) fn day(at: Timestamp) -> String {
    local(at, "%Y-%m-%d")
}

/// `at` by the clock of this place, to the minute.
pub(crate) fn minute(at: Timestamp) -> String {
    local(at, "%Y-%m-%d %H:%M")
}

fn local(at: Timestamp, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at.as_millis()) {
        Ok(time) => time.to_zoned(TimeZone::system()).strftime(format).to_string(),
        // Beyond the calendar.
        Err(_) => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_coarser_with_age() {
        let now = Timestamp::from_millis(1_767_225_600_000);
        let ago = |seconds: i64| ago(now.plus_millis(-seconds * 1000), now).unwrap_or_default();
        assert_eq!(
            [-5, 59, 60, 3_599, 3_600, 86_399, 86_400, 172_800, 31 * 86_400 - 1, 31 * 86_400].map(ago),
            [
                "just now",
                "just now",
                "1 min ago",
                "59 min ago",
                "1 h ago",
                "23 h ago",
                "1 day ago",
                "2 days ago",
                "30 days ago",
                ""
            ]
        );
    }
}
