//! Files that are damaged, half-written, empty or somebody else's: what can be read is read, and nothing panics.

use proptest::prelude::*;
use rejoin_history::{HistoryError, Tool};
use rejoin_transcript::{Step, StepKind};

use crate::files::{fixture, read, read_as, read_one, steps, written};

const FILES: [&str; 4] =
    ["claude-code/session.jsonl", "codex/rollout-0.137.jsonl", "codex/rollout-0.166.jsonl", "gemini/session.jsonl"];

fn prompts(steps: &[Step]) -> usize {
    steps.iter().filter(|step| step.kind == StepKind::Prompt).count()
}

#[test]
fn a_file_that_breaks_off_anywhere_is_read_up_to_there() {
    for name in FILES {
        let text = std::fs::read(fixture(name)).unwrap();
        let whole = steps(&fixture(name));
        let mut most = 0;
        for cut in (0..text.len()).step_by(397) {
            let (_folder, file) = written("torn.jsonl", &text[..cut]);
            for conversation in read(&file) {
                let Ok(conversation) = conversation else { continue };
                let left_out = conversation.left_out();
                let steps: Vec<Step> = conversation.collect::<Result<_, _>>().unwrap();
                assert_eq!(left_out.count(), 0, "{name} at {cut}");
                assert!(prompts(&steps) >= most, "{name} at {cut}");
                most = prompts(&steps);
            }
        }
        assert_eq!(most, prompts(&whole), "{name}");
    }
}

#[test]
fn a_line_that_can_not_be_read_is_counted_and_the_others_are_read() {
    for name in FILES {
        let text = String::from_utf8(std::fs::read(fixture(name)).unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let half = lines.len() / 2;
        let damaged =
            [&lines[..half], &["{\"type\":\"user\",\"uuid\"", "\u{0}\u{0}"], &lines[half..]].concat().join("\n");
        let (_folder, file) = written("damaged.jsonl", damaged.as_bytes());
        let conversation = read_one(&file);
        let left_out = conversation.left_out();
        let steps: Vec<Step> = conversation.collect::<Result<_, _>>().unwrap();
        assert_eq!((left_out.count(), steps), (2, crate::files::steps(&fixture(name))), "{name}");
    }
}

#[test]
fn what_holds_nothing_is_said_to_hold_nothing() {
    for tool in [Tool::ClaudeCode, Tool::Codex, Tool::Gemini] {
        for text in [&b""[..], b"\n\n", b"{}\n", b"hello\n", b"\xff\xfe\x00"] {
            let (_folder, file) = written("nothing", text);
            let all = read_as(tool, &file);
            assert!(matches!(all.as_slice(), [Err(_)]), "{tool:?} {text:?}");
        }
    }
    let (_folder, file) = written("no.db", b"SQLite format 3\0 and then nothing of the kind");
    assert!(matches!(read_as(Tool::OpenCode, &file).as_slice(), [Err(HistoryError::Database(_))]));
}

#[test]
fn a_folder_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    assert!(rejoin_history::recognise(folder.path()).is_err());
}

/// Changes a few bytes of a file, or takes out, doubles or swaps pieces of it.
fn change(text: &mut Vec<u8>, (what, at, with): (u8, usize, usize)) {
    if text.is_empty() {
        return;
    }
    let (at, other) = (at % text.len(), with % text.len());
    let (from, to) = (at.min(other), at.max(other));
    match what % 6 {
        0 => text[at] = u8::try_from(with % 256).unwrap_or(0),
        1 => text.truncate(at),
        2 => drop(text.drain(from..to.min(from + 500))),
        3 => {
            let piece = text[from..to.min(from + 500)].to_vec();
            text.splice(at..at, piece);
        }
        4 => text.swap(at, other),
        _ => text.splice(at..at, *b"null").for_each(drop),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_makes_a_reader_panic_or_tell_an_impossible_story(
        which in 0..FILES.len(),
        changes in prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>()), 1..6),
    ) {
        let mut text = std::fs::read(fixture(FILES[which])).unwrap();
        for one in changes {
            change(&mut text, one);
        }
        let (_folder, file) = written("changed", &text);
        for conversation in read(&file).into_iter().flatten() {
            let steps: Vec<Step> = conversation.map_while(Result::ok).collect();
            let mut turns = 0;
            let mut is_running = false;
            for step in &steps {
                match step.kind {
                    StepKind::Prompt => {
                        prop_assert!(!is_running);
                        turns += 1;
                        is_running = true;
                        prop_assert_eq!(step.turn, rejoin_transcript::Turn::In(turns));
                    }
                    StepKind::TurnEnded => {
                        prop_assert!(is_running);
                        is_running = false;
                    }
                    _ => {}
                }
            }
            prop_assert!(!is_running);
        }
    }
}
