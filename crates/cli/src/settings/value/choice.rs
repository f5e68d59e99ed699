//! One of a few words.

use clap::ValueEnum;

use super::Raw;

/// Reads one of the words for a `T`.
pub(in crate::settings) fn read<T: ValueEnum + Copy>(raw: &Raw) -> Result<T, String> {
    let choice = match raw {
        Raw::Text(text) => T::from_str(text, true).ok(),
        Raw::Integer(_) | Raw::Bool(_) | Raw::List(_) | Raw::Table(_) | Raw::Other(_) => None,
    };
    choice.ok_or_else(|| {
        let words: Vec<String> = T::value_variants().iter().map(|choice| format!("{:?}", show(*choice))).collect();
        format!("write {}", or(&words))
    })
}

/// The word for `choice`.
pub(in crate::settings) fn show<T: ValueEnum + Copy>(choice: T) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn or(words: &[String]) -> String {
    match words {
        [words @ .., last] if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;
    use crate::settings::behaviour::Restore;

    #[test]
    fn a_choice_is_one_of_its_words() {
        check(
            read,
            &[("fresh", Some(Restore::Fresh)), ("Required", Some(Restore::Required)), ("new", None), ("1", None)],
        );
        let wanted = "write \"required\", \"rebuild\" or \"fresh\"".to_owned();
        assert_eq!(read::<Restore>(&Raw::Other("a date")), Err(wanted));
    }
}
