//! The boundary: which files a session may touch, and how they are opened.
//!
//! A session has its folder and its additional folders, the roots. A path is resolved in two steps: `.` and `..` as they are
//! written, then links as the disk has them. What is then outside of every root is refused, and so is a link to nothing, since
//! nobody knows where that leads. A [`Place`] that is left holds no link any more, and is opened from its root's handle, one
//! component after the other, none of which may be a link: whatever somebody swaps meanwhile, nothing outside is opened.
//! `openat2` could do that in one call, but only on newer Linux; this way is the same everywhere, and the only one to test.
//! How a file is written is in `replace`.

mod replace;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rejoin::deny::Denial;
use rejoin::{DenyRules, SessionContext};
use reqwest::Url;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, open, openat, statat};
use rustix::io::Errno;

/// How a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How a file is opened; without waiting, since it may be a pipe that nobody writes to.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The folders that a session works in.
#[derive(Debug, Clone)]
pub(crate) struct Roots(Vec<Root>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Root {
    /// As the client named it.
    given: PathBuf,
    /// Where it is, without links.
    real: PathBuf,
    /// Whether it was there when that was looked up.
    is_found: bool,
    is_cwd: bool,
    /// What of it the user's configuration denies.
    deny: Arc<DenyRules>,
}

/// A file or folder inside of a root, whether it exists or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    root: Root,
    /// From the root to it, without links.
    inside: PathBuf,
}

/// Why a path can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("{path} is outside of this session's folders: {roots}")]
    Outside { path: String, roots: String },
    #[error(
        "{path} leads through a link to nothing, so it can't be known to be inside of this session's folders: {roots}"
    )]
    LinkToNothing { path: String, roots: String },
    #[error("{path} can't be used: {denial}")]
    Denied { path: String, denial: Denial },
    #[error("{path} leads to a name that is not text in UTF-8, which can't be shown to anyone")]
    NoText { path: String },
    #[error("{path} was replaced by a link while it was opened")]
    Swapped { path: String },
    #[error("there is no {path}")]
    Missing { path: String },
    #[error("{path} is a folder; list_files shows what is in it")]
    IsFolder { path: String },
    #[error("{path} is no folder, or leads through something that is none")]
    NotAFolder { path: String },
    #[error("{path} is neither a file nor a folder")]
    Special { path: String },
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    #[error("{path}: {source}; a part of it was written, and what was there could not be put back")]
    Torn { path: String, source: io::Error },
}

impl Roots {
    /// The folders of a session.
    pub(crate) fn of(context: &SessionContext, deny: &Arc<DenyRules>) -> Self {
        Self::new(context.cwd(), context.directories(), deny)
    }

    pub(crate) fn new(cwd: &Path, additional: &[PathBuf], deny: &Arc<DenyRules>) -> Self {
        let mut roots = vec![Root::of(cwd, true, deny)];
        roots.extend(additional.iter().map(|given| Root::of(given, false, deny)));
        Self(roots)
    }

    /// These folders, where they were found when they were first looked for; one that was not there may be by now. So a
    /// folder that somebody replaces by a link does not move the boundary.
    pub(crate) fn as_of_now(&self) -> Self {
        let root =
            |root: &Root| if root.is_found { root.clone() } else { Root::of(&root.given, root.is_cwd, &root.deny) };
        Self(self.0.iter().map(root).collect())
    }

    /// The place that `path` names; a relative one is relative to the session's folder.
    pub(crate) fn place(&self, path: &str) -> Result<Place, PlaceError> {
        let cwd = self.0.first().map_or(Path::new("/"), |root| &root.given);
        let named = normal(&cwd.join(as_path(path)));
        // By the name of a link too.
        if let Some(denial) = self.0.first().and_then(|root| root.deny.path(&named)) {
            return Err(PlaceError::Denied { path: path.to_owned(), denial });
        }
        let real = self.resolve(path, &named)?;
        let inside =
            |root: &Root| Some(Place { root: root.clone(), inside: real.strip_prefix(&root.real).ok()?.to_owned() });
        // The innermost, where roots are in one another; but the session's own folder where it will do.
        let places = self.0.iter().filter_map(inside);
        let nearest = places.min_by_key(|place| (!place.root.is_cwd, place.inside.components().count()));
        let place = nearest.ok_or_else(|| PlaceError::Outside { path: path.to_owned(), roots: self.to_string() })?;
        if place.inside.to_str().is_none() {
            return Err(PlaceError::NoText { path: path.to_owned() });
        }
        place.check_denied()?;
        Ok(place)
    }

    /// Each folder as the client named it, with the boundary around it alone.
    pub(crate) fn one_by_one(&self) -> impl Iterator<Item = (&Path, Self)> {
        self.0.iter().map(|root| (root.given.as_path(), Self(vec![root.clone()])))
    }

    /// `absolute` without links; what does not exist of it can't be one.
    fn resolve(&self, path: &str, absolute: &Path) -> Result<PathBuf, PlaceError> {
        let mut missing: Vec<&OsStr> = Vec::new();
        let mut there = absolute;
        loop {
            match fs::canonicalize(there) {
                Ok(real) => return Ok(missing.iter().rev().fold(real, |real, name| real.join(name))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if fs::symlink_metadata(there).is_ok() {
                        return Err(PlaceError::LinkToNothing { path: path.to_owned(), roots: self.to_string() });
                    }
                    let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else {
                        return Err(PlaceError::Missing { path: path.to_owned() });
                    };
                    missing.push(name);
                    there = parent;
                }
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                    return Err(PlaceError::NotAFolder { path: path.to_owned() });
                }
                Err(source) => return Err(PlaceError::Io { path: path.to_owned(), source }),
            }
        }
    }
}

impl Root {
    fn of(given: &Path, is_cwd: bool, deny: &Arc<DenyRules>) -> Self {
        let found = fs::canonicalize(given).ok();
        let is_found = found.is_some();
        // One that is gone stays as it is, and so does what is said of it.
        let (given, real) = (given.to_owned(), found.unwrap_or_else(|| given.to_owned()));
        Self { given, real, is_found, is_cwd, deny: Arc::clone(deny) }
    }
}

impl std::fmt::Display for Roots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.0.iter().map(|root| root.given.display().to_string()).collect();
        f.write_str(&names.join(", "))
    }
}

impl Place {
    /// Where it is, by the name that the client has for its root.
    pub(crate) fn path(&self) -> PathBuf {
        // Joining nothing would add a slash.
        if self.inside.as_os_str().is_empty() { self.root.given.clone() } else { self.root.given.join(&self.inside) }
    }

    /// What people read: relative to the session's folder if it is in there.
    pub(crate) fn shown(&self) -> String {
        match (self.root.is_cwd, self.inside.as_os_str().is_empty()) {
            (true, true) => ".".to_owned(),
            (true, false) => self.inside.display().to_string(),
            (false, _) => self.path().display().to_string(),
        }
    }

    /// Its root, without links.
    pub(crate) fn real_root(&self) -> &Path {
        &self.root.real
    }

    /// Where it is, without links.
    pub(crate) fn real_path(&self) -> PathBuf {
        self.root.real.join(&self.inside)
    }

    /// Another place in the same root, by its path without links.
    pub(crate) fn sibling(&self, real: &Path) -> Option<Self> {
        Some(Self { root: self.root.clone(), inside: real.strip_prefix(&self.root.real).ok()?.to_owned() })
    }

    /// Whether something is there, on a way without links.
    pub(crate) fn is_there(&self) -> bool {
        match self.parent(Missing::Fails) {
            Ok(Some((folder, name))) => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok(),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Opens the file to read it.
    pub(crate) fn open_file(&self) -> Result<File, PlaceError> {
        // A walk also visits paths that the call did not name.
        self.check_denied()?;
        let file = match self.parent(Missing::Fails)? {
            Some((folder, name)) => openat(folder, name, FILE | OFlags::RDONLY, Mode::empty()),
            None => return Err(PlaceError::IsFolder { path: self.shown() }),
        };
        self.regular(file)
    }

    /// Makes the folders that it is in, as far as they are not there.
    pub(crate) fn make_parents(&self) -> Result<(), PlaceError> {
        self.parent(Missing::IsMade).map(drop)
    }

    /// Opens the folder.
    pub(crate) fn open_folder(&self) -> Result<OwnedFd, PlaceError> {
        self.walk(&self.inside, Missing::Fails)
    }

    fn check_denied(&self) -> Result<(), PlaceError> {
        let denial = self.root.deny.path(&self.real_path());
        denial.map_or(Ok(()), |denial| Err(PlaceError::Denied { path: self.shown(), denial }))
    }

    /// The folder that it is in, and its name there; nothing for a root.
    fn parent(&self, missing: Missing) -> Result<Option<(OwnedFd, &OsStr)>, PlaceError> {
        match (self.inside.parent(), self.inside.file_name()) {
            (Some(parent), Some(name)) => Ok(Some((self.walk(parent, missing)?, name))),
            _ => Ok(None),
        }
    }

    fn walk(&self, inside: &Path, missing: Missing) -> Result<OwnedFd, PlaceError> {
        let walked = || {
            let mut folder = open(&self.root.real, FOLDER, Mode::empty())?;
            for name in inside.components() {
                let next = openat(&folder, name.as_os_str(), FOLDER, Mode::empty());
                folder = match next {
                    Err(Errno::NOENT) if missing == Missing::IsMade => {
                        match mkdirat(&folder, name.as_os_str(), Mode::from_raw_mode(0o777)) {
                            // Somebody else was faster.
                            Ok(()) | Err(Errno::EXIST) => {}
                            Err(error) => return Err(error),
                        }
                        openat(&folder, name.as_os_str(), FOLDER, Mode::empty())?
                    }
                    next => next?,
                };
            }
            Ok(folder)
        };
        walked().map_err(|error| self.failed(error))
    }

    fn regular(&self, opened: Result<OwnedFd, Errno>) -> Result<File, PlaceError> {
        let file = opened.map_err(|error| self.failed(error))?;
        let status = fstat(&file).map_err(|error| self.failed(error))?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => Ok(File::from(file)),
            FileType::Directory => Err(PlaceError::IsFolder { path: self.shown() }),
            _ => Err(PlaceError::Special { path: self.shown() }),
        }
    }

    fn failed(&self, error: Errno) -> PlaceError {
        let path = self.shown();
        match error {
            Errno::NOENT => PlaceError::Missing { path },
            Errno::NOTDIR => PlaceError::NotAFolder { path },
            Errno::ISDIR => PlaceError::IsFolder { path },
            Errno::LOOP => PlaceError::Swapped { path },
            Errno::NXIO => PlaceError::Special { path },
            error => PlaceError::Io { path, source: error.into() },
        }
    }
}

/// What becomes of folders on the way that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fails,
    IsMade,
}

/// The path that `path` is, or that it names as a `file:` address: files in prompts are linked to by those.
fn as_path(path: &str) -> PathBuf {
    let address = Url::parse(path).ok().filter(|url| url.scheme() == "file");
    address.and_then(|url| url.to_file_path().ok()).unwrap_or_else(|| PathBuf::from(path))
}

/// `path` without `.` and `..`, as it is written.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => normal.push(component),
        }
    }
    normal
}

#[cfg(test)]
mod tests;
