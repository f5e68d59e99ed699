//! What a shell command does, for those who only want to know that: reads a file, looks for something, lists a folder.

use super::patch::absolute;

/// A command, as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) title: String,
    pub(super) kind: &'static str,
    /// The file or folder it is about.
    pub(super) path: Option<String>,
}

/// What `line` does, run in `cwd`. What is more than one plain command is shown as it is.
pub(super) fn read_command(line: &str, cwd: &str) -> Command {
    let plain = |title: &str| Command { title: title.to_owned(), kind: "execute", path: None };
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_plain = !line.contains(['|', '&', ';', '<', '>', '$', '`', '(', '\n', '"', '\'', '*']);
    let Some((program, args)) = words.split_first().filter(|_| is_plain) else { return plain(line) };
    let names: Vec<&str> = args.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let about = |path: Option<&&str>| path.map(|path| absolute(path, cwd));
    match (*program, names.as_slice()) {
        ("cat" | "nl" | "head" | "tail" | "less", [path]) => {
            Command { title: format!("Read {}", file_name(path)), kind: "read", path: about(Some(path)) }
        }
        ("sed", [range, path]) if args.contains(&"-n") && range.ends_with('p') => {
            Command { title: format!("Read {}", file_name(path)), kind: "read", path: about(Some(path)) }
        }
        ("rg" | "grep" | "ag", [what, rest @ ..]) if rest.len() < 2 => {
            let inside = rest.first().map(|path| format!(" in {path}")).unwrap_or_default();
            Command { title: format!("Search {what}{inside}"), kind: "search", path: about(rest.first()) }
        }
        ("ls" | "tree", rest) if rest.len() < 2 => {
            let title = rest.first().map_or("List files".to_owned(), |path| format!("List {}", absolute(path, cwd)));
            Command { title, kind: "search", path: about(rest.first()) }
        }
        _ => plain(line),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_commands_are_told_by_what_they_do() {
        let shown = |line: &str| {
            let Command { title, kind, path } = read_command(line, "/p");
            format!("{kind}: {title} ({})", path.unwrap_or_default())
        };
        assert_eq!(shown("cat src/door.txt"), "read: Read door.txt (/p/src/door.txt)");
        assert_eq!(shown("sed -n 1,20p a.rs"), "read: Read a.rs (/p/a.rs)");
        assert_eq!(shown("rg green"), "search: Search green ()");
        assert_eq!(shown("rg -n green src"), "search: Search green in src (/p/src)");
        assert_eq!(shown("ls -la"), "search: List files ()");
        assert_eq!(shown("ls src"), "search: List /p/src (/p/src)");
        assert_eq!(shown("cat a | wc -l"), "execute: cat a | wc -l ()");
        assert_eq!(shown("cargo test"), "execute: cargo test ()");
        assert_eq!(shown(""), "execute:  ()");
    }
}
