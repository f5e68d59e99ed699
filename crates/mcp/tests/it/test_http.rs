//! Servers on the network: streamable HTTP and legacy SSE, and what can be wrong with them.

use rejoin_mcp::{CallError, Failure, Options, ServerSpec};
use serde_json::json;

use crate::http_server::{Faults, HttpServer};
use crate::session::{SECRET, Session, hasty, http, is_connected, sse};
use crate::test_calls::cancelled_after_progress;

fn both(server: &HttpServer, headers: &[(&str, &str)]) -> [ServerSpec; 2] {
    [http("s", &server.url("/mcp"), headers), sse("s", &server.url("/sse"), headers)]
}

/// Why both kinds of server fail, which is for the same reason.
async fn check_failure(faults: Faults, headers: &[(&str, &str)], expected: &str) {
    let server = HttpServer::start(faults);
    for spec in both(&server, headers) {
        let session = Session::with(vec![spec.clone()], hasty()).await;
        assert_eq!(session.failure("s"), expected, "{spec:?}");
    }
}

#[tokio::test]
async fn a_server_with_a_header_works_over_http_and_sse() {
    let server = HttpServer::start(Faults { header: Some(("X-Api-Key", SECRET)), ..Faults::default() });
    for spec in both(&server, &[("X-Api-Key", SECRET)]) {
        let session = Session::start(vec![spec]).await;
        assert_eq!(session.echo("s").await.unwrap(), "echo: marble");
        session.servers.close().await;
    }
}

#[tokio::test]
async fn dropping_a_call_tells_the_server_over_http() {
    let server = HttpServer::start(Faults::default());
    cancelled_after_progress(&Session::start(vec![http("s", &server.url("/mcp"), &[])]).await).await;
}

#[tokio::test]
async fn dropping_a_call_tells_the_server_over_sse() {
    let server = HttpServer::start(Faults::default());
    cancelled_after_progress(&Session::start(vec![sse("s", &server.url("/sse"), &[])]).await).await;
}

#[tokio::test]
async fn lists_that_change_are_read_again_over_http_and_sse() {
    for is_sse in [false, true] {
        let server = HttpServer::start(Faults::default());
        let session = Session::start(vec![both(&server, &[])[usize::from(is_sse)].clone()]).await;

        session.call("s__grow", json!({})).await.unwrap();

        session.until(|session| session.tool_names().contains(&"s__grown".to_owned())).await;
    }
}

#[tokio::test]
async fn a_server_that_answers_500_is_named() {
    let refusal = Some(("500 Internal Server Error", "server\nis broken by marble-secret"));
    let expected = "it answers HTTP 500: server is broken by [hidden]; its own log may say why";
    check_failure(Faults { refusal, ..Faults::default() }, &[("X-Key", SECRET)], expected).await;
}

#[tokio::test]
async fn a_server_that_needs_authorization_says_which_header_to_give() {
    let refusal = Some(("401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"x\"", ""));
    let bearer = Faults { refusal, ..Faults::default() };
    let expected =
        "it needs authorization (HTTP 401): give it the header `Authorization` (`Bearer` and a token) in `headers`";
    check_failure(bearer.clone(), &[], expected).await;
    let expected = "it needs authorization (HTTP 401): \
                    it refuses the value of the header `Authorization` that it was given: check it in `headers`";
    check_failure(bearer, &[("Authorization", "Bearer marble-secret")], expected).await;
    let expected = "it needs authorization (HTTP 403): give it the header `Authorization`, \
                    or the one that its documentation names in `headers`; it was given only `x-key`";
    let refusal = Some(("403 Forbidden", "no"));
    check_failure(Faults { refusal, ..Faults::default() }, &[("X-Key", SECRET)], expected).await;
}

#[tokio::test]
async fn headers_go_to_no_other_place() {
    let elsewhere = HttpServer::start(Faults::default());
    let location = format!("307 Temporary Redirect\r\nLocation: {}", elsewhere.url("/mcp")).leak();
    let server = HttpServer::start(Faults { refusal: Some((location, "")), ..Faults::default() });
    for spec in both(&server, &[("X-Key", SECRET)]) {
        let session = Session::start(vec![spec]).await;
        assert_eq!(session.failure("s"), "it answers HTTP 307; give the address it moved to as `url`");
    }
    let foreign = Faults { endpoint: Some("http://127.0.0.2:1/messages"), ..Faults::default() };
    let server = HttpServer::start(foreign);
    let session = Session::start(vec![sse("s", &server.url("/sse"), &[("X-Key", SECRET)])]).await;
    let expected = "it does not speak MCP as it should: it wants messages sent to another place, http://127.0.0.2:1";
    assert_eq!(session.failure("s"), expected);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_what_is_secret_in_its_address() {
    let server = HttpServer::start(Faults::default());
    let address = server.url("/mcp?key=marble-secret").replace("http://", "http://me:marble-secret@");
    let shown = server.url("/mcp");
    drop(server);
    for spec in [http("s", &address, &[]), sse("s", &address, &[])] {
        let session = Session::start(vec![spec]).await;
        let expected = format!("{shown} can't be reached: Connection refused (os error 111); is it running?");
        assert_eq!(session.failure("s"), expected);
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_named() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());

    let session = Session::with(vec![http("h", &url, &[]), sse("s", &url, &[])], hasty()).await;

    for server in ["h", "s"] {
        let failure = session.failure(server);
        assert_eq!(failure, "it did not answer `initialize` within 3 s, so it is not used");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_named_if_it_should_have_it() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let answer = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut connection, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });

    let session = Session::start(vec![http("s", &url, &[])]).await;

    answer.join().unwrap();
    let failure = session.failure("s");
    assert!(failure.starts_with(&format!("{url} can't be reached: ")), "{failure}");
}

#[tokio::test]
async fn an_answer_over_http_that_is_too_long_is_an_error() {
    let server = HttpServer::start(Faults::default());
    let options = Options { message_limit: 1 << 16, ..Options::default() };
    for spec in both(&server, &[]) {
        let session = Session::with(vec![spec], options.clone()).await;

        let huge = session.call("s__huge", json!({})).await;

        assert!(matches!(huge, Err(CallError::Lost { .. })), "{huge:?}");
        assert_eq!(session.echo("s").await.unwrap(), "echo: marble");
    }
}

#[tokio::test]
async fn an_answer_over_http_that_is_nested_too_deeply_is_an_error_at_once() {
    let server = HttpServer::start(Faults::default());
    for spec in both(&server, &[]) {
        let session = Session::start(vec![spec]).await;

        let deep = session.call("s__huge", json!({ "levels": 200 })).await;

        assert!(deep.is_err(), "{deep:?}");
        assert_eq!(session.echo("s").await.unwrap(), "echo: marble");
    }
}

#[tokio::test]
async fn what_can_not_be_sent_is_named() {
    let check = async |url: &str, header: (&str, &str), expected: &str| {
        let session = Session::start(vec![http("s", url, &[header])]).await;
        assert_eq!(session.failure("s"), expected);
    };
    check("marble-secret", ("a", "b"), "its `url` is no http or https URL").await;
    check("http://h", ("a b", SECRET), "`a b` in `headers` is no name of a header").await;
    check("http://h", ("a", "marble-secret\n"), "the value of `a` in `headers` can't be sent").await;
}

#[tokio::test]
async fn a_call_ends_at_once_when_the_server_dies() {
    for is_sse in [false, true] {
        let server = HttpServer::start(Faults::default());
        let spec = both(&server, &[])[usize::from(is_sse)].clone();
        let session = Session::with(vec![spec], hasty()).await;

        let dying = tokio::task::spawn_blocking(|| server.die_in_call());
        let (lost, died) = tokio::join!(session.call("s__slow", json!({})), dying);

        died.unwrap();
        assert!(
            matches!(
                lost,
                Err(CallError::Lost { reason: Failure::Disconnected { .. } | Failure::Unreachable { .. }, .. })
            ),
            "{lost:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_was_started_again_is_used_again() {
    for is_sse in [false, true] {
        let server = HttpServer::start(Faults::default());
        let spec = both(&server, &[])[usize::from(is_sse)].clone();
        let session = Session::start(vec![spec]).await;
        assert_eq!(session.echo("s").await.unwrap(), "echo: marble");

        let server = server.restart();

        // A stream that broke off is seen at once; that nothing is left of a session over HTTP, only by the next call.
        session.until(|session| !is_sse || !is_connected(&session.state("s"))).await;
        assert_eq!(session.echo("s").await.unwrap(), "echo: marble");
        drop(server);
    }
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_made_anew() {
    let server = HttpServer::start(Faults::default());
    let session = Session::start(vec![http("s", &server.url("/mcp"), &[])]).await;

    server.forget_sessions();

    assert_eq!(session.echo("s").await.unwrap(), "echo: marble");
}
