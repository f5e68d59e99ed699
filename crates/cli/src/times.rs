//! Times, as people read them.

use jiff::SpanRelativeTo;
use jiff::fmt::friendly::SpanParser;
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

/// The point in time that `text` names: a date, a date with its time, or an age.
pub(crate) fn read_since(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if let Ok(date) = text.parse::<jiff::civil::Date>() {
        let midnight = date.to_zoned(TimeZone::system()).ok()?;
        return Some(Timestamp::from_millis(midnight.timestamp().as_millisecond()));
    }
    let age = SpanParser::new().parse_span(text.strip_suffix("ago").unwrap_or(text).trim()).ok()?;
    let age = age.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.as_millis();
    Some(now.plus_millis(i64::try_from(age).ok()?.checked_abs()?.checked_neg()?))
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
    fn a_time_is_typed_as_a_date_or_an_age() {
        let now: Timestamp = "2026-05-04T10:00:00Z".parse().unwrap();
        let read = |text| read_since(text, now).map(|at| at.to_string());
        assert_eq!(read("2026-05-01T08:00:00Z").as_deref(), Some("2026-05-01T08:00:00.000Z"));
        assert_eq!(read("7 days").as_deref(), Some("2026-04-27T10:00:00.000Z"));
        assert_eq!(read("2h ago").as_deref(), Some("2026-05-04T08:00:00.000Z"));
        assert!(read("2026-05-01").is_some());
        for text in ["", "soon", "2026-13-01", "1 month"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

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
