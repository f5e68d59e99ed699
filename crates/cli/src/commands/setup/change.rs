//! A change of a file of JSON with comments: everything else in it stays as it is.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObjectProp, CstRootNode};
use serde_json::Value;
use similar::TextDiff;
use tempfile::NamedTempFile;

use crate::error::Error;

/// What some editors begin a text with.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A change that is not made yet.
pub(super) struct Change {
    /// The file; where a link leads, not the link.
    pub(super) path: PathBuf,
    /// Nothing, if there is no file yet.
    old: Option<String>,
    new: String,
}

impl Change {
    /// The change that sets the member `name` of the object under `keys` to `value`.
    pub(super) fn read(path: PathBuf, keys: &[&str], name: &str, value: &Value) -> Result<Self, Error> {
        // Who keeps settings elsewhere has a link here.
        let path = fs::canonicalize(&path).unwrap_or_else(|_| target_of(path));
        let old = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(source) => return Err(Error::CannotRead { file: path.display().to_string(), source }),
        };
        let wrong = |message: String| Error::NotSettings { path: path.clone(), message };
        let text = old.as_deref().unwrap_or_default();
        // Some editors begin a text with it; it is no part of the JSON.
        let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK } else { "" };
        let text = Some(&text[mark.len()..]).filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
        let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| wrong(error.to_string()))?;
        let mut object = root.object_value_or_create().ok_or_else(|| wrong("it is no object".to_owned()))?;
        for key in keys {
            if let Some(member) = object.get(key).filter(is_null) {
                member.set_value(CstInputValue::Object(Vec::new()));
            }
            let inner = object.object_value_or_create(key);
            object = inner.ok_or_else(|| wrong(format!("`{key}` in it is no object")))?;
        }
        match object.get(name) {
            Some(member) if value_of(&member).as_ref() == Some(value) => {
                return Ok(Self { new: old.clone().unwrap_or_default(), path, old });
            }
            Some(member) => member.set_value(input(value)),
            None => drop(object.append(name, input(value))),
        }
        Ok(Self { new: format!("{mark}{root}"), path, old })
    }

    /// Whether anything is different afterwards.
    pub(super) fn is_one(&self) -> bool {
        self.old.as_deref().unwrap_or_default() != self.new
    }

    /// The change, for people.
    pub(super) fn diff(&self, file: &str) -> String {
        let old = self.old.as_deref().unwrap_or_default();
        TextDiff::from_lines(old, &self.new).unified_diff().header(file, file).to_string()
    }
}

fn value_of(member: &CstObjectProp) -> Option<Value> {
    member.value()?.to_serde_value()
}

fn is_null(member: &CstObjectProp) -> bool {
    value_of(member) == Some(Value::Null)
}

/// Where `path` leads, if it is a link to a file that does not exist yet; else itself.
fn target_of(path: PathBuf) -> PathBuf {
    match (fs::read_link(&path), path.parent()) {
        (Ok(target), Some(folder)) => folder.join(target),
        _ => path,
    }
}

/// Makes `change`; gives the copy of the old file.
pub(super) fn write(change: &Change) -> Result<Option<PathBuf>, Error> {
    let failed = |source| Error::CannotWrite { path: change.path.clone(), source };
    let folder = change.path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let backup = match &change.old {
        Some(_) => {
            let backup = free_name(&change.path);
            fs::copy(&change.path, &backup).map_err(failed)?;
            Some(backup)
        }
        None => None,
    };
    let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(change.new.as_bytes()).map_err(failed)?;
    if let Some(backup) = &backup {
        let permissions = fs::metadata(backup).map_err(failed)?.permissions();
        file.as_file().set_permissions(permissions).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&change.path).map_err(|error| failed(error.error))?;
    Ok(backup)
}

/// A name beside `path` that no file has.
fn free_name(path: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { ".bak".to_owned() } else { format!(".bak{number}") });
        PathBuf::from(name)
    };
    (0..=u32::MAX).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(0))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
