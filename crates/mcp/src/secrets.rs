//! The values that no text may show.

use std::fmt;

use rejoin_wire::{secrets_in_args, secrets_in_path};
use reqwest::Url;

use crate::{ServerSpec, Transport};

/// What stands in the place of a secret.
const HIDDEN: &str = "[hidden]";

/// Shorter values are in many words, and no secrets.
const SHORTEST: usize = 4;

/// The values of a server's environment and headers, and those in its arguments and its address.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    pub(crate) fn of(spec: &ServerSpec) -> Self {
        let mut values = Vec::new();
        match &spec.transport {
            Transport::Stdio { args, env, .. } => {
                values.extend(env.iter().map(|(_, value)| value.clone()));
                values.extend(secrets_in_args(args));
            }
            Transport::Http { url, headers } | Transport::Sse { url, headers } => {
                for (_, value) in headers {
                    values.push(value.clone());
                    // The token of `Bearer TOKEN` is one by itself.
                    values.extend(value.split_whitespace().skip(1).map(str::to_owned));
                }
                values.extend(in_url(url));
            }
        }
        values.retain(|value| value.len() >= SHORTEST);
        // A value that holds another is hidden as a whole.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values)
    }

    /// `text` with each secret replaced.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// User, password, tokens of the path and the query's values, as they are written and as they are meant.
fn in_url(url: &str) -> Vec<String> {
    let Ok(url) = Url::parse(url) else { return vec![url.to_owned()] };
    let written = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let mut values: Vec<_> = written.map(|(_, value)| value.to_owned()).collect();
    values.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    values.extend(secrets_in_path(url.path()));
    values.push(url.username().to_owned());
    values.extend(url.password().map(str::to_owned));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_hidden_wherever_they_stand() {
        let transport = Transport::Http {
            url: "https://anna:p4ssw%21@host/mcp/t0ken-of-the-path?key=a%20key".to_owned(),
            headers: vec![("Authorization".to_owned(), "Bearer marble".to_owned()), ("A".to_owned(), "1".to_owned())],
        };
        let secrets = Secrets::of(&ServerSpec { name: "s".to_owned(), transport });

        let text = secrets.hide("marble, Bearer marble, anna, p4ssw%21, a%20key, a key, t0ken-of-the-path, 1, mcp");

        assert_eq!(text, "[hidden], [hidden], [hidden], [hidden], [hidden], [hidden], [hidden], 1, mcp");
    }

    #[test]
    fn tokens_in_arguments_are_hidden() {
        let args = ["--token", "marble", "serve"].map(str::to_owned).to_vec();
        let transport = Transport::Stdio { command: "x".to_owned(), args, env: Vec::new() };
        let secrets = Secrets::of(&ServerSpec { name: "s".to_owned(), transport });

        assert_eq!(secrets.hide("can't serve with marble"), "can't serve with [hidden]");
    }
}
