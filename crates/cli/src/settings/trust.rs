//! Which project files the user trusts: each by its path and the hash of its text, so that a changed file is not
//! trusted any more.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::file::{ConfigFile, not_toml, read_text};
use crate::error::Error;

/// Whether a project's file is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It is as it was when the user trusted it.
    Trusted,
    /// It was trusted, and has changed.
    Changed,
    /// It never was trusted.
    NotTrusted,
}

/// The files that the user trusts.
#[derive(Debug)]
pub(crate) struct TrustRecord {
    path: PathBuf,
    record: Record,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// The hash of each file's text, by the file's path.
    trusted: BTreeMap<String, String>,
}

impl TrustRecord {
    /// Reads the record at `path`; one that is not there is empty.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let record = match read_text(path)? {
            Some(text) => toml::from_str(&text).map_err(|error| not_toml(path, &text, &error))?,
            None => Record::default(),
        };
        Ok(Self { path: path.to_owned(), record })
    }

    /// Whether `file`, as it was read, is trusted.
    pub(crate) fn trust(&self, file: &ConfigFile) -> Trust {
        match self.record.trusted.get(&name(file)) {
            Some(hash) if *hash == file.hash.to_hex().as_str() => Trust::Trusted,
            Some(_) => Trust::Changed,
            None => Trust::NotTrusted,
        }
    }

    /// Trusts `file`, as it was read, from now on.
    pub(crate) fn add(&mut self, file: &ConfigFile) -> Result<(), Error> {
        self.record.trusted.insert(name(file), file.hash.to_hex().to_string());
        self.write().map_err(|source| Error::TrustRecord { path: self.path.clone(), source })
    }

    /// Replaces the whole file at once. A temporary file can be read by its owner alone.
    fn write(&self) -> io::Result<()> {
        let text = toml::to_string(&self.record).map_err(io::Error::other)?;
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// The path of `file` that no link changes.
fn name(file: &ConfigFile) -> String {
    file.path.canonicalize().unwrap_or_else(|_| file.path.clone()).to_string_lossy().into_owned()
}
