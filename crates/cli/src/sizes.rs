//! Amounts of bytes, as people read them.

/// `bytes` in the unit in which they are a small number.
#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
pub(crate) fn show(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = units[0];
    for larger in &units[1..] {
        // What is rounded up to a thousand should not look like one.
        if amount < 1023.95 {
            break;
        }
        (amount, unit) = (amount / 1024.0, larger);
    }
    format!("{amount:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_small_numbers() {
        let shown = [0, 1023, 1024, 1536, 1_048_575, 5_000_000, 3 << 30, u64::MAX].map(show);
        let expected = ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "4.8 MiB", "3.0 GiB", "16777216.0 TiB"]
            .map(str::to_owned);
        assert_eq!(shown, expected);
    }
}
