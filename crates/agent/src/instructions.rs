//! What a model is told before all else: who it is, where it works, what the mode is, and what the project wants.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::mode::Mode;
use crate::tools::Roots;

/// The file in which a project says what agents should know.
const FILE: &str = "AGENTS.md";

/// As much of such a file is read.
const MOST_BYTES: u64 = 32 << 10;

/// The instructions for a session in the folders `roots`, of which the first is where it works.
pub(crate) async fn instructions(roots: Roots, mode: Mode) -> String {
    let read = tokio::task::spawn_blocking(move || {
        let folders: Vec<PathBuf> = roots.one_by_one().map(|(folder, _)| folder.to_owned()).collect();
        let files: Vec<(PathBuf, String)> =
            roots.one_by_one().filter_map(|(folder, alone)| read(folder, &alone)).collect();
        (folders, files)
    });
    let (folders, files) = read.await.unwrap_or_default();
    write(&folders, mode, &files)
}

fn write(folders: &[PathBuf], mode: Mode, files: &[(PathBuf, String)]) -> String {
    let mut text = format!(
        "You are Rejoin, an agent that helps its user with code and text. Answer in Markdown, to the point. Use the tools \
         you have rather than guess; say so when you can't do something.\n\n{}\n",
        mode.instructions()
    );
    let mut folders = folders.iter().map(|folder| folder.display());
    if let Some(cwd) = folders.next() {
        let _ = writeln!(text, "\nYou work in the folder {cwd}. Relative paths start there.");
    }
    for folder in folders {
        let _ = writeln!(text, "You may also use the folder {folder}.");
    }
    for (path, instructions) in files {
        let _ = write!(text, "\nWhat {} says about work here:\n\n{}\n", path.display(), instructions.trim());
    }
    text
}

/// The file of `folder` and its beginning. One that lies outside of `alone`, through a link, is not read.
fn read(folder: &Path, alone: &Roots) -> Option<(PathBuf, String)> {
    let file = alone.place(FILE).ok()?.open_file().ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let is_whole = bytes.len() as u64 <= MOST_BYTES;
    bytes.truncate(usize::try_from(MOST_BYTES).unwrap_or(usize::MAX));
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if !is_whole {
        text.push_str("\n[the file goes on]");
    }
    (!text.trim().is_empty()).then_some((folder.join(FILE), text))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn what_the_project_says_is_told_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for folder in [&one, &two] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(one.join(FILE), "Write short words.").unwrap();
        std::fs::write(two.join(FILE), "x".repeat(100_000)).unwrap();
        let text = instructions(Roots::new(&one, &[two], &Arc::default()), Mode::Code).await;
        assert!(text.contains("Write short words.") && text.contains("[the file goes on]"), "{text}");
        assert!(text.contains(Mode::Code.instructions()) && text.len() < 40_000, "{}", text.len());
    }

    #[tokio::test]
    async fn a_link_out_of_the_folder_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (secret, project) = (folder.path().join("secret"), folder.path().join("project"));
        std::fs::write(&secret, "hush").unwrap();
        std::fs::create_dir(&project).unwrap();
        std::os::unix::fs::symlink(&secret, project.join(FILE)).unwrap();
        assert!(!instructions(Roots::new(&project, &[], &Arc::default()), Mode::Ask).await.contains("hush"));
    }
}
