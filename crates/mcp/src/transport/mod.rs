//! The three ways to a server, as rmcp sees them. All fail with a [`Failure`], so that no error holds an address.

mod body;
pub(crate) mod http;
mod message;
mod sse;
mod stdio;

pub(crate) use sse::LegacySse;
pub(crate) use stdio::{Stdin, Stdio};

use std::error::Error;

use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::Failure;

/// The failure in an error that one of our transports gave to rmcp.
pub(crate) fn failure_in(error: &(dyn Error + Send + Sync + 'static)) -> Option<Failure> {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Some(failure.clone());
    }
    match error.downcast_ref::<StreamableHttpError<Failure>>()? {
        StreamableHttpError::Client(failure) => Some(failure.clone()),
        StreamableHttpError::TransportChannelClosed => None,
        _ => Some(Failure::Protocol { problem: "its answer is not understood".to_owned() }),
    }
}
