//! A list of names of environment variables.

use rejoin_wire::NamePattern;

use super::Raw;

/// Reads a list; of an environment variable, names with commas between them.
pub(in crate::settings) fn read(raw: &Raw) -> Result<Vec<NamePattern>, String> {
    let names: Option<Vec<NamePattern>> = match raw {
        Raw::Text(text) => text.split(',').map(|name| name.trim().parse().ok()).collect(),
        Raw::List(items) => items
            .iter()
            .map(|item| match &item.raw {
                Raw::Text(name) => name.parse().ok(),
                _ => None,
            })
            .collect(),
        Raw::Integer(_) | Raw::Bool(_) | Raw::Table(_) | Raw::Other(_) => None,
    };
    names.ok_or_else(|| "write names of variables, such as [\"GITHUB_TOKEN\", \"AWS_*\"]".to_owned())
}

/// The names, with commas between them; `None` if there are none.
pub(in crate::settings) fn show(names: &[NamePattern]) -> Option<String> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| names.join(","))
}

#[cfg(test)]
mod tests {
    use super::super::Item;
    use super::*;

    #[test]
    fn names_are_a_list_or_a_text_with_commas() {
        let list = |names: &[&str]| {
            let item = |name: &&str| Item { raw: Raw::Text((*name).to_owned()), line: 1 };
            read(&Raw::List(names.iter().map(item).collect())).map(|names| show(&names))
        };
        assert_eq!(list(&["GITHUB_TOKEN", "AWS_*"]), Ok(Some("GITHUB_TOKEN,AWS_*".to_owned())));
        assert_eq!(list(&[]), Ok(None));
        assert_eq!(read(&Raw::from_variable("A, B_*")).map(|names| show(&names)), Ok(Some("A,B_*".to_owned())));
        for raw in [Raw::Text("A=b".to_owned()), Raw::Integer(1), Raw::Bool(true), Raw::Other("a date")] {
            assert!(read(&raw).is_err(), "{raw:?}");
        }
    }
}
