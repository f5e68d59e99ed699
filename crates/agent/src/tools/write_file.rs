//! `write_file`: makes a text file, or writes all of one anew.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ToolCallContent, ToolCallLocation, ToolKind};
use serde::Deserialize;

use super::arguments::{read, spec, text};
use super::files::{Files, diff};
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
                           made. To change a part of a file, use edit_file.";
        let properties = [
            ("path", text("The file, relative to the session's folder or absolute.")),
            ("content", text("All that is to be in it.")),
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
        let files = Files::of(turn);
        let place = files.place(&input.path)?;
        let old = files.read_old(&place).await?;
        let diff = diff(&place, old.as_deref(), &input.content);
        let plan = Plan::new(format!("Write {}", place.shown()));
        Ok(plan.at(vec![ToolCallLocation::new(place.path())]).showing(vec![diff.into()]))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let input: Input = read(NAME, arguments)?;
        let files = Files::of(call.turn);
        let place = files.place(&input.path)?;
        let old = files.read_old(&place).await?;
        let diff = ToolCallContent::from(diff(&place, old.as_deref(), &input.content));
        if !call.planned.contains(&diff) {
            let text = format!("{} was changed meanwhile, so it was not written; look at it again", place.shown());
            return Err(ToolError::Failed(text));
        }
        files.write(&place, &input.content).await?;
        let n_lines = input.content.lines().count();
        Ok(Output::text(format!("Wrote {n_lines} lines to {}.", place.shown())))
    }
}
