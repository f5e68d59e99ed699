//! What looks like a secret or a name, and what stands in for it.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use rejoin_wire::names_secret;

use super::tokens;
use crate::trace::url;

/// Something that was found, and what stands in for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    range: Range<usize>,
    by: &'static str,
}

const KEY: &str = "[redacted key]";
pub(super) const SECRET: &str = "[redacted secret]";
const CALLER: &str = "[redacted]";
const EMAIL: &str = "[redacted e-mail]";
const HOME: &str = "/home/user";

/// What to look for, beside what looks the same for everybody.
pub(in crate::commands::export) struct Rules {
    /// The user's own folder.
    home: Option<String>,
    /// Values of environment variables whose names say that they are secret.
    values: Vec<String>,
}

/// A value of the environment that is shorter could be any word.
const SHORTEST_VALUE: usize = 8;

/// Headers whose whole values are secret.
const CREDENTIAL_HEADERS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];

/// What is assigned and is shorter is no secret worth the name.
const SHORTEST_SECRET: usize = 6;

impl Rules {
    /// The rules of a user with this home folder and this environment.
    pub(in crate::commands::export) fn new(home: Option<&Path>, env: impl Iterator<Item = (String, String)>) -> Self {
        let home = home.map(|home| home.to_string_lossy().trim_end_matches('/').to_owned());
        let is_secret = |(name, value): &(String, String)| {
            names_secret(name) && value.len() >= SHORTEST_VALUE && !value.starts_with('/')
        };
        let mut values: Vec<String> = env.filter(is_secret).map(|(_, value)| value).collect();
        // One may be part of another.
        values.sort_unstable_by_key(|value| std::cmp::Reverse(value.len()));
        Self { home: home.filter(|home| !home.is_empty()), values }
    }

    /// All that is to be replaced in `text`, in order and apart.
    pub(super) fn find(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        let mut add = |range: Range<usize>, by| found.push(Found { range, by });
        for value in &self.values {
            text.match_indices(value.as_str()).for_each(|(at, value)| add(at..at + value.len(), SECRET));
        }
        PRIVATE_KEY.find_iter(text).for_each(|it| add(it.range(), KEY));
        tokens::find(text).for_each(|range| add(range, KEY));
        for regex in [&BEARER, &AUTHORIZATION, &OPTION, &ASSIGNED] {
            regex.captures_iter(text).filter_map(|captures| secret_of(&captures)).for_each(|range| add(range, SECRET));
        }
        for caller in url::secrets(text, false) {
            add(caller, CALLER);
        }
        for email in EMAIL_ADDRESS.find_iter(text).filter(|email| !email.as_str().starts_with("git@")) {
            add(email.range(), EMAIL);
        }
        if let Some(home) = &self.home {
            let ends = |at: usize| !text[at..].starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
            let inside = text.match_indices(home.as_str()).map(|(at, home)| at..at + home.len());
            inside.filter(|range| ends(range.end)).for_each(|range| add(range, HOME));
        }
        let begins = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || "-_.~".contains(c));
        for home in ANY_HOME.find_iter(text).filter(|home| home.as_str() != HOME && begins(home.start())) {
            add(home.range(), HOME);
        }
        join(found)
    }
}

/// What of `text` stands in `part`, with each of `found` replaced where it begins.
pub(super) fn replace_in(text: &str, part: Range<usize>, found: &[Found]) -> String {
    let (mut replaced, mut copied) = (String::new(), part.start);
    for Found { range, by } in found.iter().filter(|found| found.range.end > part.start && found.range.start < part.end)
    {
        replaced.push_str(&text[copied..range.start.max(copied)]);
        if range.start >= part.start {
            replaced.push_str(by);
        }
        copied = range.end.min(part.end);
    }
    replaced + &text[copied..part.end]
}

/// Joins what overlaps; what begins first, or is longer, says what stands in for it.
fn join(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
    found.dedup_by(|next, last| {
        let overlaps = next.range.start < last.range.end;
        if overlaps {
            last.range.end = last.range.end.max(next.range.end);
        }
        overlaps
    });
    found
}

#[expect(clippy::expect_used, reason = "a test looks at every one of them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern should be a regular expression")
}

static PRIVATE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----(?s:.*?)(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)")
});

static BEARER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(?P<name>bearer|basic)\s+(?P<value>[A-Za-z0-9._~+/=-]{16,})"));

/// The header that says who asks, whatever its scheme.
static AUTHORIZATION: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"(?i)\b(?P<name>authorization)["'`]?\s*[:=]\s*["'`]?(?:[a-z-]+\s+)?(?P<value>[A-Za-z0-9._~+/=-]{8,})"#)
});

/// An option of a program, and what it is given.
static OPTION: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)(?P<name>--[a-z-]*(?:passw(?:or)?d|passphrase|token|secret|api-?key)[a-z-]*)\s+["'`]?(?P<value>[^\s"'`]{6,})"#,
    )
});

/// A name of what is secret, a sign, and what is assigned.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?xi) (?P<name> \b[A-Z0-9_.-]* (?:api_?key|api-key|access_?key|private_?key|secret|token|passw(?:or)?d|passphrase|credential) [A-Z0-9_-]* )
           ["'`]? \s* (?: => | := | = | : ) \s* ["'`]?
           (?P<value> [^\s"'`,;&<>(){}\[\]]{6,} )"#,
    )
});

static EMAIL_ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"));

/// Anybody's home folder.
static ANY_HOME: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(?:/home/|/Users/|[A-Za-z]:\\Users\\)[^/\\\s"'`:;,<>|*?()\[\]{}]+"#));

/// What stands in for `value`, the text of the member `name`, if it is a secret.
pub(super) fn member(name: &str, value: &str) -> Option<String> {
    let is_long = value.len() >= SHORTEST_SECRET;
    let is_one_word = is_long && !value.contains(char::is_whitespace);
    let is_header = CREDENTIAL_HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name));
    let is_meant = names_secret(name) && is_one_word && is_secret(name, value);
    let is_credential = is_header && is_long && !value.contains("[redacted") && value.contains([' ', '=']);
    (is_meant || is_credential).then(|| SECRET.to_owned())
}

/// The value that `captures` found behind a name of what is secret, if it is one.
fn secret_of(captures: &Captures<'_>) -> Option<Range<usize>> {
    let (name, value) = (captures.name("name")?, captures.name("value")?);
    is_secret(name.as_str(), value.as_str()).then(|| value.range())
}

/// Whether `value`, which has a name of what is secret, is one, and not just code.
fn is_secret(name: &str, value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_variable = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let is_reference = ["$", "process.", "os.", "["].iter().any(|begin| value.starts_with(begin));
    let is_mixed = value.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let is_password = name.to_ascii_lowercase().contains("passw") && has(u8::is_ascii_digit);
    !is_reference && (is_variable || is_mixed || is_password)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules() -> Rules {
        let env = [("MY_API_KEY", "env-value-of-mine"), ("PATH", "/usr/bin:/bin"), ("TOKEN", "short")];
        Rules::new(
            Some(Path::new("/srv/anna")),
            env.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter(),
        )
    }

    fn redacted(text: &str) -> String {
        replace_in(text, 0..text.len(), &rules().find(text))
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(redacted(text), expected);
        assert_eq!(redacted(expected), expected, "a second time changes nothing");
    }

    #[test]
    fn keys_and_tokens_are_replaced() {
        check("use sk-ant-api03-abcdefghijklmnop1234 now", "use [redacted key] now");
        check("ghp_0123456789abcdefghijABCDEFGHIJ", "[redacted key]");
        check("id AKIAIOSFODNN7EXAMPLE.", "id [redacted key].");
        check("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-_", "[redacted key]");
        check("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n[redacted key]\nb");
        check("-----BEGIN PRIVATE KEY-----\nMIIE cut off", "[redacted key]");
        check("it is env-value-of-mine!", "it is [redacted secret]!");
    }

    #[test]
    fn what_is_assigned_to_a_secret_name_is_replaced() {
        check("export DB_PASSWORD=correcthorse", "export DB_PASSWORD=[redacted secret]");
        check(r#"{"apiKey": "a1b2c3d4e5"}"#, r#"{"apiKey": "[redacted secret]"}"#);
        check("password: hunter2", "password: [redacted secret]");
        check("https://host/?access_token=a1b2c3d4&page=2", "https://host/?access_token=[redacted secret]&page=2");
        check("Authorization: Bearer abcdef0123456789", "Authorization: Bearer [redacted secret]");
        check(r#"{"Authorization": "Basic dXNlcjpwYXNz1Q=="}"#, r#"{"Authorization": "Basic [redacted secret]"}"#);
        check("authorization: token abcdef12", "authorization: token [redacted secret]");
        check("mysql --password 's3cr3tpw' --user x", "mysql --password '[redacted secret]' --user x");
    }

    #[test]
    fn a_member_is_a_secret_by_its_name() {
        for (name, value) in [
            ("DB_PASSWORD", "correcthorse"),
            ("authToken", "a1b2c3d4"),
            ("password", "hunter2"),
            ("Cookie", "sid=abc; theme=dark"),
            ("authorization", "Negotiate abcdef"),
        ] {
            assert_eq!(member(name, value).as_deref(), Some(SECRET), "{name}");
        }
        for (name, value) in [
            ("title", "a1b2c3d4"),
            ("cookie", "chocolate"),
            ("tokenType", "bearer"),
            ("token", "[redacted key]"),
            ("PASSWORD", "a b c d e f"),
        ] {
            assert_eq!(member(name, value), None, "{name}");
        }
    }

    #[test]
    fn people_and_places_are_replaced() {
        check("mail anna.b@example.co.uk, please", "mail [redacted e-mail], please");
        check("https://anna:hush@host/x", "https://[redacted]@host/x");
        check("/srv/anna/src and /srv/anna", "/home/user/src and /home/user");
        check("/srv/anna/home/app file:///home/bob/x", "/home/user/home/app file:///home/user/x");
        check("/home/bob/.ssh, /Users/eve", "/home/user/.ssh, /home/user");
        check(r"C:\Users\bob\x", r"/home/user\x");
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "let token = tokenizer.next();",
            "token: string, secret: &str",
            "max_tokens: 128000",
            "PASSWORD=$1 API_KEY=${KEY}",
            "api_key = os.environ['KEY']",
            "git@github.com:a/b.git react@18.2.0 @scope/package",
            "/srv/annabel /srv/anna-2 /srv/anna.txt /usr/home",
            "basic understanding, bearer of bad news",
            "--max-tokens 128000 --token-file tokens.txt authorization: required",
            "task-force sk-1 key-value",
            "5e7d0c41b9f24a86a3d1c08f62e94b75 toolu_01A09q90qw90lq917835lq9",
            "",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn a_part_of_a_text_loses_what_lies_across_its_ends() {
        let text = "a sk-ant-api03-abcdefghijklmnop1234 b";
        let found = rules().find(text);
        let parts = [0..5, 5..20, 20..text.len()].map(|part| replace_in(text, part, &found));
        assert_eq!(parts, ["a [redacted key]", "", " b"]);
    }

    proptest! {
        #[test]
        fn parts_make_the_whole(text in "(é|sk-ant-abcdefghijklmnopqrst1|a@b.cd|/home/x| |=|token){0,12}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
            let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| bounds[cut.index(bounds.len())]).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let found = rules().find(&text);
            let parts: String = cuts.windows(2).map(|pair| replace_in(&text, pair[0]..pair[1], &found)).collect();
            prop_assert_eq!(parts, replace_in(&text, 0..text.len(), &found));
        }
    }
}
