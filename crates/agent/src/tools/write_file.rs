//! `write_file`: makes a text file, or writes all of one anew.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ToolCallLocation, ToolKind};
use serde::Deserialize;

use super::arguments::{file, read, spec, text};
use super::change::Change;
use super::files::Files;
use super::line_ends::in_form_of;
use super::{Arguments, Effect, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::session::OpenSession;

const NAME: &str = "write_file";

pub(super) struct WriteFile;

#[derive(Deserialize)]
struct Input {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        let description = "Makes a text file with this content, or replaces all that is in it. Folders that are missing are \
                           made. A file keeps its line ends, and one that changed since it was read is left alone. To change a part of a file, use edit_file.";
        spec(NAME, description, &[file(), ("content", text("All that is to be in it."))])
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn effect(&self) -> Effect {
        Effect::Writes
    }

    async fn plan(&self, arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let change = change(arguments, &Files::of(turn)).await?;
        let plan = Plan::new(format!("Write {}", change.place.shown()));
        Ok(plan
            .at(vec![ToolCallLocation::new(change.place.path())])
            .showing(vec![change.shown()])
            .asked_because(change.caution().await?))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let files = Files::of(call.turn);
        let change = change(arguments, &files).await?;
        change.make(&files, call).await?;
        let lines = match change.new.lines().count() {
            1 => "1 line".to_owned(),
            count => format!("{count} lines"),
        };
        Ok(Output::text(format!("Wrote {lines} to {}.", change.place.shown())))
    }
}

async fn change(arguments: &Arguments, files: &Files<'_>) -> Result<Change, ToolError> {
    let input: Input = read(NAME, arguments)?;
    let place = files.place(&input.path)?;
    let old = files.read_old(&place).await?;
    let new = match &old {
        Some(old) if files.is_stale(&place, old) => {
            let text =
                format!("{} was changed since you last read it, so it was left alone; read it again", place.shown());
            return Err(ToolError::Failed(text));
        }
        Some(old) => in_form_of(old, &input.content).into_owned(),
        None => input.content,
    };
    Ok(Change { place, old, new })
}
