//! The styles, in the sixteen colours that every terminal has, so that they fit its background.

use anstyle::{AnsiColor, Style};

/// For what is said beside the conversation.
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
/// For the user's own words, and for what is chosen.
pub(crate) const ACCENT: Style = AnsiColor::Cyan.on_default();
pub(crate) const ACCENT_BOLD: Style = AnsiColor::Cyan.on_default().bold();
/// For code inside of text.
pub(crate) const CODE: Style = AnsiColor::Yellow.on_default();
pub(crate) const HEADING: Style = Style::new().bold();
pub(crate) const TITLE: Style = Style::new().bold().underline();
pub(crate) const LINK: Style = Style::new().underline();
pub(crate) const QUOTE: Style = Style::new().italic();
/// For thoughts.
pub(crate) const THOUGHT: Style = Style::new().dimmed().italic();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
