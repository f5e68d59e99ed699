//! `rejoin chat`, in a real terminal and without one; and `rejoin` alone.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::world::{Done, World};

/// What the input line says while it is empty.
const READY: &str = "say something";

/// The command of an agent that does what it is told in prompts.
fn agent() -> String {
    let mut path: PathBuf = std::env::current_exe().unwrap();
    path.pop();
    let path = path.with_file_name("scripted-agent");
    assert!(path.exists(), "build it first: cargo build -p rejoin-testing");
    path.display().to_string()
}

/// `text` with ids of sessions as `[ID]`.
fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() == 32 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let shown = words.map(|word| {
        let (name, end) = word.split_at(word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len());
        if is_id(name) { format!("[ID]{end}") } else { word.to_owned() }
    });
    shown.collect()
}

fn shown(done: &Done) -> String {
    without_ids(&done.to_string())
}

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["chat"]), @"
    Talk with an agent in the terminal, or ask it once

    Usage: rejoin chat [OPTIONS] [-- <COMMAND>...]

    Arguments:
      [COMMAND]...
              The command that starts the agent, and its arguments [default: `default_agent` of the
              configuration, else the built-in agent]

    Options:
          --agent <NAME>
              The agent with this name, of those that `rejoin agents` lists; `rejoin` is the built-in
              one

          --session <ID>
              Rejoin the session with this id, or the beginning of it that no other id has

      -c, --continue
              Rejoin the newest session of this folder

      -p, --prompt <PROMPT>
              Ask once and print the answer; `-` takes the prompt from standard input, as does a pipe
              without this option

          --output <FORM>
              What to print of the answer to a single prompt [default: text]

              Possible values:
              - text:        The agent's words as they come; tool calls and notices go to standard error
              - json:        One JSON object
              - stream-json: One ACP update a line, then that object

          --allow
              Let the agent do what it asks permission for, where nobody can be asked; without this, it
              is refused

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      rejoin chat                               a new session with the built-in or the default agent
      rejoin chat -- claude-agent-acp           with any ACP agent
      rejoin chat --continue                    the newest session of this folder
      rejoin chat --session 0c5f2a91            any session, by the beginning of its id
      rejoin chat -p 'What is in here?'         ask once, and print the answer
      git diff | rejoin chat --output json      the prompt from standard input, the answer for a program

    In the chat, `?` shows the keys.
    --- exit 0
    ");
}

#[test]
fn a_session_is_had_left_and_continued() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 120, 40) else { return };
    let agent = format!("{} --can modes", agent());
    terminal.run(&format!("rejoin chat -- {agent}"));
    terminal.until(READY);

    // It streams.
    terminal.prompt("stream 300");
    terminal.until("298 299");
    terminal.until(READY);
    // A turn is cancelled, and what waits for it comes back.
    terminal.prompt("wait");
    terminal.until("Esc cancels");
    terminal.prompt("say next");
    terminal.until("queued  say next");
    terminal.press(&["Escape"]);
    let screen = terminal.until("! cancelled");
    assert!(screen.contains("❯ say next"), "{screen}");
    terminal.press(&["C-u"]);
    // A permission is given.
    terminal.prompt("permit t1");
    terminal.until("? Allow Edit?");
    terminal.press(&["y"]);
    terminal.until(r#"permit -> {"outcome":{"outcome":"selected","optionId":"yes"}}"#);
    // The mode is switched.
    terminal.until("  Ask");
    terminal.press(&["BTab"]);
    terminal.until("  Code");
    // It is left, and says how to come back.
    terminal.press(&["C-d"]);
    let screen = terminal.until("To rejoin this session: rejoin chat --session ");
    assert!(screen.contains(&format!(" -- {agent}")) && !screen.contains(READY), "{screen}");
    terminal.run("stty -a");
    let screen = terminal.until("iexten");
    assert!(screen.contains(" icanon ") && screen.contains(" echo "), "the terminal is as it was: {screen}");

    // It goes on.
    terminal.run(&format!("clear; rejoin chat --continue -- {agent}"));
    let screen = terminal.until(READY);
    assert!(screen.contains("❯ permit t1") && screen.contains("  Code"), "{screen}");
    terminal.press(&["Up"]);
    terminal.until("❯ permit t1\n  Code");
    terminal.press(&["C-u"]);
    terminal.prompt("How are you?");
    terminal.until("You said: How are you?");
    terminal.press(&["C-c", "C-c"]);
    terminal.until("To rejoin this session");
    let history = terminal.history();
    assert_eq!(history.matches(" 150 ").count(), 1, "the conversation stays in the terminal: {history}");
}

#[test]
fn a_conversation_looks_as_it_should() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 72, 40) else { return };
    let home = world.path("home").display().to_string();
    terminal.run(&format!("clear; rejoin chat -- {}", agent()));
    terminal.until(READY);
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit fence.rs", "kind": "edit",
        "status": "completed", "locations": [{ "path": format!("{home}/src/fence.rs"), "line": 2 }],
        "content": [{ "type": "diff", "path": format!("{home}/src/fence.rs"),
            "oldText": "fn paint() {\n    red();\n}\n", "newText": "fn paint() {\n    green();\n}\n" }] });
    let plan = json!({ "sessionUpdate": "plan", "entries": [
        { "content": "Look at the fence", "priority": "high", "status": "completed" },
        { "content": "Paint it", "priority": "high", "status": "in_progress" }] });
    let answer = "# 東京 👍\\n\\n- a **bold** word\\n- `code`\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n\\n```rust\\nlet x = 1;\\n```\\n";
    let said = format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{answer}"}}}}"#);
    terminal.paste(&format!("think First I look at it.\nemit {call}\nemit {plan}\nemit {said}"));
    terminal.press(&["Enter"]);
    let screen =
        terminal.until_screen("the end of the turn", |screen| screen.contains("Plan 1/2") && screen.contains(READY));

    let answer = screen.split_once("✻").unwrap().1;
    let answer = answer.rsplit_once('─').unwrap().0.trim_end_matches('─').trim_end();
    insta::assert_snapshot!(format!("✻{answer}"), @"
    ✻ First I look at it.
    ● Edit fence.rs  edit · src/fence.rs:2 · +1 -1
      │ 1   fn paint() {
      │ 2 -     red();
      │ 2 +     green();
      │ 3   }

    東京 👍

    • a bold word
    • code

    a  b
    ────
    1  2

    ╭ rust
    │ let x = 1;

    Plan 1/2
    ✓ Look at the fence
    ▸ Paint it
    ");
}

#[test]
fn a_session_of_the_folder_can_be_picked() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 80, 24) else { return };
    terminal.run("rejoin");
    terminal.until("new session");
    terminal.prompt("Paint the fence");
    terminal.until("\nPaint the fence\n");
    terminal.press(&["C-d"]);
    terminal.until("To rejoin");

    terminal.run("clear; rejoin");
    let screen = terminal.until("Sessions of this folder");
    assert!(
        screen.contains("❯ + new session") && screen.contains("  Paint the fence  just now · 2 messages"),
        "{screen}"
    );
    terminal.press(&["Down", "Enter"]);
    terminal.until("\nPaint the fence\n");
    // Another size is drawn anew, with nothing twice.
    terminal.resize(50, 20);
    terminal.until_screen("one input line", |screen| {
        let rule = "─".repeat(50);
        screen.contains(&format!("\n{rule}\n")) && screen.matches(READY).count() == 1
    });
    assert_eq!(terminal.screen().matches("❯ Paint the fence").count(), 1);
    // All of it, on a screen of its own.
    terminal.press(&["C-t"]);
    terminal.until("q closes");
    terminal.press(&["q"]);
    terminal.until(READY);
    terminal.press(&["C-d"]);
    terminal.until("To rejoin");
}

#[test]
fn what_the_built_in_agent_asks_for_is_shown_before_it_is_done() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 100, 30) else { return };
    terminal.run("NO_COLOR=1 rejoin chat");
    terminal.until(READY);
    terminal.prompt(r#"/call write_file {"path": "note.txt", "content": "buy wood\n"}"#);
    let screen = terminal.until("? Allow Write note.txt?");
    assert!(screen.contains("│ 1 + buy wood"), "{screen}");
    assert!(!world.path("home/note.txt").exists());
    terminal.press(&["1"]);
    terminal.until("● Write note.txt");
    terminal.until(READY);
    assert!(world.path("home/note.txt").exists());
    let styled = terminal.styled_screen();
    let has_colours = (1..8).any(|colour| styled.contains(&format!("\x1b[3{colour}m")));
    assert!(styled.contains("\x1b[1m") && !has_colours, "bold, and no colours: {styled:?}");
}

#[test]
fn what_an_agent_wants_to_know_is_entered() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 100, 30) else { return };
    let schema = json!({ "properties": { "name": { "type": "string" }, "colour": { "enum": ["red", "green"], "type": "string" } } });
    let form = json!({ "mode": "form", "message": "Who paints?", "requestedSchema": schema });
    terminal.run(&format!("rejoin chat -- {}", agent()));
    terminal.until(READY);
    terminal.paste(&format!("call elicitation/create {form}"));
    terminal.press(&["Enter"]);
    terminal.until("1/2 name");
    terminal.type_text("Mira");
    terminal.press(&["Enter"]);
    terminal.until("❯ red");
    terminal.press(&["Down", "Enter"]);
    terminal.until(r#"elicitation/create -> {"action":"accept","content":{"name":"Mira","colour":"green"}}"#);
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 80, 24) else { return };
    for signal in ["-TERM", "-HUP", "-INT"] {
        terminal.run("clear; sh -c 'echo $$ > pid; exec rejoin chat'; echo ended with $?");
        terminal.until(READY);
        let pid = std::fs::read_to_string(world.path("home/pid")).unwrap();
        assert!(Command::new("kill").args([signal, pid.trim()]).status().unwrap().success());
        let screen = terminal.until("ended with 0");
        assert!(!screen.contains(READY), "{screen}");
        terminal.run("stty -a");
        terminal.until(" icanon ");
    }
}

#[test]
fn nothing_that_an_agent_writes_beside_the_protocol_is_on_the_screen() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 80, 24) else { return };
    let noisy = world.write("noisy.sh", &format!("echo NOISE >&2\nexec {} \"$@\"\n", agent()));
    terminal.run(&format!("clear; rejoin chat -- sh {noisy}"));
    terminal.until(READY);
    terminal.prompt("say quiet");
    terminal.until("\nquiet\n");
    assert!(!terminal.history().contains("NOISE"));
    // An agent that dies is told of, and started again.
    terminal.prompt("crash 3");
    terminal.until("✗ agent");
    terminal.until(READY);
    terminal.prompt("say back again");
    terminal.until("\nback again\n");
}

#[test]
fn an_agent_that_can_not_be_started_is_the_end() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 80, 24) else { return };
    terminal.run("clear; rejoin chat -- /does/not/exist; echo ended with $?");
    let screen = terminal.until("ended with 3");
    assert!(screen.contains("error: ") && screen.contains("/does/not/exist"), "{screen}");
}

#[test]
fn half_a_terminal_is_wrong_usage() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 100, 24) else { return };
    let commands = [
        "rejoin > out",
        "rejoin < /dev/null",
        "rejoin chat > out",
        "TERM=dumb rejoin chat",
        "rejoin --log error chat",
        "rejoin chat --allow",
    ];
    let said = commands.map(|command| {
        terminal.run(&format!("clear; {command}; echo {} ended with $?", command.len()));
        let screen = terminal.until(&format!("\n{} ended with 2\n", command.len()));
        let said = screen.lines().filter(|line| line.starts_with("error: ") || line.starts_with("hint: "));
        format!("$ {command}\n{}", said.collect::<Vec<_>>().join("\n"))
    });
    insta::assert_snapshot!(said.join("\n"), @"
    $ rejoin > out
    error: standard input is a terminal, and standard output is not
    hint: ask once with `rejoin chat -p PROMPT`, or speak ACP with `rejoin acp`
    $ rejoin < /dev/null
    error: standard output is a terminal, and standard input is not
    hint: ask once with `rejoin chat -p PROMPT`, or speak ACP with `rejoin acp`
    $ rejoin chat > out
    error: the chat needs a terminal: standard output is none
    hint: ask once with `rejoin chat -p PROMPT`
    $ TERM=dumb rejoin chat
    error: the chat needs a terminal: TERM names none that can be drawn on
    hint: ask once with `rejoin chat -p PROMPT`
    $ rejoin --log error chat
    error: the log can't be written to the terminal on which the chat is
    hint: write it to a file with `--log-file FILE`
    $ rejoin chat --allow
    error: `--allow` is for a single prompt
    hint: say what to ask with `-p PROMPT`
    ");
}

#[test]
fn without_a_terminal_and_a_command_it_speaks_acp() {
    let world = World::new();
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } });

    let done = world.run_with_input(&[], &format!("{initialize}\n"));

    let answer: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((done.code, &answer["result"]["agentInfo"]["name"]), (Some(0), &json!("rejoin")));
}

#[test]
fn an_answer_is_printed_and_the_rest_is_said_beside_it() {
    let world = World::new();
    let agent = agent();
    let script = "think hm\ntool t Read\nprogress t completed\nsay one\nsay two";

    insta::assert_snapshot!(world.run(&["chat", "-p", script, "--", &agent]), @"
    one

    two
    --- stderr
    ● Read
    --- exit 0
    ");
    insta::assert_snapshot!(world.run_with_input(&["chat", "--", &agent], "say from a pipe\n"), @"
    from a pipe
    --- exit 0
    ");
    insta::assert_snapshot!(world.run_with_input(&["chat", "-p", "-", "--", &agent], "say from a pipe\n"), @"
    from a pipe
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["chat", "-p", "say -p", "--continue", "--", &agent]), @"
    -p
    --- stderr
    ! The session was rebuilt: scripted could not restore the session (the agent can neither resume nor load sessions). It is told what was said before your next message.
    --- exit 0
    ");
}

#[test]
fn a_piped_prompt_may_hold_what_is_no_text() {
    let world = World::new();
    std::fs::write(world.path("latin"), b"say caf\xe9").unwrap();
    let mut command = world.command(&["chat", "--", &agent()]);

    let done = command.stdin(std::fs::File::open(world.path("latin")).unwrap()).output().unwrap();

    let [stdout, stderr] = [done.stdout, done.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!((done.status.code(), stdout.as_str()), (Some(0), "caf\u{fffd}\n"), "{stderr}");
    assert_eq!(stderr, "note: standard input is not all UTF-8; what is not is replaced\n");
}

#[test]
fn an_answer_can_be_had_as_one_object() {
    let world = World::new();
    let usage = json!({ "sessionUpdate": "usage_update", "used": 5, "size": 10 });
    let script = format!("tool t Read\nprogress t completed\nsay one\nemit {usage}\nsay two\nstop max_tokens");

    let done = world.run(&["chat", "-p", &script, "--output", "json", "--", &agent()]);

    insta::assert_snapshot!(shown(&done), @r#"
    {"sessionId":"[ID]","stopReason":"max_tokens","text":"one\n\ntwo","usage":null,"context":{"used":5,"size":10},"toolCalls":[{"toolCallId":"t","title":"Read","kind":null,"status":"completed"}],"refused":[],"notices":[]}
    --- stderr
    ● Read
    error: the answer is incomplete: stopped: the model reached its token limit
    --- exit 3
    "#);
}

#[test]
fn an_answer_can_be_had_update_by_update() {
    let world = World::new();
    let script = "emit {\"sessionUpdate\":\"weather\",\"sky\":1e400}\nsay one";

    let done = world.run(&["chat", "-p", script, "--output", "stream-json", "--", &agent(), "--fault", "no-ids"]);

    insta::assert_snapshot!(shown(&done), @r#"
    {"sessionUpdate":"session_info_update","title":"emit {\"sessionUpdate\":\"weather\",\"sky\":1e400}"}
    {"sessionUpdate":"weather","sky":1e400}
    {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one"},"messageId":"[ID]"}
    {"sessionId":"[ID]","stopReason":"end_turn","text":"one","usage":null,"context":null,"toolCalls":[],"refused":[],"notices":[]}
    --- exit 0
    "#);
}

#[test]
fn what_needs_permission_is_refused_unless_it_is_allowed() {
    let world = World::new();
    let write = r#"/call write_file {"path": "note.txt", "content": "buy wood\n"}"#;
    let run = |args: &[&str]| shown(&world.run(&[&["chat", "-p", write], args].concat()));
    let with_model = |args: &[&str]| {
        let mut command = world.command(&[&["chat", "-p", write], args].concat());
        command.env("REJOIN_MODEL", "offline/echo");
        shown(&world.finish(command, ""))
    };
    drop(run(&[]));

    insta::assert_snapshot!(with_model(&["--output", "json"]), @r#"
    {"sessionId":"[ID]","stopReason":"end_turn","text":"the user did not allow it","usage":null,"context":null,"toolCalls":[{"toolCallId":"call-0","title":"Write note.txt","kind":"edit","status":"failed"}],"refused":["Write note.txt"],"notices":[]}
    --- stderr
    refused: Write note.txt
    hint: pass `--allow` to permit this
    ✗ Write note.txt
    --- exit 0
    "#);
    assert!(!world.path("note.txt").exists());
    insta::assert_snapshot!(with_model(&["--allow"]), @"
    Wrote 1 line to note.txt.
    --- stderr
    ● Write note.txt
    --- exit 0
    ");
    assert!(world.path("note.txt").exists());
}

#[test]
fn the_exit_code_says_whose_fault_it_is() {
    let world = World::new();
    let agent = agent();

    insta::assert_snapshot!(world.run(&["chat", "-p", "fail 7 no mood", "--", &agent]), @"
    --- stderr
    error: no mood
    --- exit 3
    ");
    insta::assert_snapshot!(world.run(&["chat", "-p", "x", "--", "/does/not/exist"]), @"
    --- stderr
    error: agent `/does/not/exist` can't be started: there is no program `/does/not/exist`
    --- exit 3
    ");
    insta::assert_snapshot!(shown(&world.run(&["chat", "-p", "fail 7 no mood", "--output", "json", "--", &agent])), @r#"
    {"sessionId":"[ID]","error":{"message":"no mood"},"text":"","context":null,"toolCalls":[],"refused":[],"notices":[]}
    --- stderr
    error: no mood
    --- exit 3
    "#);
    insta::assert_snapshot!(world.run_in("", &[("REJOIN_MODEL", "openai/x")], &["chat", "-p", "x"]), @"
    --- stderr
    error: openai needs a key: set OPENAI_API_KEY
    --- exit 1
    ");
    insta::assert_snapshot!(world.run_in("", &[("REJOIN_MODEL", "nope/x")], &["chat", "-p", "x"]), @r#"
    --- stderr
    error: `model`: there is no provider "nope" for nope/x; known: offline, openai, anthropic, gemini
    --- exit 1
    "#);
    insta::assert_snapshot!(world.run(&["chat", "-p", "x", "--session", "nothing"]), @"
    --- stderr
    error: there is no session `nothing`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
    insta::assert_snapshot!(world.run_in("home", &[], &["chat", "-p", "x", "--continue"]), @"
    --- stderr
    error: there is no session of ~
    hint: begin one with `rejoin chat`
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["chat"]), @"
    --- stderr
    error: the prompt is empty
    hint: write it behind `-p`, or to standard input
    --- exit 2
    ");
}

#[test]
fn a_session_is_rejoined_with_its_own_agent_if_that_has_a_name() {
    let world = World::new();
    let settings = format!(
        "default_agent = \"none\"\n[agents.none]\ncommand = [\"/does/not/exist\"]\n[agents.robot]\ncommand = [{:?}]\n",
        agent()
    );
    world.write("home/.config/rejoin/config.toml", &settings);
    assert_eq!(world.run(&["chat", "--agent", "robot", "-p", "say one"]).stdout, "one\n");
    let list: Value = serde_json::from_str(&world.run(&["list", "--json"]).stdout).unwrap();
    let id = list[0]["sessionId"].as_str().unwrap();

    let done = world.run(&["chat", "--session", &id[..8], "-p", "say two"]);

    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "two\n"), "{done}");

    // The built-in one has a name too.
    assert_eq!(world.run(&["chat", "--agent", "rejoin", "-p", "one"]).code, Some(0));
    let done = world.run(&["chat", "--continue", "-p", "two"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "two\n"), "{done}");
}

#[test]
fn a_session_that_is_picked_goes_on_with_its_own_agent() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 80, 24) else { return };
    let agent = agent();
    world.write("home/.config/rejoin/config.toml", &format!("[agents.robot]\ncommand = [{agent:?}]\n"));
    terminal.run("rejoin chat --agent robot -p 'say one'; rejoin chat -p two; clear; rejoin --trace trace.jsonl");
    let screen = terminal.until("Sessions of this folder");
    assert!(screen.contains("just now · 2 messages · robot"), "{screen}");
    terminal.type_text("robot");
    terminal.until("Sessions of this folder  robot");
    terminal.press(&["Enter"]);
    terminal.until(READY);
    terminal.prompt("say it is me");
    terminal.until("\nit is me\n");
    terminal.until(READY);

    // And back.
    terminal.prompt("/sessions");
    terminal.until("Sessions of this folder");
    terminal.press(&["Down", "Down", "Enter"]);
    terminal.until("session ");
    terminal.until(READY);
    terminal.prompt("say nothing");
    terminal.until("\nsay nothing\n");
    terminal.press(&["C-d"]);
    terminal.until("To rejoin this session: rejoin chat --session ");
    let trace = std::fs::read_to_string(world.path("home/trace.jsonl")).unwrap();
    assert!(trace.contains("say it is me") && trace.contains("say nothing"), "all of it is traced");
}

#[test]
fn an_agent_that_was_named_goes_on_with_every_session() {
    let world = World::new();
    let Some(terminal) = Terminal::start(&world, 80, 24) else { return };
    let agent = agent();
    terminal.run(&format!("rejoin chat -p one; clear; rejoin chat -- {agent}"));
    terminal.until(READY);
    terminal.prompt("/sessions");
    terminal.until("Sessions of this folder");
    terminal.press(&["Down", "Enter"]);
    terminal.until("❯ one");
    terminal.prompt("say it is me");
    terminal.until("\nit is me\n");
}
