//! `rejoin completions`

use crate::world::World;

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["completions"]), @"
    Write a script that completes commands and options in a shell

    Usage: rejoin completions [OPTIONS] <SHELL>

    Arguments:
      <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -h, --help  Print help

    Examples:
      rejoin completions bash > ~/.local/share/bash-completion/completions/rejoin
      rejoin completions zsh > ~/.zfunc/_rejoin
      rejoin completions fish > ~/.config/fish/completions/rejoin.fish
    --- exit 0
    ");
}

#[test]
fn each_shell_gets_a_script_that_knows_every_command() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = world.run(&["completions", shell]);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["rejoin", "search", "unarchive", "older-than", "store"] {
            assert!(done.stdout.contains(word), "{word} in {shell}");
        }
    }
    assert!(!world.store_path().exists());
}

#[test]
fn a_shell_that_there_is_none_of_is_a_usage_error() {
    insta::assert_snapshot!(World::new().run(&["completions", "no-such-shell"]), @"
    --- stderr
    error: invalid value 'no-such-shell' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

    For more information, try '--help'.
    --- exit 2
    ");
}

#[test]
fn nothing_about_the_user_is_needed() {
    let world = World::new();
    for command in [["completions", "bash"], ["man", "--log=off"]] {
        let mut bare = world.command(&command);
        bare.env_remove("HOME");
        let done = world.finish(bare, "");
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{command:?}");
        assert_eq!(done.stdout, world.run(&command).stdout);
    }
}
