//! Styled text, in lines.
//!
//! Whatever a text holds, a line stays one line and commands nothing: this is the last place that all text passes on its
//! way to the terminal.

use anstyle::Style;

use crate::text::{columns, cut_end, shown};

/// Text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// A line, which holds no line break and no other control character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) spans: Vec<Span>,
}

impl Line {
    /// A line without anything in it.
    pub(crate) fn blank() -> Self {
        Self::default()
    }

    /// `text` as it is.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::styled(text, Style::new())
    }

    /// `text` in `style`.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { spans: vec![Span { text: harmless(text.into()), style }] }
    }

    /// The same with `text` behind it.
    #[must_use]
    pub(crate) fn with(mut self, text: impl Into<String>, style: Style) -> Self {
        self.push(text, style);
        self
    }

    pub(crate) fn push(&mut self, text: impl Into<String>, style: Style) {
        let text = harmless(text.into());
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ if text.is_empty() => {}
            _ => self.spans.push(Span { text, style }),
        }
    }

    /// Puts `other` behind it.
    pub(crate) fn append(&mut self, other: Self) {
        for span in other.spans {
            self.push(span.text, span.style);
        }
    }

    /// The same with `before` in front.
    #[must_use]
    pub(crate) fn behind(self, before: &Self) -> Self {
        let mut line = before.clone();
        line.append(self);
        line
    }

    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|span| columns(&span.text)).sum()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.spans.iter().all(|span| span.text.trim().is_empty())
    }

    /// Its text alone.
    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// As much of its beginning as fits in `width` columns.
    #[must_use]
    pub(crate) fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let (mut cut, mut room) = (Self::blank(), width);
        for span in self.spans {
            let columns = columns(&span.text);
            if columns > room {
                cut.push(cut_end(&span.text, room), span.style);
                break;
            }
            room -= columns;
            // What is left has no room, and that is shown where there is some.
            if room == 0 {
                cut.push(cut_end(&format!("{}…", span.text), columns), span.style);
                break;
            }
            cut.push(span.text, span.style);
        }
        cut
    }

    /// The same with `style` put over all of it.
    #[must_use]
    pub(crate) fn over(mut self, style: Style) -> Self {
        for span in &mut self.spans {
            span.style = merged(span.style, style);
        }
        self
    }
}

/// `text` with nothing in it that would end the line or command the terminal.
fn harmless(text: String) -> String {
    if text.contains(char::is_control) { shown(&text).replace('\n', " ") } else { text }
}

/// `base` with what `over` says besides.
pub(crate) fn merged(base: Style, over: Style) -> Style {
    let effects = base.get_effects() | over.get_effects();
    let colour = over.get_fg_color().or(base.get_fg_color());
    let ground = over.get_bg_color().or(base.get_bg_color());
    Style::new().fg_color(colour).bg_color(ground).effects(effects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_across_its_spans() {
        let line = Line::plain("abc").with("def", Style::new().bold());
        let cut = |width| line.clone().cut(width).text();
        assert_eq!([cut(6), cut(5), cut(4), cut(3), cut(1)], ["abcdef", "abcd…", "abc…", "ab…", "…"]);
    }

    #[test]
    fn no_text_ends_a_line_or_commands_the_terminal() {
        let line = Line::plain("a\x1b[2Jb\n").with("\tc\u{9b}d", Style::new().bold());
        assert_eq!(line.text(), "a␛[2Jb     c\u{fffd}d");
    }
}
