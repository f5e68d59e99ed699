//! The file to which a session is exported: whole, or as it was before.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// How many bytes are written at once.
const ROOM: usize = 256 * 1024;

/// A file that is being written. Until [`OutFile::finish`], what was there before is there.
pub(super) enum OutFile {
    /// One beside it, which takes its name at the end. It is gone if it comes to none.
    New { file: BufWriter<NamedTempFile>, path: PathBuf },
    /// A pipe or a device, whose name is not to be taken.
    Special(BufWriter<File>),
}

impl OutFile {
    /// Begins to write the file at `path`. If it is made, its owner alone can read it.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        match path.metadata() {
            Ok(there) if there.is_dir() => Err(ErrorKind::IsADirectory.into()),
            // A link stays one.
            Ok(there) if there.is_file() => Self::new(path.canonicalize()?),
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(path)?;
                Ok(Self::Special(BufWriter::with_capacity(ROOM, file)))
            }
            // A link to nowhere is no place for a file, and may be something else's.
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => Self::new(path.to_owned()),
            Err(error) => Err(error),
        }
    }

    fn new(path: PathBuf) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(io::Error::new(ErrorKind::NotFound, format!("there is no folder {}", folder.display())));
        }
        let file = BufWriter::with_capacity(ROOM, NamedTempFile::new_in(folder).map_err(plain)?);
        Ok(Self::New { file, path })
    }

    /// Everything is written: the file gets its name.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::New { file, path } => {
                let file = file.into_inner().map_err(|failed| plain(failed.into_error()))?;
                file.as_file().sync_all()?;
                file.persist(path)?;
                Ok(())
            }
            Self::Special(mut file) => file.flush(),
        }
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::New { file, .. } => file.write(bytes).map_err(plain),
            Self::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::New { file, .. } => file.flush().map_err(plain),
            Self::Special(file) => file.flush(),
        }
    }
}

/// `error` without the name of the file beside, which means nothing to anybody.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` calls it so")]
fn plain(error: io::Error) -> io::Error {
    error.kind().into()
}
