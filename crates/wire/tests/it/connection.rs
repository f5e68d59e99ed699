//! What a connection promises, with a test at the other end. Time is paused: it passes only when nothing else can happen.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoin_wire::{
    Closed, Connection, Direction, Incoming, InvalidUtf8, Options, Received, RequestId, RpcError, Tap,
    notification_line, request_line,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, duplex, split};
use tokio::time::timeout;

type Ours = (Connection<&'static str>, Incoming<ReadHalf<DuplexStream>, &'static str>);

/// A connection, and the other end of it.
fn connect(options: Options) -> (Ours, DuplexStream) {
    let (here, there) = duplex(1024);
    let (reader, writer) = split(here);
    (Connection::open(reader, writer, options), there)
}

/// What came in, in short form.
fn short(received: Option<Received<&str>>) -> String {
    match received {
        None => "end".to_owned(),
        Some(Received::Request { id, method, .. }) => format!("request {} {method}", id.as_json()),
        Some(Received::Notification { method, .. }) => format!("notification {method}"),
        Some(Received::Response { tag, outcome: Ok(result) }) => format!("{tag}: {result}"),
        Some(Received::Response { tag, outcome: Err(error) }) => format!("{tag}: error {error}"),
        Some(Received::Abandoned { tag }) => format!("{tag}: abandoned"),
        Some(Received::Unreadable { id, error, .. }) => {
            format!("unreadable {} {}", id.as_ref().map_or("-", RequestId::as_json), error.as_json())
        }
    }
}

/// Sends `input`, closes, and compares all that came in.
async fn check(options: Options, input: &[u8], expected: &[&str]) {
    let ((_connection, mut incoming), mut there) = connect(options);
    let input = input.to_owned();
    let sending = tokio::spawn(async move {
        there.write_all(&input).await.unwrap();
        there.shutdown().await.unwrap();
        there
    });
    let mut received = Vec::new();
    while let Some(next) = incoming.next().await {
        received.push(short(Some(next)));
    }
    assert_eq!(received, expected);
    sending.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn pipelined_messages_come_in_their_order() {
    let lines = r#"{"jsonrpc":"2.0","id":1,"method":"a"}
{"jsonrpc":"2.0","method":"b"}

{"jsonrpc":"2.0","id":"1","method":"c"}
{"jsonrpc":"2.0","id":1,"method":"d"}"#;
    check(Options::default(), lines.as_bytes(), &["request 1 a", "notification b", r#"request "1" c"#, "request 1 d"])
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_too_long_is_reported_and_the_connection_goes_on() {
    let long = format!("{}\n", "x".repeat(1_000_000)) + r#"{"jsonrpc":"2.0","method":"b"}"#;
    let report = r#"unreadable - {"code":-32014,"message":"the line is longer than 100 bytes","data":{"kind":"line_too_long","limit":100}}"#;
    check(Options { line_limit: 100, ..Options::default() }, long.as_bytes(), &[report, "notification b"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_not_utf8_is_refused_or_repaired() {
    let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"a\xff\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n";
    let refusal = r#"unreadable - {"code":-32700,"message":"the line is not UTF-8 at byte 29"}"#;
    check(Options::default(), line, &[refusal, "notification b"]).await;
    let repair = Options { invalid_utf8: InvalidUtf8::Repair, ..Options::default() };
    check(repair, line, &["notification a\u{fffd}", "notification b"]).await;
}

#[tokio::test(start_paused = true)]
async fn answers_find_their_requests_in_any_order() {
    let ((connection, mut incoming), there) = connect(Options::default());
    connection.request("m", "{}", "first").await.unwrap();
    connection.request("m", "", "second").await.unwrap();
    let (_, line) = connection.begin("m", "[]", "third");
    connection.send_lines(line).await.unwrap();
    let mut there = BufReader::new(there);
    let mut sent = String::new();
    for _ in 0..3 {
        there.read_line(&mut sent).await.unwrap();
    }
    let expected = [("1", "{}"), ("2", ""), ("3", "[]")]
        .map(|(id, params)| request_line(&RequestId::parse(id).unwrap(), "m", params));
    assert_eq!(sent, expected.concat());

    let answers = r#"{"jsonrpc":"2.0","id":3,"result":{}}
{"jsonrpc":"2.0","id":9,"result":"of nobody"}
{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"of nobody"}}
{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"no"}}
{"jsonrpc":"2.0","id":3,"result":"again"}
{"jsonrpc":"2.0","id":2,"result":null}
"#;
    there.write_all(answers.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    for _ in 0..3 {
        received.push(short(incoming.next().await));
    }
    assert_eq!(received, ["third: {}", "first: error no", "second: null"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_an_answer_that_came_and_could_not_be_read() {
    let options = Options { line_limit: 100, ..Options::default() };
    let ((connection, mut incoming), mut there) = connect(options);
    for tag in ["too long", "no JSON", "no version", "no UTF-8", "nothing"] {
        connection.begin("m", "{}", tag);
    }
    let long = "x".repeat(200);
    let lines = [
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{long}"}}"#).into_bytes(),
        br#"{"jsonrpc":"2.0","id":2,"result":{"cost":NaN}}"#.to_vec(),
        br#"{"id":3,"result":{}}"#.to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":\"\xff\"}".to_vec(),
        br#"{"jsonrpc":"2.0","id":5}"#.to_vec(),
        // Of nobody.
        format!(r#"{{"jsonrpc":"2.0","id":6,"result":"{long}"}}"#).into_bytes(),
        br#"{"jsonrpc":"2.0","id":6}"#.to_vec(),
        // What asks is told, by its id.
        format!(r#"{{"jsonrpc":"2.0","id":"a","method":"m","params":"{long}"}}"#).into_bytes(),
    ];
    there.write_all(&[lines.join(&b'\n'), b"\n".to_vec()].concat()).await.unwrap();
    let mut received = Vec::new();
    for _ in 0..lines.len() {
        received.push(short(incoming.next().await));
    }
    let too_long =
        r#"{"code":-32014,"message":"the line is longer than 100 bytes","data":{"kind":"line_too_long","limit":100}}"#;
    let expected = [
        "too long: error the answer can't be read: the line is longer than 100 bytes",
        "no JSON: error the answer can't be read: the line is not JSON at column 42",
        r#"no version: error the answer can't be read: `jsonrpc` is not "2.0""#,
        "no UTF-8: error the answer can't be read: the line is not UTF-8 at byte 35",
        "nothing: null",
        &format!("unreadable - {too_long}"),
        r#"unreadable 6 {"code":-32600,"message":"a message has a `method`, a `result` or an `error`"}"#,
        &format!(r#"unreadable "a" {too_long}"#),
    ];
    assert_eq!(received, expected);
}

#[tokio::test(start_paused = true)]
async fn open_requests_are_abandoned_at_the_end() {
    let ((connection, mut incoming), mut there) = connect(Options::default());
    connection.request("m", "{}", "first").await.unwrap();
    let forgotten = connection.request("m", "{}", "second").await.unwrap();
    connection.request("m", "{}", "third").await.unwrap();
    there.write_all(br#"{"jsonrpc":"2.0","method":"last"}"#).await.unwrap();
    there.shutdown().await.unwrap();

    assert_eq!(connection.retag(&forgotten, "other"), Some("second"));
    assert_eq!(connection.forget(&forgotten), Some("other"));
    let mut received = Vec::new();
    for _ in 0..5 {
        received.push(short(incoming.next().await));
    }
    assert_eq!(received, ["notification last", "first: abandoned", "third: abandoned", "end", "end"]);
    assert_eq!(connection.request("m", "{}", "late").await, Err(Closed));
    connection.begin("m", "{}", "begun late");
    assert_eq!(short(incoming.next().await), "begun late: abandoned");
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_holds_up_those_who_send() {
    let ((connection, _incoming), mut there) = connect(Options { room: 10_000, ..Options::default() });
    let line = |number: usize| format!("{number:0>999}\n");
    let mut n_sent = 0;
    while timeout(Duration::from_secs(1), connection.send_lines(line(n_sent))).await.is_ok() {
        n_sent += 1;
    }
    // What the pipe holds was not all written, so its room was not given back.
    assert_eq!(n_sent, 10);

    let waiting = tokio::spawn({
        let connection = connection.clone();
        async move { connection.send_lines("last\n".to_owned()).await }
    });
    let mut read = vec![0; 1_000 * n_sent + 5];
    there.read_exact(&mut read).await.unwrap();
    let expected: String = (0..n_sent).map(line).chain(["last\n".to_owned()]).collect();
    assert_eq!((String::from_utf8(read).unwrap(), waiting.await.unwrap()), (expected, Ok(())));
}

#[tokio::test(start_paused = true)]
async fn a_piece_with_more_bytes_than_there_is_room_for_is_sent_alone() {
    let ((connection, _incoming), mut there) = connect(Options { room: 100, ..Options::default() });
    let long = "x".repeat(100_000) + "\n";
    let sent = tokio::spawn({
        let (connection, long) = (connection.clone(), long.clone());
        async move {
            connection.send_lines(long).await?;
            connection.send_lines("y\n".to_owned()).await?;
            connection.finish().await;
            connection.send_lines("late\n".to_owned()).await
        }
    });
    let mut read = String::new();
    there.read_to_string(&mut read).await.unwrap();
    assert_eq!((read, sent.await.unwrap()), (long + "y\n", Err(Closed)));
}

#[tokio::test(start_paused = true)]
async fn all_that_was_sent_is_written_when_the_last_sender_is_gone() {
    let ((connection, _incoming), mut there) = connect(Options::default());
    connection.notify("a", "{}").await.unwrap();
    connection.respond(&RequestId::from_number(7), Err(&RpcError::new(1, "no"))).await.unwrap();
    drop(connection);
    let mut read = String::new();
    there.read_to_string(&mut read).await.unwrap();
    let answer = r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#;
    assert_eq!(read, format!("{}{answer}\n", notification_line("a", "{}")));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_room_wakes_when_the_other_side_is_gone() {
    let ((connection, _incoming), there) = connect(Options { room: 2_000, ..Options::default() });
    connection.send_lines("x".repeat(2_000)).await.unwrap();
    let waiting = tokio::spawn({
        let connection = connection.clone();
        async move { connection.request("m", "{}", "waiting").await }
    });
    let still_waits = timeout(Duration::from_secs(1), connection.notify("m", "{}")).await.is_err();
    drop(there);
    assert_eq!((still_waits, waiting.await.unwrap()), (true, Err(Closed)));
    assert_eq!(connection.notify("m", "{}").await, Err(Closed));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_given_up_while_it_waited_leaves_nothing() {
    let ((connection, mut incoming), there) = connect(Options { room: 2_000, ..Options::default() });
    connection.send_lines("x".repeat(2_000)).await.unwrap();
    assert!(timeout(Duration::from_secs(1), connection.request("m", "{}", "given up")).await.is_err());
    drop(there);
    assert_eq!(short(incoming.next().await), "end");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_when_receiving_is_given_up_again_and_again() {
    let ((_connection, mut incoming), mut there) = connect(Options::default());
    let sending = tokio::spawn(async move {
        for byte in br#"{"jsonrpc":"2.0","method":"a"}"#.iter().chain(b"\n") {
            there.write_all(&[*byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        there
    });
    let received = loop {
        tokio::select! {
            biased;
            received = incoming.next() => break received,
            () = tokio::task::yield_now() => {}
        }
    };
    assert_eq!(short(received), "notification a");
    sending.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_tap_sees_each_line_in_both_directions() {
    #[derive(Default)]
    struct Seen(Mutex<Vec<(Direction, String)>>);

    impl Tap for Seen {
        fn line(&self, direction: Direction, line: &str) {
            self.0.lock().unwrap().push((direction, line.to_owned()));
        }
    }

    let seen = Arc::new(Seen::default());
    let ((connection, mut incoming), mut there) =
        connect(Options { tap: Some(Arc::clone(&seen) as Arc<dyn Tap>), ..Options::default() });
    connection.send_lines("one\ntwo\n".to_owned()).await.unwrap();
    connection.finish().await;
    there.write_all(b"\n{\r\n\xff\nlast").await.unwrap();
    there.shutdown().await.unwrap();
    while incoming.next().await.is_some() {}

    let seen = seen.0.lock().unwrap();
    let seen: Vec<_> = seen.iter().map(|(direction, line)| (*direction, line.as_str())).collect();
    let (out, back) = (Direction::Out, Direction::In);
    assert_eq!(seen, [(out, "one"), (out, "two"), (back, "{"), (back, "\u{fffd}"), (back, "last")]);
}
