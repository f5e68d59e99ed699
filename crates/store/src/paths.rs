//! One folder, however it is spelled.

use std::path::{Component, Path, PathBuf};

use rejoin_transcript::Cwd;

/// The folder `raw`, with links, dots and trailing slashes resolved.
///
/// What no longer exists is resolved as far as it does, so that a session is found by its folder even when that is gone.
pub fn resolve_cwd(raw: &str) -> Cwd {
    let canonical = canonicalize(Path::new(raw));
    Cwd { raw: raw.to_owned(), canonical: canonical.to_string_lossy().into_owned() }
}

fn canonicalize(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, mut canonical)) = existing else { return path.to_path_buf() };
    for component in path.strip_prefix(part).unwrap_or(Path::new("")).components() {
        match component {
            Component::ParentDir => {
                canonical.pop();
            }
            Component::Normal(name) => canonical.push(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    canonical
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_folder_have_one_canonical_form() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        for spelling in ["real", "real/", "link", "./real", "real/../real", "gone/../real"] {
            let raw = format!("{}/{spelling}", folder.path().display());
            assert_eq!(resolve_cwd(&raw), Cwd { raw: raw.clone(), canonical: real.display().to_string() });
        }
    }

    #[test]
    fn a_path_of_any_length_is_taken() {
        let raw = "/a".repeat(100_000);
        assert_eq!(resolve_cwd(&raw).canonical, raw);
    }

    #[test]
    fn a_folder_that_is_gone_is_resolved_as_far_as_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        let raw = format!("{}/link/gone/deeper/", folder.path().display());
        assert_eq!(resolve_cwd(&raw).canonical, format!("{}/gone/deeper", real.display()));
    }
}
