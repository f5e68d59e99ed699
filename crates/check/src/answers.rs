//! What the client of the check answers when the agent asks for something.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io};

use rejoin_wire::{RequestId, RpcError};
use serde_json::{Value, json};

/// What the client can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientAbilities {
    /// Reads and writes files.
    Files,
    /// Nothing beyond what every client can do.
    Bare,
}

/// Answers what the agent asks.
pub(crate) struct Answers {
    abilities: ClientAbilities,
    /// No file outside of it is read or written.
    root: PathBuf,
    /// Whether permissions wait.
    holds: AtomicBool,
    held: Mutex<Vec<RequestId>>,
}

impl ClientAbilities {
    /// The `clientCapabilities`.
    pub(crate) fn to_json(self) -> Value {
        match self {
            Self::Files => json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": false }),
            Self::Bare => json!({}),
        }
    }
}

impl Answers {
    pub(crate) fn new(abilities: ClientAbilities, root: PathBuf) -> Self {
        Self { abilities, root, holds: AtomicBool::new(false), held: Mutex::default() }
    }

    /// From now on permissions are not answered.
    pub(crate) fn hold_permissions(&self) {
        self.holds.store(true, Ordering::Relaxed);
    }

    /// Permissions are answered again; gives the requests that waited, which the caller answers.
    pub(crate) fn release_permissions(&self) -> Vec<RequestId> {
        self.holds.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// The answer to the request `id`; none for now if it is one that is held.
    pub(crate) fn answer(&self, id: &RequestId, method: &str, params: &Value) -> Option<Result<Value, RpcError>> {
        Some(match (method, self.abilities) {
            ("session/request_permission", _) => {
                if self.holds.load(Ordering::Relaxed) {
                    self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(id.clone());
                    return None;
                }
                Ok(permit(params))
            }
            ("fs/read_text_file", ClientAbilities::Files) => self.read(params),
            ("fs/write_text_file", ClientAbilities::Files) => self.write(params),
            _ => Err(RpcError::new(RpcError::METHOD_NOT_FOUND, format!("the client has no method {method}"))),
        })
    }

    fn read(&self, params: &Value) -> Result<Value, RpcError> {
        let text = fs::read_to_string(self.path(params)?).map_err(|error| failed(&error))?;
        let number = |name: &str| params[name].as_u64().and_then(|number| usize::try_from(number).ok());
        let (first, limit) = (number("line").unwrap_or(1).max(1), number("limit").unwrap_or(usize::MAX));
        let text: String = text.split_inclusive('\n').skip(first - 1).take(limit).collect();
        Ok(json!({ "content": text }))
    }

    fn write(&self, params: &Value) -> Result<Value, RpcError> {
        let text = params["content"].as_str().unwrap_or_default();
        fs::write(self.path(params)?, text).map_err(|error| failed(&error))?;
        Ok(json!({}))
    }

    /// The file in `params`, if it is one of ours.
    fn path(&self, params: &Value) -> Result<PathBuf, RpcError> {
        let path = Path::new(params["path"].as_str().unwrap_or_default());
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        match (folder, path.file_name()) {
            (Some(folder), Some(name)) if folder.starts_with(&self.root) => Ok(folder.join(name)),
            _ => Err(RpcError::new(RpcError::INVALID_PARAMS, "`path` is outside of the session's folder")),
        }
    }
}

/// The answer of a user whose turn is cancelled.
pub(crate) fn cancelled_permission() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// Allows it, once if that can be had.
fn permit(params: &Value) -> Value {
    let options: &[Value] = params["options"].as_array().map_or(&[], Vec::as_slice);
    let of_kind = |kind: &str| options.iter().find(|option| option["kind"] == kind);
    let chosen = of_kind("allow_once").or_else(|| of_kind("allow_always")).or(options.first());
    match chosen {
        Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } }),
        None => cancelled_permission(),
    }
}

fn failed(error: &io::Error) -> RpcError {
    RpcError::new(RpcError::INTERNAL, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_outside_of_the_folder_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let answers = Answers::new(ClientAbilities::Files, root.clone());
        let answer = |method: &str, path: &Path| {
            let params = json!({ "path": path, "content": "x" });
            answers.answer(&RequestId::from_number(1), method, &params).unwrap().is_ok()
        };

        assert!(answer("fs/write_text_file", &root.join("a")));
        assert!(answer("fs/read_text_file", &root.join("a")));
        assert!(!answer("fs/write_text_file", &root.join("../b")));
        assert!(!answer("fs/read_text_file", Path::new("/etc/hostname")));
    }
}
