//! What is inside, what is outside, and what is neither, with real links.

use std::io::Read;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::*;

/// A folder with a project, a library beside it, a secret beside both, and links in all directions.
struct Disk {
    _folder: TempDir,
    base: PathBuf,
    roots: Roots,
}

fn disk() -> Disk {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let at = |name: &str| base.join(name);
    for name in ["project/src", "lib", "outside/deep"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    for (name, text) in [("project/a.txt", "in"), ("lib/b.txt", "lib"), ("outside/secret.txt", "secret")] {
        fs::write(at(name), text).unwrap();
    }
    let link = |target: &str, name: &str| symlink(target.replace('~', &base.display().to_string()), at(name)).unwrap();
    link("../outside/secret.txt", "project/out-file");
    link("~/outside", "project/out-folder");
    link("out-folder", "project/out-twice");
    link("../nowhere", "project/dangling");
    link("~/outside/new.txt", "project/dangling-out");
    link("loop", "project/loop");
    link("a.txt", "project/in-file");
    link("~/project/src", "project/in-folder");
    link("~/lib/b.txt", "project/to-lib");
    link("~/project", "alias");
    let roots = Roots::new(&at("project"), &[at("lib")], &Arc::default());
    Disk { _folder: folder, base, roots }
}

impl Disk {
    fn place(&self, path: &str) -> Result<Place, PlaceError> {
        self.roots.place(&path.replace('~', &self.base.display().to_string()))
    }

    fn read(&self, path: &str) -> Result<String, PlaceError> {
        let mut text = String::new();
        self.place(path)?.open_file()?.read_to_string(&mut text).unwrap();
        Ok(text)
    }

    fn write(&self, path: &str) -> Result<(), PlaceError> {
        self.place(path)?.replace_file(b"new")
    }

    /// All that is outside, and what it holds.
    fn outside(&self) -> Vec<String> {
        let entries = fs::read_dir(self.base.join("outside")).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<String> =
            entries.map(|path| format!("{}: {:?}", path.display(), fs::read_to_string(&path).ok())).collect();
        all.sort();
        all
    }
}

#[test]
fn what_is_inside_is_read_by_whatever_name() {
    let disk = disk();
    for path in [
        "a.txt",
        "./src/../a.txt",
        "~/project/a.txt",
        "~/alias/a.txt",
        "in-file",
        "out-folder/../a.txt",
        "file://~/project/a.txt",
    ] {
        assert_eq!(disk.read(path).unwrap(), "in", "{path}");
    }
    for path in ["~/lib/b.txt", "../lib/b.txt", "to-lib"] {
        assert_eq!(disk.read(path).unwrap(), "lib", "{path}");
    }
}

#[test]
fn what_is_outside_is_neither_read_nor_written() {
    let disk = disk();
    let before = disk.outside();
    for path in [
        "../outside/secret.txt",
        "src/../../outside/secret.txt",
        "~/outside/secret.txt",
        "~/project/../outside/secret.txt",
        "~/project-2/a.txt",
        "/etc/passwd",
        "../../../../../../../../../../etc/passwd",
        "file:///etc/passwd",
        "file://~/project/%2e%2e/outside/secret.txt",
        "out-file",
        "out-folder/secret.txt",
        "out-twice/secret.txt",
        "out-twice/deep/../secret.txt",
        "out-folder/new.txt",
        "out-folder/new/folder/new.txt",
        "dangling",
        "dangling/new.txt",
        "dangling-out",
        "..",
        "/",
    ] {
        for error in [disk.read(path).unwrap_err(), disk.write(path).unwrap_err()] {
            let (PlaceError::Outside { roots, .. } | PlaceError::LinkToNothing { roots, .. }) = &error else {
                panic!("{path}: {error:?}")
            };
            assert!(roots.contains("/project") && roots.contains("/lib"), "{path}: {error}");
        }
    }
    assert!(disk.read("loop").is_err());
    assert_eq!(disk.outside(), before);
    assert!(!disk.base.join("nowhere").exists());
}

#[test]
fn what_is_swapped_after_the_check_is_not_followed() {
    let disk = disk();
    let before = disk.outside();
    let (file, in_folder) = (disk.place("a.txt").unwrap(), disk.place("src/new.txt").unwrap());
    fs::remove_file(disk.base.join("project/a.txt")).unwrap();
    symlink(disk.base.join("outside/secret.txt"), disk.base.join("project/a.txt")).unwrap();
    fs::remove_dir(disk.base.join("project/src")).unwrap();
    symlink(disk.base.join("outside"), disk.base.join("project/src")).unwrap();

    assert!(matches!(file.open_file(), Err(PlaceError::Swapped { .. })));
    assert!(matches!(file.replace_file(b"new"), Err(PlaceError::Swapped { .. })));
    assert!(in_folder.replace_file(b"new").is_err() && in_folder.open_file().is_err());
    assert!(disk.place("src").is_err());
    assert_eq!(disk.outside(), before);
}

#[test]
fn nobody_who_swaps_links_at_any_moment_gets_something_outside_opened() {
    let disk = disk();
    let at = |name: &str| disk.base.join("project").join(name);
    fs::write(at("src/secret.txt"), "in").unwrap();
    let before = disk.outside();
    let (is_over, mut n_leaked) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // `src` is the folder, nothing, and a link to the outside, in turn.
                fs::rename(at("src"), at("kept")).unwrap();
                symlink("../outside", at("src")).unwrap();
                fs::remove_file(at("src")).unwrap();
                fs::rename(at("kept"), at("src")).unwrap();
            }
        });
        for _ in 0..3000 {
            n_leaked += usize::from(disk.read("src/secret.txt").is_ok_and(|text| text == "secret"));
            // As a write would, but for the folder, which it would make anew.
            if let Ok(folder) =
                disk.place("src/secret.txt").and_then(|place| place.walk(Path::new("src"), Missing::Fails))
            {
                let _ = openat(folder, "planted.txt", FILE | OFlags::WRONLY | OFlags::CREATE, Mode::RWXU);
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!((n_leaked, disk.outside()), (0, before));
}

#[test]
fn a_new_file_gets_its_folders() {
    let disk = disk();
    disk.write("in-folder/very/new.txt").unwrap();
    assert_eq!(fs::read_to_string(disk.base.join("project/src/very/new.txt")).unwrap(), "new");
}

#[test]
fn an_error_says_what_is_there_instead() {
    let disk = disk();
    let pipe = disk.base.join("project/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let said = |path: &str| disk.read(path).unwrap_err().to_string();
    assert_eq!(said("b.txt"), "there is no b.txt");
    assert_eq!(said("src"), "src is a folder; list_files shows what is in it");
    assert_eq!(said(""), ". is a folder; list_files shows what is in it");
    assert_eq!(said("a.txt/b"), "a.txt/b is no folder, or leads through something that is none");
    assert_eq!(said("pipe"), "pipe is neither a file nor a folder");
    assert!(disk.place("a.txt").unwrap().open_folder().is_err());
    assert!(disk.read("a\0b").is_err());
}

#[test]
fn places_are_shown_from_the_session_folder_and_named_as_the_client_names_them() {
    let disk = disk();
    let shown = |path: &str| disk.place(path).unwrap().shown();
    let base = disk.base.display().to_string();
    assert_eq!((shown("in-folder/x"), shown("."), shown("~/project/")), ("src/x".into(), ".".into(), ".".into()));
    assert_eq!(shown("../lib/b.txt"), format!("{base}/lib/b.txt"));
    let aliased = Roots::new(&disk.base.join("alias"), &[], &Arc::default());
    assert_eq!(aliased.place("in-folder/x").unwrap().path(), disk.base.join("alias/src/x"));
}

#[test]
fn what_is_found_behind_a_link_is_not_there() {
    let disk = disk();
    let root = disk.place(".").unwrap();
    let is_there = |path: &str| root.sibling(&disk.base.join(path)).unwrap().is_there();
    let found = ["project/a.txt", "project/out-file", "project/out-folder/secret.txt", "project/none"].map(is_there);
    assert_eq!(found, [true, true, false, false]);
}

#[test]
fn a_root_that_becomes_a_link_does_not_move_the_boundary() {
    let disk = disk();
    let before = disk.outside();
    fs::rename(disk.base.join("lib"), disk.base.join("lib-moved")).unwrap();
    symlink(disk.base.join("outside"), disk.base.join("lib")).unwrap();
    let disk = Disk { roots: disk.roots.as_of_now(), ..disk };
    for path in ["~/lib/secret.txt", "~/lib/new.txt"] {
        assert!(matches!(disk.read(path), Err(PlaceError::Outside { .. })), "{path}");
        assert!(disk.write(path).is_err(), "{path}");
    }
    assert_eq!(disk.outside(), before);
}

#[test]
fn a_root_that_comes_later_is_one() {
    let disk = disk();
    let late = disk.base.join("alias/late");
    let roots = Roots::new(&disk.base.join("lib"), std::slice::from_ref(&late), &Arc::default());
    fs::create_dir(&late).unwrap();
    fs::write(late.join("a.txt"), "late").unwrap();
    let disk = Disk { roots: roots.as_of_now(), ..disk };
    assert_eq!(disk.read("~/alias/late/a.txt").unwrap(), "late");
}
