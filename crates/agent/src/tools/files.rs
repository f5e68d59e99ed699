//! Text files as a session has them: the client's, with what is not saved yet, where it offers that; else the disk's.
//!
//! The boundary is checked first in either case, and what the disk knows to be no text is not asked for.

use std::fs::File;
use std::io::{self, BufReader, Read};

use rejoin::{AgentError, Turn};
use rejoin_wire::RpcError;

use super::ToolError;
use super::excerpt::{Excerpt, ExcerptError, Rest, Wanted};
use super::roots::{Place, PlaceError, Roots};
use super::seen::{Hashing, Lines, Version};
use super::stop::{StopOnDrop, Stoppable};
use crate::kept::Kept;
use crate::session::OpenSession;

/// A file that is taken as a whole may have so many bytes.
const LARGEST: u64 = 4 * 1024 * 1024;

/// So much of a file is looked at to see whether it is text.
const LOOKED_AT: u64 = 8 * 1024;

/// The files of a session.
pub(super) struct Files<'a> {
    turn: &'a Turn<OpenSession>,
    roots: Roots,
}

impl<'a> Files<'a> {
    pub(super) fn of(turn: &'a Turn<OpenSession>) -> Self {
        Self { turn, roots: turn.session().roots.as_of_now() }
    }

    /// The place that `path` names.
    pub(super) fn place(&self, path: &str) -> Result<Place, ToolError> {
        self.roots.place(path).map_err(ToolError::failed)
    }

    /// The folder that `path` names; without one, the session's own.
    pub(super) fn folder(&self, path: Option<&str>) -> Result<Place, ToolError> {
        self.place(path.unwrap_or("."))
    }

    /// Some lines of a file, which the model then knows.
    pub(super) async fn read(&self, place: &Place, wanted: Wanted) -> Result<Excerpt, ToolError> {
        let failed = |error| ToolError::Failed(format!("{}: {error}", place.shown()));
        let read = if let Some(text) = self.of_client(place).await? {
            excerpt_of(text.as_bytes(), wanted)
        } else {
            let (at, stop) = (place.clone(), StopOnDrop::default());
            let stopped = stop.flag();
            blocking(move || {
                let file = at.open_file()?;
                // What is too large to be written need not be known, and is not read to its end.
                let is_large = file.metadata().is_ok_and(|metadata| metadata.len() > LARGEST);
                let reader = Stoppable::new(file, stopped);
                Ok(if is_large {
                    Excerpt::of(BufReader::new(reader), wanted).map(|excerpt| (excerpt, None))
                } else {
                    excerpt_of(reader, wanted)
                })
            })
            .await?
        };
        let (excerpt, known) = read.map_err(failed)?;
        if let Some((version, lines)) = known
            && self.turn.session().seen.read(&place.real_path(), &version, lines)
        {
            self.keep_version(place, version).await?;
        }
        Ok(excerpt)
    }

    /// All of a file.
    pub(super) async fn read_whole(&self, place: &Place) -> Result<String, ToolError> {
        match self.of_client(place).await? {
            Some(text) => Ok(text),
            None => self.of_disk(place).await,
        }
    }

    /// What is to be replaced in a file that is written anew; nothing if it is not there. What could not be shown to people
    /// is not to be replaced.
    pub(super) async fn read_old(&self, place: &Place) -> Result<Option<String>, ToolError> {
        match on_disk(place).await? {
            OnDisk::Nothing => Ok(None),
            OnDisk::Text => self.read_whole(place).await.map(Some),
            OnDisk::NotText => Err(not_shown(place, "no text in UTF-8")),
            OnDisk::Large => Err(not_shown(place, "too large")),
        }
    }

    /// Whether the model knows another version of the file than `now`, the text that is in it.
    pub(super) fn is_stale(&self, place: &Place, now: &str) -> bool {
        self.turn.session().seen.is_stale(&place.real_path(), &Version::of(now))
    }

    /// Writes all of a file, in which `old` was. The model knows it then, if it knew that.
    pub(super) async fn write(&self, place: &Place, old: Option<&str>, text: &str) -> Result<(), ToolError> {
        self.write_text(place, text).await?;
        let (old, new) = (old.map(Version::of), Version::of(text));
        if self.turn.session().seen.wrote(&place.real_path(), old.as_ref(), &new) {
            self.keep_version(place, new).await?;
        }
        Ok(())
    }

    async fn write_text(&self, place: &Place, text: &str) -> Result<(), ToolError> {
        if self.turn.client().fs.write_text_file {
            // What can't be written here is not to be tried there.
            on_disk(place).await?;
            make_parents(place).await?;
            match self.turn.write_file(&place.path(), text).await {
                Err(error) if is_unknown(&error) => {}
                written => return written.map_err(|error| client_failed(place, error)),
            }
        }
        let (at, text) = (place.clone(), text.to_owned());
        blocking(move || at.replace_file(text.as_bytes())).await
    }

    /// Keeps in the record that the model knows `version`.
    async fn keep_version(&self, place: &Place, version: Version) -> Result<(), ToolError> {
        let path = place.real_path().display().to_string();
        Ok(Kept::Seen { path, version }.keep(self.turn).await?)
    }

    /// All of a file as the client has it; nothing if it does not offer that.
    async fn of_client(&self, place: &Place) -> Result<Option<String>, ToolError> {
        if !self.turn.client().fs.read_text_file {
            return Ok(None);
        }
        match on_disk(place).await? {
            OnDisk::Nothing | OnDisk::Text => {}
            // No line of the connection would hold it.
            OnDisk::Large => return Ok(None),
            OnDisk::NotText => return Err(not_text(place)),
        }
        // Not every client knows how to give a part.
        match self.turn.read_file(&place.path(), None, None).await {
            Ok(text) => Ok(Some(text)),
            Err(error) if is_unknown(&error) => Ok(None),
            Err(error) => Err(client_failed(place, error)),
        }
    }

    async fn of_disk(&self, place: &Place) -> Result<String, ToolError> {
        let at = place.clone();
        let read = blocking(move || {
            let mut bytes = Vec::new();
            Ok(at.open_file()?.take(LARGEST + 1).read_to_end(&mut bytes).map(|_| bytes))
        });
        let bytes = read.await?.map_err(|error| ToolError::Failed(format!("{}: {error}", place.shown())))?;
        if u64::try_from(bytes.len()).is_ok_and(|n_bytes| n_bytes > LARGEST) {
            let text = format!("{} has more than {LARGEST} bytes, which is too much to change at once", place.shown());
            return Err(ToolError::Failed(text));
        }
        String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(|| not_text(place))
    }
}

/// The wanted lines of all that `reader` gives, and what the model then knows of it.
fn excerpt_of(reader: impl Read, wanted: Wanted) -> Result<(Excerpt, Option<(Version, Lines)>), ExcerptError> {
    let mut reader = BufReader::new(Hashing::new(reader));
    let excerpt = Excerpt::of(&mut reader, wanted)?;
    let n_behind = io::copy(&mut reader, &mut io::sink())?;
    let first = wanted.first.get();
    let whole_lines = match excerpt.rest {
        Rest::CutLine(_) => excerpt.text.matches('\n').count(),
        Rest::Nothing | Rest::From(_) => excerpt.text.split_inclusive('\n').count(),
    };
    let end = first.saturating_add(u32::try_from(whole_lines).unwrap_or(u32::MAX));
    let lines = Lines { first, end, is_last: n_behind == 0 };
    Ok((excerpt, Some((reader.get_ref().version(), lines))))
}

/// What the disk has in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDisk {
    Nothing,
    Text,
    /// More than is taken as a whole.
    Large,
    NotText,
}

/// An error if a file can't be there.
async fn on_disk(place: &Place) -> Result<OnDisk, ToolError> {
    let at = place.clone();
    blocking(move || match at.open_file() {
        Ok(file) => {
            let is_large = file.metadata().is_ok_and(|metadata| metadata.len() > LARGEST);
            Ok(if !is_text(file) {
                OnDisk::NotText
            } else if is_large {
                OnDisk::Large
            } else {
                OnDisk::Text
            })
        }
        Err(PlaceError::Missing { .. }) => Ok(OnDisk::Nothing),
        Err(error) => Err(error),
    })
    .await
}

/// Makes the folders that a file is to be in: not every client does. Where not even the root is on this disk, it is all
/// the client's.
async fn make_parents(place: &Place) -> Result<(), ToolError> {
    let at = place.clone();
    blocking(move || match at.make_parents() {
        Err(PlaceError::Missing { .. }) => Ok(()),
        made => made,
    })
    .await
}

fn is_text(file: File) -> bool {
    let mut bytes = Vec::new();
    if file.take(LOOKED_AT).read_to_end(&mut bytes).is_err() || bytes.contains(&0) {
        return false;
    }
    // The last character may not be all there.
    std::str::from_utf8(&bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

fn not_text(place: &Place) -> ToolError {
    ToolError::Failed(format!("{}: it is not text in UTF-8", place.shown()))
}

/// Why a file is not replaced.
fn not_shown(place: &Place, what: &str) -> ToolError {
    let what = format!("{}: what is in it can't be shown, since it is {what}", place.shown());
    ToolError::Failed(format!("{what}; if it is to be replaced, remove it first"))
}

/// Whether the client does not know after all what it said it does.
pub(super) fn is_unknown(error: &AgentError) -> bool {
    matches!(error, AgentError::Client(error) if error.code() == RpcError::METHOD_NOT_FOUND)
}

fn client_failed(place: &Place, error: AgentError) -> ToolError {
    match error {
        AgentError::Client(_) | AgentError::Failed(_) => ToolError::Failed(format!("{}: {error}", place.shown())),
        error => ToolError::Turn(error),
    }
}

/// Does what may take the disk's time.
pub(super) async fn blocking<T: Send + 'static>(
    what: impl FnOnce() -> Result<T, PlaceError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(what).await.map_err(ToolError::failed)?.map_err(ToolError::failed)
}
