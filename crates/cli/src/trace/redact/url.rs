//! Secrets in URLs: who calls (`scheme://user:password@host`), the path, and what a query brings (`?token=…`).

use std::ops::Range;

/// Words in the name of a query's parameter whose value is a secret.
const SECRET_WORDS: [&str; 5] = ["key", "token", "secret", "password", "signature"];

/// Where secrets stand in `raw`, the inside of a JSON string, in order and apart: the callers of all URLs, and, if it
/// `is_url` as a whole, its path and values of its query.
pub(crate) fn secrets(raw: &str, is_url: bool) -> Vec<Range<usize>> {
    let mut secrets = callers(raw);
    if is_url {
        secrets.extend(path(raw));
        secrets.extend(query_values(raw));
    }
    secrets.retain(|secret| !secret.is_empty());
    secrets.sort_unstable_by_key(|secret| secret.start);
    secrets.dedup_by(|next, last| {
        let is_joined = next.start <= last.end;
        if is_joined {
            last.end = last.end.max(next.end);
        }
        is_joined
    });
    secrets
}

/// What stands between `://` and `@`.
fn callers(raw: &str) -> Vec<Range<usize>> {
    // Quick for most texts: an `@` is there as it is, or escaped.
    if !raw.contains('@') && !raw.contains("\\u") {
        return Vec::new();
    }
    let mut callers = Vec::new();
    // How much of `://` has been read; behind it: where it ends, and where the last `@` stands.
    let (mut read, mut behind): (u8, Option<(usize, Option<usize>)>) = (0, None);
    for (place, c) in chars(raw) {
        if ends_authority(c) {
            callers.extend(behind.take().and_then(|(start, at)| Some(start..at?)));
        } else if let (Some((_, at)), '@') = (&mut behind, c) {
            *at = Some(place.start);
        }
        read = match (read, c) {
            (_, ':') => 1,
            (1, '/') => 2,
            (2, '/') => {
                behind = Some((place.end, None));
                0
            }
            _ => 0,
        };
    }
    callers.extend(behind.and_then(|(start, at)| Some(start..at?)));
    callers
}

fn ends_authority(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '/' | '?' | '#' | '\\' | '"' | '<' | '>')
}

/// What stands between the host and the query: some servers are given a token there.
fn path(raw: &str) -> Option<Range<usize>> {
    let (mut read, mut start) = (0_u8, None);
    for (place, c) in chars(raw) {
        match (start, c) {
            (Some(start), '?' | '#') => return Some(start..place.start),
            (None, '?' | '#') => return None,
            (None, '/') if read == 3 => start = Some(place.end),
            (None | Some(_), _) => {}
        }
        read = match (read, c) {
            (_, ':') if read < 3 => 1,
            (1, '/') => 2,
            (2, '/') | (3, _) => 3,
            _ => 0,
        };
    }
    start.map(|start| start..raw.len())
}

/// The values of a query, or of what follows a `#`, whose names say that they are secret.
fn query_values(raw: &str) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    // The name that is being read, from the first `?` on; then where the value of a secret starts.
    let (mut name, mut value): (Option<String>, Option<usize>) = (None, None);
    for (place, c) in chars(raw) {
        match (c, &mut name) {
            ('?', None) | ('#', _) | ('&', Some(_)) => {
                values.extend(value.take().map(|start| start..place.start));
                name = Some(String::new());
            }
            (';', Some(name)) if value.is_none() => name.clear(),
            ('=', Some(name)) if value.is_none() => value = is_secret(name).then_some(place.end),
            (c, Some(name)) => name.extend(c.to_lowercase()),
            (_, None) => {}
        }
    }
    values.extend(value.map(|start| start..raw.len()));
    values
}

/// Whether the parameter `name` is a secret. One whose name is encoded may be.
fn is_secret(name: &str) -> bool {
    name.contains('%') || SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// The characters of the inside of a JSON string, each with its place, which an escape makes longer.
fn chars(raw: &str) -> impl Iterator<Item = (Range<usize>, char)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (c, length) = first_char(&raw[at..])?;
        at += length;
        Some((at - length..at, c))
    })
}

/// The first character of `raw`, and how much of `raw` stands for it.
fn first_char(raw: &str) -> Option<(char, usize)> {
    let mut chars = raw.chars();
    Some(match (chars.next()?, chars.next()) {
        ('\\', Some('u')) => match (unit(raw), raw.get(6..).and_then(unit)) {
            (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => (decode(&[high, low]), 12),
            (Some(unit), _) => (decode(&[unit]), 6),
            (None, _) => ('\\', 1),
        },
        ('\\', Some('n' | 't' | 'r' | 'f' | 'b')) => ('\n', 2),
        ('\\', Some(c)) => (c, 1 + c.len_utf8()),
        (c, _) => (c, c.len_utf8()),
    })
}

/// The UTF-16 unit whose escape `raw` starts with.
fn unit(raw: &str) -> Option<u16> {
    u16::from_str_radix(raw.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// The character of `units`; a lone surrogate is none.
fn decode(units: &[u16]) -> char {
    char::decode_utf16(units.iter().copied()).next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that of `raw` the secrets are left out.
    fn check(raw: &str, is_url: bool, expected: &str) {
        let mut redacted = raw.to_owned();
        for secret in secrets(raw, is_url).into_iter().rev() {
            redacted.replace_range(secret, "*");
        }
        assert_eq!(redacted, expected, "{raw}");
    }

    #[test]
    fn callers_are_left_out_of_any_text() {
        check(
            "clone https://anna:hush@host/a and ssh://git@host:22",
            false,
            "clone https://*@host/a and ssh://*@host:22",
        );
        check("postgres://u:p@q@host/db?x=1", false, "postgres://*@host/db?x=1");
        check("http://http://u:p@host", false, "http://http://*@host");
        check(r"https:\/\/u:p@host\nmail me@home", false, r"https:\/\/*@host\nmail me@home");
        check(
            r"\u0068ttps\u003a//u\u003ap\u0040host \ud83d\ude00",
            false,
            r"\u0068ttps\u003a//*\u0040host \ud83d\ude00",
        );
    }

    #[test]
    fn texts_without_callers_stay() {
        for text in
            ["https://host/@scope/package", "a@b.c https://host?to=a@b.c", "://@host", r"\u0040\ud800", "://", ""]
        {
            check(text, false, text);
        }
        check("https://host/?token=hush", false, "https://host/?token=hush");
    }

    #[test]
    fn secret_parameters_are_left_out_of_urls() {
        check("https://host/mcp?api_key=hush&page=2", true, "https://host/*?api_key=*&page=2");
        check(
            "https://host?X-Amz-Signature=a?b;c=d&e#access_token=f",
            true,
            "https://host?X-Amz-Signature=*&e#access_token=*",
        );
        check("https://host?a=1;PassWord=x", true, "https://host?a=1;PassWord=*");
        check("https://host?%6bey=x&a=b=c", true, "https://host?%6bey=*&a=b=c");
        check("https://u:p@host?token=https://x&y:z@w", true, "https://*@host?token=*@w");
        check("https://host/?token=", true, "https://host/?token=");
    }

    #[test]
    fn paths_are_left_out_of_urls() {
        check("https://host/api/hush/mcp", true, "https://host/*");
        check("https://host:80/hush#x", true, "https://host:80/*#x");
        check(r"https:\/\/host\/hush", true, r"https:\/\/host\/*");
        for url in ["https://host", "https://host/", "https://host?a=/b", "host/path", ""] {
            check(url, true, url);
        }
        check("https://host/a/b", false, "https://host/a/b");
    }
}
