//! What the agent offers in a session, and what of it is in force: what a load needs besides the facts.
//!
//! No type here can hold a value of an MCP server's environment or headers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Json;
use crate::json::{Members, Object, keep, write_string};

/// What the agent offers in a session, and what is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// The agent's `modes`, whole, as last told.
    pub modes: Option<Json>,
    /// The agent's `models`, whole, as last told.
    pub models: Option<Json>,
    /// The agent's `configOptions`, whole, as last told.
    pub config_options: Option<Json>,
    /// The agent's `availableCommands`, whole, as last told.
    pub available_commands: Option<Json>,
    /// The settings in force.
    pub in_force: InForce,
    /// The latest `usage_update`, whole.
    pub usage: Option<Json>,
    /// The MCP servers of the latest new, load or resume.
    pub mcp_servers: Vec<McpServerNames>,
    /// What the client asked for when it made the session, beside folders and MCP servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_with: Option<MadeWith>,
}

/// The members of a `session/new` that only the agent understands, `_meta` among them, without those that may be secrets.
///
/// A member is left out, at any depth, if its name says that it holds an environment, headers, or a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MadeWith(Json);

impl MadeWith {
    /// What may be kept of `members`, an object; `None` if that is nothing, or too much.
    pub fn of(members: &Json) -> Option<Self> {
        /// A client that sends more has to send it again.
        const LONGEST: usize = 64 * 1024;
        let kept = without_secrets(members.as_str());
        (members.as_str().len() <= LONGEST && kept != "{}").then(|| Self(Json::from_stored(kept)))
    }

    /// The members, as an object.
    pub fn as_json(&self) -> &Json {
        &self.0
    }
}

/// `json` without the members whose names say that they hold secrets.
fn without_secrets(json: &str) -> String {
    if let Some(members) = Members::read(json) {
        let kept = members.iter().filter(|(name, _)| !names_a_secret(name));
        return kept.fold(Object::default(), |kept, (name, value)| kept.with(name, &without_secrets(value))).finish();
    }
    match Json::from_stored(json.to_owned()).elements() {
        Some(elements) => {
            let elements: Vec<String> = elements.into_iter().map(without_secrets).collect();
            format!("[{}]", elements.join(","))
        }
        None => json.to_owned(),
    }
}

fn names_a_secret(name: &str) -> bool {
    /// How the names of credentials end. Counts of tokens, such as `maxTokens`, are none.
    const ENDS: [&str; 10] = [
        "token",
        "secret",
        "password",
        "passwd",
        "key",
        "auth",
        "authorization",
        "credential",
        "credentials",
        "cookie",
    ];
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let is_values = ["env", "environment", "headers", "httpheaders", "cookies"].contains(&plain.as_str());
    is_values || ENDS.iter().any(|end| plain.ends_with(end))
}

/// What is kept of an MCP server that a client gave: names, never values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServerNames {
    /// The server's name.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// The names of its environment variables.
    #[serde(default)]
    pub env: Vec<String>,
    /// The names of its HTTP headers.
    #[serde(default)]
    pub headers: Vec<String>,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    /// A process, over its standard streams.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as older servers do.
    Sse,
    /// The ACP connection itself.
    Acp,
}

/// The settings in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InForce {
    /// The mode's id.
    #[serde(default)]
    pub mode: Option<String>,
    /// The model's id.
    #[serde(default)]
    pub model: Option<String>,
    /// The values of the options, by the options' ids.
    #[serde(default)]
    pub options: BTreeMap<String, Json>,
}

impl InForce {
    /// The body of the [`StateSet`](crate::StepKind::StateSet) step that puts these settings in force. What is not set
    /// stays as it is.
    ///
    /// A session's settings follow from its entries alone: those it begins with are set by its first.
    pub fn to_json(&self) -> Json {
        let text = |name, value: &Option<String>| Some(format!("\"{name}\":{}", write_string(value.as_deref()?)));
        let option = |(id, value): (&String, &Json)| format!("{}:{value}", write_string(id));
        let options: Vec<String> = self.options.iter().map(option).collect();
        let options = (!options.is_empty()).then(|| format!("\"options\":{{{}}}", options.join(",")));
        let members: Vec<String> =
            [text("mode", &self.mode), text("model", &self.model), options].into_iter().flatten().collect();
        Json::from_stored(format!("{{{}}}", members.join(",")))
    }

    /// Forgets the mode, and the options but the one that is the model.
    pub(crate) fn forget_all_but_model(&mut self) {
        self.mode = None;
        self.options.retain(|id, _| id == "model");
    }

    pub(crate) fn observe_set(&mut self, body: &Json) {
        let Some(members) = body.members() else { return };
        if let Some(mode) = members.get_string("mode") {
            self.mode = Some(mode.into_owned());
        }
        if let Some(model) = members.get_string("model") {
            self.model = Some(model.into_owned());
        }
        let options = members.get("options").and_then(Members::read);
        for (id, value) in options.iter().flat_map(Members::iter) {
            self.options.insert(id.to_owned(), keep(value));
        }
    }

    pub(crate) fn observe_options(&mut self, options: &str) {
        let options: Vec<Members<'_>> = serde_json::from_str(options).unwrap_or_default();
        for option in options {
            if let (Some(id), Some(value)) = (option.get_string("id"), option.get("currentValue")) {
                self.options.insert(id.into_owned(), keep(value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_was_made_with_is_kept_without_secrets() {
        let check = |members: &str, kept: Option<&str>| {
            let found = MadeWith::of(&Json::parse(members).unwrap());
            assert_eq!(found.as_ref().map(|found| found.as_json().as_str()), kept, "{members}");
        };
        check(
            r#"{"_meta":{"a":{"prompt":"Be brief","n":1.50}},"x":null}"#,
            Some(r#"{"_meta":{"a":{"prompt":"Be brief","n":1.50}},"x":null}"#),
        );
        check(
            r#"{"_meta":{"servers":[{"name":"s","env":[{"name":"K","value":"v"}],"headers":{"A":"b"}}],"maxTokens":5}}"#,
            Some(r#"{"_meta":{"servers":[{"name":"s"}],"maxTokens":5}}"#),
        );
        check(r#"{"_meta":{"apiKey":"k","GITHUB_TOKEN":"t","db":{"Password":"p"}}}"#, Some(r#"{"_meta":{"db":{}}}"#));
        check(r#"{"token":"t"}"#, None);
        check(&format!(r#"{{"_meta":"{}"}}"#, "x".repeat(64 * 1024)), None);
    }

    #[test]
    fn settings_in_force_come_back_from_their_body() {
        let options = BTreeMap::from([("fast".to_owned(), Json::parse("true").unwrap())]);
        let settings = InForce { mode: Some("a\"b".to_owned()), model: Some("m".to_owned()), options };
        let mut read = InForce::default();
        read.observe_set(&settings.to_json());
        assert_eq!(read, settings);
        assert_eq!(InForce::default().to_json().as_str(), "{}");
    }
}
