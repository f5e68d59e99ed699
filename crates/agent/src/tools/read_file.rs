//! `read_file`: some or all lines of a text file.

use std::num::NonZeroU32;

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ToolCallLocation, ToolKind};
use serde::Deserialize;

use super::arguments::{file, number, read, spec};
use super::excerpt::Wanted;
use super::files::Files;
use super::{Arguments, Effect, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::session::OpenSession;

const NAME: &str = "read_file";

pub(super) struct ReadFile;

#[derive(Deserialize)]
struct Input {
    path: String,
    line: Option<NonZeroU32>,
    limit: Option<NonZeroU32>,
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        let description = "Reads a text file, unsaved changes included. Of a long one, the first 2000 lines; then it says how \
                           to read on.";
        let properties = [
            file(),
            ("line?", number("The first line to read, counted from 1.")),
            ("limit?", number("How many lines to read at most.")),
        ];
        spec(NAME, description, &properties)
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn plan(&self, arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let input: Input = read(NAME, arguments)?;
        let place = Files::of(turn).place(&input.path)?;
        let title = match input.line {
            Some(line) => format!("Read {} from line {line}", place.shown()),
            None => format!("Read {}", place.shown()),
        };
        let location = ToolCallLocation::new(place.path()).line(input.line.map(NonZeroU32::get));
        Ok(Plan::new(title).at(vec![location]))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let input: Input = read(NAME, arguments)?;
        let files = Files::of(call.turn);
        let wanted = Wanted { first: input.line.unwrap_or(NonZeroU32::MIN), limit: input.limit };
        let excerpt = files.read(&files.place(&input.path)?, wanted).await?;
        Ok(Output::fenced(excerpt.told()))
    }
}
