//! Files that other programs run, or take commands from, without being asked: writing one is running a command.
//!
//! A shell reads its start files, git its configuration and hooks, an editor the settings of a folder. So the user is asked
//! for such a write each time, in every mode. What runs only when somebody builds or tests the project (`Makefile`,
//! `package.json`, `build.rs`) is not among them: that is what the project is for.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Who runs a file, by the end of its path: names that are compared without case, `*` for any characters in one.
///
/// One that ends with `/` is a folder with all that is in it. One that begins with `/` is a whole path.
#[rustfmt::skip]
const TABLE: &[(&str, &[&str])] = &[
    ("git", &[".git", ".git/", ".githooks/", ".gitconfig", ".config/git/"]),
    ("hooks of commits", &[".husky/", ".pre-commit-config.yaml", "lefthook*.yml", ".lefthook*.yml", ".hg/", ".jj/"]),
    ("direnv", &[".envrc", ".direnv/"]),
    ("mise", &["mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml", ".mise/", ".config/mise/"]),
    ("the shell", &[
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc", ".zshrc",
        ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout",
        ".config/fish/", ".autoenv*",
    ]),
    ("the desktop", &[
        ".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".pam_environment", ".config/autostart/",
        ".config/environment.d/", ".local/share/applications/",
    ]),
    ("the system", &[
        ".config/systemd/", ".local/share/systemd/", "library/launchagents/", "library/launchdaemons/", ".crontab",
        "/etc/", "/private/etc/", "/var/spool/cron/", "/library/",
    ]),
    ("every command, which it may replace", &[".local/bin/", ".cargo/bin/"]),
    ("ssh and gpg", &[".ssh/", ".gnupg/"]),
    ("the editor", &[
        ".vscode/", "*.code-workspace", ".idea/", ".zed/", ".fleet/", ".nova/", ".helix/", ".config/helix/", ".vim/",
        ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".local.vimrc", ".config/nvim/", ".emacs",
        ".emacs.d/", ".config/emacs/", ".dir-locals.el", ".dir-locals-2.el", ".spacemacs", ".nanorc",
        "*.sublime-project", ".devcontainer/", ".devcontainer.json", ".venv/", "venv/bin/",
    ]),
    ("an agent", &[
        ".rejoin.toml", ".config/rejoin/", ".claude/", ".claude.json", ".mcp.json", ".cursor/", ".codex/", ".gemini/",
        ".opencode/", "opencode.json", "opencode.jsonc", ".windsurf/", ".continue/", ".kiro/", ".amazonq/", ".roo/",
        ".goose/", ".crush.json", "crush.json", ".aider.conf.yml",
    ]),
    ("the package manager", &[
        ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/", ".pnpmfile.cjs", ".pnp.cjs", ".pnp.loader.mjs", ".cargo/config",
        ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml", ".mvn/", ".gradle/init.d/",
        ".gradle/init.gradle", ".bundle/config", ".terraformrc",
    ]),
    ("an interpreter or a debugger", &[
        "sitecustomize.py", "usercustomize.py", ".pythonrc", ".pythonrc.py", ".ipython/", ".jupyter/", ".irbrc",
        ".pryrc", ".rprofile", ".ghci", ".julia/config/", ".gdbinit", ".lldbinit", ".psqlrc", ".sqliterc",
    ]),
    ("the terminal", &[".tmux.conf", ".config/tmux/", ".screenrc", ".lessfilter", ".mailcap", ".wgetrc"]),
];

/// What git takes commands from in a folder of its own that is not named `.git`; `HEAD` makes a folder one.
const IN_GIT_FOLDER: &[&str] =
    &["head", "config", "config.worktree", "hooks", "info", "commondir", "gitdir", "modules", "worktrees"];

/// So much of a configuration of git is read.
const LARGEST_CONFIG: u64 = 256 * 1024;

/// Where agents keep whole working trees, each in a folder of its own. What is in one is not a setting of the agent.
const WORKING_TREES: &[[&str; 2]] = &[[".claude", "worktrees"], [".cursor", "worktrees"], [".codex", "worktrees"]];

/// Why the user is asked for each write to the file at `path`, which holds no links; `None` if it is like any other.
///
/// Looks at the disk for folders of git that have other names, and for programs that a repository has configured.
pub(super) fn reason(path: &Path) -> Option<String> {
    let is_gits = || is_in_git_folder(path) || is_named_by_git(path);
    let runner = runner_of(path).or_else(|| is_gits().then_some("git"))?;
    Some(format!("This file is run, or read for commands, by {runner}, so you are asked each time."))
}

/// Who runs the file at `path`, by its name alone.
fn runner_of(path: &Path) -> Option<&'static str> {
    let names = names_of(path);
    let is_meant = |patterns: &[&str]| patterns.iter().any(|pattern| is_match(pattern, &names));
    TABLE.iter().find(|(_, patterns)| is_meant(patterns)).map(|(runner, _)| *runner)
}

/// Whether the file with these `names` is what `pattern` means.
fn is_match(pattern: &str, names: &[String]) -> bool {
    let (is_whole, is_folder) = (pattern.starts_with('/'), pattern.ends_with('/'));
    let wanted: Vec<&str> = pattern.trim_matches('/').split('/').collect();
    let mut places = names.windows(wanted.len()).enumerate();
    places.any(|(start, window)| {
        let behind = &names[start + wanted.len()..];
        // A folder has something in it, a file is the last.
        is_folder != behind.is_empty()
            && (!is_whole || start == 0)
            && wanted.iter().zip(window).all(|(wanted, name)| is_name(wanted, name))
    })
}

/// Whether `name` is `wanted`, in which one `*` may stand for anything.
fn is_name(wanted: &str, name: &str) -> bool {
    match wanted.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => wanted == name,
    }
}

/// Whether git takes commands from the file at `path`, which is in a bare repository, a separate folder of git, or that
/// of a working tree or submodule.
fn is_in_git_folder(path: &Path) -> bool {
    // A file of this name would make the folder one, whatever else is there already.
    if path.file_name().is_some_and(|name| fold(&name.to_string_lossy()) == "head") {
        return true;
    }
    path.ancestors().skip(1).any(|folder| {
        let inside = path.strip_prefix(folder).ok().and_then(|inside| inside.components().next());
        let is_read = inside.is_some_and(|name| IN_GIT_FOLDER.contains(&&*fold(&name.as_os_str().to_string_lossy())));
        is_read
            && folder.join("HEAD").exists()
            && (folder.join("objects").exists() || folder.join("commondir").exists())
    })
}

/// Whether a repository around `path` has configured that git runs it: as a program, or as one of its hooks.
fn is_named_by_git(path: &Path) -> bool {
    path.ancestors().skip(1).any(|tree| {
        let Some(config) = config_of(tree) else { return false };
        let settings = config.lines().filter_map(|line| line.split_once('='));
        settings.into_iter().any(|(key, value)| {
            let is_hooks = fold(key.trim()) == "hookspath";
            let mut words = value.split(|char: char| char.is_whitespace() || "\"'!;".contains(char));
            words.any(|word| !word.is_empty() && is_program(tree, word, path, is_hooks))
        })
    })
}

/// Whether `word` in the configuration of the repository in `tree` is `path`, or the folder of hooks that it is in.
fn is_program(tree: &Path, word: &str, path: &Path, is_hooks: bool) -> bool {
    let program: PathBuf = tree.join(word).components().filter(|part| *part != Component::CurDir).collect();
    *path == *program || is_hooks && path.starts_with(program)
}

/// The configuration of the repository whose working tree is `tree`; none for a folder that is not one.
fn config_of(tree: &Path) -> Option<String> {
    let read = |path: &Path| {
        let mut text = String::new();
        File::open(path).ok()?.take(LARGEST_CONFIG).read_to_string(&mut text).ok()?;
        Some(text)
    };
    let git = tree.join(".git");
    if git.is_dir() {
        return read(&git.join("config"));
    }
    // A working tree or a submodule has a file that says where.
    let folder = tree.join(read(&git)?.strip_prefix("gitdir:")?.trim());
    let common = read(&folder.join("commondir")).map_or_else(|| folder.clone(), |common| folder.join(common.trim()));
    read(&common.join("config"))
}

/// The names on the way to `path`, as they are compared; in a working tree of an agent, those in there.
fn names_of(path: &Path) -> Vec<String> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(fold(&name.to_string_lossy())),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    };
    let mut names: Vec<String> = path.components().filter_map(name).collect();
    let is_tree = |names: &[String]| WORKING_TREES.iter().any(|tree| names[..2] == tree[..]);
    // The two, the tree's own name, and a file in there.
    if let Some(start) = names.windows(4).rposition(is_tree) {
        names.drain(..start + 3);
    }
    names
}

/// `name` as file systems compare it that know no case; some skip characters that are not seen.
fn fold(name: &str) -> String {
    let is_unseen = |char: &char| matches!(char, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    // By way of the capitals, so that `ſ` becomes `s`.
    name.chars().filter(|char| !is_unseen(char)).flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_row_means_what_it_says() {
        for (runner, path) in [
            ("git", "/p/.git"),
            ("git", "/p/.git/config"),
            ("git", "/p/sub/.git/hooks/post-checkout"),
            ("git", "/p/.git/modules/sub/config"),
            ("git", "/p/.git/worktrees/one/config.worktree"),
            ("git", "/p/.GIT/config"),
            ("git", "/p/.g\u{200c}it/config"),
            ("git", "/p/.githooks/pre-commit"),
            ("git", "/home/u/.config/git/config"),
            ("hooks of commits", "/p/.husky/pre-commit"),
            ("hooks of commits", "/p/.pre-commit-config.yaml"),
            ("hooks of commits", "/p/lefthook-local.yml"),
            ("direnv", "/p/a/b/.envrc"),
            ("mise", "/p/mise.local.toml"),
            ("the shell", "/home/u/.bashrc"),
            ("the shell", "/home/u/.ZSHENV"),
            ("the shell", "/home/u/.config/fish/conf.d/x.fish"),
            ("the desktop", "/home/u/.config/autostart/x.desktop"),
            ("the system", "/home/u/.config/systemd/user/x.service"),
            ("the system", "/Users/u/Library/LaunchAgents/x.plist"),
            ("the system", "/etc/cron.d/x"),
            ("the system", "/var/spool/cron/crontabs/u"),
            ("every command, which it may replace", "/home/u/.local/bin/git"),
            ("ssh and gpg", "/home/u/.ssh/config"),
            ("ssh and gpg", "/home/u/.ſsh/authorized_keys"),
            ("the editor", "/p/.vscode/tasks.json"),
            ("the editor", "/p/x.code-workspace"),
            ("the editor", "/p/.idea/workspace.xml"),
            ("the editor", "/p/.zed/tasks.json"),
            ("the editor", "/p/.exrc"),
            ("the editor", "/p/a/.dir-locals.el"),
            ("the editor", "/p/.devcontainer/devcontainer.json"),
            ("the editor", "/p/.venv/bin/python"),
            ("an agent", "/p/.rejoin.toml"),
            ("an agent", "/p/.mcp.json"),
            ("an agent", "/p/.claude/settings.json"),
            ("an agent", "/p/.claude/worktrees/x"),
            ("an agent", "/p/.cursor/mcp.json"),
            ("the package manager", "/p/.npmrc"),
            ("the package manager", "/p/.yarnrc.yml"),
            ("the package manager", "/p/.cargo/config.toml"),
            ("an interpreter or a debugger", "/p/sitecustomize.py"),
            ("an interpreter or a debugger", "/p/.gdbinit"),
            ("the terminal", "/home/u/.tmux.conf"),
        ] {
            assert_eq!(runner_of(Path::new(path)), Some(runner), "{path}");
        }
    }

    #[test]
    fn what_nobody_runs_by_itself_is_like_any_other() {
        for path in [
            "/p/src/main.rs",
            "/p/Makefile",
            "/p/package.json",
            "/p/.gitignore",
            "/p/.gitattributes",
            "/p/.gitmodules",
            "/p/.github/workflows/ci.yml",
            "/p/.env",
            "/p/git/config",
            "/p/config/git/config",
            "/p/etc/hosts",
            "/p/mise.md",
            "/p/xlefthook.yml",
            "/p/AGENTS.md",
            "/p/.claude/worktrees/one/src/main.rs",
            "/home/u/.config/other/config",
        ] {
            assert_eq!(runner_of(Path::new(path)), None, "{path}");
        }
        assert!(runner_of(Path::new("/p/.claude/worktrees/one/.envrc")).is_some());
    }

    #[test]
    fn a_folder_of_git_is_one_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["bare/objects", "bare/refs", "bare/main/src", "tree"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["bare/HEAD", "tree/HEAD", "tree/commondir"] {
            fs::write(at(name), "").unwrap();
        }
        let is_asked = |name: &str| reason(&at(name)).is_some();
        let asked = ["bare/config", "bare/Config", "bare/hooks/x", "bare/info/attributes", "tree/config.worktree"];
        assert_eq!(asked.map(is_asked), [true; 5]);
        let free = ["bare/main/src/main.rs", "bare/description", "config", "hooks/x"];
        assert_eq!(free.map(is_asked), [false; 4]);
        assert!(is_asked("planted/HEAD"));
    }

    #[test]
    fn what_a_repository_has_configured_is_run_by_git() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["main/.git/worktrees/tree", "tree"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let config = "[core]\n\thooksPath = ./tools/hooks\n\tfsmonitor = \"tools/watch.sh\"\n[filter \"x\"]\n\tclean = tools/clean %f\n";
        fs::write(at("main/.git/config"), config).unwrap();
        fs::write(at("main/.git/worktrees/tree/commondir"), "../..\n").unwrap();
        fs::write(at("tree/.git"), format!("gitdir: {}\n", at("main/.git/worktrees/tree").display())).unwrap();
        let is_asked = |name: &str| reason(&at(name)).is_some();
        for tree in ["main", "tree"] {
            let asked = ["tools/hooks/pre-commit", "tools/watch.sh", "tools/clean"];
            assert_eq!(asked.map(|name| is_asked(&format!("{tree}/{name}"))), [true; 3], "{tree}");
            assert!(!is_asked(&format!("{tree}/tools/other")) && !is_asked(&format!("{tree}/src/main.rs")), "{tree}");
        }
    }

    #[test]
    fn the_page_names_every_row() {
        let page = include_str!("../../../../docs/built-in-agent.md");
        for pattern in TABLE.iter().flat_map(|(_, patterns)| patterns.iter()) {
            assert!(page.contains(&format!("`{pattern}`")), "{pattern}");
        }
    }
}
