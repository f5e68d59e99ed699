//! `glob`: files by their names.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ToolCallLocation, ToolKind};
use serde::Deserialize;

use super::arguments::{read, spec, text};
use super::files::Files;
use super::roots::Place;
use super::shown::listing;
use super::walk::{Pattern, Walk};
use super::{Arguments, Effect, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::session::OpenSession;

const NAME: &str = "glob";

/// So many are named at most.
const MOST: usize = 500;

pub(super) struct Glob;

#[derive(Deserialize)]
struct Input {
    pattern: String,
    path: Option<String>,
}

#[async_trait]
impl Tool for Glob {
    fn spec(&self) -> ToolSpec {
        let description = "Finds files by a pattern such as src/**/*.rs or *.{md,txt}. One without a slash is about names in all \
                           folders. What .gitignore names is left out.";
        let properties = [
            ("pattern", text("The pattern, relative to `path`.")),
            ("path?", text("The folder to look in; without one, the session's own.")),
        ];
        spec(NAME, description, &properties)
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Search
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn plan(&self, arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let (place, input, _) = parse(arguments, turn)?;
        let title = match &input.path {
            Some(_) => format!("Find {} in {}", input.pattern, place.shown()),
            None => format!("Find {}", input.pattern),
        };
        Ok(Plan::new(title).at(vec![ToolCallLocation::new(place.path())]))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let (place, _, pattern) = parse(arguments, call.turn)?;
        let found = Walk::run(place, move |walk| {
            let matching = walk.files()?.filter(|(_, inside)| pattern.matches(inside)).map(|(place, _)| place);
            // A folder may have become a link while it was walked; what was found behind it is not named.
            Ok(matching.filter(Place::is_there).map(|place| place.shown()).collect::<Vec<_>>())
        });
        let found = found.await?;
        Ok(Output::fenced(if found.is_empty() {
            "No file matches. What .gitignore names was not looked at.".to_owned()
        } else {
            listing(&found, MOST, "{} more are not listed: narrow the pattern.")
        }))
    }
}

fn parse(arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<(Place, Input, Pattern), ToolError> {
    let input: Input = read(NAME, arguments)?;
    let place = Files::of(turn).folder(input.path.as_deref())?;
    let pattern = Pattern::parse(&input.pattern, &place)?;
    Ok((place, input, pattern))
}
