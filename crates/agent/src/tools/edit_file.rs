//! `edit_file`: replaces a text in a file by another.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ToolCallLocation, ToolKind};
use serde::Deserialize;

use super::arguments::{file, flag, read, spec, text};
use super::change::Change;
use super::edit::{Edited, Which, edit};
use super::files::Files;
use super::{Arguments, Effect, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::session::OpenSession;

const NAME: &str = "edit_file";

pub(super) struct EditFile;

#[derive(Deserialize)]
struct Input {
    path: String,
    old_text: String,
    new_text: String,
    replace_all: Option<bool>,
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        let description = "Replaces a text in a file by another. The old text must be in the file exactly once, blanks included; \
                           or set replace_all to replace it wherever it is. Line ends stay as they are.";
        let properties = [
            file(),
            ("old_text", text("What is to be replaced, as it is in the file.")),
            ("new_text", text("What is to be there instead.")),
            ("replace_all?", flag("Whether to replace it wherever it is.")),
        ];
        spec(NAME, description, &properties)
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn effect(&self) -> Effect {
        Effect::Writes
    }

    async fn plan(&self, arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let (change, first, _) = change(arguments, &Files::of(turn)).await?;
        let location = ToolCallLocation::new(change.place.path()).line(first);
        let plan = Plan::new(format!("Edit {}", change.place.shown()));
        Ok(plan.at(vec![location]).showing(vec![change.shown()]).asked_because(change.caution().await?))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let files = Files::of(call.turn);
        let (change, first, n_places) = change(arguments, &files).await?;
        change.make(&files, call).await?;
        let places = if n_places == 1 { "1 place".to_owned() } else { format!("{n_places} places") };
        Ok(Output::text(format!("Edited {places} in {}, from line {first} on.", change.place.shown())))
    }
}

/// The change, the first line of it, and in how many places it is.
async fn change(arguments: &Arguments, files: &Files<'_>) -> Result<(Change, u32, usize), ToolError> {
    let input: Input = read(NAME, arguments)?;
    let place = files.place(&input.path)?;
    let old = files.read_whole(&place).await?;
    let which = if input.replace_all == Some(true) { Which::All } else { Which::TheOnly };
    let Edited { text, n_places, line } = edit(&old, &input.old_text, &input.new_text, which)
        .map_err(|error| ToolError::Failed(format!("{}: {error}", place.shown())))?;
    Ok((Change { place, old: Some(old), new: text }, line, n_places))
}
