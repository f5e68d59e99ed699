//! The program that a command runs, as far as that is certain.

/// The program of `command`, if it runs that and nothing else: its first word, unless the shell is told to do more.
///
/// Where in doubt there is none, and the user is asked each time.
pub(super) fn of(command: &str) -> Option<&str> {
    let does_more = |char| matches!(char, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '`' | '\n' | '\r');
    let program = command.split_whitespace().next()?;
    let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.' | '/' | '+');
    (!command.contains(does_more) && program.chars().all(is_plain)).then_some(program)
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
            ("", None),
        ] {
            assert_eq!(of(command), expected, "{command:?}");
        }
    }
}
