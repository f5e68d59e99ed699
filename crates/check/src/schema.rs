//! Holds messages against the published schema of the protocol.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use agent_client_protocol_schema::v1 as acp;
use jsonschema::Validator;
use serde_json::Value;

/// What is sent on purpose though the schema does not have it: the method, and why.
const EXCEPTIONS: [(&str, &str); 1] =
    [("session/set_model", "older clients and agents have it; the newest schema no longer does")];

/// Who is asked or told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// The agent.
    Agent,
    /// The client.
    Client,
}

/// Whether an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// It is.
    Request,
    /// It is not.
    Notification,
}

/// Whether a method has a name that it may have: one of the schema, or one that is free for everybody.
pub fn may_be_called(to: To, method: &str) -> bool {
    let half = half(to);
    let is_exception = EXCEPTIONS.iter().any(|(exception, _)| *exception == method);
    method.starts_with('_') || is_exception || half.iter().any(|known| known.name == method)
}

/// What is wrong with the params of a message.
pub fn problem_with_params(to: To, call: Call, method: &str, params: Option<&Value>) -> Option<String> {
    let known = half(to).iter().find(|known| known.name == method && known.result.is_some() == (call == Call::Request));
    match known {
        Some(known) => problem(known.params, params.unwrap_or(&Value::Object(serde_json::Map::new()))),
        None if may_be_called(to, method) && !half(to).iter().any(|known| known.name == method) => None,
        None => Some("the schema has no such method".to_owned()),
    }
}

/// What is wrong with the answer `result` to a request.
pub fn problem_with_result(method: &str, result: &Value) -> Option<String> {
    let known = TO_AGENT.iter().chain(TO_CLIENT).find(|known| known.name == method)?;
    // Nothing at all is an empty result.
    let empty = Value::Object(serde_json::Map::new());
    problem(known.result?, if result.is_null() { &empty } else { result })
}

/// What is wrong with the `error` of an answer.
pub fn problem_with_error(error: &Value) -> Option<String> {
    problem(ERROR, error)
}

fn half(to: To) -> &'static [Method] {
    match to {
        To::Agent => TO_AGENT,
        To::Client => TO_CLIENT,
    }
}

/// How to get the schema of a type.
type SchemaOf = fn() -> schemars::Schema;

fn problem(schema: SchemaOf, value: &Value) -> Option<String> {
    static VALIDATORS: LazyLock<Mutex<HashMap<usize, Option<Arc<Validator>>>>> = LazyLock::new(Mutex::default);
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let compile = || jsonschema::validator_for(schema().as_value()).ok().map(Arc::new);
    let validator = validators.entry(schema as usize).or_insert_with(compile).clone();
    drop(validators);
    let Some(validator) = validator else { return Some("the schema can't be used".to_owned()) };
    let problems: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

struct Method {
    name: &'static str,
    params: SchemaOf,
    /// None for a notification.
    result: Option<SchemaOf>,
}

const ERROR: SchemaOf = || schemars::schema_for!(acp::Error);

macro_rules! methods {
    ($($name:literal $params:ident $($result:ident)?;)*) => {
        &[$(Method { name: $name, params: || schemars::schema_for!(acp::$params), result: methods!(@ $($result)?) },)*]
    };
    (@ $result:ident) => { Some(|| schemars::schema_for!(acp::$result)) };
    (@) => { None };
}

const TO_AGENT: &[Method] = methods! {
    "initialize" InitializeRequest InitializeResponse;
    "authenticate" AuthenticateRequest AuthenticateResponse;
    "logout" LogoutRequest LogoutResponse;
    "session/new" NewSessionRequest NewSessionResponse;
    "session/load" LoadSessionRequest LoadSessionResponse;
    "session/resume" ResumeSessionRequest ResumeSessionResponse;
    "session/list" ListSessionsRequest ListSessionsResponse;
    "session/fork" ForkSessionRequest ForkSessionResponse;
    "session/close" CloseSessionRequest CloseSessionResponse;
    "session/delete" DeleteSessionRequest DeleteSessionResponse;
    "session/prompt" PromptRequest PromptResponse;
    "session/set_mode" SetSessionModeRequest SetSessionModeResponse;
    "session/set_config_option" SetSessionConfigOptionRequest SetSessionConfigOptionResponse;
    "session/set_title" SetSessionTitleRequest SetSessionTitleResponse;
    "session/archive" ArchiveSessionRequest ArchiveSessionResponse;
    "session/unarchive" UnarchiveSessionRequest UnarchiveSessionResponse;
    "session/status" SessionStatusRequest SessionStatusResponse;
    "session/cancel" CancelNotification;
    "$/cancel_request" CancelRequestNotification;
};

const TO_CLIENT: &[Method] = methods! {
    "session/update" SessionNotification;
    "session/request_permission" RequestPermissionRequest RequestPermissionResponse;
    "fs/read_text_file" ReadTextFileRequest ReadTextFileResponse;
    "fs/write_text_file" WriteTextFileRequest WriteTextFileResponse;
    "terminal/create" CreateTerminalRequest CreateTerminalResponse;
    "terminal/output" TerminalOutputRequest TerminalOutputResponse;
    "terminal/release" ReleaseTerminalRequest ReleaseTerminalResponse;
    "terminal/wait_for_exit" WaitForTerminalExitRequest WaitForTerminalExitResponse;
    "terminal/kill" KillTerminalRequest KillTerminalResponse;
    "elicitation/create" CreateElicitationRequest CreateElicitationResponse;
    "elicitation/complete" CompleteElicitationNotification;
    "$/cancel_request" CancelRequestNotification;
};
