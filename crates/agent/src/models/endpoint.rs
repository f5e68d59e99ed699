//! Where a provider is, and what every request to it carries.

use reqwest::Url;

use super::keys::Secret;
use super::{ModelError, ProviderConfig, ProviderKind};

/// The version of Anthropic's API that requests are written for.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// As many models are listed at once.
const PAGE: &str = "1000";

/// Where a provider is.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    kind: ProviderKind,
    base: Url,
    /// Whether this is the vendor's own.
    pub(super) is_vendors: bool,
}

impl Endpoint {
    /// Fails if the configured address is none.
    pub(super) fn of(config: &ProviderConfig) -> Result<Self, ModelError> {
        let kind = config.kind;
        let given = config.base_url.as_deref();
        let text = given.unwrap_or(match kind {
            ProviderKind::OpenAi => "https://api.openai.com/v1",
            ProviderKind::Anthropic => "https://api.anthropic.com",
            ProviderKind::Gemini => "https://generativelanguage.googleapis.com",
        });
        let base = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let mut base = base.ok_or_else(|| {
            let problem = format!("the address of {} is none; write one like https://host/v1", config.name);
            ModelError::Failed(problem)
        })?;
        let path = base.path().trim_end_matches('/').to_owned();
        let is_version =
            |last: &str| last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let has_version = path.rsplit('/').next().is_some_and(is_version);
        let path = match kind {
            ProviderKind::Anthropic if !has_version => format!("{path}/v1"),
            ProviderKind::Gemini if !has_version => format!("{path}/v1beta"),
            ProviderKind::OpenAi | ProviderKind::Anthropic | ProviderKind::Gemini => path,
        };
        base.set_path(&path);
        Ok(Self { kind, base, is_vendors: given.is_none() })
    }

    /// Where it is, for people: nothing of it is secret.
    pub(super) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        self.base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Where the model `name` is asked.
    pub(super) fn answers(&self, name: &str) -> Url {
        match self.kind {
            ProviderKind::OpenAi => self.join(&["chat", "completions"]),
            ProviderKind::Anthropic => self.join(&["messages"]),
            ProviderKind::Gemini => {
                let mut url = self.join(&["models", &format!("{name}:streamGenerateContent")]);
                url.query_pairs_mut().append_pair("alt", "sse");
                url
            }
        }
    }

    /// Where its models are listed.
    pub(super) fn models(&self) -> Url {
        let mut url = self.join(&["models"]);
        match self.kind {
            ProviderKind::OpenAi => {}
            ProviderKind::Anthropic => drop(url.query_pairs_mut().append_pair("limit", PAGE)),
            ProviderKind::Gemini => drop(url.query_pairs_mut().append_pair("pageSize", PAGE)),
        }
        url
    }

    /// What every request carries. It holds the key.
    pub(super) fn headers(&self, key: Option<&Secret>) -> Vec<(String, String)> {
        let header = |name: &str, value: String| (name.to_owned(), value);
        let key = key.map(Secret::reveal);
        let mut headers: Vec<(String, String)> = match self.kind {
            ProviderKind::OpenAi => {
                key.map(|key| header("authorization", format!("Bearer {key}"))).into_iter().collect()
            }
            ProviderKind::Anthropic => key.map(|key| header("x-api-key", key.to_owned())).into_iter().collect(),
            ProviderKind::Gemini => key.map(|key| header("x-goog-api-key", key.to_owned())).into_iter().collect(),
        };
        if self.kind == ProviderKind::Anthropic {
            headers.push(header("anthropic-version", ANTHROPIC_VERSION.to_owned()));
        }
        headers
    }

    fn join(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        let path = [url.path().trim_end_matches('/')].iter().chain(segments).copied().collect::<Vec<_>>().join("/");
        url.set_path(&path);
        url
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::KeySource;
    use super::*;

    fn check(kind: ProviderKind, base_url: Option<&str>, answers: &str, models: &str) {
        let (name, base_url) = ("one".to_owned(), base_url.map(str::to_owned));
        let (key, key_name, own) = (KeySource::None, "KEY".to_owned(), Vec::new());
        let config = ProviderConfig { name, kind, base_url, key, key_name, models: own };
        let endpoint = Endpoint::of(&config).unwrap();
        assert_eq!((endpoint.answers("m").as_str(), endpoint.models().as_str()), (answers, models));
    }

    #[test]
    fn each_kind_has_its_addresses() {
        use ProviderKind::{Anthropic, Gemini, OpenAi};
        let (chat, list) = ("http://h:1/v1/chat/completions", "http://h:1/v1/models");
        check(OpenAi, Some("http://h:1/v1"), chat, list);
        check(OpenAi, Some("http://h:1/v1/"), chat, list);
        check(OpenAi, Some("http://h:1/v1?v=2"), "http://h:1/v1/chat/completions?v=2", "http://h:1/v1/models?v=2");
        let (messages, list) = ("http://h:1/v1/messages", "http://h:1/v1/models?limit=1000");
        check(Anthropic, Some("http://h:1"), messages, list);
        check(Anthropic, Some("http://h:1/v1/"), messages, list);
        let content = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse";
        let list = "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000";
        check(Gemini, None, content, list);
    }
}
