//! Big content is cut out of a text and kept once, by its hash.
//!
//! An image or a long tool output is one long string in the JSON. Cutting the text between its quotes out, and putting
//! it back when read, leaves every byte as it was.

/// What is longer than this is cut out.
pub(crate) const LONGEST_INLINE: usize = 16 * 1024;

/// Bytes that one hole takes where they are stored: offset, then hash.
const HOLE_BYTES: usize = 4 + 32;

/// The hash of a content: its address.
pub(crate) type Address = [u8; 32];

/// A text with its big contents cut out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut<'a> {
    /// What is left.
    pub(crate) rest: String,
    /// Where in `rest` each content belongs, in order.
    pub(crate) holes: Vec<(u32, Address)>,
    /// The contents, in order.
    pub(crate) contents: Vec<&'a str>,
}

/// The address of `content`.
pub(crate) fn address(content: &str) -> Address {
    *blake3::hash(content.as_bytes()).as_bytes()
}

/// Cuts the big strings out of the JSON text `text`, or, if it is long without one, cuts it out whole; `None` if it
/// is short.
pub(crate) fn cut(text: &str) -> Option<Cut<'_>> {
    if text.len() <= LONGEST_INLINE {
        return None;
    }
    let cut = cut_strings(text, |_| true);
    if cut.rest.len() <= LONGEST_INLINE {
        return Some(cut);
    }
    Some(Cut { rest: String::new(), holes: vec![(0, address(text))], contents: vec![text] })
}

/// Cuts out those big strings of the JSON text `text` whose address is `wanted`.
pub(crate) fn cut_strings(text: &str, wanted: impl Fn(&Address) -> bool) -> Cut<'_> {
    let mut cut = Cut { rest: String::new(), holes: Vec::new(), contents: Vec::new() };
    let mut kept = 0;
    for (start, end) in big_strings(text) {
        let content = &text[start..end];
        let address = address(content);
        if !wanted(&address) {
            continue;
        }
        cut.rest.push_str(&text[kept..start]);
        // A text longer than 4 GiB is far beyond the longest line that is accepted.
        cut.holes.push((u32::try_from(cut.rest.len()).unwrap_or(u32::MAX), address));
        cut.contents.push(content);
        kept = end;
    }
    cut.rest.push_str(&text[kept..]);
    cut
}

/// Puts `contents`, found by their addresses, back into `rest`; gives the address of one that is missing.
pub(crate) fn join<C: AsRef<str>>(
    rest: &str,
    holes: &[(u32, Address)],
    mut content: impl FnMut(&Address) -> Option<C>,
) -> Result<String, Address> {
    let (mut text, mut from) = (String::new(), 0);
    for (at, address) in holes {
        let at = *at as usize;
        let before = rest.get(from..at).ok_or(*address)?;
        text.push_str(before);
        text.push_str(content(address).ok_or(*address)?.as_ref());
        from = at;
    }
    text.push_str(&rest[from..]);
    Ok(text)
}

/// `holes` as bytes.
pub(crate) fn write_holes(holes: &[(u32, Address)]) -> Vec<u8> {
    holes.iter().flat_map(|(at, address)| at.to_le_bytes().into_iter().chain(*address)).collect()
}

/// Reads what [`write_holes`] wrote.
pub(crate) fn read_holes(bytes: &[u8]) -> Option<Vec<(u32, Address)>> {
    let chunks = bytes.chunks_exact(HOLE_BYTES);
    if !chunks.remainder().is_empty() {
        return None;
    }
    chunks
        .map(|hole| {
            let (at, address) = hole.split_at(4);
            Some((u32::from_le_bytes(at.try_into().ok()?), address.try_into().ok()?))
        })
        .collect()
}

/// Where the long strings of a JSON text are, without their quotes.
fn big_strings(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'"', &bytes[at..]) {
        let start = at + open + 1;
        let Some(end) = end_of_string(bytes, start) else { break };
        if end - start > LONGEST_INLINE {
            found.push((start, end));
        }
        at = end + 1;
    }
    found
}

/// Where the string that begins at `start` ends: at its closing quote.
fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let next = at + memchr::memchr2(b'"', b'\\', &bytes[at..])?;
        if bytes[next] == b'"' {
            return Some(next);
        }
        at = (next + 2).min(bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Cuts `text`, stores it, reads it and joins it again.
    fn there_and_back(text: &str) -> String {
        let Some(cut) = cut(text) else { return text.to_owned() };
        assert!(cut.rest.len() <= LONGEST_INLINE);
        let kept: HashMap<Address, &str> = cut.contents.iter().map(|content| (address(content), *content)).collect();
        let holes = read_holes(&write_holes(&cut.holes)).unwrap();
        join(&cut.rest, &holes, |address| kept.get(address)).unwrap()
    }

    #[test]
    fn long_strings_are_cut_and_short_ones_stay() {
        let (long, longer) = ("a".repeat(LONGEST_INLINE + 1), r#"é\"\\"#.repeat(LONGEST_INLINE));
        let text = format!(r#"{{"a":"{long}","b":["short","{longer}"],"c":"{long}"}}"#);
        let cut = cut(&text).unwrap();
        assert_eq!(cut.rest, r#"{"a":"","b":["short",""],"c":""}"#);
        assert_eq!(cut.contents, [long.as_str(), &longer, &long]);
        assert_eq!(there_and_back(&text), text);
    }

    #[test]
    fn a_long_text_without_a_long_string_is_cut_whole() {
        let text = format!("[{}1]", "1,".repeat(LONGEST_INLINE));
        assert_eq!(cut(&text).unwrap().rest, "");
        assert_eq!(there_and_back(&text), text);
    }

    #[test]
    fn what_is_missing_or_does_not_fit_is_named() {
        assert_eq!(join("ab", &[(1, [7; 32])], |_| None::<&str>), Err([7; 32]));
        assert_eq!(join("ab", &[(9, [7; 32])], |_| Some("x")), Err([7; 32]));
        assert_eq!(read_holes(&[1, 2, 3]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_text_comes_back_as_it_was(parts in proptest::collection::vec((".{0,8}", 0..40_000_usize), 0..4)) {
            let values: Vec<serde_json::Value> =
                parts.into_iter().map(|(text, times)| serde_json::json!({ "t": text.repeat(times / (text.len() + 1)) })).collect();
            let text = serde_json::Value::from(values).to_string();
            prop_assert_eq!(there_and_back(&text), text);
        }
    }
}
