//! Pure functions that render content as styled lines.

pub(crate) mod item;
pub(crate) mod line;
pub(crate) mod markdown;
pub(crate) mod plan;
pub(crate) mod screen;
pub(crate) mod splitter;
mod table;
pub(crate) mod theme;
pub(crate) mod tool_call;
pub(crate) mod wrap;

/// How much is shown of what can be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// As much as is needed to follow the conversation.
    Folded,
    /// All of it.
    Full,
}

/// The width, level of detail and working directory that all rendering uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenderContext<'a> {
    pub(crate) width: usize,
    pub(crate) detail: Detail,
    /// The session's folder: paths in it are shown from there.
    pub(crate) cwd: &'a str,
}
