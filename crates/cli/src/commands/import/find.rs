//! Which files to import: those that were named, those in folders that were named, those where tools keep them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
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
    /// What was read from something that can be read only once; it is removed with this.
    spooled: Option<Spooled>,
}

/// A copy of something that can be read only once.
struct Spooled {
    _file: NamedTempFile,
    /// What it is a copy of.
    name: String,
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
        self.spooled.as_ref().map_or_else(|| self.path.display().to_string(), |spooled| spooled.name.clone())
    }

    fn named(path: PathBuf) -> Self {
        Self { path, origin: Origin::Named, tool: None, spooled: None }
    }

    fn found(path: PathBuf, tool: Option<Tool>) -> Self {
        Self { path, origin: Origin::Found, tool, spooled: None }
    }

    /// Keeps all of `input`, which is called `name`, in a file: a history is read twice.
    fn spool(mut input: impl Read, name: String) -> io::Result<Self> {
        let mut file = NamedTempFile::new()?;
        io::copy(&mut input, &mut file)?;
        file.flush()?;
        let path = file.path().to_owned();
        Ok(Self { path, origin: Origin::Named, tool: None, spooled: Some(Spooled { _file: file, name }) })
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
        let name = file.display().to_string();
        let failed = |source| Error::CannotRead { file: name.clone(), source };
        if file == Path::new(STDIN) {
            candidates.push(Candidate::spool(io::stdin().lock(), name.clone()).map_err(failed)?);
        } else if file.is_dir() {
            candidates.extend(walk(file, None).into_iter().map(|path| Candidate::found(path, None)));
        } else if fs::metadata(file).is_ok_and(|about| !about.is_file()) {
            // A pipe or device that has a name may never say anything, or never end.
            if !is_inherited(file) {
                return Err(Error::NotAFile { file: name });
            }
            // What another program writes while this one reads.
            let input = File::open(file).map_err(failed)?;
            candidates.push(Candidate::spool(input, name.clone()).map_err(failed)?);
        } else {
            candidates.push(Candidate::named(file.clone()));
        }
    }
    if files.is_empty() {
        for (owner, place) in places.iter().filter(|(owner, _)| tool.is_none_or(|tool| tool == *owner)) {
            let found = walk(place, Some(*owner)).into_iter();
            candidates.extend(found.map(|path| Candidate::found(path, Some(*owner))));
        }
    }
    Ok(candidates)
}

/// Whether `file` names a descriptor that we were started with, as a shell writes it for `<(COMMAND)`.
fn is_inherited(file: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd"];
    file == Path::new("/dev/stdin")
        || file.parent().is_some_and(|folder| folders.iter().any(|it| folder == Path::new(it)))
}

/// Whether a file in a folder that was named may be a history.
fn is_likely(inside: &Path) -> bool {
    let name = inside.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ends = [".jsonl", ".jsonl.zst", ".json", ".db"];
    ends.iter().any(|end| name.ends_with(end)) && !name.starts_with("agent-")
}

/// The files at and below `place` that may be histories: those that `owner` keeps there, or all that look like one. What
/// can't be looked into is among them, so that it is named.
fn walk(place: &Path, owner: Option<Tool>) -> Vec<PathBuf> {
    let is_wanted = |inside: &Path| owner.map_or_else(|| is_likely(inside), |owner| owner.keeps(inside));
    let (mut found, mut folders, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    match fs::metadata(place) {
        Ok(about) if about.is_dir() => {
            seen.insert((about.dev(), about.ino()));
            folders.push(place.to_owned());
        }
        Ok(about) if about.is_file() && is_wanted(Path::new("")) => found.push(place.to_owned()),
        Ok(_) | Err(_) => {}
    }
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            found.push(folder);
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_wanted = || path.strip_prefix(place).is_ok_and(is_wanted);
            match fs::metadata(&path) {
                // Where a tool keeps its files, people link to folders; a link may lead back. Elsewhere it may lead anywhere.
                Ok(about) if about.is_dir() => {
                    let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                    if (owner.is_some() || !is_link) && seen.insert((about.dev(), about.ino())) {
                        folders.push(path);
                    }
                }
                Ok(about) if about.is_file() && is_wanted() => found.push(path),
                Err(_) if is_wanted() => found.push(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    found.sort_unstable();
    found
}
