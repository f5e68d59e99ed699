//! Lengths of time.

use std::time::Duration;

use jiff::SpanRelativeTo;
use jiff::fmt::friendly::{SpanParser, SpanPrinter};

use super::Raw;

/// Reads a length of time above zero; a day has 24 hours.
pub(in crate::settings) fn read(raw: &Raw) -> Result<Duration, String> {
    let duration = match raw {
        Raw::Integer(seconds) => u64::try_from(*seconds).ok().map(Duration::from_secs),
        Raw::Text(text) => read_friendly(text),
        Raw::Bool(_) | Raw::List(_) | Raw::Table(_) | Raw::Other(_) => None,
    };
    let wanted = "write a time above zero, like \"5s\", \"15 min\" or \"1 day\", or a number of seconds";
    duration.filter(|duration| !duration.is_zero()).ok_or_else(|| wanted.to_owned())
}

/// `duration` in hours, minutes and seconds.
pub(in crate::settings) fn show(duration: Duration) -> String {
    SpanPrinter::new().unsigned_duration_to_string(&duration)
}

fn read_friendly(text: &str) -> Option<Duration> {
    let span = SpanParser::new().parse_span(text.trim()).ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn times_are_read_as_people_write_them() {
        check(read, &[("5s", Some(SECOND * 5)), ("15 min", Some(SECOND * 900)), ("1 day", Some(SECOND * 86_400))]);
        check(read, &[("1h 30m", Some(SECOND * 5_400)), ("250ms", Some(SECOND / 4)), ("20", Some(SECOND * 20))]);
    }

    #[test]
    fn what_is_no_time_above_zero_is_refused() {
        check(
            read,
            &[("0", None), ("0s", None), ("-5", None), ("-5s", None), ("5s ago", None), ("", None), ("soon", None)],
        );
        check(read, &[("1 month", None), ("5 potatoes", None), ("99999999999999999999s", None), ("5s 5s", None)]);
    }

    #[test]
    fn what_is_shown_can_be_read() {
        for (seconds, shown) in [(5, "5s"), (60, "1m"), (5_400, "1h 30m"), (86_400, "24h")] {
            assert_eq!(show(SECOND * seconds), shown);
            assert_eq!(read(&Raw::Text(shown.to_owned())), Ok(SECOND * seconds));
        }
    }
}
