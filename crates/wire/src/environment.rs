//! Decides which of our environment variables a child process gets.
//!
//! Every program that is started names one of the rules of [`Inherited`]; nothing is inherited past it. Our own settings
//! (`REJOIN_*`) and those of a database (`PG*`) hold tokens and passwords of ours, and no child gets them.

use std::fmt;
use std::process::Command;
use std::str::FromStr;

use crate::secrets::names_secret;

/// Which of our environment variables a program gets, besides those that it is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Inherited {
    /// All but `REJOIN_*` and `PG*`: for a program that the user chose, such as an agent or a pager.
    #[default]
    Most,
    /// Of those, the ones that hold no secret: for a command that a model wants to run.
    WithoutSecrets(Requested),
    /// Of those, the few that programs need to find their way around: for an MCP server.
    Few(Requested),
}

/// The variables that the user wants passed on, besides those that a rule passes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Requested {
    /// Names, and patterns of names.
    pub names: Vec<NamePattern>,
    /// The variables that hold keys of providers. They must be requested by their full names: `*` does not mean them.
    pub provider_keys: Vec<String>,
}

/// The name of a variable, in which each `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamePattern(String);

/// The text is not the name of a variable, nor a pattern of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a variable's name has letters, digits and `_`, and `*` for any of them")]
pub struct NotANamePattern;

/// What an MCP server gets: who and where the user is, the language, and the way to the network.
///
/// The first eleven are those that Codex passes on. `XDG_*` are folders. Proxies and certificates are needed to reach
/// anything from some networks. `SSH_AUTH_SOCK`, `DISPLAY` and `DBUS_SESSION_BUS_ADDRESS` are absent: through them a
/// program acts as the user.
const FEW: &[&str] = &[
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "USER",
    "__CF_USER_TEXT_ENCODING",
    "LANG",
    "LC_*",
    "TERM",
    "TMPDIR",
    "TZ",
    "LANGUAGE",
    "XDG_*",
    "ALL_PROXY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// The beginnings of names that no child gets.
const OURS: [&str; 2] = ["REJOIN_", "PG"];

impl Inherited {
    /// Whether a program gets our variable `name`.
    pub fn passes_on(&self, name: &str) -> bool {
        if OURS.iter().any(|ours| name.starts_with(ours)) {
            return false;
        }
        match self {
            Self::Most => true,
            Self::WithoutSecrets(requested) => {
                requested.has(name) || !(names_secret(name) || requested.provider_keys.iter().any(|key| key == name))
            }
            Self::Few(requested) => requested.has(name) || FEW.iter().any(|few| matches(few, name)),
        }
    }

    /// Takes our variables that `command` must not inherit from it.
    pub fn limit(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if !self.passes_on(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
    }
}

impl Requested {
    fn has(&self, name: &str) -> bool {
        let is_key = self.provider_keys.iter().any(|key| key == name);
        self.names.iter().any(|NamePattern(wanted)| if is_key { wanted == name } else { matches(wanted, name) })
    }
}

impl FromStr for NamePattern {
    type Err = NotANamePattern;

    fn from_str(text: &str) -> Result<Self, NotANamePattern> {
        let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '*');
        let is_name = !text.is_empty() && text.chars().all(is_part);
        if is_name { Ok(Self(text.to_owned())) } else { Err(NotANamePattern) }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `name` is of the form `pattern`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    // The earliest place of each part leaves the most for those behind it.
    for part in parts {
        match name.split_once(part) {
            Some((_, behind)) => name = behind,
            None => return false,
        }
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(names: &str) -> Requested {
        let names = names.split_whitespace().map(|name| name.parse().unwrap()).collect();
        Requested { names, provider_keys: vec!["OPENAI_API_KEY".to_owned(), "MODEL_ACCESS".to_owned()] }
    }

    /// Which of the three rules pass on `name`, where the user requests `names`: `mwf`, or `-` for one that does not.
    fn check(name: &str, names: &str, expected: &str) {
        let rules = [Inherited::Most, Inherited::WithoutSecrets(requested(names)), Inherited::Few(requested(names))];
        let passed: String = rules
            .iter()
            .zip("mwf".chars())
            .map(|(rule, letter)| if rule.passes_on(name) { letter } else { '-' })
            .collect();
        assert_eq!(passed, expected, "{name} with {names:?}");
    }

    #[test]
    fn each_program_gets_the_variables_of_its_rule() {
        for name in ["PATH", "HOME", "LANG", "LC_CTYPE", "TMPDIR", "XDG_RUNTIME_DIR", "https_proxy", "SSL_CERT_FILE"] {
            check(name, "", "mwf");
        }
        for name in
            ["CARGO_HOME", "JAVA_HOME", "DATABASE_URL", "SSH_AUTH_SOCK", "DISPLAY", "LCX", "TOKENIZERS_PARALLELISM"]
        {
            check(name, "", "mw-");
        }
        for name in ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "NPM_CONFIG_PASSWORD", "OPENAI_API_KEY", "MODEL_ACCESS"] {
            check(name, "", "m--");
        }
        for name in ["REJOIN_TOKEN", "REJOIN_STORE", "PGPASSWORD", "PGHOST"] {
            check(name, "", "---");
        }
    }

    #[test]
    fn what_the_user_requests_is_passed_on_but_never_our_own() {
        check("GITHUB_TOKEN", "GITHUB_TOKEN", "mwf");
        check("GITHUB_TOKEN", "GITHUB_*", "mwf");
        check("GITHUB_TOKENS", "GITHUB_TOKEN", "m--");
        check("AWS_SECRET_ACCESS_KEY", "*_SECRET_*_KEY", "mwf");
        check("OPENAI_API_KEY", "OPENAI_API_KEY", "mwf");
        check("OPENAI_API_KEY", "* OPENAI_*", "m--");
        check("MODEL_ACCESS", "*", "m--");
        check("REJOIN_TOKEN", "* REJOIN_TOKEN", "---");
        check("PGPASSWORD", "* PGPASSWORD", "---");
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("A*", "A", true),
            ("A*", "BA", false),
            ("*A", "BA", true),
            ("A*A", "A", false),
            ("A*A", "AA", true),
            ("A*B*C", "AxBxBC", true),
            ("A*B*C", "ACB", false),
            ("A**C", "ABC", true),
            ("ABC", "ABCD", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn only_names_of_variables_are_taken() {
        for text in ["GITHUB_TOKEN", "AWS_*", "*"] {
            assert_eq!(text.parse::<NamePattern>().map(|name| name.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "A B", "A=B", "A?", "$A", "a.b"] {
            assert_eq!(text.parse::<NamePattern>(), Err(NotANamePattern), "{text}");
        }
    }
}
