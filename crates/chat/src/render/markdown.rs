//! Markdown as lines for the terminal.

use anstyle::Style;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::line::{Line, merged};
use super::table::{Table, table_lines};
use super::theme::{BOLD, CODE, DIM, HEADING, LINK, QUOTE, TITLE};
use super::wrap::{Break, wrap};
use crate::text::shown;

/// What stands before every line of code.
const GUTTER: &str = "│ ";

/// The lines of `text`, none wider than `width`.
pub(crate) fn markdown(text: &str, width: usize) -> Vec<Line> {
    let text = shown(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = Renderer { width, ..Renderer::default() };
    for event in Parser::new_ext(&text, options) {
        renderer.take(event);
    }
    renderer.flush();
    renderer.lines
}

/// The lines of a block of code: `language` where it begins.
pub(crate) fn code(text: &str, language: Option<&str>, width: usize) -> Vec<Line> {
    let gutter = Line::styled(GUTTER, DIM);
    let name = language.filter(|name| !name.is_empty());
    let name = name.map(|name| Line::styled(format!("╭ {name}"), DIM).cut(width));
    let text = shown(text);
    let lines = text.strip_suffix('\n').unwrap_or(&text);
    let lines = (!text.is_empty()).then(|| lines.split('\n')).into_iter().flatten();
    let lines = lines.flat_map(|line| wrap(&Line::plain(line), width, Break::Anywhere, &gutter, &gutter));
    name.into_iter().chain(lines).collect()
}

#[derive(Default)]
struct Renderer {
    width: usize,
    lines: Vec<Line>,
    /// The text of the block that is read, not broken into lines yet.
    inline: Line,
    styles: Vec<Style>,
    /// What stands before each line, the outermost first.
    margins: Vec<Margin>,
    /// The next number of each list that is open, the outermost first; `None` for one with bullets.
    lists: Vec<Option<u64>>,
    /// The language and the text of the block of code that is open.
    code: Option<(String, String)>,
    table: Option<Table>,
    /// Where the links lead that are open.
    links: Vec<String>,
}

/// What a list or a quote puts before its lines.
struct Margin {
    /// Before the first line; taken once.
    first: Option<Line>,
    rest: Line,
}

impl Renderer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::InlineHtml(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
            Event::Html(text) => self.html(&text),
            Event::Code(text) => self.push(&text, CODE),
            Event::FootnoteReference(name) => self.push(&format!("[{name}]"), DIM),
            Event::SoftBreak => self.push(" ", Style::new()),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                self.inline = Line::styled("─".repeat(self.width.min(24)), DIM);
                self.flush();
            }
            Event::TaskListMarker(is_done) => self.push(if is_done { "☑ " } else { "☐ " }, Style::new()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.styles.push(if level == HeadingLevel::H1 { TITLE } else { HEADING });
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.margins.push(Margin { first: None, rest: Line::styled("▎ ", DIM) });
                self.styles.push(QUOTE);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(name) => name.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(start) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(start);
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => {
                self.gap();
                self.table = Some(Table::new(alignments.into_iter().map(is_right).collect()));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.styles.push(Style::new().italic()),
            Tag::Strong => self.styles.push(BOLD),
            Tag::Strikethrough => self.styles.push(Style::new().strikethrough()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
                self.styles.push(LINK);
            }
            Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.margins.pop();
                self.styles.pop();
            }
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    self.put(|width| code(&text, Some(&language), width));
                }
            }
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Item => {
                self.flush();
                // An item without anything in it is shown too.
                if self.margins.last().is_some_and(|margin| margin.first.is_some()) {
                    let line = self.margin();
                    self.lines.push(line);
                }
                self.margins.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.put(|width| table_lines(&table, width));
                }
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some(to) = self.links.pop().filter(|to| !self.inline.text().ends_with(to.as_str())) {
                    self.push(&format!(" ({to})"), DIM);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let rest = Line::plain(" ".repeat(mark.chars().count()));
        self.margins.push(Margin { first: Some(Line::styled(mark, DIM)), rest });
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None => self.push(text, Style::new()),
        }
    }

    fn html(&mut self, text: &str) {
        for line in text.lines() {
            self.push(line, DIM);
            self.flush();
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        let style = self.styles.iter().copied().chain([style]).fold(Style::new(), merged);
        // Pieces of a text may hold the line breaks of an HTML tag.
        self.inline.push(text.replace('\n', " "), style);
    }

    /// Breaks what was read into lines.
    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        if inline.is_blank() {
            return;
        }
        let first = self.margin();
        let rest = self.margin();
        self.lines.extend(wrap(&inline, self.width, Break::Words, &first, &rest));
    }

    /// Puts the lines of a block behind what stands before them; `lines` makes them as wide as there is room.
    fn put(&mut self, lines: impl FnOnce(usize) -> Vec<Line>) {
        let (first, rest) = (self.margin(), self.margin());
        let room = self.width.saturating_sub(first.width().max(rest.width())).max(1);
        let before = std::iter::once(&first).chain(std::iter::repeat(&rest));
        self.lines.extend(lines(room).into_iter().zip(before).map(|(line, before)| line.behind(before)));
    }

    /// Leaves a line before the next block, unless it is the first.
    fn gap(&mut self) {
        self.flush();
        if self.lines.last().is_none_or(Line::is_blank) {
            return;
        }
        let bars = self.margins.iter().filter(|margin| margin.first.is_none() && !margin.rest.is_blank());
        let bars = bars.map(|margin| margin.rest.clone()).fold(Line::blank(), |line, bar| bar.behind(&line));
        self.lines.push(bars);
    }

    /// What stands before the next line.
    fn margin(&mut self) -> Line {
        let margins = self.margins.iter_mut().map(|margin| margin.first.take().unwrap_or_else(|| margin.rest.clone()));
        margins.fold(Line::blank(), |line, margin| margin.behind(&line))
    }
}

fn is_right(alignment: Alignment) -> bool {
    alignment == Alignment::Right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> String {
        let lines = markdown(text, width);
        assert!(lines.iter().all(|line| line.width() <= width), "{lines:#?}");
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn blocks_stand_apart() {
        let text = "# Fences\nThey *need* **paint**.\nOr `oil`.\n\n## How\n1. buy\n2. paint\n\n---\ndone";
        insta::assert_snapshot!(shown(text, 40), @"
        Fences

        They need paint. Or oil.

        How

        1. buy
        2. paint

        ────────────────────────

        done
        ");
    }

    #[test]
    fn lists_hang_and_nest() {
        let text = "- a long line that wraps\n  - nested\n    1. deep\n- [x] done\n- [ ] open\n-\n\n3. three\n\n4. four\n\n   more";
        insta::assert_snapshot!(shown(text, 16), @"
        • a long line
          that wraps
          • nested
            1. deep
        • ☑ done
        • ☐ open
        • 

        3. three

        4. four

           more
        ");
    }

    #[test]
    fn quotes_and_code_have_their_margins() {
        let text = "> said\n> so\n>\n> ```sh\n> ls -l\n> ```\n\n- run\n\n  ```\n  a\n\n  b\n  ```\n\n    indented";
        insta::assert_snapshot!(shown(text, 30), @"
        ▎ said so
        ▎ 
        ▎ ╭ sh
        ▎ │ ls -l

        • run

          │ a
          │ 
          │ b

          indented
        ");
        insta::assert_snapshot!(shown("1. ```sh\n   ls\n   cd\n   ```\n2. | a | b |\n   |---|---|\n   | 1 | 2 |", 30), @"
        1. ╭ sh
           │ ls
           │ cd

        2. a  b
           ────
           1  2
        ");
    }

    #[test]
    fn links_show_where_they_lead() {
        let text = "[docs](https://a.example/x), <https://b.example>, ![a fence](f.png)";
        insta::assert_snapshot!(shown(text, 80), @"docs (https://a.example/x), https://b.example, a fence (f.png)");
    }

    #[test]
    fn styles_add_up() {
        let lines = markdown("a **b *c* `d`**", 20);
        let styles: Vec<_> = lines[0].spans.iter().map(|span| (span.text.as_str(), span.style)).collect();
        assert_eq!(
            styles,
            [("a ", Style::new()), ("b ", BOLD), ("c", BOLD.italic()), (" ", BOLD), ("d", CODE.bold()),]
        );
    }

    #[test]
    fn what_commands_the_terminal_is_made_visible() {
        assert_eq!(shown("a\x1b[2Jb\tc", 20), "a␛[2Jb    c");
        assert_eq!(shown("a&#27;[2Jb [x](y&#x9b;z)", 20), "a␛[2Jb x (y\u{fffd}z)");
        assert_eq!(shown("- ```&#27;[2J\n  x\n  ```", 20), "• ╭ ␛[2J\n  │ x");
    }

    #[test]
    fn long_code_is_broken_behind_the_gutter() {
        let lines: Vec<String> = code("let long = 1;\n\nx\n", Some("rust"), 10).iter().map(Line::text).collect();
        assert_eq!(lines, ["╭ rust", "│ let long", "│  = 1;", "│ ", "│ x"]);
    }
}
