//! `edit_file`: replaces a text in a file by another.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ToolCallContent, ToolCallLocation, ToolKind};
use serde::Deserialize;

use super::arguments::{flag, read, spec, text};
use super::edit::{Edited, Which, edit};
use super::files::{Files, diff};
use super::roots::Place;
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
        let description = "Replaces a text in a file by another. The old text must be in the file exactly once, blanks and line \
                           ends included; or set replace_all to replace it wherever it is.";
        let properties = [
            ("path", text("The file, relative to the session's folder or absolute.")),
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
        let input: Input = read(NAME, arguments)?;
        let change = Change::of(&Files::of(turn), &input).await?;
        let location = ToolCallLocation::new(change.place.path()).line(change.edited.line);
        let plan = Plan::new(format!("Edit {}", change.place.shown()));
        Ok(plan.at(vec![location]).showing(vec![change.shown()]))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let input: Input = read(NAME, arguments)?;
        let files = Files::of(call.turn);
        let change = Change::of(&files, &input).await?;
        if !call.planned.contains(&change.shown()) {
            let text = format!("{} was changed meanwhile, so it was not edited; read it again", change.place.shown());
            return Err(ToolError::Failed(text));
        }
        files.write(&change.place, &change.edited.text).await?;
        let (n_places, line) = (change.edited.n_places, change.edited.line);
        let places = if n_places == 1 { "1 place".to_owned() } else { format!("{n_places} places") };
        Ok(Output::text(format!("Edited {places} in {}, from line {line} on.", change.place.shown())))
    }
}

/// What an edit changes, as the file is now.
struct Change {
    place: Place,
    old: String,
    edited: Edited,
}

impl Change {
    async fn of(files: &Files<'_>, input: &Input) -> Result<Self, ToolError> {
        let place = files.place(&input.path)?;
        let old = files.read_whole(&place).await?;
        let which = if input.replace_all == Some(true) { Which::All } else { Which::TheOnly };
        let edited = edit(&old, &input.old_text, &input.new_text, which)
            .map_err(|error| ToolError::Failed(format!("{}: {error}", place.shown())))?;
        Ok(Self { place, old, edited })
    }

    fn shown(&self) -> ToolCallContent {
        diff(&self.place, Some(&self.old), &self.edited.text).into()
    }
}
