//! A session's servers, as a session uses them: scripted ones with each fault, and real ones.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it did not expect")]

mod http_server;
#[path = "../scripted/script.rs"]
mod script;
mod session;
mod test_calls;
mod test_end;
mod test_http;
mod test_lists;
mod test_lost;
mod test_peers;
mod test_secrets;
mod test_start;
