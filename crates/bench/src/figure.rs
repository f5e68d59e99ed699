//! A figure: what was measured, what it is compared with, and what is wanted of the two.

use std::time::Duration;

use serde_json::{Value, json};

/// The first lines of the table that [`Figure::to_row`] goes on with.
pub(crate) const TABLE_HEAD: &str = "\
| benchmark | what | ours | compared with | ratio | wanted | ok |
|---|---|---|---|---|---|---|";

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Amount {
    /// A time.
    Time(Duration),
    /// Room in memory or on disk.
    Bytes(u64),
}

/// How two amounts are compared, and what is wanted of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    /// Ours is this many times faster, or more.
    Faster(f64),
    /// Ours is at most this many times as much.
    Within(f64),
    /// Ours is at most so much more.
    AtMostMore(Amount),
    /// It is only said how many times faster ours is.
    SayFaster,
    /// It is only said how many times as much ours is.
    SayTimes,
}

/// A line of the table.
#[derive(Debug)]
pub(crate) struct Figure {
    benchmark: &'static str,
    what: String,
    ours: Amount,
    beside: Beside,
}

/// What a figure stands beside.
#[derive(Debug)]
enum Beside {
    Nothing,
    /// What it may be at most.
    Limit(Amount),
    Other(Compared),
    /// What could not be had, and why.
    Missing {
        with: String,
        why: String,
        wanted: Wanted,
    },
}

#[derive(Debug)]
struct Compared {
    with: String,
    theirs: Amount,
    wanted: Wanted,
}

impl Figure {
    /// The figure `ours` of `what`.
    pub(crate) fn new(what: impl Into<String>, ours: Amount) -> Self {
        Self { benchmark: "", what: what.into(), ours, beside: Beside::Nothing }
    }

    /// The same figure beside that of `with`.
    pub(crate) fn against(self, with: impl Into<String>, theirs: Amount, wanted: Wanted) -> Self {
        Self { beside: Beside::Other(Compared { with: with.into(), theirs, wanted }), ..self }
    }

    /// The same figure, for which `with` could not be had; so what is wanted is not met.
    pub(crate) fn without(self, with: impl Into<String>, why: impl Into<String>, wanted: Wanted) -> Self {
        Self { beside: Beside::Missing { with: with.into(), why: why.into(), wanted }, ..self }
    }

    /// The same figure, of which at most `limit` is wanted.
    pub(crate) fn at_most(self, limit: Amount) -> Self {
        Self { beside: Beside::Limit(limit), ..self }
    }

    /// The same figure as one of `benchmark`.
    pub(crate) fn of(self, benchmark: &'static str) -> Self {
        Self { benchmark, ..self }
    }

    /// Whether the figure is as wanted; `None` if nothing is.
    pub(crate) fn is_met(&self) -> Option<bool> {
        match &self.beside {
            Beside::Nothing => None,
            Beside::Limit(limit) => Some(self.ours.value() <= limit.value()),
            Beside::Other(compared) => compared.is_met(self.ours),
            Beside::Missing { wanted, .. } => wanted.asks_something().then_some(false),
        }
    }

    /// As a row of the table.
    pub(crate) fn to_row(&self) -> String {
        let (benchmark, what, ours) = (self.benchmark, &self.what, self.ours.to_text());
        let ok = self.is_met().map_or("", |is_met| if is_met { "yes" } else { "**no**" });
        let (beside, ratio, wanted) = match &self.beside {
            Beside::Nothing => Default::default(),
            Beside::Limit(limit) => (String::new(), String::new(), format!("≤ {}", limit.to_round_text())),
            Beside::Other(compared) => {
                let Compared { with, theirs, wanted } = compared;
                (format!("{} ({with})", theirs.to_text()), compared.ratio_text(self.ours), wanted.to_text())
            }
            Beside::Missing { with, why, wanted } => {
                (format!("missing ({with}: {why})"), String::new(), wanted.to_text())
            }
        };
        format!("| {benchmark} | {what} | {ours} | {beside} | {ratio} | {wanted} | {ok} |")
    }

    /// As JSON: times in seconds, room in bytes.
    pub(crate) fn to_json(&self) -> Value {
        let mut figure = json!({
            "benchmark": self.benchmark,
            "what": self.what,
            "unit": self.ours.unit(),
            "ours": self.ours.value(),
        });
        match &self.beside {
            Beside::Nothing => return figure,
            Beside::Limit(limit) => figure["wanted"] = json!(format!("≤ {}", limit.to_round_text())),
            Beside::Other(compared) => {
                figure["comparedWith"] = json!({ "name": compared.with, "value": compared.theirs.value() });
                figure["ratio"] = json!(compared.ratio(self.ours));
                figure["wanted"] = json!(compared.wanted.to_text());
            }
            Beside::Missing { with, why, wanted } => {
                figure["comparedWith"] = json!({ "name": with, "value": null, "why": why });
                figure["wanted"] = json!(wanted.to_text());
            }
        }
        figure["ok"] = json!(self.is_met());
        figure
    }
}

impl Compared {
    fn is_met(&self, ours: Amount) -> Option<bool> {
        let (ours, theirs) = (ours.value(), self.theirs.value());
        match self.wanted {
            Wanted::Faster(least) => Some(theirs / ours >= least),
            Wanted::Within(most) => Some(ours / theirs <= most),
            Wanted::AtMostMore(most) => Some(ours - theirs <= most.value()),
            Wanted::SayFaster | Wanted::SayTimes => None,
        }
    }

    fn ratio(&self, ours: Amount) -> f64 {
        let (ours, theirs) = (ours.value(), self.theirs.value());
        match self.wanted {
            Wanted::Faster(_) | Wanted::SayFaster => theirs / ours,
            Wanted::Within(_) | Wanted::SayTimes | Wanted::AtMostMore(_) => ours / theirs,
        }
    }

    fn ratio_text(&self, ours: Amount) -> String {
        match self.wanted {
            Wanted::Faster(_) | Wanted::SayFaster => format!("{:.2}× as fast", self.ratio(ours)),
            Wanted::Within(_) | Wanted::SayTimes => format!("{:.2}×", self.ratio(ours)),
            Wanted::AtMostMore(_) => ours.more_text(self.theirs),
        }
    }
}

impl Wanted {
    fn to_text(self) -> String {
        match self {
            Self::Faster(least) => format!("≥ {least}×"),
            Self::Within(most) => format!("≤ {most}×"),
            Self::AtMostMore(most) => format!("≤ +{}", most.to_round_text()),
            Self::SayFaster | Self::SayTimes => String::new(),
        }
    }

    fn asks_something(self) -> bool {
        match self {
            Self::Faster(_) | Self::Within(_) | Self::AtMostMore(_) => true,
            Self::SayFaster | Self::SayTimes => false,
        }
    }
}

impl Amount {
    /// In seconds or bytes.
    #[expect(clippy::cast_precision_loss, reason = "nothing measured here needs more than 52 bits")]
    fn value(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64(),
            Self::Bytes(bytes) => bytes as f64,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Time(_) => "s",
            Self::Bytes(_) => "B",
        }
    }

    fn to_text(self) -> String {
        match self {
            Self::Time(time) if time < Duration::from_millis(1) => format!("{:.1} µs", time.as_secs_f64() * 1e6),
            Self::Time(time) if time < Duration::from_secs(1) => format!("{:.1} ms", time.as_secs_f64() * 1e3),
            Self::Time(time) => format!("{:.2} s", time.as_secs_f64()),
            Self::Bytes(_) => format!("{:.1} MiB", mebibytes(self.value())),
        }
    }

    /// What is wanted, which is a round number of milliseconds or mebibytes.
    fn to_round_text(self) -> String {
        match self {
            Self::Time(time) => format!("{:.0} ms", time.as_secs_f64() * 1e3),
            Self::Bytes(_) => format!("{:.0} MiB", mebibytes(self.value())),
        }
    }

    /// How much more than `other` it is.
    fn more_text(self, other: Self) -> String {
        let more = self.value() - other.value();
        match self {
            Self::Time(_) => format!("{:+.1} ms", more * 1e3),
            Self::Bytes(_) => format!("{:+.1} MiB", mebibytes(more)),
        }
    }
}

fn mebibytes(bytes: f64) -> f64 {
    bytes / (1024.0 * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ours: Amount, theirs: Amount, wanted: Wanted, expected: &str) {
        let row = Figure::new("what", ours).against("it", theirs, wanted).of("b").to_row();
        assert_eq!(row, expected);
    }

    #[test]
    fn a_row_says_what_was_wanted_and_whether_it_is_so() {
        let (micros, mebibytes) = (|n| Amount::Time(Duration::from_micros(n)), |n: u64| Amount::Bytes(n * 1024 * 1024));
        check(
            micros(10),
            micros(25),
            Wanted::Faster(2.0),
            "| b | what | 10.0 µs | 25.0 µs (it) | 2.50× as fast | ≥ 2× | yes |",
        );
        check(
            micros(10),
            micros(5),
            Wanted::Within(1.5),
            "| b | what | 10.0 µs | 5.0 µs (it) | 2.00× | ≤ 1.5× | **no** |",
        );
        check(
            mebibytes(12),
            mebibytes(10),
            Wanted::AtMostMore(mebibytes(8)),
            "| b | what | 12.0 MiB | 10.0 MiB (it) | +2.0 MiB | ≤ +8 MiB | yes |",
        );
        check(
            micros(9_000),
            micros(2_000),
            Wanted::AtMostMore(micros(10_000)),
            "| b | what | 9.0 ms | 2.0 ms (it) | +7.0 ms | ≤ +10 ms | yes |",
        );
        check(micros(10), micros(10), Wanted::SayFaster, "| b | what | 10.0 µs | 10.0 µs (it) | 1.00× as fast |  |  |");
    }

    #[test]
    fn a_row_without_another_says_what_is_wanted_all_the_same() {
        let figure = |mebibytes: u64| Figure::new("what", Amount::Bytes(mebibytes * 1024 * 1024)).of("b");
        let limit = Amount::Bytes(15 * 1024 * 1024);
        assert_eq!(figure(12).at_most(limit).to_row(), "| b | what | 12.0 MiB |  |  | ≤ 15 MiB | yes |");
        assert_eq!(figure(16).at_most(limit).is_met(), Some(false));
        let missing = figure(12).without("it", "not installed", Wanted::Within(0.5));
        assert_eq!(missing.to_row(), "| b | what | 12.0 MiB | missing (it: not installed) |  | ≤ 0.5× | **no** |");
        assert_eq!(figure(12).without("it", "not installed", Wanted::SayTimes).is_met(), None);
    }
}
