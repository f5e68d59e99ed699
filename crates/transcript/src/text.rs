//! A text that stands alone, or as a part of a longer one that several share.
//!
//! A store reads entries by the page. When the texts of a page are parts of one, they are allocated and freed together.
//! A copy of a part stands alone, so that whoever copies what they want to keep does not keep the whole.

use std::ops::Range;
use std::sync::Arc;

/// A text that is never changed.
pub(crate) enum Text {
    /// One that stands alone.
    Own(Box<str>),
    /// A part of `whole`.
    Part { whole: Arc<String>, from: u32, to: u32 },
}

impl Text {
    /// The part `range` of `whole`.
    pub(crate) fn part(whole: &Arc<String>, range: Range<usize>) -> Self {
        match (u32::try_from(range.start), u32::try_from(range.end)) {
            (Ok(from), Ok(to)) => Self::Part { whole: Arc::clone(whole), from, to },
            _ => Self::Own(whole[range].into()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Own(text) => text,
            Self::Part { whole, from, to } => &whole[*from as usize..*to as usize],
        }
    }

    pub(crate) fn into_string(self) -> String {
        match self {
            Self::Own(text) => text.into(),
            Self::Part { .. } => self.as_str().to_owned(),
        }
    }
}

impl Clone for Text {
    fn clone(&self) -> Self {
        Self::Own(self.as_str().into())
    }
}
