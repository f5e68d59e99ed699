//! Which servers a session has. Nothing here shows a secret: no argument, no value of an environment or of headers, and
//! nothing of an address but its host and known words of its path.

use std::fmt;

use reqwest::Url;

/// One MCP server, as a client names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// What it is called; need not be unique.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
}

/// How a server is reached. `Debug` shows the names of variables and headers, not their values.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that is started, and spoken with over its standard input and output.
    Stdio {
        /// The program: a path, or a name that is looked up on the `PATH` it gets.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// The variables that it gets besides [`Options::inherited`](crate::Options::inherited).
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Http {
        /// Where it answers.
        url: String,
        /// What every request carries.
        headers: Vec<(String, String)>,
    },
    /// HTTP with server-sent events, as before streamable HTTP.
    Sse {
        /// Where its stream of events is.
        url: String,
        /// What every request carries.
        headers: Vec<(String, String)>,
    },
}

impl Transport {
    /// The transport's name in ACP: `stdio`, `http` or `sse`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
            Self::Sse { .. } => "sse",
        }
    }
}

/// For people: the kind and where, without what may be secret.
impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, .. } => write!(f, "{} {command}", self.kind()),
            Self::Http { url, .. } | Self::Sse { url, .. } => write!(f, "{} {}", self.kind(), shown_url(url)),
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Arguments may hold secrets too, and tell a reader little.
            Self::Stdio { command, args, env } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("n_args", &args.len())
                .field("env", &names(env))
                .finish(),
            Self::Http { url, headers } => {
                f.debug_struct("Http").field("url", &shown_url(url)).field("headers", &names(headers)).finish()
            }
            Self::Sse { url, headers } => {
                f.debug_struct("Sse").field("url", &shown_url(url)).field("headers", &names(headers)).finish()
            }
        }
    }
}

/// Parts of paths that many servers have, and that are not secret.
const KNOWN_PARTS: [&str; 10] = ["", "api", "http", "mcp", "message", "messages", "sse", "stream", "v1", "v2"];

/// An address without what may be secret in it: user, password, query, fragment, and all of the path but a few known words.
pub(crate) fn shown_url(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return "(no valid URL)".to_owned() };
    let parts = url.path().split('/').map(|part| if KNOWN_PARTS.contains(&part) { part } else { "…" });
    format!("{}{}", url.origin().ascii_serialization(), parts.collect::<Vec<_>>().join("/"))
}

fn names(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_value_of_env_or_headers_and_no_secret_of_an_address() {
        let pairs = vec![("TOKEN".to_owned(), "marble".to_owned())];
        let url = "https://user:marble@host/mcp/marble?key=marble#marble".to_owned();
        let specs = [
            Transport::Stdio {
                command: "server".to_owned(),
                args: vec!["--key=marble".to_owned()],
                env: pairs.clone(),
            },
            Transport::Http { url: url.clone(), headers: pairs.clone() },
            Transport::Sse { url, headers: pairs },
        ];

        let shown = specs.map(|transport| format!("{:?}", ServerSpec { name: "s".to_owned(), transport })).join("\n");

        assert!(!shown.contains("marble"), "{shown}");
        assert!(shown.contains("TOKEN") && shown.contains("https://host/mcp/…"), "{shown}");
    }
}
