//! `rejoin config`, and where settings come from.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::world::{Done, World};

const USER_FILE: &str = "home/.config/rejoin/config.toml";

#[test]
fn help() {
    let world = World::new();
    insta::assert_snapshot!(world.help(&["config"]), @"
    See the settings, and trust those of a project

    Usage: rejoin config [OPTIONS] [COMMAND]

    Commands:
      show   Show every setting, its value, and where that comes from
      path   Show the file of your settings
      trust  Let a project's file name programs and places
      help   Print this message or the help of the given subcommand(s)

    Options:
      -h, --help  Print help

    A setting is what was typed, else what the environment says, else the project's `.rejoin.toml`, else
    the user's file.

    Examples:
      rejoin config                       every setting, and where it comes from
      rejoin config path                  your file
      rejoin config trust                 let the project's file name programs and places
    --- exit 0
    ");
    insta::assert_snapshot!(world.help(&["config", "show"]), @"
    Show every setting, its value, and where that comes from

    Usage: rejoin config show [OPTIONS]

    Options:
          --json  Write a JSON object
      -h, --help  Print help

    Of an agent's environment only the names are shown.

    Examples:
      rejoin config show
      REJOIN_LEASE=1min rejoin config show --json
    --- exit 0
    ");
    insta::assert_snapshot!(world.help(&["config", "path"]), @r#"
    Show the file of your settings

    Usage: rejoin config path [OPTIONS]

    Options:
          --all   Show all files that settings are taken from
          --json  Write a JSON array of all of them
      -h, --help  Print help

    Examples:
      $EDITOR "$(rejoin config path)"
      rejoin config path --all            the project's file too, and whether it is trusted
    --- exit 0
    "#);
    insta::assert_snapshot!(world.help(&["config", "trust"]), @"
    Let a project's file name programs and places

    Usage: rejoin config trust [OPTIONS] [FILE]

    Arguments:
      [FILE]  The file, if not the one of the current project

    Options:
      -h, --help  Print help

    Look at the file first: it can make `rejoin` start any program. If it changes, it is not trusted any
    more.

    Examples:
      rejoin config trust                 the file of the project in whose folder you are
      rejoin config trust ~/src/app/.rejoin.toml
    --- exit 0
    ");
}

#[test]
fn the_path_alone_can_be_given_to_an_editor() {
    let world = World::new();
    insta::assert_snapshot!(world.run(&["config", "path"]), @"
    [WORLD]/home/.config/rejoin/config.toml
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["config", "path", "--config", &world.write("other.toml", "")]), @"
    [WORLD]/other.toml
    --- exit 0
    ");
}

#[test]
fn without_files_all_settings_are_the_defaults() {
    let world = World::new();
    let run = |args: &[&str]| world.run_in("home", &[], args);
    insta::assert_snapshot!(run(&["config"]), @"
    SETTING              VALUE                                                 SOURCE
    restore              rebuild                                               default
    while_busy           queue                                                 default
    cancel_deadline      5s                                                    default
    agent_start_limit    1m                                                    default
    restore_limit        30s                                                   default
    idle_agent_limit     15m                                                   default
    empty_session_limit  24h                                                   default
    briefing_limit       32KiB                                                 default
    lease                15s                                                   default
    mcp_start_limit      10s                                                   default
    log                  off                                                   default
    deny                 –                                                     default
    model                –                                                     default
    store                [WORLD]/home/.local/share/rejoin/sessions.db  default
    log_file             –                                                     default
    trace                –                                                     default
    default_agent        –                                                     default
    pager                –                                                     default
    pass_environment     –                                                     default
    gc_older_than        –                                                     default
    gc_max_size          –                                                     default
    --- exit 0
    ");
    insta::assert_snapshot!(run(&["config", "path", "--all"]), @"
    ROLE        FILE                                                   STATE
    project     [WORLD]/home/.rejoin.toml                      missing
    user        [WORLD]/home/.config/rejoin/config.toml        missing
    trust list  [WORLD]/home/.local/state/rejoin/trusted.toml  missing
    --- exit 0
    ");
}

#[test]
fn what_is_typed_goes_before_the_environment_the_project_and_the_user() {
    let world = World::new();
    world.write(USER_FILE, "log = 'warn'\nlease = '20s'\nrestore = 'fresh'\nrestore_limit = 40\nstore = 'user.db'\n");
    world.write("home/app/.rejoin.toml", "# ours\nlog = 'error'\nlease = '25s'\nrestore = 'required'\n");
    world.write("home/app/src/lib.rs", "");
    let env = [("REJOIN_LOG", "debug"), ("REJOIN_LEASE", "30"), ("REJOIN_WHILE_BUSY", "reject")];

    insta::assert_snapshot!(world.run_in("home/app/src", &env, &["--log", "off", "--trace", "t", "config", "show"]), @"
    SETTING              VALUE                                        SOURCE
    restore              required                                     [WORLD]/home/app/.rejoin.toml:4
    while_busy           reject                                       REJOIN_WHILE_BUSY
    cancel_deadline      5s                                           default
    agent_start_limit    1m                                           default
    restore_limit        40s                                          [WORLD]/home/.config/rejoin/config.toml:4
    idle_agent_limit     15m                                          default
    empty_session_limit  24h                                          default
    briefing_limit       32KiB                                        default
    lease                30s                                          REJOIN_LEASE
    mcp_start_limit      10s                                          default
    log                  off                                          --log
    deny                 –                                            default
    model                –                                            default
    store                [WORLD]/home/.config/rejoin/user.db  [WORLD]/home/.config/rejoin/config.toml:5
    log_file             –                                            default
    trace                t                                            --trace
    default_agent        –                                            default
    pager                –                                            default
    pass_environment     –                                            default
    gc_older_than        –                                            default
    gc_max_size          –                                            default
    --- exit 0
    ");
}

#[test]
fn json_tells_each_source() {
    let world = World::new();
    world.write(
        USER_FILE,
        "restore = 'fresh'\n\n[agents.robot]\ncommand = ['robot', '--acp']\nenv = { TOKEN = 'hush' }\n\n\
         [mcp_servers.files]\ncommand = ['files', '--all']\nenv = { KEY = 'hush' }\n\n\
         [mcp_servers.web]\nurl = 'https://me:hush@web.example/mcp?key=hush'\nheaders = { Token = 'hush' }\n\n\
         [providers.local]\nkind = 'openai'\nbase_url = 'http://me:hush@local/v1'\nmodels = ['one']\n",
    );
    world.write(".rejoin.toml", "while_busy = 'reject'\n");
    let env = [("REJOIN_LEASE", "1min"), ("REJOIN_TRACE", ""), ("OPENAI_API_KEY", "hush")];

    let done = world.run_in("", &env, &["--store", "typed.db", "config", "show", "--json"]);

    // One line for each setting and agent, those that are not set by anything apart.
    let shown: Value = serde_json::from_str(&done.to_string().replace("--- exit 0", "")).unwrap();
    let rows = [&shown["settings"], &shown["agents"], &shown["mcpServers"], &shown["providers"]]
        .map(|rows| rows.as_array().unwrap().clone())
        .concat();
    let rows = rows.into_iter().filter(|row| row["source"]["kind"] != "default" || row["value"].is_null());
    insta::assert_snapshot!(rows.map(|row| row.to_string()).collect::<Vec<_>>().join("\n"), @r#"
    {"key":"restore","value":"fresh","source":{"kind":"user","file":"[WORLD]/home/.config/rejoin/config.toml","line":1}}
    {"key":"while_busy","value":"reject","source":{"kind":"project","file":"[WORLD]/.rejoin.toml","line":1}}
    {"key":"lease","value":"1m","source":{"kind":"environment","name":"REJOIN_LEASE"}}
    {"key":"deny","value":null,"source":{"kind":"default"}}
    {"key":"model","value":null,"source":{"kind":"default"}}
    {"key":"store","value":"typed.db","source":{"kind":"flag","name":"--store"}}
    {"key":"log_file","value":null,"source":{"kind":"default"}}
    {"key":"trace","value":null,"source":{"kind":"default"}}
    {"key":"default_agent","value":null,"source":{"kind":"default"}}
    {"key":"pager","value":null,"source":{"kind":"default"}}
    {"key":"pass_environment","value":null,"source":{"kind":"default"}}
    {"key":"gc_older_than","value":null,"source":{"kind":"default"}}
    {"key":"gc_max_size","value":null,"source":{"kind":"default"}}
    {"name":"robot","command":["robot","--acp"],"env":["TOKEN"],"shared":true,"source":{"kind":"user","file":"[WORLD]/home/.config/rejoin/config.toml","line":3}}
    {"name":"files","transport":"stdio files","source":{"kind":"user","file":"[WORLD]/home/.config/rejoin/config.toml","line":7}}
    {"name":"web","transport":"http https://web.example/mcp","source":{"kind":"user","file":"[WORLD]/home/.config/rejoin/config.toml","line":11}}
    {"name":"local","kind":"openai","models":["one"],"source":{"kind":"user","file":"[WORLD]/home/.config/rejoin/config.toml","line":15}}
    "#);
}

#[test]
fn the_user_file_can_be_replaced_by_one_that_is_there() {
    let world = World::new();
    world.write(USER_FILE, "no TOML");
    let other = world.write("home/other.toml", "lease = '1h'\nlog_file = '~/log'\n");
    let from_other =
        |done: Done| done.to_string().lines().filter(|line| line.contains("other")).collect::<Vec<_>>().join("\n");

    insta::assert_snapshot!(from_other(world.run(&["--config", "home/other.toml", "config"])), @"
    lease                1h                                                    [WORLD]/home/other.toml:1
    log_file             [WORLD]/home/log                              [WORLD]/home/other.toml:2
    ");
    insta::assert_snapshot!(from_other(world.run_in("home", &[("REJOIN_CONFIG", &other)], &["config"])), @"
    lease                1h                                                    [WORLD]/home/other.toml:1
    log_file             [WORLD]/home/log                              [WORLD]/home/other.toml:2
    ");
    assert!(world.path("home/log").exists());
    insta::assert_snapshot!(world.run(&["--config", "missing.toml", "list"]), @"
    --- stderr
    error: there is no file of settings [WORLD]/missing.toml
    hint: name one that is there with `--config FILE`
    --- exit 1
    ");
}

#[test]
fn a_file_that_is_no_toml_is_named_with_the_line_and_without_its_text() {
    let world = World::new();
    world.write(".rejoin.toml", "log = 'off'\nenv = { TOKEN = 'hush }\n");
    insta::assert_snapshot!(world.run(&["list"]), @"
    --- stderr
    error: [WORLD]/.rejoin.toml, line 2: unclosed inline table, expected `}`
    --- exit 1
    ");
    world.write(".rejoin.toml", "log = 'off'\nlog = 'info'\n");
    insta::assert_snapshot!(world.run(&["list"]), @"
    --- stderr
    error: [WORLD]/.rejoin.toml, line 2: duplicate key
    --- exit 1
    ");
}

#[test]
fn a_value_that_can_not_be_is_named_with_what_to_write() {
    let world = World::new();
    let shown = |text: &str| {
        world.write(USER_FILE, text);
        let done = world.run(&["list"]);
        assert_eq!(done.code, Some(1), "{text}");
        done.to_string().lines().skip(1).take(2).collect::<Vec<_>>().join("\n")
    };
    let texts = [
        "\nlease = 'soon'",
        "lease = 0",
        "cancel_deadline = '-5s'",
        "lease = 1.5",
        "briefing_limit = '32 potatoes'",
        "restore = 'maybe'",
        "while_busy = true",
        "store = 5",
        "default_agent = ''",
        "agents = 'robot'",
        "[agents]\nrobot = 'robot'",
        "[agents.robot]\nenv = {}",
        "[agents.robot]\ncommand = 'robot'",
        "[agents.robot]\ncommand = []",
        "[agents.robot]\ncommand = ['']",
        "[agents.robot]\ncommand = ['robot', 1]",
        "[agents.robot]\ncommand = ['robot']\nenv = { PIN = 1234 }",
        "[agents.robot]\ncommand = ['robot']\nshared = 'no'",
        "model = 'gpt'",
        "[mcp_servers.files]\nenv = {}",
        "[mcp_servers.web]\nurl = 'http://web.example'\ntype = 'ftp'",
        "[providers.local]\nbase_url = 'http://local/v1'",
        "[providers.local]\nkind = 'ftp'",
        "[providers.openai]\nkey = 'sk-hush'",
        "[providers.openai]\nbase_url = 'local/v1'",
        "[providers.'a/b']\nkind = 'openai'",
    ];
    insta::assert_snapshot!(texts.map(shown).join("\n"), @r#"
    error: `lease` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be "soon"
    hint: write a time above zero, like "5s", "15 min" or "1 day", or a number of seconds
    error: `lease` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be 0
    hint: write a time above zero, like "5s", "15 min" or "1 day", or a number of seconds
    error: `cancel_deadline` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be "-5s"
    hint: write a time above zero, like "5s", "15 min" or "1 day", or a number of seconds
    error: `lease` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be a number with a point
    hint: write a time above zero, like "5s", "15 min" or "1 day", or a number of seconds
    error: `briefing_limit` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be "32 potatoes"
    hint: write an amount above zero, like "32KiB", "1MiB" or "2GiB", or a number of bytes
    error: `restore` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be "maybe"
    hint: write "required", "rebuild" or "fresh"
    error: `while_busy` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be true
    hint: write "queue" or "reject"
    error: `store` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be 5
    hint: write a path in quotes
    error: `default_agent` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be ""
    hint: write a text in quotes
    error: `agents` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be a text
    hint: write a table like [agents.NAME] with `command = ["PROGRAM", "ARGUMENT"]`
    error: `agents.robot` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be a text
    hint: write a table like [agents.NAME] with `command = ["PROGRAM", "ARGUMENT"]`
    error: `agents.robot` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be without a command
    hint: write a table like [agents.NAME] with `command = ["PROGRAM", "ARGUMENT"]`
    error: `agents.robot.command` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be a text
    hint: write a table like [agents.NAME] with `command = ["PROGRAM", "ARGUMENT"]`
    error: `agents.robot.command` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be empty
    hint: write a table like [agents.NAME] with `command = ["PROGRAM", "ARGUMENT"]`
    error: `agents.robot.command` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be ""
    hint: write a table like [agents.NAME] with `command = ["PROGRAM", "ARGUMENT"]`
    error: `agents.robot.command` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be a number
    hint: write a table like [agents.NAME] with `command = ["PROGRAM", "ARGUMENT"]`
    error: `agents.robot.env.PIN` in [WORLD]/home/.config/rejoin/config.toml, line 3, can't be a number
    hint: write `env = { NAME = "value" }`
    error: `agents.robot.shared` in [WORLD]/home/.config/rejoin/config.toml, line 3, can't be a text
    hint: write true, or false if each session needs a process of its own
    error: `model` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be "gpt"
    hint: write "provider/name", such as "openai/gpt-5" or "offline/echo"
    error: `mcp_servers.files` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be without a program or an address
    hint: write a table like [mcp_servers.NAME] with `command = ["PROGRAM", "ARGUMENT"]`, or `url = "https://…"`
    error: `mcp_servers.web.type` in [WORLD]/home/.config/rejoin/config.toml, line 3, can't be "ftp"
    hint: write "http" or "sse"
    error: `providers.local` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be without a kind
    hint: write "openai", "anthropic" or "gemini"
    error: `providers.local.kind` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be "ftp"
    hint: write "openai", "anthropic" or "gemini"
    error: `providers.openai.key` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be a text
    hint: write "env:NAME" for an environment variable, or a command that says it, ["PROGRAM", "ARGUMENT"]; a key itself does not belong into a file
    error: `providers.openai.base_url` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be without http:// or https://
    hint: write an address like "https://host/v1"
    error: `providers.a/b` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be a name that no provider can have
    hint: write a table like [providers.NAME] with `kind = "openai"` and `base_url = "https://host/v1"`
    "#);
    insta::assert_snapshot!(world.run_in("", &[("REJOIN_CONFIG", "/dev/null"), ("REJOIN_LEASE", "soon")], &["list"]), @r#"
    --- stderr
    error: REJOIN_LEASE can't be "soon"
    hint: write a time above zero, like "5s", "15 min" or "1 day", or a number of seconds
    --- exit 1
    "#);
}

#[test]
fn a_key_that_there_is_none_of_is_named_with_the_nearest() {
    let world = World::new();
    world.write(USER_FILE, "while-busy = 'reject'\nxyzzy = 1\n\n[agents.robot]\ncomand = 'a'\ncommand = ['robot']\n");
    insta::assert_snapshot!(world.run(&["list", "--json"]), @"
    []
    --- stderr
    warning: [WORLD]/home/.config/rejoin/config.toml, line 1: there is no setting `while-busy`
    hint: did you mean `while_busy`?
    warning: [WORLD]/home/.config/rejoin/config.toml, line 2: there is no setting `xyzzy`
    hint: see the settings with `rejoin config show`
    warning: [WORLD]/home/.config/rejoin/config.toml, line 5: there is no setting `agents.robot.comand`
    hint: did you mean `command`?
    --- exit 0
    ");
}

#[test]
fn a_project_chooses_no_model_and_passes_on_no_variables_until_it_is_trusted() {
    let world = World::new();
    world.write("home/app/.rejoin.toml", "model = 'openai/gpt-5'\npass_environment = ['*']\n");
    let show = || {
        let done = world.run_in("home/app", &[], &["config", "show"]).to_string();
        let lines = done.lines().filter(|line| !line.ends_with("default"));
        lines.collect::<Vec<_>>().join("\n")
    };

    insta::assert_snapshot!(show(), @"
    SETTING              VALUE                                                 SOURCE
    --- stderr
    warning: [WORLD]/home/app/.rejoin.toml is not trusted; ignored in it: model, pass_environment
    hint: look at the file, then take them with `rejoin config trust`
    --- exit 0
    ");
    assert_eq!(world.run_in("home/app", &[], &["config", "trust"]).code, Some(0));
    insta::assert_snapshot!(show(), @"
    SETTING              VALUE                                                 SOURCE
    model                openai/gpt-5                                          [WORLD]/home/app/.rejoin.toml:1
    pass_environment     *                                                     [WORLD]/home/app/.rejoin.toml:2
    --- exit 0
    ");
}

#[test]
fn a_project_names_no_programs_and_places_until_it_is_trusted() {
    let world = World::new();
    let text =
        "lease = '20s'\nstore = 'sessions.db'\ndefault_agent = 'robot'\n\n[agents.robot]\ncommand = ['./robot']\n";
    world.write("home/app/.rejoin.toml", text);
    world.write(USER_FILE, "[agents.robot]\ncommand = ['mine']\nenv = { TOKEN = 'hush', MODE = '' }\n");
    let run = |args: &[&str]| world.run_in("home/app", &[], args);
    let changed = |args: &[&str]| {
        let done = run(args).to_string();
        let lines = done.lines().filter(|line| !line.ends_with("default"));
        lines.collect::<Vec<_>>().join("\n")
    };

    insta::assert_snapshot!(changed(&["config", "show"]), @r#"
    SETTING               VALUE                                                 SOURCE
    lease                 20s                                                   [WORLD]/home/app/.rejoin.toml:1
    agents.robot.command  ["mine"]                                              [WORLD]/home/.config/rejoin/config.toml:1
    agents.robot.env      MODE, TOKEN                                           [WORLD]/home/.config/rejoin/config.toml:1
    --- stderr
    warning: [WORLD]/home/app/.rejoin.toml is not trusted; ignored in it: agents.robot, default_agent, store
    hint: look at the file, then take them with `rejoin config trust`
    --- exit 0
    "#);
    insta::assert_snapshot!(run(&["config", "path", "--all"]), @"
    ROLE        FILE                                                   STATE    TRUST
    project     [WORLD]/home/app/.rejoin.toml                  exists   not trusted
    user        [WORLD]/home/.config/rejoin/config.toml        exists   trusted
    trust list  [WORLD]/home/.local/state/rejoin/trusted.toml  missing
    --- stderr
    warning: [WORLD]/home/app/.rejoin.toml is not trusted; ignored in it: agents.robot, default_agent, store
    hint: look at the file, then take them with `rejoin config trust`
    --- exit 0
    ");
    insta::assert_snapshot!(run(&["config", "trust"]), @"
    trusted, as it is now: [WORLD]/home/app/.rejoin.toml
    it sets: agents.robot, default_agent, store
    --- exit 0
    ");
    insta::assert_snapshot!(changed(&["config", "show"]), @r#"
    SETTING               VALUE                                 SOURCE
    lease                 20s                                   [WORLD]/home/app/.rejoin.toml:1
    store                 [WORLD]/home/app/sessions.db  [WORLD]/home/app/.rejoin.toml:2
    default_agent         robot                                 [WORLD]/home/app/.rejoin.toml:3
    agents.robot.command  ["./robot"]                           [WORLD]/home/app/.rejoin.toml:5
    --- exit 0
    "#);
    insta::assert_snapshot!(run(&["config", "path", "--json"]), @r#"
    [
      {
        "role": "project",
        "path": "[WORLD]/home/app/.rejoin.toml",
        "exists": true,
        "trust": "trusted"
      },
      {
        "role": "user",
        "path": "[WORLD]/home/.config/rejoin/config.toml",
        "exists": true,
        "trust": "trusted"
      },
      {
        "role": "trust list",
        "path": "[WORLD]/home/.local/state/rejoin/trusted.toml",
        "exists": true,
        "trust": null
      }
    ]
    --- exit 0
    "#);

    world.write("home/app/.rejoin.toml", &text.replace("./robot", "./other"));
    insta::assert_snapshot!(run(&["list", "--json"]), @"
    []
    --- stderr
    warning: [WORLD]/home/app/.rejoin.toml has changed since it was trusted; ignored in it: agents.robot, default_agent, store
    hint: look at the file, then take them with `rejoin config trust`
    --- exit 0
    ");
    insta::assert_snapshot!(run(&["config", "path", "--all"]), @"
    ROLE        FILE                                                   STATE   TRUST
    project     [WORLD]/home/app/.rejoin.toml                  exists  changed since it was trusted
    user        [WORLD]/home/.config/rejoin/config.toml        exists  trusted
    trust list  [WORLD]/home/.local/state/rejoin/trusted.toml  exists
    --- stderr
    warning: [WORLD]/home/app/.rejoin.toml has changed since it was trusted; ignored in it: agents.robot, default_agent, store
    hint: look at the file, then take them with `rejoin config trust`
    --- exit 0
    ");
}

#[test]
fn what_is_trusted_is_remembered_for_the_user_alone() {
    let world = World::new();
    world.write("a/.rejoin.toml", "store = 'a.db'\n");
    world.write("b/.rejoin.toml", "lease = '5s'\n");
    let state = world.path("state");
    let env = [("XDG_STATE_HOME", state.to_str().unwrap())];
    assert_eq!(world.run_in("a", &env, &["config", "trust"]).code, Some(0));

    insta::assert_snapshot!(world.run_in("a", &env, &["config", "trust", "../b/.rejoin.toml"]), @"
    trusted, as it is now: ../b/.rejoin.toml
    it sets: nothing that needs it
    --- exit 0
    ");

    let record = world.path("state/rejoin/trusted.toml");
    let text = fs::read_to_string(&record).unwrap().replace(&world.path("").display().to_string(), "[WORLD]/");
    insta::assert_snapshot!(text, @r#"
    [trusted]
    "[WORLD]/a/.rejoin.toml" = "1348a157496aeb6e318ca83c0f0fd008571c9660d69d233c7d86654b38e575eb"
    "[WORLD]/b/.rejoin.toml" = "a5a71e91d89e353b9692df605ee59c6fff161978d573c8bc24d92fb8eca9d40d"
    "#);
    assert_eq!(fs::metadata(&record).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(world.path("state/rejoin")).unwrap().count(), 1);
}

#[test]
fn there_must_be_a_file_to_trust_and_a_place_to_remember_it() {
    let world = World::new();
    insta::assert_snapshot!(world.run(&["config", "trust"]), @"
    --- stderr
    error: there is no .rejoin.toml in the current folder or above it
    hint: name the file with `rejoin config trust FILE`
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["config", "trust", "missing.toml"]), @"
    --- stderr
    error: there is no file missing.toml
    --- exit 1
    ");
    world.write(".rejoin.toml", "");
    insta::assert_snapshot!(world.run_in("", &[("HOME", ""), ("REJOIN_STORE", "s")], &["config", "trust"]), @"
    --- stderr
    error: there is no place to remember what is trusted: neither XDG_STATE_HOME nor HOME is set
    --- exit 1
    ");
    world.write("home/.local/state", "a file");
    insta::assert_snapshot!(world.run(&["config", "trust"]), @"
    --- stderr
    error: the list of trusted files [WORLD]/home/.local/state/rejoin/trusted.toml can't be written
    caused by: Not a directory (os error 20)
    --- exit 1
    ");
}

#[test]
fn a_folder_with_the_name_of_a_projects_file_is_none() {
    let world = World::new();
    world.write(".rejoin.toml/file", "");
    insta::assert_snapshot!(world.run(&["list"]), @"
    --- stderr
    no sessions yet
    hint: begin one with `rejoin chat`, or take in those of other tools with `rejoin import --all`
    --- exit 0
    ");
}

#[test]
fn a_trace_that_can_not_be_opened_is_named() {
    let world = World::new();
    insta::assert_snapshot!(world.run(&["--trace", "no/trace.jsonl", "list"]), @"
    --- stderr
    error: the trace no/trace.jsonl can't be opened
    caused by: No such file or directory (os error 2)
    --- exit 1
    ");
    assert_eq!(world.run_in("", &[("REJOIN_TRACE", "trace.jsonl")], &["list"]).code, Some(0));
    assert_eq!(fs::metadata(world.path("trace.jsonl")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_deny_rules_of_all_files_hold_together() {
    let world = World::new();
    world.write(USER_FILE, "[deny]\npaths = ['.env', '~/keys']\n");
    world.write(".rejoin.toml", "[deny]\npaths = ['secrets/**']\ncommands = ['git push']\nfiles = []\n");
    for name in [".env", "secrets/a.txt", "open.txt"] {
        world.write(name, "hush");
    }
    let shown: Value = serde_json::from_str(&world.run_in("", &[], &["config", "show", "--json"]).stdout).unwrap();
    let rules = shown["settings"].as_array().unwrap().iter().find(|row| row["key"] == "deny").unwrap();
    let home = world.path("home").display().to_string();
    let expected = format!(r#"{{ paths = [".env", "{home}/keys", "secrets/**"], commands = ["git push"] }}"#);
    assert_eq!(rules["value"], expected);

    let read = |path: &str| {
        let prompt = format!("/call read_file {{\"path\":\"{path}\"}}");
        world.run_in("", &[], &["chat", "-p", &prompt]).to_string()
    };
    for (path, rule) in [(".env", "`.env`"), ("secrets/a.txt", "`secrets/**`")] {
        let said = read(path);
        assert!(said.contains(&format!("denies it: {rule} in deny.paths")) && !said.contains("hush"), "{said}");
        assert!(said.contains("there is no setting `deny.files`"), "{said}");
    }
    assert!(read("open.txt").contains("hush"));
}

#[test]
fn a_deny_rule_that_can_not_be_is_named_with_what_to_write() {
    let world = World::new();
    let shown = |text: &str| {
        world.write(USER_FILE, text);
        let done = world.run(&["list"]);
        assert_eq!(done.code, Some(1), "{text}");
        done.to_string().lines().skip(1).take(2).collect::<Vec<_>>().join("\n")
    };
    let texts = [
        "deny = ['.env']",
        "[deny]\npaths = '.env'",
        "[deny]\npaths = ['.env', '[a']",
        "[deny]\ncommands = ['']",
        "[deny]\ntools = [1]",
    ];
    insta::assert_snapshot!(texts.map(shown).join("\n"), @r#"
    error: `deny` in [WORLD]/home/.config/rejoin/config.toml, line 1, can't be a list
    hint: write a table like [deny] with `paths = [".env"]`, `commands = ["git push"]` or `tools = ["server__*"]`
    error: `deny.paths` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be a text
    hint: write a list of patterns in quotes, such as [".env"]
    error: `deny.paths` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be "[a"
    hint: write a pattern such as `*.pem`: unclosed character class; missing ']'
    error: `deny.commands` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be ""
    hint: write a text in quotes
    error: `deny.tools` in [WORLD]/home/.config/rejoin/config.toml, line 2, can't be 1
    hint: write a text in quotes
    "#);
}
