//! `search`: lines of files that match a regular expression.

use std::path::Path;

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use rejoin::Turn;
use rejoin::schema::{ToolCallLocation, ToolCallUpdateFields, ToolKind};
use serde::Deserialize;

use super::arguments::{read, spec, text};
use super::files::Files;
use super::roots::{Place, PlaceError};
use super::shown::{listing, short};
use super::stop::Stoppable;
use super::walk::{Pattern, Walk};
use super::{Arguments, Effect, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::session::OpenSession;
use crate::shorten::beginning;

const NAME: &str = "search";

/// So many lines are shown at most, and so many bytes of each.
const MOST_LINES: usize = 200;
const LONGEST_LINE: usize = 400;

/// A file with a longer line is not searched beyond it: all of a line is held in memory.
const LONGEST_SEARCHED: usize = 16 * 1024 * 1024;

/// So many places are told to those who follow along.
const MOST_LOCATIONS: usize = 20;

pub(super) struct Search;

#[derive(Deserialize)]
struct Input {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
}

/// What is looked for, and where.
struct Wanted {
    place: Place,
    regex: RegexMatcher,
    files: Option<Pattern>,
}

#[async_trait]
impl Tool for Search {
    fn spec(&self) -> ToolSpec {
        let description = "Searches the lines of files for a regular expression, as ripgrep does; (?i) in front ignores case. \
                           What .gitignore names, and what is no text, is left out. Unsaved changes are not seen.";
        let properties = [
            ("pattern", text("The regular expression.")),
            ("path?", text("The folder or file to search; without one, the session's folder.")),
            ("glob?", text("Which files to search, such as *.rs or src/**/*.ts.")),
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
        let input: Input = read(NAME, arguments)?;
        let wanted = Wanted::of(&input, turn)?;
        let pattern = short(&input.pattern);
        let title = match (&input.glob, input.path.is_some()) {
            (None, false) => format!("Search for {pattern}"),
            (None, true) => format!("Search for {pattern} in {}", wanted.place.shown()),
            (Some(glob), false) => format!("Search for {pattern} in {glob}"),
            (Some(glob), true) => format!("Search for {pattern} in {glob} in {}", wanted.place.shown()),
        };
        Ok(Plan::new(title).at(vec![ToolCallLocation::new(wanted.place.path())]))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let wanted = Wanted::of(&read(NAME, arguments)?, call.turn)?;
        let found = Walk::run(wanted.place.clone(), move |walk| wanted.find(walk)).await?;
        if !found.is_empty() {
            // A name that is no text can't be told.
            let locations = found.iter().filter(|found| found.place.path().to_str().is_some());
            let location = |found: &Found| ToolCallLocation::new(found.place.path()).line(found.line);
            let locations = locations.take(MOST_LOCATIONS).map(location).collect::<Vec<_>>();
            call.show(ToolCallUpdateFields::new().locations(locations)).await?;
        }
        Ok(Output::fenced(told(&found)))
    }
}

/// A line that matches.
#[derive(Debug, Clone)]
struct Found {
    place: Place,
    line: u32,
    text: String,
}

impl Wanted {
    fn of(input: &Input, turn: &Turn<OpenSession>) -> Result<Self, ToolError> {
        let place = Files::of(turn).folder(input.path.as_deref())?;
        let files = input.glob.as_deref().map(|glob| Pattern::parse(glob, &place)).transpose()?;
        Ok(Self { place, regex: regex(&input.pattern)?, files })
    }

    /// The lines that match, and one more than are shown if there are more.
    fn find(&self, walk: Walk) -> Result<Vec<Found>, PlaceError> {
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .heap_limit(Some(LONGEST_SEARCHED))
            .build();
        let (mut found, stopped) = (Vec::new(), walk.stopped());
        let is_meant = |inside: &Path| self.files.as_ref().is_none_or(|files| files.matches(inside));
        for (place, _) in walk.files()?.filter(|(_, inside)| inside.as_os_str().is_empty() || is_meant(inside)) {
            // One that can't be opened, or is a link, has nothing to find.
            let Ok(file) = place.open_file() else { continue };
            let sink = Lossy(|line, text| {
                let line = u32::try_from(line).unwrap_or(u32::MAX);
                found.push(Found { place: place.clone(), line, text: cut(text.trim_end_matches(['\r', '\n'])) });
                Ok(found.len() <= MOST_LINES)
            });
            if let Err(error) = searcher.search_reader(&self.regex, Stoppable::new(file, stopped.clone()), sink) {
                tracing::debug!(%error, path = %place.shown(), "a file could not be searched");
            }
            if found.len() > MOST_LINES {
                break;
            }
        }
        Ok(found)
    }
}

fn regex(pattern: &str) -> Result<RegexMatcher, ToolError> {
    let regex = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(pattern);
    regex.map_err(|error| ToolError::Failed(format!("the pattern {pattern:?}: {error}")))
}

fn cut(text: &str) -> String {
    let kept = beginning(text, LONGEST_LINE);
    if kept.len() == text.len() { kept.to_owned() } else { format!("{kept}…") }
}

/// What the model gets.
fn told(found: &[Found]) -> String {
    if found.is_empty() {
        return "Nothing matches. What .gitignore names was not searched.".to_owned();
    }
    let line = |found: &Found| format!("{}:{}:{}", found.place.shown(), found.line, found.text);
    let lines: Vec<String> = found.iter().map(line).collect();
    listing(&lines, MOST_LINES, "There is more: narrow the pattern, or give a path or glob.")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::tools::roots::Roots;

    /// What a search says in a folder with these files.
    async fn search(files: &[(&str, &[u8])], pattern: &str, path: &str, glob: Option<&str>) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let place = Roots::new(folder.path(), &[], &Arc::default()).place(path).unwrap();
        let files = glob.map(|glob| Pattern::parse(glob, &place).unwrap());
        let wanted = Wanted { place: place.clone(), regex: regex(pattern).unwrap(), files };
        told(&Walk::run(place, move |walk| wanted.find(walk)).await.unwrap())
    }

    #[tokio::test]
    async fn lines_are_found_with_path_and_number() {
        let files: &[(&str, &[u8])] = &[
            ("a.rs", b"fn one()\r\nfn two()\n"),
            ("src/b.rs", b"\n\nfn Three()"),
            ("src/c.txt", b"fn four"),
            ("made.rs", b"fn made"),
            (".gitignore", b"made.rs\n"),
            ("blob.rs", b"fn\0binary"),
            ("latin.rs", b"fn caf\xe9\n"),
        ];
        for (pattern, path, glob, expected) in [
            ("fn t", ".", None, "a.rs:2:fn two()\n"),
            ("(?i)fn t", ".", None, "a.rs:2:fn two()\nsrc/b.rs:3:fn Three()\n"),
            (r"^fn T\w+\(\)$", ".", None, "src/b.rs:3:fn Three()\n"),
            ("fn", "src", None, "src/b.rs:3:fn Three()\nsrc/c.txt:1:fn four\n"),
            ("fn", ".", Some("*.txt"), "src/c.txt:1:fn four\n"),
            ("fn", "src/c.txt", None, "src/c.txt:1:fn four\n"),
            ("fn", "made.rs", None, "made.rs:1:fn made\n"),
            ("caf", ".", None, "latin.rs:1:fn caf\u{fffd}\n"),
            ("binary|fn made", ".", None, "Nothing matches. What .gitignore names was not searched."),
        ] {
            assert_eq!(search(files, pattern, path, glob).await, expected, "{pattern} in {path} {glob:?}");
        }
    }

    #[tokio::test]
    async fn what_is_too_much_is_cut_and_said() {
        let many = "x\n".repeat(500);
        let text = search(&[("a", many.as_bytes()), ("b", b"x\n")], "x", ".", None).await;
        assert_eq!(text.lines().count(), MOST_LINES + 1);
        assert!(text.ends_with("[There is more: narrow the pattern, or give a path or glob.]"), "{text}");
        let wide = "ä".repeat(1000);
        let text = search(&[("a", wide.as_bytes())], "ä", ".", None).await;
        assert_eq!(text, format!("a:1:{}…\n", "ä".repeat(LONGEST_LINE / 2)));
    }

    #[test]
    fn a_pattern_that_is_wrong_is_named() {
        let ToolError::Failed(text) = regex("a(").unwrap_err() else { panic!() };
        assert!(text.starts_with("the pattern \"a(\": "), "{text}");
    }
}
