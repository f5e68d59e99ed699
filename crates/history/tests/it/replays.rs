//! What is read of a file is what the tool's own agent replays of it; where it is not, the difference is told here.

use rejoin_history::{Tool, conversations};
use serde_json::Value;

use crate::files::{at, essence, fixture, read_one, steps, updates};

fn replay(folder: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(fixture(folder).join("replay.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The lines that only one of the two has: `-` those of the agent's own replay, `+` ours.
fn difference(theirs: &[String], ours: &[String]) -> String {
    let (n, m) = (theirs.len(), ours.len());
    let mut common = vec![vec![0; m + 1]; n + 1];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            common[i][j] =
                if theirs[i] == ours[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < n || j < m {
        if i < n && j < m && theirs[i] == ours[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == m || (i < n && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(format!("- {}", theirs[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", ours[j]));
            j += 1;
        }
    }
    lines.join("\n")
}

#[test]
fn claude_code_is_read_as_it_is_replayed_member_by_member() {
    let ours = updates(&steps(&fixture("claude-code/session.jsonl")));

    for (ours, theirs) in ours.iter().zip(&replay("claude-code")) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), replay("claude-code").len());
}

#[test]
fn codex_is_read_as_it_is_replayed() {
    let ours = updates(&steps(&fixture("codex/rollout-0.137.jsonl")));

    // The agent leaves out images, and has no plans in a replay.
    insta::assert_snapshot!(difference(&essence(&replay("codex")), &essence(&ours)), @"
    + user: [image image/png 96]
    - tool: update_plan [-] completed
    + plan: completed Open the tin, in_progress Paint the door
    ");
}

#[test]
fn both_versions_of_codex_tell_the_same() {
    let (old, new) = (steps(&fixture("codex/rollout-0.137.jsonl")), steps(&fixture("codex/rollout-0.166.jsonl")));

    assert_eq!(difference(&essence(&updates(&old)), &essence(&updates(&new))), "");
}

#[test]
fn gemini_is_read_as_it_is_replayed_but_in_order() {
    let ours = updates(&steps(&fixture("gemini/session.jsonl")));

    // The agent replays what it told the model itself, and all tool calls at once; it leaves out images.
    insta::assert_snapshot!(difference(&essence(&replay("gemini")), &essence(&ours)), @r#"
    - user: <session_context>⏎This is the Gemini CLI. We are setting up the context for our chat.⏎Today's date is Tuesday, November 17, 2026 (formatted according to the user's locale).⏎My operating system is: linux⏎The project's temporary directory is: /home/mira/.gemini/home/mira/almanac⏎- **Workspace Directories:**⏎  - /home/mira/almanac⏎- **Directory Structure:**⏎⏎Showing up to 200 items (files + folders).⏎⏎/home/mira/almanac/⏎└───door.txt⏎⏎⏎</session_context>
    - tool: ReadFile [read] completed
    - tool: Edit [edit] completed diff(door.txt: Some("the door is blue\n") -> "the door is green\n")
    - tool: WriteFile [edit] failed "Error checking existing file: [Errno 2] No such file or directory: '/home/mira/almanac/note.txt'"
    - tool: SearchText [search] completed
    - tool: Shell [execute] completed
    - tool: WriteTodos [other] completed
    - tool: Shell [execute] completed
    - user: [Function Response: read_file]
    + tool: ReadFile [read] completed @/home/mira/almanac/door.txt
    - user: [Function Response: replace]
    + tool: Edit [edit] completed @/home/mira/almanac/door.txt diff(/home/mira/almanac/door.txt: Some("the door is blue\n") -> "the door is green\n")
    - user: [Function Response: write_file]
    - user: [Function Response: grep_search]
    - user: [Function Response: run_shell_command]
    + tool: WriteFile [edit] failed @/home/mira/almanac/note.txt "Error checking existing file: [Errno 2] No such file or directory: '/home/mira/almanac/note.txt'"
    + tool: SearchText [search] completed @/home/mira/almanac
    + tool: Shell [execute] completed
    - user: [Image: image/png, 0.1 KB]What is in this picture?
    + user: [image image/png 96]
    + user: What is in this picture?
    - user: [Function Response: write_todos]
    + tool: WriteTodos [other] completed
    + plan: completed Open the tin, in_progress Paint the door
    - user: [Function Response: run_shell_command]
    + tool: Shell [execute] completed
    "#);
}

#[test]
fn opencode_is_read_as_it_is_replayed() {
    let (_folder, file) = opencode();
    let ours = updates(&steps(&file));

    // The agent shows no change for a new file, and a plan only as a tool call.
    insta::assert_snapshot!(difference(&essence(&replay("opencode")), &essence(&ours)), @r#"
    - tool: home/mira/almanac/note.txt [edit] completed @/home/mira/almanac/note.txt "Wrote file successfully."
    + tool: home/mira/almanac/note.txt [edit] completed @/home/mira/almanac/note.txt "Wrote file successfully." diff(/home/mira/almanac/note.txt: None -> "painted\n")
    + plan: completed Open the tin, in_progress Paint the door
    + title: The colour of the door
    "#);
}

#[test]
fn ids_folders_times_and_versions_are_those_of_the_files() {
    let (_folder, opencode) = opencode();
    let about = |file: &std::path::Path| {
        let conversation = read_one(file);
        let about = conversation.about().clone();
        let steps: Vec<_> = conversation.collect::<Result<_, _>>().unwrap();
        let (first, last) = (steps.first().unwrap().at, steps.last().unwrap().at);
        assert!(steps.iter().all(|step| (first..=last).contains(&step.at)));
        assert!(about.created_at <= first);
        let version = about.version.unwrap_or_default();
        format!("{} {} {} {version} {} {first} {last}", about.tool.name(), about.id, about.cwd, about.created_at)
    };
    let all = [
        about(&fixture("claude-code/session.jsonl")),
        about(&fixture("codex/rollout-0.137.jsonl")),
        about(&fixture("codex/rollout-0.166.jsonl")),
        about(&fixture("gemini/session.jsonl")),
        about(&opencode),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    claude-code ce5b5178-28f0-4a24-a4dd-ef386eb1051c /home/mira/almanac 2.1.312 2026-11-17T23:44:19.749Z 2026-11-17T23:44:19.749Z 2026-11-17T23:44:21.228Z
    codex 01a1ebe6-ab0e-75b2-a299-478fe1b1cacf /home/mira/almanac 0.137.0 2026-11-17T23:45:25.262Z 2026-11-17T23:45:25.284Z 2026-11-17T23:45:26.935Z
    codex 01a1ebe6-d989-7680-ba91-23c20c10dce0 /home/mira/almanac 0.166.0 2026-11-17T23:45:37.165Z 2026-11-17T23:45:37.272Z 2026-11-17T23:45:37.865Z
    gemini 33fef423-e604-4890-8930-822cdd4e12d1 /home/mira/almanac  2026-11-17T23:46:01.759Z 2026-11-17T23:46:01.781Z 2026-11-17T23:46:02.393Z
    opencode ses_e1418f62effewOtKnw0MTA7qhF /home/mira/almanac 1.18.33 2026-11-17T23:45:49.522Z 2026-11-17T23:45:49.591Z 2026-11-17T23:45:52.482Z
    ");
}

#[test]
fn a_database_that_is_being_written_is_read_beside_its_writer() {
    let (_folder, file) = opencode();
    let writer = rusqlite::Connection::open(&file).unwrap();
    writer.execute_batch("PRAGMA journal_mode = wal; BEGIN; UPDATE session SET title = 'later'").unwrap();

    assert_eq!(conversations(Tool::OpenCode, &file).unwrap().count(), 1);
    assert_eq!(read_one(&file).about().created_at, at("2026-11-17T23:45:49.522Z"));
}

#[test]
fn what_can_not_be_read_of_a_database_keeps_nothing_else_back() {
    let (_folder, file) = opencode();
    let database = rusqlite::Connection::open(&file).unwrap();
    let bad = "
        INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
            SELECT 'ses_bad', project_id, slug, x'00ff', title, version, 1, 1 FROM session;
        UPDATE part SET data = x'00ff' WHERE id = (SELECT min(id) FROM part WHERE data LIKE '%reasoning%');
    ";
    database.execute_batch(bad).unwrap();

    let mut all: Vec<_> = conversations(Tool::OpenCode, &file).unwrap().collect();
    assert_eq!(all.iter().filter(|conversation| conversation.is_err()).count(), 1);
    let whole = all.pop().unwrap().unwrap();
    let left_out = whole.left_out();
    let n_steps = whole.map(Result::unwrap).count();
    let (_other, untouched) = opencode();
    assert_eq!((left_out.count(), n_steps), (1, steps(&untouched).len() - 1));
}

#[test]
fn no_value_in_a_row_of_a_database_keeps_the_rest_of_its_conversation_back() {
    let columns = ["message.id", "message.time_created", "message.data", "part.id", "part.time_created", "part.data"];
    for (table, column) in columns.map(|column| column.split_once('.').unwrap()) {
        let (_folder, file) = opencode();
        let poison = format!(
            "UPDATE {table} SET {column} = CAST(x'22ff22' AS TEXT) WHERE rowid = (SELECT max(rowid) FROM {table})"
        );
        rusqlite::Connection::open(&file).unwrap().execute_batch(&poison).unwrap();
        let conversation = read_one(&file);
        let left_out = conversation.left_out();
        let steps: Result<Vec<_>, _> = conversation.collect();
        assert!(steps.is_ok() && left_out.count() == 1, "{table}.{column}: {steps:?}");
    }
}

fn opencode() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("opencode.db");
    let sql = std::fs::read_to_string(fixture("opencode/opencode.sql")).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch(&sql).unwrap();
    (folder, file)
}
