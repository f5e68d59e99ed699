//! What is the same for all commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::world::{SAMPLE, World};

#[test]
fn wrong_usage_ends_with_2_and_writes_nothing_to_standard_output() {
    let world = World::new();
    for args in [["--no-such-flag"].as_slice(), &["no-such-command"], &["show"], &["show", "a", "--raw", "--json"]] {
        let done = world.run(args);
        assert_eq!((done.code, done.stdout.as_str(), done.stderr.is_empty()), (Some(2), "", false), "{args:?}");
    }
}

#[test]
fn help_names_every_command_and_version_is_told() {
    let world = World::new();
    insta::assert_snapshot!(world.run(&["-h"]), @"
    Sessions of ACP agents, kept and found again

    Usage: rejoin [OPTIONS] [COMMAND]

    Commands:
      acp          Speak ACP on standard input and output, with an agent behind
      chat         Talk with an agent in the terminal, or ask it once
      list         List sessions, the most recently used first
      show         Show a conversation
      search       Find sessions by the words in them
      fork         Make another session that begins with what was said in this one
      rename       Give a session a title
      archive      Take sessions out of the list
      unarchive    Put archived sessions back into the list
      delete       Delete sessions for good
      export       Write a session to standard output or a file
      import       Take in exported sessions, and histories of other tools
      adopt        Bring in the sessions that an agent made without rejoin
      stats        Show how much there is, by agent and by day
      gc           Remove old sessions
      verify       Check the store for damage
      check        Test an agent from outside: which session rules does it break?
      agents       List the agents that are configured, known, and installed
      setup        Show, or write, the settings with which an editor uses rejoin
      doctor       See what works, what doesn't, and what to do
      config       See the settings, and trust those of a project
      completions  Write a script that completes commands and options in a shell
      man          Write the manual
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Global options:
          --store <PATH>     Where sessions are kept [env: REJOIN_STORE] [default:
                             $XDG_DATA_HOME/rejoin/sessions.db]
          --config <FILE>    Take the user's settings from this file [env: REJOIN_CONFIG] [default:
                             $XDG_CONFIG_HOME/rejoin/config.toml]
          --log <LEVEL>      How much to log, to standard error or `--log-file` [env: REJOIN_LOG]
                             [default: off] [possible values: off, error, warn, info, debug, trace]
          --log-file <FILE>  Log to this file; without `--log`, at level `info`
          --trace <FILE>     Write the traffic to this file, without secrets [env: REJOIN_TRACE]

    Without a command, `rejoin` is the chat at a terminal, and `rejoin acp` where both input and output
    are piped.
    --- exit 0
    ");
    assert_eq!(world.run(&["--version"]).stdout, concat!("rejoin ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_store_can_be_named_by_option_or_environment() {
    let world = World::new();
    let import = |path: &str| world.command(&["--store", path, "import", SAMPLE]).output().unwrap();
    assert!(import("typed.db").status.success());

    let listed = world.command(&["list"]).env("REJOIN_STORE", "typed.db").output().unwrap();

    assert!(String::from_utf8(listed.stdout).unwrap().contains("5e7d0c41"));
    assert!(!world.store_path().exists());
    insta::assert_snapshot!(world.run(&["--store", "typed.db", "show", "nothing"]), @"
    --- stderr
    error: there is no session `nothing`
    hint: find ids with `rejoin list --store typed.db`
    --- exit 1
    ");
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let world = World::new();
    let text = "not a database\n";
    let notes = world.write("notes.txt", text);

    insta::assert_snapshot!(world.run(&["--store", &notes, "list"]), @"
    --- stderr
    error: [WORLD]/notes.txt is not a store of sessions
    hint: choose another file with `--store`
    --- exit 1
    ");
    assert_eq!(fs::read_to_string(notes).unwrap(), text);
}

#[test]
fn the_log_goes_to_its_file_alone() {
    let world = World::new();

    let done = world.run(&["--log", "debug", "--log-file", "log.txt", "list", "--json"]);

    assert_eq!(done.to_string(), "[]\n--- exit 0");
    let log = fs::metadata(world.path("log.txt")).unwrap();
    assert!(log.len() > 0);
    assert_eq!(log.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_log_level_that_there_is_none_of_is_named() {
    let world = World::new();
    let done = world.command(&["list"]).env("REJOIN_LOG", "loud").output().unwrap();

    assert_eq!(done.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(done.stderr).unwrap(), @r#"
    error: REJOIN_LOG can't be "loud"
    hint: write "off", "error", "warn", "info", "debug" or "trace"
    "#);
}

#[test]
fn global_options_may_stand_behind_the_command() {
    let world = World::new();
    assert_eq!(world.run(&["import", SAMPLE, "--store", "typed.db"]).code, Some(0));
    assert!(world.run(&["list", "--store", "typed.db"]).stdout.contains("5e7d0c41"));
    assert!(!world.store_path().exists());
}

#[test]
fn an_output_that_is_full_or_closed_is_told_and_no_panic() {
    let world = World::with_sample();
    for args in [["list"].as_slice(), &["show", "5e7d"], &["export", "5e7d"], &["completions", "zsh"], &["man"]] {
        let mut command = world.command(args);
        command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
        let done = command.output().unwrap();
        let told = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{args:?}: {told}");
        assert!(told.starts_with("error: the output can't be written\n"), "{args:?}: {told}");
        let closed = format!("exec '{}' {} >&-", env!("CARGO_BIN_EXE_rejoin"), args.join(" "));
        let done =
            std::process::Command::new("sh").args(["-c", &closed]).env("HOME", world.path("home")).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{args:?}: {}", String::from_utf8(done.stderr).unwrap());
    }
    let mut command = world.command(&["--help"]);
    command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
    assert_eq!(command.status().unwrap().code(), Some(1), "help that can't be written is not given");
}
