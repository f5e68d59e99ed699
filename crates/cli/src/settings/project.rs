//! The project's file: the nearest `.rejoin.toml`, in the current folder or above it.

use std::path::{Path, PathBuf};

/// The name of a project's file.
pub(crate) const PROJECT_FILE: &str = ".rejoin.toml";

/// The file of the project to which `folder` belongs.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_file_is_the_projects() {
        let world = tempfile::tempdir().unwrap();
        let (outer, inner) = (world.path().join("a"), world.path().join("a/b/c"));
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(inner.join(PROJECT_FILE)).unwrap();
        fs::write(world.path().join(PROJECT_FILE), "").unwrap();
        fs::write(outer.join(PROJECT_FILE), "").unwrap();

        assert_eq!(find(&inner), Some(outer.join(PROJECT_FILE)));
    }
}
