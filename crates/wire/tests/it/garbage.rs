//! Whatever comes in, the next good request is served.

use proptest::collection::vec;
use proptest::prelude::*;
use rejoin_wire::{Connection, InvalidUtf8, Options, Received};
use tokio::io::{AsyncWriteExt, duplex, sink};
use tokio::runtime::{Builder, Runtime};

const GOOD: &[u8] = b"\n{\"jsonrpc\":\"2.0\",\"id\":\"good\",\"method\":\"good\"}\n";

const LINES: [&[u8]; 8] = [
    br#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text"}]}}"#,
    br#"{"jsonrpc":"2.0","method":"session/update","params":{"update":{"n":1.5e300,"s":"\ud83d\ude00\u0000"}}}"#,
    br#"{"jsonrpc":"2.0","id":"a\"b","result":{"stopReason":"end_turn","_meta":null}}"#,
    br#"{"jsonrpc":"2.0","id":-12345678901234567890,"error":{"code":-32000,"message":"no","data":[true,false]}}"#,
    br#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#,
    br#"{"id":null,"id":{},"jsonrpc":"1.0"}"#,
    b"\xef\xbb\xbf \r\n\r\r\t",
    br"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{{{{{{{{{{{{{{{{{{{{{{{{",
];

/// A line, and what was done to it.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (0..5_u8, any::<prop::sample::Index>(), any::<u8>());
    (0..LINES.len(), vec(change, 0..5)).prop_map(|(line, changes)| {
        let mut line = LINES[line].to_vec();
        for (kind, at, byte) in changes {
            let at = at.index(line.len() + 1);
            match kind {
                0 => line.insert(at, byte),
                1 => line.insert(at, b"{}[]\",:\\\n\r"[usize::from(byte) % 10]),
                2 => line.truncate(at),
                3 => drop(line.splice(at..at, LINES[usize::from(byte) % LINES.len()].iter().copied())),
                _ if at < line.len() => line[at] = byte,
                _ => line.push(b'\n'),
            }
        }
        line
    })
}

fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![3 => mutated(), 1 => vec(any::<u8>(), 0..60)];
    vec(line, 0..4).prop_map(|lines| lines.join(&b'\n'))
}

/// Receives all that comes after `garbage`, and tells whether the good request was the last.
fn good_request_comes(runtime: &Runtime, garbage: &[u8], options: Options, pipe: usize) -> bool {
    runtime.block_on(async {
        let (mut there, here) = duplex(pipe);
        let (connection, mut incoming) = Connection::open(here, sink(), options);
        // One answer may find its request.
        connection.begin("m", "", ());
        let sending = async {
            there.write_all(garbage).await.unwrap();
            there.write_all(GOOD).await.unwrap();
            drop(there);
        };
        let receiving = async {
            let mut last = None;
            while let Some(received) = incoming.next().await {
                if !matches!(received, Received::Abandoned { .. }) {
                    last = Some(received);
                }
            }
            matches!(last, Some(Received::Request { id, .. }) if id.as_json() == "\"good\"")
        };
        tokio::join!(sending, receiving).1
    })
}

fn cases() -> u32 {
    std::env::var("REJOIN_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(20_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_good_request_after_any_garbage_is_served(
        garbage in garbage(), line_limit in 50..200_usize, repairs: bool, pipe in 1..300_usize,
    ) {
        thread_local!(static RUNTIME: Runtime = Builder::new_current_thread().build().unwrap());
        let invalid_utf8 = if repairs { InvalidUtf8::Repair } else { InvalidUtf8::Refuse };
        let options = Options { line_limit, invalid_utf8, ..Options::default() };
        prop_assert!(RUNTIME.with(|runtime| good_request_comes(runtime, &garbage, options, pipe)));
    }
}
