//! Amounts of money, as people read them.

use rejoin_transcript::Cost;

use crate::output::{cut_end, one_line};

/// How many columns the name of a currency takes at most.
const UNIT: usize = 8;

/// `cost` with the sign of its currency, where everybody knows one.
pub(crate) fn show(cost: &Cost) -> String {
    let Cost { amount, currency } = cost;
    let (sign, unit) = match currency.as_str() {
        "USD" => ("$", String::new()),
        "EUR" => ("€", String::new()),
        "GBP" => ("£", String::new()),
        // An agent may call it anything.
        other => ("", format!(" {}", cut_end(&one_line(other), UNIT))),
    };
    // What is not nothing should not look like it.
    if *amount > 0.0 && *amount < 0.005 {
        return format!("<{sign}0.01{unit}");
    }
    format!("{sign}{amount:.2}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(amount: f64, currency: &str, expected: &str) {
        assert_eq!(show(&Cost { amount, currency: currency.to_owned() }), expected);
    }

    #[test]
    fn money_is_shown_to_the_cent_and_never_as_nothing() {
        check(1_234.567, "USD", "$1234.57");
        check(0.0049, "EUR", "<€0.01");
        check(0.0, "GBP", "£0.00");
        check(12.0, "CHF", "12.00 CHF");
        check(0.001, "X\u{1b}", "<0.01 X␛");
        check(2.0, "pieces of eight", "2.00 pieces…");
    }
}
