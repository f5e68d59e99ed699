//! No log line holds a secret, whatever goes wrong. Only rmcp's lines below a warning are left out, which hold whole
//! messages.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;

use crate::http_server::{Faults, HttpServer};
use crate::session::{SECRET, Session, hasty, http, scripted, sse};

#[tokio::test]
async fn nothing_that_is_logged_holds_a_secret() {
    let log = Log::default();
    let writer = log.clone();
    let targets = Targets::new().with_default(LevelFilter::TRACE).with_target("rmcp", LevelFilter::WARN);
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_writer(move || writer.clone());
    let logging = tracing::subscriber::set_default(subscriber.finish().with(targets));

    let good = [HttpServer::start(Faults::default()), HttpServer::start(Faults::default())];
    let broken = HttpServer::start(Faults { refusal: Some(("500 No", SECRET)), ..Faults::default() });
    let refusing = HttpServer::start(Faults { header: Some(("X-Key", "other")), ..Faults::default() });
    let absent = HttpServer::start(Faults::default());
    let header = [("Authorization", "Bearer marble-secret")];
    let url = |server: &HttpServer, path: &str| {
        server.url(&format!("{path}?key={SECRET}")).replace("http://", &format!("http://me:{SECRET}@"))
    };
    let mut specs = vec![scripted("good", ""), scripted("dying", "exit")];
    for [one, other] in [[&good[0], &good[1]], [&broken, &broken], [&refusing, &refusing], [&absent, &absent]] {
        specs.push(http("h", &url(one, "/mcp"), &header));
        specs.push(sse("s", &url(other, "/sse"), &header));
    }
    drop(absent);
    let session = Session::with(specs, hasty()).await;
    for server in ["good", "h", "s"] {
        assert_eq!(session.echo(server).await.unwrap(), "echo: marble");
    }
    session.call("good__refuse", json!({})).await.unwrap_err();
    session.call("good__die", json!({})).await.unwrap_err();
    drop(good);
    session.echo("h").await.unwrap_err();
    session.servers.close().await;

    drop(logging);
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("hyper_util") && logged.contains("rejoin_mcp"), "{logged}");
    let leaks: Vec<_> = logged.lines().filter(|line| line.contains(SECRET)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

/// All that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
