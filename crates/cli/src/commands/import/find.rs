//! Which files to import: those that were named, those in folders that were named, those where tools keep them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rejoin_history::Tool;
use tempfile::NamedTempFile;

use crate::error::Error;

/// The word for standard input.
const STDIN: &str = "-";

/// A file that may be imported.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) origin: Origin,
    /// The tool in whose folder it was found.
    pub(super) tool: Option<Tool>,
    /// What was read from standard input; it is removed with this.
    spooled: Option<NamedTempFile>,
}

/// How a file came to be a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Somebody named it.
    Named,
    /// It was found in a folder.
    Found,
}

impl Candidate {
    /// The file, as people know it.
    pub(super) fn name(&self) -> String {
        if self.spooled.is_some() { STDIN.to_owned() } else { self.path.display().to_string() }
    }
}

/// The candidates: `files`, or without any those at `places`, in the order of their names. Only those of `tool`, if there
/// is one.
pub(super) fn candidates(
    files: &[PathBuf],
    tool: Option<Tool>,
    places: &[(Tool, PathBuf)],
) -> Result<Vec<Candidate>, Error> {
    let mut candidates = Vec::new();
    for file in files {
        if file == Path::new(STDIN) {
            candidates.push(spool().map_err(|source| Error::CannotRead { file: STDIN.to_owned(), source })?);
        } else if file.is_dir() {
            let found = walk(file, is_likely);
            candidates.extend(found.into_iter().map(|path| Candidate {
                path,
                origin: Origin::Found,
                tool: None,
                spooled: None,
            }));
        } else {
            candidates.push(Candidate { path: file.clone(), origin: Origin::Named, tool: None, spooled: None });
        }
    }
    if files.is_empty() {
        for (owner, place) in places.iter().filter(|(owner, _)| tool.is_none_or(|tool| tool == *owner)) {
            let found = walk(place, |inside| owner.keeps(inside));
            let found = found.into_iter();
            candidates.extend(found.map(|path| Candidate {
                path,
                origin: Origin::Found,
                tool: Some(*owner),
                spooled: None,
            }));
        }
    }
    Ok(candidates)
}

/// Keeps standard input in a file: a history is read twice.
fn spool() -> io::Result<Candidate> {
    let mut file = NamedTempFile::new()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    file.flush()?;
    Ok(Candidate { path: file.path().to_owned(), origin: Origin::Named, tool: None, spooled: Some(file) })
}

/// Whether a file in a folder that was named may be a history.
fn is_likely(inside: &Path) -> bool {
    let name = inside.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ends = [".jsonl", ".jsonl.zst", ".json", ".db"];
    ends.iter().any(|end| name.ends_with(end)) && !name.starts_with("agent-")
}

/// The files at and below `place` whose path, as seen from there, is `wanted`. What can't be looked into is passed over.
fn walk(place: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), Vec::new());
    match std::fs::metadata(place) {
        Ok(about) if about.is_dir() => folders.push(place.to_owned()),
        Ok(_) if wanted(Path::new("")) => found.push(place.to_owned()),
        Ok(_) | Err(_) => {}
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            // A link is not followed: it may lead back.
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && path.strip_prefix(place).is_ok_and(&wanted) {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    found
}
