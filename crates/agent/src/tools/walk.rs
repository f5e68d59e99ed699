//! The files below a folder, in their order: without what `.gitignore` and `.ignore` name, and without `.git`.
//!
//! Links are named, and not followed. A folder that is named itself is walked even where it is ignored.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

use super::ToolError;
use super::files::blocking;
use super::roots::{Place, PlaceError};
use super::stop::{StopOnDrop, Stopped};

/// Which files are meant, by their path below the folder that is walked.
#[derive(Debug, Clone)]
pub(super) struct Pattern(GlobMatcher);

impl Pattern {
    /// Reads `text`. One without a slash is about names, in whatever folder.
    pub(super) fn parse(text: &str, folder: &Place) -> Result<Self, ToolError> {
        let wrong = |what: &str| ToolError::Failed(format!("the pattern {text:?}: {what}"));
        let inside = text.strip_prefix(&format!("{}/", folder.path().display()));
        if inside.is_none() && text.starts_with('/') {
            return Err(wrong("it must be relative to the folder `path`"));
        }
        let relative = inside.unwrap_or_else(|| text.trim_start_matches("./"));
        if relative.is_empty() || relative.split('/').any(|part| part == "..") {
            return Err(wrong("it must name files below the folder `path`"));
        }
        let anywhere = if text.contains('/') { relative.to_owned() } else { format!("**/{relative}") };
        let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
        Ok(Self(glob.map_err(|error| wrong(&error.kind().to_string()))?.compile_matcher()))
    }

    /// Whether it means the file with this path below the folder.
    pub(super) fn matches(&self, inside: &Path) -> bool {
        self.0.is_match(inside)
    }
}

/// A walk that can be stopped from outside.
pub(super) struct Walk {
    folder: Place,
    stopped: Stopped,
}

impl Walk {
    /// Has `what` walk in `folder`; dropping the future stops the walk.
    pub(super) async fn run<T: Send + 'static>(
        folder: Place,
        what: impl FnOnce(Self) -> Result<T, PlaceError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let stop = StopOnDrop::default();
        let walk = Self { folder, stopped: stop.flag() };
        blocking(move || what(walk)).await
    }

    /// Whether it is to end.
    pub(super) fn stopped(&self) -> Stopped {
        self.stopped.clone()
    }

    /// All files, each with its path below the folder; a file that is walked has none.
    pub(super) fn files(self) -> Result<impl Iterator<Item = (Place, PathBuf)>, PlaceError> {
        if !self.folder.real_path().exists() {
            return Err(PlaceError::Missing { path: self.folder.shown() });
        }
        let from = self.folder.real_path();
        let is_ignored = !entries(&self.folder, Ignored::IsLeftOut).any(|entry| entry.path().starts_with(&from));
        let ignored = if is_ignored { Ignored::IsWalked } else { Ignored::IsLeftOut };
        let Self { folder, stopped } = self;
        let walked = entries(&folder, ignored).take_while(move |_| !stopped.is_set());
        Ok(walked.filter_map(move |entry| {
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink());
            let inside = entry.path().strip_prefix(&from).ok()?;
            is_file.then(|| Some((folder.sibling(entry.path())?, inside.to_owned())))?
        }))
    }
}

/// What becomes of files that are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ignored {
    IsLeftOut,
    IsWalked,
}

/// Walks to `folder` and in it. The way begins at the root, so that what is ignored there is ignored below.
fn entries(folder: &Place, ignored: Ignored) -> impl Iterator<Item = DirEntry> + use<> {
    let (root, to) = (folder.real_root().to_owned(), folder.real_path());
    let leaves_out = ignored == Ignored::IsLeftOut;
    // Outside of a repository, what folders above say is not about this one.
    let is_in_repository = root.ancestors().any(|above| above.join(".git").exists());
    let walk = WalkBuilder::new(&root)
        .standard_filters(leaves_out)
        .hidden(false)
        .git_global(false)
        .parents(leaves_out && is_in_repository)
        .require_git(is_in_repository)
        .follow_links(false)
        .sort_by_file_path(Path::cmp)
        .filter_entry(move |entry| {
            let is_on_the_way = to.starts_with(entry.path()) || entry.path().starts_with(&to);
            is_on_the_way && (entry.file_name() != ".git" || to.starts_with(entry.path()))
        })
        .build();
    // What can't be read is not there for us.
    walk.filter_map(Result::ok)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    use tempfile::TempDir;

    use super::*;
    use crate::tools::roots::Roots;

    /// A folder with these files; one that ends with `!` ignores what is behind it.
    fn folder(files: &[(&str, &str)]) -> (TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let roots = Roots::new(folder.path(), &[], &Arc::default());
        (folder, roots)
    }

    fn found(roots: &Roots, path: &str, pattern: Option<&str>) -> Vec<String> {
        let place = roots.place(path).unwrap();
        let pattern = pattern.map(|pattern| Pattern::parse(pattern, &place).unwrap());
        let walk = Walk { folder: place, stopped: Stopped::default() };
        let is_meant = |inside: &Path| pattern.as_ref().is_none_or(|pattern| pattern.matches(inside));
        walk.files().unwrap().filter(|(_, inside)| is_meant(inside)).map(|(place, _)| place.shown()).collect()
    }

    #[test]
    fn patterns_mean_what_people_expect() {
        let (_folder, roots) = folder(&[("a.rs", ""), ("src/b.rs", ""), ("src/deep/c.rs", ""), ("src/d.md", "")]);
        for (path, pattern, expected) in [
            (".", "*.rs", vec!["a.rs", "src/b.rs", "src/deep/c.rs"]),
            (".", "**/*.rs", vec!["a.rs", "src/b.rs", "src/deep/c.rs"]),
            (".", "./src/*.rs", vec!["src/b.rs"]),
            (".", "./*.rs", vec!["a.rs"]),
            (".", "src/**", vec!["src/b.rs", "src/d.md", "src/deep/c.rs"]),
            (".", "*.{md,txt}", vec!["src/d.md"]),
            ("src", "*/*.rs", vec!["src/deep/c.rs"]),
            ("src", "[bd].*", vec!["src/b.rs", "src/d.md"]),
            (".", "*.py", vec![]),
        ] {
            assert_eq!(found(&roots, path, Some(pattern)), expected, "{pattern} in {path}");
        }
        let place = roots.place(".").unwrap();
        let absolute = format!("{}/src/*.rs", place.path().display());
        assert_eq!(found(&roots, ".", Some(&absolute)), ["src/b.rs"]);
        let absolute = format!("{}/*.rs", place.path().display());
        assert_eq!(found(&roots, ".", Some(&absolute)), ["a.rs"]);
        for wrong in ["", "/etc/*", "../*", "src/../../*", "[", "a{"] {
            assert!(Pattern::parse(wrong, &place).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_ignored_is_left_out_unless_it_is_named() {
        let ignores = [(".gitignore", "target/\n*.log\n"), ("src/.gitignore", "made.rs\n"), (".ignore", "big\n")];
        let files = [".github/x", "src/a.rs", "src/made.rs", "src/b.log", "target/c", "big", ".git/config"];
        let files: Vec<(&str, &str)> = ignores.into_iter().chain(files.map(|name| (name, ""))).collect();
        for is_repository in [true, false] {
            let kept = files.iter().filter(|(name, _)| is_repository || !name.starts_with(".git/"));
            let (_folder, roots) = folder(&kept.copied().collect::<Vec<_>>());
            let all = [".github/x", ".gitignore", ".ignore", "src/.gitignore", "src/a.rs"];
            assert_eq!(found(&roots, ".", None), all, "in a repository: {is_repository}");
            assert_eq!(found(&roots, "src", None), ["src/.gitignore", "src/a.rs"]);
            assert_eq!(found(&roots, "target", None), ["target/c"]);
            assert_eq!(found(&roots, "src/made.rs", None), ["src/made.rs"]);
        }
    }

    #[test]
    fn links_are_named_and_not_followed() {
        let (inside, roots) = folder(&[("a", "")]);
        let (outside, _) = folder(&[("secret", "")]);
        symlink(outside.path(), inside.path().join("out")).unwrap();
        assert_eq!(found(&roots, ".", None), ["a", "out"]);
    }
}
