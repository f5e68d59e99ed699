//! The methods that clients call: one file each. A method's file reads and checks its params, and says what is done.

mod archive;
mod choose;
mod close;
mod delete;
mod fork;
mod initialize;
mod list;
mod load;
mod new;
mod pass;
mod prompt;
mod resume;
mod set_title;
mod status;

use std::sync::Arc;

use rejoin_store::new_session_id;
use rejoin_transcript::SessionId;

use crate::Error;
use crate::client::{InFlight, Responder};
use crate::layer::Shared;
use crate::live::{Command, Live};
use crate::params::Params;

pub(crate) use fork::Fork;
pub(crate) use initialize::initialize;
pub(crate) use pass::notify_agent;
pub(crate) use set_title::SetTitle;

/// What a client asks of one session.
pub(crate) enum Request {
    New(new::New),
    Load(load::Load),
    Resume(resume::Resume),
    Fork(Fork),
    Forked(fork::Forked),
    Prompt(prompt::Prompt),
    Choose(choose::Choose),
    SetTitle(SetTitle),
    Archive { archived: bool },
    Status,
    Close,
    Delete,
    Pass(pass::Pass),
}

impl Request {
    /// Does what is asked, in its session.
    pub(crate) async fn run(self, live: &mut Live, responder: Responder) {
        match self {
            Self::New(request) => request.run(live, responder).await,
            Self::Load(request) => request.run(live, responder).await,
            Self::Resume(request) => request.run(live, responder).await,
            Self::Fork(request) => request.run(live, responder).await,
            Self::Forked(request) => request.run(live, responder).await,
            Self::Prompt(request) => request.run(live, responder).await,
            Self::Choose(request) => request.run(live, responder).await,
            Self::SetTitle(request) => request.run(live, responder).await,
            Self::Archive { archived } => archive::run(live, archived, responder).await,
            Self::Status => status::run(live, responder),
            Self::Close => close::run(live, responder).await,
            Self::Delete => delete::run(live, responder).await,
            Self::Pass(request) => request.run(live, responder),
        }
    }
}

/// Hands a client's request on to the session it is for, or does it beside.
pub(crate) fn dispatch(layer: &Arc<Shared>, method: &str, params: Option<&str>, responder: Responder) {
    if method == "session/list" {
        return list::run(layer, params, responder);
    }
    match read(method, params) {
        Ok(Some((session, request))) => {
            if matches!(request, Request::Prompt(_)) {
                responder.waits_for(InFlight::Turn(session.clone()));
            }
            layer.tell(&session, Command::Request(request, responder));
        }
        Ok(None) => pass::run(layer, method, params, responder),
        // Nobody can have a session with such an id, so it need not be deleted.
        Err(Error::SessionNotFound { .. }) if method == "session/delete" => responder.answer(Ok("{}".to_owned())),
        Err(error) => responder.answer(Err(error)),
    }
}

/// Reads a request to a session; nothing, if it is for the agent alone.
fn read(method: &str, text: Option<&str>) -> Result<Option<(SessionId, Request)>, Error> {
    let known = |request: fn(&Params<'_>, &str) -> Result<Request, Error>| {
        let params = Params::read(text)?;
        let request = request(&params, text.unwrap_or("{}"))?;
        Ok(Some((params.session_id()?, request)))
    };
    match method {
        "session/new" => {
            let request = new::New::read(&Params::read(text)?, text.unwrap_or("{}"))?;
            Ok(Some((new_session_id(), Request::New(request))))
        }
        "session/load" => known(|params, text| load::Load::read(params, text).map(Request::Load)),
        "session/resume" => known(|params, text| resume::Resume::read(params, text).map(Request::Resume)),
        "session/fork" => known(|params, text| Fork::read(params, text).map(Request::Fork)),
        "session/prompt" => known(|params, text| prompt::Prompt::read(params, text).map(Request::Prompt)),
        "session/set_mode" => known(|params, _| choose::Choose::mode(params).map(Request::Choose)),
        "session/set_model" => known(|params, _| choose::Choose::model(params).map(Request::Choose)),
        "session/set_config_option" => known(|params, _| choose::Choose::option(params).map(Request::Choose)),
        "session/set_title" => known(|params, _| SetTitle::read(params).map(Request::SetTitle)),
        "session/archive" => known(|_, _| Ok(Request::Archive { archived: true })),
        "session/unarchive" => known(|_, _| Ok(Request::Archive { archived: false })),
        "session/status" => known(|_, _| Ok(Request::Status)),
        "session/close" => known(|_, _| Ok(Request::Close)),
        "session/delete" => known(|_, _| Ok(Request::Delete)),
        _ if method.starts_with("session/") => Err(Error::MethodNotFound { method: method.to_owned() }),
        _ => {
            let Ok(params) = Params::read(text) else { return Ok(None) };
            if params.get("sessionId").is_none() {
                return Ok(None);
            }
            let request = pass::Pass::read(method, text.unwrap_or("{}"));
            Ok(Some((params.session_id()?, Request::Pass(request))))
        }
    }
}
