//! What can be said of a shell command without running it.

/// Programs, and commands of the shell itself, that run whatever their arguments say.
#[rustfmt::skip]
const RUNNERS: &[&str] = &[
    // The shell: itself, and what it does with text.
    ".", "alias", "ash", "bash", "bind", "builtin", "command", "complete", "coproc", "csh", "dash", "declare",
    "elvish", "enable", "eval", "exec", "export", "fc", "fish", "hash", "ksh", "mapfile", "mksh", "nu", "oksh", "osh",
    "pdksh", "posh", "powershell", "pwsh", "rbash", "readonly", "rksh", "set", "sh", "source", "tcsh", "trap",
    "typeset", "unalias", "xonsh", "yash", "zsh",
    // Words of its grammar that come before a command.
    "!", "{", "case", "do", "elif", "else", "for", "function", "if", "select", "then", "time", "until", "while",
    // They run a program as somebody else, elsewhere, later, or in another way.
    "at", "batch", "busybox", "bwrap", "caffeinate", "capsh", "cgexec", "choom", "chpst", "chronic", "chroot", "chrt",
    "cpulimit", "daemonize", "dbus-launch", "dbus-run-session", "distrobox", "doas", "docker", "dtach", "dumb-init",
    "eatmydata", "entr", "env", "expect", "faketime", "fakeroot", "firejail", "flatpak", "flock", "gdb", "gosu",
    "hyperfine", "ifne", "ionice", "kubectl", "linux32", "linux64", "lldb", "ltrace", "lxc", "machinectl", "mosh",
    "mpirun", "nice", "nix-shell", "nohup", "nsenter", "numactl", "osascript", "parallel", "perf", "pkexec", "podman",
    "prlimit", "proot", "proxychains", "rlwrap", "rsh", "run-parts", "runcon", "runuser", "schroot", "screen",
    "script", "setarch", "setpriv", "setsid", "sg", "softlimit", "ssh", "sshpass", "start-stop-daemon", "stdbuf",
    "strace", "su", "sudo", "sudoedit", "systemd-inhibit", "systemd-nspawn", "systemd-run", "taskset", "timelimit",
    "timeout", "tini", "tmux", "torsocks", "toybox", "tsocks", "unbuffer", "unshare", "valgrind", "vipe", "watch",
    "watchexec", "xargs", "xvfb-run", "zellij",
    // Interpreters: their arguments are programs.
    "awk", "bc", "bun", "clisp", "dc", "deno", "elixir", "erl", "gawk", "ghci", "groovy", "guile", "irb", "java",
    "jrunscript", "julia", "lua", "luajit", "m4", "mawk", "mysql", "nawk", "node", "nodejs", "octave", "original-awk",
    "perl", "php", "pry", "psql", "pypy", "python", "r", "racket", "rscript", "ruby", "sbcl", "scala", "scheme",
    "sqlite", "swipl", "tclsh", "ts-node", "tsx", "wish",
    // Editors and viewers with a shell inside.
    "ed", "emacs", "ex", "ftp", "less", "man", "mc", "more", "nano", "nc", "ncat", "netcat", "nvim", "ranger",
    "rlogin", "sftp", "socat", "telnet", "vi", "view", "vim", "vimdiff",
];

/// Whether the program `name` runs whatever its arguments say, so that its name alone tells nothing.
///
/// `name` may be a path, and may have a version (`python3.12`).
pub fn runs_others(name: &str) -> bool {
    let name = base_name(name).to_lowercase();
    let plain = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.' || char == '-');
    RUNNERS.contains(&&*name) || RUNNERS.contains(&plain)
}

/// The last part of a program's path.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The commands in `text`, each as its words without quotes.
///
/// Every command of a list, a pipe, a group or a substitution is one of its own; what stands in quotes is so too where
/// the shell, or a program that [runs others](runs_others), may read it as commands. Assignments in front are left out.
/// This errs towards more commands than there are.
pub(super) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    collect(text, 0, &mut found);
    found
}

/// So deep are commands looked for in quotes.
const DEEPEST: usize = 4;

fn collect(text: &str, depth: usize, found: &mut Vec<Vec<String>>) {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => match chars.next() {
                // A line that goes on.
                Some('\n') | None => {}
                Some(char) => word.get_or_insert_default().push(char),
            },
            (None, ';' | '&' | '|' | '(' | ')' | '`' | '\n') => end_command(&mut words, &mut word, depth, found),
            (None, '<' | '>') => words.extend(word.take()),
            (None, char) if char.is_whitespace() => words.extend(word.take()),
            (_, char) => word.get_or_insert_default().push(char),
        }
    }
    end_command(&mut words, &mut word, depth, found);
}

fn end_command(words: &mut Vec<String>, word: &mut Option<String>, depth: usize, found: &mut Vec<Vec<String>>) {
    words.extend(word.take());
    let mut words = std::mem::take(words);
    let n_assignments = words.iter().take_while(|word| is_assignment(word)).count();
    words.drain(..n_assignments);
    let Some(program) = words.first() else { return };
    let is_runner = runs_others(program);
    for word in &words {
        // The shell runs substitutions in quotes too, and a runner may run the whole of a word.
        let may_be_run = word.contains("$(") || word.contains('`') || is_runner && word.contains(char::is_whitespace);
        if may_be_run && depth < DEEPEST {
            collect(word, depth + 1, found);
        }
    }
    // What a runner runs may begin with any of its arguments.
    let n_starts = if is_runner { words.len() } else { 1 };
    found.extend((0..n_starts).map(|start| words[start..].to_vec()));
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    word.split_once('=').is_some_and(|(name, _)| is_name(name.trim_end_matches('+')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_runs_others_is_known_by_any_name() {
        for name in
            ["sh", "/bin/bash", "env", "perl", "perl5.38", "python3.12", "python3", "xargs", "ksh", "trap", "node"]
        {
            assert!(runs_others(name), "{name}");
        }
        for name in ["ls", "git", "cargo", "make", "./x.sh", "find", ""] {
            assert!(!runs_others(name), "{name}");
        }
    }

    #[test]
    fn every_command_of_a_line_is_found() {
        for (text, expected) in [
            ("git push", "git push"),
            ("  git   push  -f ", "git push -f"),
            ("a; b && c || d | e & f\ng", "a / b / c / d / e / f / g"),
            ("echo $(git push) `rm x`", "echo $ / git push / rm x"),
            ("echo \"$(git push)\"", "$ / git push / echo $(git push)"),
            ("(git push)", "git push"),
            ("g\\it 'pu'sh", "git push"),
            ("A=1 B=2 git push", "git push"),
            ("git push > out", "git push out"),
            ("echo 'a; b'", "echo a; b"),
            ("sudo -u x git push", "sudo -u x git push / -u x git push / x git push / git push / push"),
            ("", ""),
        ] {
            let commands: Vec<String> = commands(text).iter().map(|words| words.join(" ")).collect();
            assert_eq!(commands.join(" / "), expected, "{text:?}");
        }
        let nested = commands("sh -c 'cd x && git push'");
        assert!(nested.contains(&vec!["git".to_owned(), "push".to_owned()]), "{nested:?}");
    }
}
