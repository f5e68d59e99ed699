//! What we compare with: JSON Lines, a file for each session and a line for each entry.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use rejoin_transcript::Step;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::Result;

/// Files that are appended to.
pub(crate) struct JsonlFiles {
    folder: PathBuf,
    files: Vec<JsonlFile>,
}

struct JsonlFile {
    writer: BufWriter<File>,
    lines: u32,
    is_dirty: bool,
}

impl JsonlFiles {
    /// Makes `count` files in the new folder `folder`.
    pub(crate) fn create(folder: PathBuf, count: u32) -> Result<Self> {
        fs::create_dir(&folder)?;
        let create = |number| -> Result<JsonlFile> {
            let writer = BufWriter::new(File::create(file_path(&folder, number))?);
            Ok(JsonlFile { writer, lines: 0, is_dirty: false })
        };
        let files = (0..count as usize).map(create).collect::<Result<_>>()?;
        Ok(Self { folder, files })
    }

    /// Where file `number` is.
    pub(crate) fn path(&self, number: usize) -> PathBuf {
        file_path(&self.folder, number)
    }

    /// Appends `step` as a line of file `number`.
    pub(crate) fn append(&mut self, number: usize, step: &Step) -> Result<()> {
        let file = &mut self.files[number];
        file.lines += 1;
        file.is_dirty = true;
        // The body is JSON already, so the line is put together by hand: nothing can be faster.
        writeln!(
            file.writer,
            r#"{{"number":{},"at":{},"turn":{},"kind":"{}","body":{}}}"#,
            file.lines,
            step.at.as_millis(),
            step.turn.code(),
            step.kind.name(),
            step.body
        )?;
        Ok(())
    }

    /// Makes everything that was appended survive the loss of power.
    pub(crate) fn sync(&mut self) -> Result<()> {
        for file in self.files.iter_mut().filter(|file| file.is_dirty) {
            file.writer.flush()?;
            file.writer.get_ref().sync_data()?;
            file.is_dirty = false;
        }
        Ok(())
    }
}

fn file_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.jsonl"))
}

/// A line whose body is left as text.
#[derive(Deserialize)]
#[expect(dead_code, reason = "what counts is that it was read")]
pub(crate) struct Line {
    number: u32,
    at: i64,
    turn: i64,
    kind: Box<str>,
    body: Box<RawValue>,
}

/// Reads each line of a file as a `T`, and says how many there are.
pub(crate) fn count_lines<T: DeserializeOwned>(path: &Path) -> Result<u32> {
    let mut file = BufReader::new(File::open(path)?);
    let (mut line, mut count) = (String::new(), 0);
    while file.read_line(&mut line)? > 0 {
        std::hint::black_box(serde_json::from_str::<T>(&line)?);
        line.clear();
        count += 1;
    }
    Ok(count)
}
