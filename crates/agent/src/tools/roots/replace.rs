//! Replaces a whole file, or leaves it as it was.
//!
//! The new text goes to a temporary file in the same folder, through the same handle. It takes the old file's name only
//! once it is on the disk, so a full disk, a limit or a crash leaves the old file whole. Mode, owner, access lists and
//! other extended attributes are copied.
//!
//! A file that a new one can't stand in for is written in place: one with hard links, one whose owner or attributes
//! can't be copied, one in a folder that can't be written, and a mount. Room is reserved first, and a failed write is
//! undone; only a crash at that moment can leave such a file torn.

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr,
    fremovexattr, fsetxattr, fstat, fsync, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::{FILE, Missing, Place, PlaceError};

/// The longest list of attribute names, and the longest attribute, that Linux has.
const LONGEST_ATTRIBUTE: usize = 64 * 1024;

impl Place {
    /// Replaces all that is in the file by `bytes`; makes it and its folders if they are not there.
    ///
    /// On an error the file is as it was, except for [`PlaceError::Torn`].
    pub(crate) fn replace_file(&self, bytes: &[u8]) -> Result<(), PlaceError> {
        let Some((folder, name)) = self.parent(Missing::IsMade)? else {
            return Err(PlaceError::IsFolder { path: self.shown() });
        };
        let failed = |source: io::Error| PlaceError::Io { path: self.shown(), source };
        // A file that may not be written is not to be replaced either, though its folder would allow it.
        let old = match openat(&folder, name, FILE | OFlags::RDWR, Mode::empty()) {
            Err(Errno::NOENT) => return make(&folder, name, bytes).map_err(failed),
            opened => self.regular(opened)?,
        };
        match replace(&folder, name, &old, bytes).map_err(failed)? {
            Replaced::Whole => Ok(()),
            Replaced::NeedsPlace => overwrite(&old, bytes).map_err(|error| match error {
                OverwriteError::Undone(source) => failed(source),
                OverwriteError::Torn(source) => PlaceError::Torn { path: self.shown(), source },
            }),
        }
    }
}

/// Makes the file `name`, which must not be there.
fn make(folder: &OwnedFd, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
    // As for every new file, the umask takes away from this.
    let mut new = Temporary::new(folder, Mode::from_raw_mode(0o666))?;
    new.fill(bytes)?;
    match renameat_with(folder, &*new.name, folder, name, RenameFlags::NOREPLACE) {
        // Not every file system knows how to.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => renameat(folder, &*new.name, folder, name)?,
        renamed => renamed?,
    }
    new.has_moved();
    Ok(())
}

enum Replaced {
    Whole,
    /// Nothing has happened: it must be written in place.
    NeedsPlace,
}

/// Puts a new file in the place of `old`, which is `name`.
fn replace(folder: &OwnedFd, name: &OsStr, old: &File, bytes: &[u8]) -> io::Result<Replaced> {
    let status = fstat(old)?;
    if status.st_nlink > 1 {
        return Ok(Replaced::NeedsPlace);
    }
    let Ok(mut new) = Temporary::like(folder, old, &status) else { return Ok(Replaced::NeedsPlace) };
    new.fill(bytes)?;
    match renameat(folder, &*new.name, folder, name) {
        Ok(()) => {
            new.has_moved();
            Ok(Replaced::Whole)
        }
        // A mount, or a folder whose files only their owner may rename.
        Err(Errno::BUSY | Errno::PERM | Errno::ACCESS | Errno::XDEV) => Ok(Replaced::NeedsPlace),
        Err(error) => Err(error.into()),
    }
}

/// A file without a name of its own yet. It is removed unless it was renamed.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
    is_moved: bool,
}

impl<'a> Temporary<'a> {
    fn new(folder: &'a OwnedFd, mode: Mode) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let name = format!(".rejoin-{:016x}.tmp", RandomState::new().build_hasher().finish());
            match openat(folder, &*name, flags, mode) {
                Err(Errno::EXIST) => {}
                opened => return Ok(Self { folder, name, file: File::from(opened?), is_moved: false }),
            }
        }
    }

    /// One with the owner, mode and attributes of `old`, whose status is `status`.
    fn like(folder: &'a OwnedFd, old: &File, status: &Stat) -> Result<Self, Errno> {
        let new = Self::new(folder, Mode::RUSR | Mode::WUSR)?;
        let own = fstat(&new.file)?;
        if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid) {
            fchown(&new.file, Some(Uid::from_raw(status.st_uid)), Some(Gid::from_raw(status.st_gid)))?;
        }
        fchmod(&new.file, Mode::from_raw_mode(status.st_mode))?;
        copy_attributes(old, &new.file)?;
        Ok(new)
    }

    fn fill(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_all()
    }

    fn has_moved(&mut self) {
        self.is_moved = true;
        // The file is there in any case; a folder that can't be flushed only may lose it with the power.
        if let Err(error) = fsync(self.folder) {
            tracing::debug!(%error, "a folder could not be flushed");
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_moved
            && let Err(error) = unlinkat(self.folder, &*self.name, AtFlags::empty())
        {
            tracing::warn!(%error, name = self.name, "a temporary file could not be removed");
        }
    }
}

/// Gives `new` the attributes that `old` has, and no others: a folder may hand down an access list.
fn copy_attributes(old: &File, new: &File) -> Result<(), Errno> {
    let (wanted, found) = (attributes(old)?, attributes(new)?);
    let mut value = vec![0; LONGEST_ATTRIBUTE];
    for name in &wanted {
        let length = fgetxattr(old, name, &mut value[..])?;
        fsetxattr(new, name, &value[..length], XattrFlags::empty())?;
    }
    for name in found.iter().filter(|name| !wanted.contains(name)) {
        fremovexattr(new, name)?;
    }
    Ok(())
}

fn attributes(file: &File) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = vec![0; LONGEST_ATTRIBUTE];
    let length = match flistxattr(file, &mut names[..]) {
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        listed => listed?,
    };
    Ok(names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

enum OverwriteError {
    /// The file is as it was.
    Undone(io::Error),
    /// The file is neither as it was nor as it was to be.
    Torn(io::Error),
}

/// Writes `bytes` into `file` in place of all that is in it.
fn overwrite(mut file: &File, bytes: &[u8]) -> Result<(), OverwriteError> {
    let mut before = Vec::new();
    file.read_to_end(&mut before).map_err(OverwriteError::Undone)?;
    reserve(file, bytes.len()).map_err(OverwriteError::Undone)?;
    let mut n_written = 0;
    let written = write_from_start(file, bytes, &mut n_written)
        .and_then(|()| file.set_len(length(bytes)))
        .and_then(|()| file.sync_all());
    written.map_err(|error| {
        let n_lost = n_written.min(before.len());
        let undone = write_from_start(file, &before[..n_lost], &mut 0).and_then(|()| {
            if file.metadata()?.len() == length(&before) { Ok(()) } else { file.set_len(length(&before)) }
        });
        match undone {
            Ok(()) => OverwriteError::Undone(error),
            Err(_) => OverwriteError::Torn(error),
        }
    })
}

/// Reserves room for so many bytes in `file`, where the file system can do that.
#[cfg(target_os = "linux")]
fn reserve(file: &File, n_bytes: usize) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};

    if n_bytes == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, u64::try_from(n_bytes).unwrap_or(u64::MAX)) {
        Err(Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        reserved => Ok(reserved?),
    }
}

/// Other systems can't reserve room without making the file longer.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "it may fail elsewhere")]
fn reserve(_: &File, _: usize) -> io::Result<()> {
    Ok(())
}

/// Writes `bytes` from the beginning of `file` on, and counts in `n_written` how far it came.
fn write_from_start(file: &File, bytes: &[u8], n_written: &mut usize) -> io::Result<()> {
    while *n_written < bytes.len() {
        match file.write_at(&bytes[*n_written..], u64::try_from(*n_written).unwrap_or(u64::MAX)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n_bytes) => *n_written += n_bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;
    use std::process::Command;
    use std::sync::Arc;

    use super::*;
    use crate::tools::roots::Roots;

    fn replace(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), PlaceError> {
        Roots::new(folder, &[], &Arc::default()).place(name).unwrap().replace_file(bytes)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the test `name` again, in a process that may not write files of more than a few KiB, with the variable
    /// `FOLDER`.
    fn run_with_a_limit(name: &str, folder: &Path) {
        // Without the trap the signal would end the process before the error is seen.
        let script = r#"trap '' XFSZ && ulimit -f 8 && exec "$0" --exact "$1" --nocapture"#;
        let test = format!("{}::{name}", module_path!().split_once("::").unwrap().1);
        let program = std::env::current_exe().unwrap();
        let ran = Command::new("/bin/sh").args(["-c", script]).arg(program).arg(test).env(FOLDER, folder).output();
        let ran = ran.unwrap();
        let shown = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && shown.contains("1 passed"), "{shown}{}", String::from_utf8_lossy(&ran.stderr));
    }

    const FOLDER: &str = "REJOIN_TEST_FOLDER";

    #[test]
    fn a_failed_write_leaves_the_file_as_it_was() {
        const NAME: &str = "a_failed_write_leaves_the_file_as_it_was";
        let before = "what was there ".repeat(100);
        if let Some(folder) = std::env::var_os(FOLDER) {
            let folder = Path::new(&folder);
            for name in ["alone.txt", "linked.txt", "new.txt"] {
                let error = replace(folder, name, &vec![b'x'; 256 << 10]).unwrap_err();
                assert!(matches!(error, PlaceError::Io { .. }), "{name}: {error:?}");
            }
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["alone.txt", "linked.txt"] {
            fs::write(at(name), &before).unwrap();
        }
        fs::hard_link(at("linked.txt"), at("other.txt")).unwrap();

        run_with_a_limit(NAME, folder.path());

        let texts = ["alone.txt", "linked.txt", "other.txt"].map(|name| fs::read_to_string(at(name)).unwrap());
        assert_eq!(texts, [before.clone(), before.clone(), before]);
        assert_eq!(names(folder.path()), ["alone.txt", "linked.txt", "other.txt"]);
    }

    #[test]
    fn mode_and_attributes_go_over_to_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let file = File::open(&path).unwrap();
        let has_attributes = fsetxattr(&file, "user.note", b"kept", XattrFlags::empty()).is_ok();
        let old = fs::metadata(&path).unwrap();

        replace(folder.path(), "a.sh", b"new").unwrap();

        let new = fs::metadata(&path).unwrap();
        assert_ne!(new.ino(), old.ino());
        assert_eq!((new.mode(), new.uid(), new.gid()), (old.mode(), old.uid(), old.gid()));
        let mut value = [0; 16];
        let n_bytes = fgetxattr(File::open(&path).unwrap(), "user.note", &mut value[..]).unwrap_or_default();
        assert_eq!(&value[..n_bytes], if has_attributes { b"kept".as_slice() } else { b"" });
    }

    #[test]
    fn a_file_with_hard_links_keeps_them() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for (before, after) in [("old", "new and longer"), ("old and longer", "new")] {
            fs::write(&one, before).unwrap();
            let _ = fs::hard_link(&one, &two);
            replace(folder.path(), "one", after.as_bytes()).unwrap();
            assert_eq!((fs::metadata(&one).unwrap().ino(), fs::read_to_string(&two).unwrap()), {
                (fs::metadata(&two).unwrap().ino(), after.to_owned())
            });
        }
    }

    #[test]
    fn a_file_in_a_folder_that_can_not_be_written_is_replaced_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "old").unwrap();
        let set_mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        set_mode(0o555);
        let replaced = replace(folder.path(), "a.txt", b"new");
        set_mode(0o755);
        replaced.unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "new");
    }

    #[test]
    fn a_new_file_has_the_mode_that_every_new_file_has() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("usual"), "").unwrap();
        replace(folder.path(), "ours", b"x").unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode();
        assert_eq!(mode("ours"), mode("usual"));
        assert_eq!(names(folder.path()), ["ours", "usual"]);
    }
}
