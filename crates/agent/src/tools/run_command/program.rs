//! The program that a command runs, as far as that is certain.

use std::path::{Path, PathBuf};

/// What runs whatever it is told to: nobody means all of that by its name.
const RUNNERS: [&str; 20] = [
    ".", "bash", "builtin", "busybox", "command", "dash", "doas", "env", "eval", "exec", "nice", "nohup", "setsid",
    "sh", "source", "sudo", "time", "timeout", "xargs", "zsh",
];

/// The program of `command`, if it runs that and nothing else: its first word, unless the shell is told to do more.
///
/// Where in doubt there is none, and the user is asked each time.
pub(super) fn of(command: &str) -> Option<&str> {
    let is_blank = |char| matches!(char, ' ' | '\t');
    // Other blanks are none to the shell, but look like them.
    let does_more = |char: char| {
        matches!(char, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '`') || char.is_whitespace() && !is_blank(char)
    };
    let program = command.split(is_blank).find(|word| !word.is_empty())?;
    let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.' | '/' | '+');
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_one = !command.contains(does_more) && program.chars().all(is_plain) && !RUNNERS.contains(&name);
    is_one.then_some(program)
}

/// Which program `name` is in the folder `cwd`: one that is named by a path is another in another folder.
pub(super) fn which(name: &str, cwd: &Path) -> String {
    if !name.contains('/') {
        return name.to_owned();
    }
    // Without the dots that only stand for the folder itself.
    cwd.join(name).components().collect::<PathBuf>().display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_command_has_a_program() {
        for (command, expected) in [
            ("git status", Some("git")),
            ("  ./x.sh --a 'b c'", Some("./x.sh")),
            ("ls *.rs $HOME", Some("ls")),
            ("git status; rm -rf .", None),
            ("git status && rm x", None),
            ("cat x | sh", None),
            ("echo x > y", None),
            ("echo $(rm x)", None),
            ("echo `rm x`", None),
            ("echo\nrm x", None),
            ("A=1 git status", None),
            ("$PROGRAM x", None),
            ("'git' status", None),
            ("./x.sh\u{a0}a", None),
            ("eval rm x", None),
            (". ./x", None),
            ("/usr/bin/env rm x", None),
            ("", None),
        ] {
            assert_eq!(of(command), expected, "{command:?}");
        }
    }

    #[test]
    fn a_path_means_the_program_that_is_there() {
        let which = |name, cwd| which(name, Path::new(cwd));
        assert_eq!(which("git", "/p"), which("git", "/p/sub"));
        assert_eq!(which("./x.sh", "/p"), which("/p/x.sh", "/elsewhere"));
        assert_ne!(which("./x.sh", "/p"), which("./x.sh", "/p/sub"));
    }
}
