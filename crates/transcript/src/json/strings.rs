//! The strings in a JSON text, wherever they stand.

use super::{push_string, read_string};

/// The JSON `text` with those of its strings replaced, names of members too, for which `change` gives another. All else
/// stays as it is.
///
/// `change` is given each string, and before it the name of the member whose value it is, if it is one.
pub fn map_strings(text: &str, mut change: impl FnMut(Option<&str>, &str) -> Option<String>) -> String {
    let (mut mapped, mut copied) = (String::with_capacity(text.len()), 0);
    // The name before the last colon.
    let mut name = None;
    while let Some(at) = memchr::memchr(b'"', &text.as_bytes()[copied..]).map(|at| copied + at) {
        let end = string_end(text, at);
        mapped.push_str(&text[copied..at]);
        // Between a name and its value there is nothing but the colon.
        let member = name.take().filter(|_| text[copied..at].bytes().all(|byte| byte == b':' || is_blank(byte)));
        let string = read_string(&text[at..end]);
        match string.as_ref().and_then(|string| change(member.as_deref(), string)) {
            Some(changed) => push_string(&mut mapped, &changed),
            None => mapped.push_str(&text[at..end]),
        }
        let is_name = text[end..].bytes().find(|byte| !is_blank(*byte)) == Some(b':');
        name = string.filter(|_| is_name);
        copied = end;
    }
    mapped + &text[copied..]
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Where the string that starts at the quote `at` of the JSON `text` ends, its quotes included.
pub fn string_end(text: &str, at: usize) -> usize {
    let mut end = at + 1;
    loop {
        match text.as_bytes().get(end) {
            Some(b'\\') => end += 2,
            Some(b'"') => return end + 1,
            Some(_) => end += 1,
            None => return text.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_strings_that_change_are_touched() {
        let text = r#"{ "a\u0062" : ["\ud800", 1.50, "x\"y\\", {"z":"é"}] }"#;
        assert_eq!(map_strings(text, |_, _| None), text);
        let shout = |_: Option<&str>, string: &str| {
            (string != "z" && !string.contains('\u{fffd}')).then(|| string.to_uppercase())
        };
        assert_eq!(map_strings(text, shout), r#"{ "AB" : ["\ud800", 1.50, "X\"Y\\", {"z":"É"}] }"#);
        assert_eq!(map_strings("12", |_, _| None), "12");
    }

    #[test]
    fn a_value_comes_with_its_name() {
        let mut seen = Vec::new();
        map_strings(r#"{"a" : "1","b":["2",{"c":3,"d":"4"}],"e":{"f":"5"}}"#, |name, string| {
            seen.push(format!("{}{string}", name.map(|name| format!("{name}=")).unwrap_or_default()));
            None
        });
        assert_eq!(seen, ["a", "a=1", "b", "2", "c", "d", "d=4", "e", "f", "f=5"]);
    }
}
