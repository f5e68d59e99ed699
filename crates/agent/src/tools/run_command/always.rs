//! How far "always" reaches when the user gives it for a command.
//!
//! It is never more than the name on the button says. A program that can be told to run another, or to write where it
//! likes, is allowed for the exact command only, and so is any program that is not in the table. One whose arguments are
//! programs themselves, and a line that does more than run one program, is asked for each time.

use std::path::Path;

use rejoin::deny::runs_others;

use crate::tools::Always;

/// The programs that are allowed whatever their arguments: none of their options runs another program or writes a file.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "basename", "cat", "cksum", "cmp", "comm", "cut", "df", "diff", "dirname", "du", "echo", "egrep", "false",
    "fgrep", "grep", "head", "id", "ls", "md5sum", "nl", "nproc", "od", "printf", "ps", "pwd", "readlink", "realpath",
    "seq", "sha1sum", "sha256sum", "sha512sum", "stat", "tac", "tail", "tr", "true", "uname", "wc", "which", "whoami",
];

/// The programs of which a subcommand is allowed, in one folder: its first argument is one of these, and none is one of
/// the options that run other programs or write files.
#[rustfmt::skip]
const SUBCOMMANDS: &[Subcommands] = &[
    Subcommands {
        program: "cargo",
        of: &["build", "check", "clippy", "doc", "metadata", "test", "tree"],
        // Configuration names programs; what is behind `--` goes to other programs.
        without: &[
            "--", "--artifact-dir", "--config", "--fix", "--manifest-path", "--out-dir", "--target-dir", "-C", "-Z",
        ],
    },
    Subcommands {
        program: "git",
        of: &[
            "blame", "describe", "diff", "log", "ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse", "shortlog",
            "show", "status",
        ],
        without: &["--ext-diff", "--output", "--textconv"],
    },
];

/// A row of [`SUBCOMMANDS`].
struct Subcommands {
    program: &'static str,
    of: &'static [&'static str],
    without: &'static [&'static str],
}

/// What the user allows who always allows `command` in the folder `cwd`.
pub(super) fn of(command: &str, cwd: &Path) -> Always {
    if does_more(command) {
        return Always::NotOffered;
    }
    let words: Vec<&str> = command.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let Some((program, arguments)) = words.split_first() else { return Always::NotOffered };
    if !is_plain(program) || program.starts_with('-') || runs_others(program) {
        return Always::NotOffered;
    }
    if PROGRAMS.contains(program) {
        return Always::Command { shown: format!("`{program}`"), key: key(&[program], None) };
    }
    match SUBCOMMANDS.iter().find(|row| row.program == *program) {
        Some(row) if row.allows(arguments) => {
            let name = [program, arguments[0]];
            Always::Command { shown: format!("`{}`", name.join(" ")), key: key(&name, Some(cwd)) }
        }
        Some(_) | None => Always::Command { shown: "exactly this command".to_owned(), key: key(&[command], Some(cwd)) },
    }
}

impl Subcommands {
    /// Whether "always" may be for the subcommand of these `arguments`.
    fn allows(&self, arguments: &[&str]) -> bool {
        let is_listed = arguments.first().is_some_and(|first| self.of.contains(first));
        // What the shell changes in an argument can't be compared.
        let is_free =
            |argument: &&str| is_plain(argument) && !self.without.iter().any(|option| is_option(option, argument));
        is_listed && arguments.iter().all(is_free)
    }
}

/// Whether the shell is told to do more than run one program. Blanks that are none to the shell look like them.
fn does_more(command: &str) -> bool {
    let is_special = |char: char| matches!(char, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '`' | '!' | '#' | '{' | '}');
    command.contains(|char: char| is_special(char) || char.is_control() && char != '\t')
        || command.contains(|char: char| char.is_whitespace() && !matches!(char, ' ' | '\t'))
}

/// Whether the shell leaves `word` as it is.
fn is_plain(word: &str) -> bool {
    let is_taken_as_is = |char: char| char.is_alphanumeric() || "-_./+,:@^%~".contains(char);
    !word.starts_with('~') && word.chars().all(is_taken_as_is)
        || word.split_once('=').is_some_and(|(name, value)| name.starts_with("--") && is_plain(name) && is_plain(value))
}

/// Whether `argument` is `option`, or a beginning of it that programs take for it, or holds its value too.
fn is_option(option: &str, argument: &str) -> bool {
    let name = argument.split_once('=').map_or(argument, |(name, _)| name);
    match option.strip_prefix("--") {
        Some("") => name == "--",
        Some(_) => name.len() > 2 && option.starts_with(name),
        None => name.starts_with(option),
    }
}

/// What is remembered. A folder can't be mistaken for a word.
fn key(words: &[&str], cwd: Option<&Path>) -> String {
    format!("{}\n{}", words.join(" "), cwd.map(|cwd| cwd.display().to_string()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the button would say.
    fn shown(command: &str) -> String {
        match of(command, Path::new("/p")) {
            Always::Command { shown, .. } => shown,
            Always::NotOffered => "–".to_owned(),
            Always::Tool | Always::ToolAsDefined { .. } => "the tool".to_owned(),
        }
    }

    #[test]
    fn always_reaches_as_far_as_the_table_says() {
        let exactly = "exactly this command";
        for (command, expected) in [
            // Programs that only look.
            ("ls", "`ls`"),
            ("  ls\t-l *.rs $HOME 'a b'", "`ls`"),
            ("echo one", "`echo`"),
            ("grep -rn \"fn main\" src", "`grep`"),
            // Subcommands.
            ("git status", "`git status`"),
            ("git log --oneline -5 --format=%h", "`git log`"),
            ("git diff HEAD~1", "`git diff`"),
            ("git diff ~/x", exactly),
            ("git diff HEAD^ -- src", "`git diff`"),
            ("cargo test --workspace some_test", "`cargo test`"),
            // Options that run others or write, in every form.
            ("git -c core.fsmonitor=./x status", exactly),
            ("git -C sub status", exactly),
            ("git --exec-path=x status", exactly),
            ("git diff --output=x", exactly),
            ("git diff --outp=x", exactly),
            ("git diff --output x", exactly),
            ("git diff --ext-diff", exactly),
            ("git diff {--output=x,}", "–"),
            ("git diff --out'put=x'", exactly),
            ("git diff $X", exactly),
            ("git diff *", exactly),
            ("git push", exactly),
            ("git commit -m x", exactly),
            ("git", exactly),
            ("cargo test --config build.rustc-wrapper=x", exactly),
            ("cargo +nightly test", exactly),
            ("cargo test -Zunstable", exactly),
            ("cargo run", exactly),
            ("cargo clippy -- -C linker=x", exactly),
            ("cargo x", exactly),
            // Programs that can be told to run others.
            ("find . -name x", exactly),
            ("find . -exec rm x +", exactly),
            ("tar --checkpoint-action=exec=x -f y", exactly),
            ("sed -n 1p x", exactly),
            ("sort --compress-program=x y", exactly),
            ("rg --pre ./x y", exactly),
            ("make test", exactly),
            ("npm run build", exactly),
            ("go test -exec x", exactly),
            ("rsync -e x y z", exactly),
            ("zip x y -T -TT z", exactly),
            ("unknown-program --x", exactly),
            ("./x.sh --a 'b c'", exactly),
            ("./ls", exactly),
            ("/tmp/git status", exactly),
            // Programs whose arguments are programs.
            ("sh x.sh", "–"),
            ("ksh -c x", "–"),
            ("/usr/bin/env rm x", "–"),
            ("eval rm x", "–"),
            (". ./x", "–"),
            ("trap x EXIT", "–"),
            ("perl -e 1", "–"),
            ("python3 -c 1", "–"),
            ("python3.12 x.py", "–"),
            ("node -e 1", "–"),
            ("awk 1 x", "–"),
            ("xargs rm", "–"),
            ("flock x y", "–"),
            ("stdbuf -o0 x", "–"),
            ("script -c x", "–"),
            ("watch x", "–"),
            ("ssh -o ProxyCommand=x y", "–"),
            ("timeout 5 x", "–"),
            ("sudo ls", "–"),
            ("vim -c x", "–"),
            ("less x", "–"),
            // More than one program, or one that is not known before.
            ("git status; rm -rf .", "–"),
            ("git status && rm x", "–"),
            ("cat x | sh", "–"),
            ("echo x > y", "–"),
            ("echo $(rm x)", "–"),
            ("echo `rm x`", "–"),
            ("echo\nrm x", "–"),
            ("echo x\rrm y", "–"),
            ("A=1 git status", "–"),
            ("LD_PRELOAD=x ls", "–"),
            ("$PROGRAM x", "–"),
            ("'git' status", "–"),
            ("g\\it status", "–"),
            ("! ls", "–"),
            ("{ ls", "–"),
            ("-x ls", "–"),
            ("./x.sh\u{a0}a", "–"),
            ("", "–"),
            (" ", "–"),
        ] {
            assert_eq!(shown(command), expected, "{command:?}");
        }
    }

    #[test]
    fn an_exact_command_is_that_command_in_that_folder() {
        let of = |command, cwd| of(command, Path::new(cwd));
        assert_eq!(of("make test", "/p"), of("make test", "/p"));
        assert_ne!(of("make test", "/p"), of("make test", "/p/sub"));
        assert_ne!(of("make test", "/p"), of("make test x", "/p"));
        assert_ne!(of("./x.sh", "/p"), of("./x.sh", "/p/sub"));
        assert_ne!(of("git status", "/p"), of("git status", "/p/sub"));
        assert_eq!(of("git log -1", "/p"), of("git log -2", "/p"));
        assert_ne!(of("git log -1", "/p"), of("git diff", "/p"));
        assert_eq!(of("ls a", "/p"), of("ls b", "/p/sub"));
        // A command can't be made to look like a program that is allowed.
        assert_ne!(of("ls x", "/p"), of("ls-x y", "/p"));
    }

    #[test]
    fn the_tables_are_in_order_and_hold_no_runner() {
        assert!(PROGRAMS.is_sorted() && SUBCOMMANDS.is_sorted_by_key(|row| row.program));
        let programs = PROGRAMS.iter().copied().chain(SUBCOMMANDS.iter().map(|row| row.program));
        assert_eq!(programs.filter(|name| runs_others(name)).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn the_page_names_every_program_of_the_tables() {
        let page = include_str!("../../../../../docs/built-in-agent.md");
        let subcommands = SUBCOMMANDS.iter().flat_map(|row| row.of.iter().map(|of| format!("{} {of}", row.program)));
        for name in PROGRAMS.iter().map(ToString::to_string).chain(subcommands) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
