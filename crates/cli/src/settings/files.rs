//! The files of settings that are in use, and whether the project's is trusted.

use std::path::{Path, PathBuf};

use super::file::ConfigFile;
use super::folders::Folders;
use super::project::{self, PROJECT_FILE};
use super::source::Role;
use super::trust::{Trust, TrustRecord};
use super::warning::Warning;
use crate::error::Error;

/// The files of settings.
#[derive(Debug)]
pub(crate) struct Files {
    /// The project's: the one that was found, or where it would be looked for first.
    pub(crate) project: Option<PathBuf>,
    /// Whether the project's is trusted; `None`, if there is none.
    pub(crate) trust: Option<Trust>,
    /// The user's, or the one that was named instead.
    pub(crate) user: Option<PathBuf>,
    /// The list of project files that are trusted.
    pub(crate) trust_record: Option<PathBuf>,
}

/// What was read from the files.
pub(super) struct Contents {
    /// The strongest first; without what only a trusted file may set, where it is not trusted.
    pub(super) files: Vec<ConfigFile>,
    pub(super) warnings: Vec<Warning>,
}

impl Files {
    /// Finds and reads the files for a program that runs in `cwd`. The file `named` replaces the user's, and must be
    /// there.
    pub(super) fn read(named: Option<&Path>, folders: &Folders, cwd: Option<&Path>) -> Result<(Self, Contents), Error> {
        let mut files = Self {
            project: cwd.map(|cwd| project::find(cwd).unwrap_or_else(|| cwd.join(PROJECT_FILE))),
            trust: None,
            user: match named {
                Some(path) => Some(std::path::absolute(path).map_err(Error::NoCurrentFolder)?),
                None => folders.config.as_ref().map(|folder| folder.join("config.toml")),
            },
            trust_record: folders.state.as_ref().map(|folder| folder.join("trusted.toml")),
        };
        let (mut contents, mut warnings) = (Vec::new(), Vec::new());
        // A folder of that name is not the project's file.
        if let Some(mut project) = read(Role::Project, files.project.as_deref().filter(|path| path.is_file()))? {
            let trust = files.trust_record()?.map_or(Trust::NotTrusted, |record| record.trust(&project));
            files.trust = Some(trust);
            if trust != Trust::Trusted {
                warnings.extend(not_trusted(&project, trust == Trust::Changed));
                project.forget_needing_trust();
            }
            contents.push(project);
        }
        match read(Role::User, files.user.as_deref())? {
            Some(user) => contents.push(user),
            None if named.is_some() => return Err(Error::NoConfigFile { path: files.user.unwrap_or_default() }),
            None => {}
        }
        warnings.extend(contents.iter().flat_map(ConfigFile::unknown));
        Ok((files, Contents { files: contents, warnings }))
    }

    /// The list of project files that are trusted; `None`, if there is no place for it.
    pub(crate) fn trust_record(&self) -> Result<Option<TrustRecord>, Error> {
        self.trust_record.as_deref().map(TrustRecord::read).transpose()
    }
}

fn read(role: Role, path: Option<&Path>) -> Result<Option<ConfigFile>, Error> {
    path.map_or(Ok(None), |path| ConfigFile::read(role, path))
}

fn not_trusted(project: &ConfigFile, has_changed: bool) -> Option<Warning> {
    let keys = project.needing_trust();
    (!keys.is_empty()).then(|| Warning::NotTrusted { file: project.path.clone(), keys, has_changed })
}
