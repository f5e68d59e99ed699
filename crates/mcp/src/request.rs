//! One request to a server: its progress, its limits, and what becomes of it when nobody waits or the server is lost.

use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, ErrorData, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::Failure;
use crate::handler::PROGRESS_ROOM;
use crate::link::Link;
use crate::transport::failure_in;

/// How far a call is, as the server tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub progress: f64,
    /// How much there is to do, if that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Without progress.
    pub(crate) idle: Duration,
    /// In all.
    pub(crate) total: Duration,
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum NoResult {
    /// The server did not get it: it can be sent again over another connection.
    NotSent(Failure),
    /// The connection ended meanwhile.
    Lost(Failure),
    /// The transport broke while it was sent.
    Broken(Failure),
    /// It took too long.
    TooSlow(Duration),
    /// The server answered with an error.
    Refused(ErrorData),
    /// The transport failed for this request alone.
    Failed(Failure),
}

/// Sends `request` and waits for its result. Whenever that is not waited for to the end, the server is told so.
pub(crate) async fn request(
    link: &Link,
    request: ClientRequest,
    limits: Limits,
    mut on_progress: impl FnMut(Progress) + Send,
) -> Result<ServerResult, NoResult> {
    let (route, mut progress) = mpsc::channel(PROGRESS_ROOM);
    let mut sent = {
        let mut routes = link.routes.lock().await;
        let sent = link.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let Ok(sent) = sent else { return Err(NoResult::NotSent(link.reason(ended()).await)) };
        routes.insert(sent.progress_token.clone(), route);
        sent
    };
    let mut open = Open { link, id: Some(sent.id.clone()), token: sent.progress_token.clone() };
    let last = Instant::now() + limits.total;
    let mut next = Instant::now() + limits.idle;
    let mut most = f64::NEG_INFINITY;
    loop {
        tokio::select! {
            biased;
            result = &mut sent.rx => {
                open.id = None;
                return match result {
                    Ok(Ok(result)) => Ok(result),
                    Ok(Err(error)) => Err(no_result(link, error).await),
                    Err(_) => Err(NoResult::Lost(link.reason(ended()).await)),
                };
            }
            failure = link.lost() => {
                open.id = None;
                return Err(NoResult::Lost(failure));
            }
            Some(step) = progress.recv() => {
                next = Instant::now() + limits.idle;
                // Steps may overtake each other; nobody is shown how things were before.
                if step.progress > most {
                    most = step.progress;
                    on_progress(step);
                }
            }
            () = sleep_until(next.min(last)) => {
                return Err(NoResult::TooSlow(if next < last { limits.idle } else { limits.total }));
            }
        }
    }
}

fn ended() -> Failure {
    Failure::Disconnected { problem: String::new() }
}

async fn no_result(link: &Link, error: ServiceError) -> NoResult {
    let broken = Failure::Disconnected { problem: "its answer broke off".to_owned() };
    match error {
        ServiceError::McpError(error) => NoResult::Refused(error),
        ServiceError::TransportSend(error) => match failure_in(error.error.as_ref()) {
            // Nothing was listening, or the server does not know our session: some say 404, some 400.
            Some(failure @ (Failure::Unreachable { .. } | Failure::Status { status: 400 | 404, .. })) => {
                NoResult::NotSent(failure)
            }
            Some(failure @ (Failure::Status { .. } | Failure::Protocol { .. } | Failure::Unauthorized { .. })) => {
                NoResult::Failed(failure)
            }
            Some(failure) => NoResult::Broken(failure),
            None => NoResult::Lost(link.reason(broken).await),
        },
        _ => NoResult::Lost(link.reason(broken).await),
    }
}

/// A request that waits for its result. Dropping it tells the server that nobody does any more.
struct Open<'a> {
    link: &'a Link,
    id: Option<RequestId>,
    token: ProgressToken,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        let (routes, token) = (self.link.routes.clone(), self.token.clone());
        let cancelled = self.id.take().map(|id| (self.link.peer.clone(), id));
        runtime.spawn(async move {
            routes.lock().await.remove(&token);
            if let Some((peer, id)) = cancelled {
                cancel(&peer, id).await;
            }
        });
    }
}

async fn cancel(peer: &Peer<RoleClient>, id: RequestId) {
    let reason = "nobody waits for the answer any more".to_owned();
    let params = CancelledNotificationParam::new(Some(id), Some(reason));
    let notification = CancelledNotification::new(params);
    // A server that is gone needs not be told.
    let _ = peer.send_notification(notification.into()).await;
}
