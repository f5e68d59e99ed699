//! Amounts of bytes.

use super::Raw;

const KIB: usize = 1024;
const GIB: usize = KIB * KIB * KIB;

/// Reads a number of bytes above zero, with or without a unit.
pub(in crate::settings) fn read(raw: &Raw) -> Result<usize, String> {
    let bytes = match raw {
        Raw::Integer(number) => usize::try_from(*number).ok(),
        Raw::Text(text) => read_amount(text),
        Raw::Bool(_) | Raw::List(_) | Raw::Table(_) | Raw::Other(_) => None,
    };
    let wanted = "write an amount above zero, like \"32KiB\", \"1MiB\" or \"2GiB\", or a number of bytes";
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| wanted.to_owned())
}

/// `bytes` in the largest unit that divides them.
pub(in crate::settings) fn show(bytes: usize) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(GIB) => format!("{}GiB", bytes / GIB),
        bytes if bytes.is_multiple_of(KIB * KIB) => format!("{}MiB", bytes / (KIB * KIB)),
        bytes if bytes.is_multiple_of(KIB) => format!("{}KiB", bytes / KIB),
        bytes => bytes.to_string(),
    }
}

fn read_amount(text: &str) -> Option<usize> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "b" => 1,
        "kib" => KIB,
        "mib" => KIB * KIB,
        "gib" => GIB,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn amounts_are_numbers_with_units() {
        let amounts = [("32KiB", Some(32_768)), ("1 mib", Some(1_048_576)), ("7B", Some(7)), ("40000", Some(40_000))];
        check(read, &amounts);
        check(
            read,
            &[("0", None), ("-1", None), ("0KiB", None), ("32 potatoes", None), ("KiB", None), ("1.5KiB", None)],
        );
        check(read, &[("99999999999999999999KiB", None), ("9999999999999999MiB", None)]);
    }

    #[test]
    fn what_is_shown_can_be_read() {
        for bytes in [1, 1_000, 1_024, 32_768, 1_048_576, 2_147_483_648] {
            assert_eq!(read(&Raw::from_variable(&show(bytes))), Ok(bytes));
        }
    }
}
