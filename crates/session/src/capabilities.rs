//! Who can do what: the client, the agent, and so we.
//!
//! Session abilities are always ours. Everything else is the agent's, passed on as it told it.

use rejoin_transcript::json::{Members, Object, set_member};
use rejoin_transcript::{Json, McpTransport};

use crate::params::Params;
use crate::{Error, params};

/// The version of the protocol that we speak.
pub(crate) const PROTOCOL_VERSION: u16 = 1;

/// The session abilities that every client finds, whatever the agent behind us has.
const SESSION_ABILITIES: [&str; 9] =
    ["list", "resume", "close", "delete", "fork", "additionalDirectories", "title", "archive", "status"];

/// What a client told at `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientProfile {
    /// The params for the agent's `initialize`: the client's, with our version.
    pub(crate) initialize: Json,
    /// What the client can show.
    pub(crate) shows: Shows,
}

/// What a client can show, as far as it matters to what it is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shows {
    /// Updates of the kind `notice`.
    pub(crate) notices: bool,
    /// Updates about compaction.
    pub(crate) compaction: bool,
    /// Config options that are on or off.
    pub(crate) boolean_options: bool,
}

impl ClientProfile {
    /// Reads the params of `initialize`.
    pub(crate) fn read(text: Option<&str>) -> Result<Self, Error> {
        let params = Params::read(text)?;
        let version = params.get("protocolVersion").ok_or_else(|| params::missing("protocolVersion", "a number"))?;
        if version.parse::<u64>().is_err() {
            return Err(params::wrong_type("protocolVersion", "a whole number", version));
        }
        if let Some(told) = params.get("clientCapabilities")
            && Members::read(told).is_none()
        {
            return Err(params::wrong_type("clientCapabilities", "an object", told));
        }
        let session = params.get("clientCapabilities").and_then(|told| member(told, "session"));
        let has = |name| session.is_some_and(|session| member(session, name).is_some());
        let options = session.and_then(|session| member(session, "configOptions"));
        let shows = Shows {
            notices: has("notices"),
            compaction: has("compaction"),
            boolean_options: options.is_some_and(|options| member(options, "boolean").is_some()),
        };
        let ours = set_member(text.unwrap_or("{}"), "protocolVersion", &PROTOCOL_VERSION.to_string());
        Ok(Self { initialize: Json::from_stored(ours.unwrap_or_default()), shows })
    }
}

/// What the agent told at `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an ability that an agent has or has not")]
pub(crate) struct AgentCapabilities {
    pub(crate) list: bool,
    pub(crate) load: bool,
    pub(crate) resume: bool,
    pub(crate) fork: bool,
    pub(crate) close: bool,
    pub(crate) delete: bool,
    pub(crate) additional_directories: bool,
    /// Whether it takes the record of a session at `session/new`.
    pub(crate) transcript: bool,
    http: bool,
    sse: bool,
    acp: bool,
}

impl AgentCapabilities {
    /// Reads the result of the agent's `initialize`.
    pub(crate) fn read(result: &str) -> Self {
        let Some(all) = member(result, "agentCapabilities") else { return Self::default() };
        let is_true = |of: Option<&str>, name| of.and_then(|of| member(of, name)) == Some("true");
        let session = member(all, "sessionCapabilities");
        let has = |name| session.and_then(|session| member(session, name)).is_some_and(|value| value != "false");
        let mcp = member(all, "mcpCapabilities");
        let ours = member(all, "_meta").and_then(|meta| member(meta, "rejoin"));
        Self {
            list: has("list"),
            load: is_true(Some(all), "loadSession"),
            resume: has("resume"),
            fork: has("fork"),
            close: has("close"),
            delete: has("delete"),
            additional_directories: has("additionalDirectories"),
            transcript: is_true(ours, "transcript"),
            http: is_true(mcp, "http"),
            sse: is_true(mcp, "sse"),
            acp: is_true(mcp, "acp"),
        }
    }

    /// Whether it can reach an MCP server over `transport`.
    pub(crate) fn takes(&self, transport: McpTransport) -> bool {
        match transport {
            McpTransport::Stdio => true,
            McpTransport::Http => self.http,
            McpTransport::Sse => self.sse,
            McpTransport::Acp => self.acp,
        }
    }
}

/// Our answer to `initialize`, given the agent's; without one, what we can do alone.
pub(crate) fn initialize_result(agent: Option<&str>) -> String {
    let agent = agent.filter(|agent| Members::read(agent).is_some()).unwrap_or("{}");
    let all = member(agent, "agentCapabilities").filter(|all| Members::read(all).is_some()).unwrap_or("{}");
    let session = member(all, "sessionCapabilities").and_then(Members::read);
    let ours = SESSION_ABILITIES.into_iter().map(|name| (name, "{}"));
    // Such as the system prompt: an ability of the agent that has nothing to do with keeping sessions.
    let theirs = session.iter().flat_map(Members::iter).filter(|(name, _)| !SESSION_ABILITIES.contains(name));
    let session = ours.chain(theirs).fold(Object::default(), |object, (name, value)| object.with(name, value)).finish();
    let mut all = set(all, "loadSession", "true");
    all = set(&all, "sessionCapabilities", &session);
    let mut result = set(agent, "protocolVersion", &PROTOCOL_VERSION.to_string());
    result = set(&result, "agentCapabilities", &all);
    if member(&result, "agentInfo").is_none() {
        result =
            set(&result, "agentInfo", concat!(r#"{"name":"rejoin","version":""#, env!("CARGO_PKG_VERSION"), "\"}"));
    }
    if member(&result, "authMethods").is_none() {
        result = set(&result, "authMethods", "[]");
    }
    result
}

fn set(object: &str, name: &str, value: &str) -> String {
    set_member(object, name, value).unwrap_or_else(|| object.to_owned())
}

fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    Members::read(object)?.get_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_abilities_are_ours_and_the_rest_is_the_agents() {
        let agent = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":false,"promptCapabilities":{"image":true},"sessionCapabilities":{"fork":{"x":1},"systemPrompt":{}},"new":[1.50]},"authMethods":[{"id":"key"}],"agentInfo":{"name":"a","version":"2"}}"#;
        let expected = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true},"sessionCapabilities":{"list":{},"resume":{},"close":{},"delete":{},"fork":{},"additionalDirectories":{},"title":{},"archive":{},"status":{},"systemPrompt":{}},"new":[1.50]},"authMethods":[{"id":"key"}],"agentInfo":{"name":"a","version":"2"}}"#;
        assert_eq!(initialize_result(Some(agent)), expected);
    }

    #[test]
    fn without_an_agent_the_session_abilities_are_still_there() {
        for agent in [None, Some("null"), Some("[]"), Some(r#"{"agentCapabilities":7}"#)] {
            let result = initialize_result(agent);
            assert_eq!(member(member(&result, "agentCapabilities").unwrap(), "loadSession"), Some("true"), "{result}");
        }
    }

    #[test]
    fn the_client_is_passed_on_with_the_version_that_we_speak() {
        let profile = ClientProfile::read(Some(
            r#"{"protocolVersion":99,"clientCapabilities":{"session":{"notices":{}}},"x":null}"#,
        ));
        let profile = profile.unwrap();
        let expected = r#"{"protocolVersion":1,"clientCapabilities":{"session":{"notices":{}}},"x":null}"#;
        assert_eq!(profile.initialize.as_str(), expected);
        assert_eq!(profile.shows, Shows { notices: true, ..Shows::default() });
    }

    #[test]
    fn a_version_that_is_no_number_is_refused() {
        for params in ["{}", r#"{"protocolVersion":"1"}"#, r#"{"protocolVersion":-1}"#] {
            assert!(ClientProfile::read(Some(params)).is_err(), "{params}");
        }
    }
}
