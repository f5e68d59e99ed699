//! The trace: the traffic, one JSON object a line, without its secrets.
//!
//! To trace never disturbs the traffic: what can't be written is missed, and said once in the log.

mod redact;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rejoin_transcript::Json;
use rejoin_wire::Direction;

pub(crate) use self::redact::{redact, url};
use crate::error::Error;

/// The file to which the traffic is written.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    target: Arc<Mutex<Target>>,
}

#[derive(Debug)]
struct Target {
    file: File,
    /// Whether the log says already that something is missing.
    has_failed: bool,
}

/// Who the program talks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    /// A client of ours.
    Client,
    /// The agent.
    Agent,
}

impl Trace {
    /// Opens the file to write behind what is there; others than its owner can't read one that is made.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let file = file.map_err(|source| Error::TraceFile { path: path.to_owned(), source })?;
        Ok(Self { target: Arc::new(Mutex::new(Target { file, has_failed: false })) })
    }

    /// Writes down the message in `line`.
    pub(crate) fn record(&self, between: Between, direction: Direction, line: &str) {
        // Made before the lock is taken, and written at once, so that a line is whole in the file.
        let entry = entry(between, direction, line);
        let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = target.file.write_all(entry.as_bytes())
            && !target.has_failed
        {
            target.has_failed = true;
            tracing::warn!(%error, "the trace can't be written, and is not complete");
        }
    }
}

fn entry(between: Between, direction: Direction, line: &str) -> String {
    let at = rejoin_store::now();
    let between = match between {
        Between::Client => "client",
        Between::Agent => "agent",
    };
    let direction = match direction {
        Direction::In => "in",
        Direction::Out => "out",
    };
    let message = match Json::parse(line) {
        Ok(message) => format!(r#""message":{}"#, redact(message.as_str())),
        Err(_) => format!(r#""text":"{} bytes that are no JSON""#, line.len()),
    };
    format!("{{\"at\":\"{at}\",\"between\":\"{between}\",\"direction\":\"{direction}\",{message}}}\n")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use serde_json::Value;

    use super::*;

    #[test]
    fn each_message_is_a_line_of_a_file_that_only_its_owner_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        let trace = Trace::open(&path).unwrap();

        trace.record(Between::Client, Direction::In, "{\"id\": 1,\r\n \"result\": 1.0}\n");
        trace.record(Between::Agent, Direction::Out, "Segmentation fault");

        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| {
            let (at, rest) = line.strip_prefix("{\"at\":\"").unwrap().split_once("\",").unwrap();
            assert_eq!(at.parse::<rejoin_transcript::Timestamp>().unwrap().to_string(), at);
            serde_json::from_str::<Value>(line).unwrap();
            rest
        });
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
        "between":"client","direction":"in","message":{"id": 1,   "result": 1.0}}
        "between":"agent","direction":"out","text":"18 bytes that are no JSON"}
        "#);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        for _ in 0..2 {
            Trace::open(&path).unwrap().record(Between::Client, Direction::In, "{}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
    }

    #[test]
    fn lines_of_several_threads_stay_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        let trace = Trace::open(&path).unwrap();
        let message = format!("{{\"text\":\"{}\"}}", "x".repeat(10_000));

        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..25).for_each(|_| trace.record(Between::Agent, Direction::In, &message)));
            }
        });

        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count(), 100);
    }

    #[test]
    fn a_trace_that_can_not_be_written_disturbs_nobody() {
        let trace = Trace::open(Path::new("/dev/full")).unwrap();
        trace.record(Between::Client, Direction::In, "{}");
        trace.record(Between::Client, Direction::In, "{}");
        assert!(trace.target.lock().unwrap().has_failed);
    }
}
