//! Values as files and the environment hold them, and what is read from them: one file for each kind.
//!
//! A kind has `read`, which says what to write instead where it can't, and `show`, whose text can be read again.

pub(super) mod bytes;
pub(super) mod choice;
pub(super) mod duration;
pub(super) mod names;

use std::collections::BTreeMap;

/// A value, before anyone has asked what it means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Raw {
    Text(String),
    Integer(i64),
    Bool(bool),
    List(Vec<Item>),
    Table(BTreeMap<String, Item>),
    /// A kind that no setting has, by its name.
    Other(&'static str),
}

/// A value of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) raw: Raw,
    /// Where it stands, counted from 1.
    pub(super) line: usize,
}

impl Raw {
    /// Reads the value of an environment variable, where all is text.
    pub(super) fn from_variable(value: &str) -> Self {
        value.trim().parse().map_or_else(|_| Self::Text(value.to_owned()), Self::Integer)
    }

    /// The value, as an error shows it.
    pub(super) fn found(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Integer(number) => number.to_string(),
            Self::Bool(is_so) => is_so.to_string(),
            Self::List(_) | Self::Table(_) | Self::Other(_) => self.kind().to_owned(),
        }
    }

    /// The kind of value that this is, for where the value itself is nobody's business.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(kind) => kind,
        }
    }
}

/// Reads any text but the empty one.
pub(super) fn read_text(raw: &Raw) -> Result<String, String> {
    match raw {
        Raw::Text(text) if !text.is_empty() => Ok(text.clone()),
        _ => Err("write a text in quotes".to_owned()),
    }
}

/// Checks that each of `texts` is read, or refused, as it is expected to be.
#[cfg(test)]
fn check<T: PartialEq + std::fmt::Debug>(read: fn(&Raw) -> Result<T, String>, texts: &[(&str, Option<T>)]) {
    for (text, expected) in texts {
        assert_eq!(read(&Raw::from_variable(text)).ok().as_ref(), expected.as_ref(), "{text}");
    }
}
