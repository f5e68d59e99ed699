//! `list_files`: what is in a folder.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ToolCallLocation, ToolKind};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use serde::Deserialize;

use super::arguments::{read, spec, text};
use super::files::{Files, blocking};
use super::roots::{Place, PlaceError};
use super::shown::listing;
use super::{Arguments, Effect, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::session::OpenSession;

const NAME: &str = "list_files";

/// So many are listed at most.
const MOST: usize = 1000;

pub(super) struct ListFiles;

#[derive(Deserialize)]
struct Input {
    path: Option<String>,
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        let description = "Lists what is in one folder, by name. Folders end with /, links with @. To find files in all folders \
                           below, use glob.";
        spec(NAME, description, &[("path?", text("The folder; without one, the session's own."))])
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn plan(&self, arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let place = place(arguments, turn)?;
        let location = ToolCallLocation::new(place.path());
        Ok(Plan::new(format!("List {}", place.shown())).at(vec![location]))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let place = place(arguments, call.turn)?;
        let names = blocking(move || names_in(&place)).await?;
        Ok(Output::fenced(if names.is_empty() {
            "The folder is empty.".to_owned()
        } else {
            listing(&names, MOST, "{} more are not listed.")
        }))
    }
}

fn place(arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Place, ToolError> {
    let input: Input = read(NAME, arguments)?;
    Files::of(turn).folder(input.path.as_deref())
}

fn names_in(place: &Place) -> Result<Vec<String>, PlaceError> {
    let failed = |error: rustix::io::Errno| PlaceError::Io { path: place.shown(), source: error.into() };
    let folder = place.open_folder()?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name.to_bytes() == b"." || name.to_bytes() == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Not every file system tells.
            FileType::Unknown => match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(status) => FileType::from_raw_mode(status.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        let mark = match kind {
            FileType::Directory => "/",
            FileType::Symlink => "@",
            _ => "",
        };
        names.push(format!("{}{mark}", name.to_string_lossy()));
    }
    names.sort_unstable();
    Ok(names)
}
