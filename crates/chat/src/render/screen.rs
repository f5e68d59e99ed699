//! What is on the terminal, and the bytes that change it.
//!
//! Finished lines are written once and go into the terminal's own scrollback. Below them is the live part, which is
//! rewritten in place. Only relative movements are used, so nothing has to be asked of the terminal, and lines have no
//! blanks at their ends, so that they can be copied and broken anew. Line by line is erased, because some terminals keep
//! what is on a screen that is cleared as a whole.

use std::collections::VecDeque;
use std::fmt::Write;

use anstyle::Style;

use super::line::Line;

/// How many rows above the live part are remembered: more than any terminal shows at once.
const ROWS: usize = 1_000;

/// Nothing is shown until the end of the frame, the cursor is out of sight, and what is too wide is cut.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const ERASE_LINE: &str = "\r\x1b[2K";
const ENTER_FULL: &str = "\x1b[?1049h";
const LEAVE_FULL: &str = "\x1b[?1049l";

/// Whether there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// There are.
    Shown,
    /// There are none; what is bold or dim still is.
    Hidden,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// What is to be on the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// What is finished and not on the terminal yet.
    pub(crate) finished: Vec<Line>,
    /// The live part: no more lines than the terminal has.
    pub(crate) live: Vec<Line>,
    /// The row and the column of the cursor in the live part.
    pub(crate) cursor: Option<(usize, usize)>,
}

/// A terminal, as far as we have written on it.
#[derive(Debug)]
pub(crate) struct Screen {
    size: Size,
    colours: Colours,
    live: Vec<Line>,
    cursor: (usize, usize),
    /// How wide the rows above the live part are, the newest last.
    above: VecDeque<usize>,
    /// Whether more of ours is above those.
    has_more_above: bool,
    /// The lines on the other screen, while that is shown.
    full: Option<Vec<Line>>,
}

impl Screen {
    pub(crate) fn new(size: Size, colours: Colours) -> Self {
        Self {
            size,
            colours,
            live: Vec::new(),
            cursor: (0, 0),
            above: VecDeque::new(),
            has_more_above: false,
            full: None,
        }
    }

    pub(crate) fn colours(&self) -> Colours {
        self.colours
    }

    /// The bytes that bring `frame` onto the terminal; none if it is there already.
    pub(crate) fn draw(&mut self, frame: Frame) -> String {
        let mut out = String::new();
        if self.full.take().is_some() {
            out.push_str(LEAVE_FULL);
        }
        let is_same = frame.finished.is_empty() && frame.live == self.live;
        if is_same && out.is_empty() && frame.cursor.is_some_and(|cursor| cursor == self.cursor) {
            return out;
        }
        out.push_str(BEGIN);
        let at = if frame.finished.is_empty() {
            self.rewrite(&mut out, &frame.live)
        } else {
            move_rows(&mut out, self.cursor.0, 0);
            self.write_anew(&mut out, &frame.finished, &frame.live)
        };
        self.place_cursor(&mut out, at, frame.cursor);
        self.live = frame.live;
        out
    }

    /// What is finished stays as it is, whatever size the terminal gets.
    pub(crate) fn begin_below(&mut self) {
        self.above.clear();
        self.has_more_above = false;
    }

    /// Takes note of another size, after which [`Screen::repaint`] is due. Says how many rows of what is finished it then
    /// wants; `None` for all that was written.
    pub(crate) fn resize(&mut self, size: Size) -> Option<usize> {
        self.size = size;
        if let Some(shown) = &mut self.full {
            shown.clear();
        }
        (self.rows_to_top().is_none()).then_some(size.height)
    }

    /// The bytes that write the terminal anew after [`Screen::resize`]; the finished lines are those that were on it.
    pub(crate) fn repaint(&mut self, frame: Frame) -> String {
        let mut out = String::new();
        if self.full.take().is_some() {
            out.push_str(LEAVE_FULL);
        }
        out.push_str(BEGIN);
        let to_top = self.rows_to_top();
        move_rows(&mut out, to_top.unwrap_or(self.size.height), 0);
        self.erase_below(&mut out);
        let Frame { mut finished, live, cursor } = frame;
        if to_top.is_none() {
            self.has_more_above = true;
            let room = self.size.height.saturating_sub(live.len());
            finished.drain(..finished.len().saturating_sub(room));
        }
        self.above.clear();
        self.live.clear();
        let at = self.write_anew(&mut out, &finished, &live);
        self.place_cursor(&mut out, at, cursor);
        self.live = live;
        out
    }

    /// The bytes that fill the whole terminal with `lines`, beside all else, until the next [`Screen::draw`].
    pub(crate) fn draw_full(&mut self, lines: Vec<Line>) -> String {
        let mut out = String::new();
        if self.full.is_none() {
            out.push_str(ENTER_FULL);
        }
        out.push_str(BEGIN);
        let shown = self.full.take().unwrap_or_default();
        for row in 0..self.size.height {
            let line = lines.get(row);
            if shown.get(row) != line || line.is_none() {
                let _ = write!(out, "\x1b[{};1H{ERASE_LINE}", row + 1);
                self.write(&mut out, line.unwrap_or(&Line::blank()));
            }
        }
        self.full = Some(lines);
        out.push_str(END);
        out
    }

    /// The bytes that take the live part away, and leave the cursor where it began.
    pub(crate) fn leave(&mut self) -> String {
        let mut out = String::new();
        if self.full.take().is_some() {
            out.push_str(LEAVE_FULL);
        }
        out.push_str(BEGIN);
        move_rows(&mut out, self.cursor.0, 0);
        self.erase_below(&mut out);
        out.push('\r');
        out.push_str(END);
        out.push_str(SHOW_CURSOR);
        self.live.clear();
        self.cursor = (0, 0);
        out
    }

    /// Writes `finished` and `live` from the cursor's row on, and gives the row of the live part that the cursor is in.
    fn write_anew(&mut self, out: &mut String, finished: &[Line], live: &[Line]) -> usize {
        for line in finished {
            out.push_str(ERASE_LINE);
            self.write(out, line);
            out.push_str("\r\n");
            self.above.push_back(line.width());
        }
        self.has_more_above |= self.above.len() > ROWS;
        self.above.drain(..self.above.len().saturating_sub(ROWS));
        for (row, line) in live.iter().enumerate() {
            out.push_str(if row == 0 { "" } else { "\r\n" });
            out.push_str(ERASE_LINE);
            self.write(out, line);
        }
        // The live part that was here may have been longer.
        let n_left = self.live.len().saturating_sub(finished.len() + live.len());
        for _ in 0..n_left {
            let _ = write!(out, "\x1b[B{ERASE_LINE}");
        }
        move_rows(out, n_left, 0);
        live.len().saturating_sub(1)
    }

    /// Writes those rows of the live part that are new, and gives the row that the cursor is in.
    fn rewrite(&self, out: &mut String, live: &[Line]) -> usize {
        let (mut at, mut n_rows) = (self.cursor.0, self.live.len().max(1));
        if live.len() > n_rows {
            move_rows(out, at, n_rows - 1);
            out.push_str(&"\r\n".repeat(live.len() - n_rows));
            at = live.len() - 1;
            n_rows = live.len();
        }
        for row in 0..n_rows {
            let (old, new) = (self.live.get(row), live.get(row));
            if old != new {
                move_rows(out, at, row);
                out.push_str(ERASE_LINE);
                self.write(out, new.unwrap_or(&Line::blank()));
                at = row;
            }
        }
        at
    }

    fn place_cursor(&mut self, out: &mut String, at: usize, cursor: Option<(usize, usize)>) {
        let (row, column) = cursor.unwrap_or((at, 0));
        move_rows(out, at, row);
        out.push('\r');
        if column > 0 {
            let _ = write!(out, "\x1b[{column}C");
        }
        out.push_str(END);
        if cursor.is_some() {
            out.push_str(SHOW_CURSOR);
        }
        self.cursor = (row, column);
    }

    /// Erases the cursor's row and all below.
    fn erase_below(&self, out: &mut String) {
        out.push_str("\x1b7");
        for row in 0..self.size.height {
            out.push_str(if row == 0 { "" } else { "\x1b[B" });
            out.push_str(ERASE_LINE);
        }
        out.push_str("\x1b8");
    }

    /// How many rows above the cursor the first of ours is, in a terminal that breaks lines anew when its size changes;
    /// `None` if it is not on the screen any more.
    fn rows_to_top(&self) -> Option<usize> {
        let rows = |width: usize| width.div_ceil(self.size.width.max(1)).max(1);
        let live: usize = self.live.iter().take(self.cursor.0).map(|line| rows(line.width())).sum();
        let above: usize = self.above.iter().map(|width| rows(*width)).sum();
        let all = live + self.cursor.1 / self.size.width.max(1) + above;
        (!self.has_more_above && all < self.size.height).then_some(all)
    }

    fn write(&self, out: &mut String, line: &Line) {
        for span in &line.spans {
            let style = match self.colours {
                Colours::Shown => span.style,
                Colours::Hidden => Style::new().effects(span.style.get_effects()),
            };
            let _ = write!(out, "{style}{}{style:#}", span.text);
        }
    }
}

/// Moves the cursor from the row `from` to the row `to`.
fn move_rows(out: &mut String, from: usize, to: usize) {
    let _ = match from.cmp(&to) {
        std::cmp::Ordering::Less => write!(out, "\x1b[{}B", to - from),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => write!(out, "\x1b[{}A", from - to),
    };
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use anstyle::AnsiColor;

    use super::*;

    const SIZE: Size = Size { width: 20, height: 6 };

    /// A terminal that has a prompt of the shell on it, and ours.
    struct Terminal {
        parser: vt100::Parser,
        screen: Screen,
    }

    impl Terminal {
        fn new() -> Self {
            let mut parser = vt100::Parser::new(cells(6), cells(20), 100);
            parser.process(b"$ rejoin\r\n");
            Self { parser, screen: Screen::new(SIZE, Colours::Shown) }
        }

        fn draw(&mut self, finished: &[&str], live: &[&str], cursor: (usize, usize)) -> &mut Self {
            let bytes = self.screen.draw(frame(finished, live, cursor));
            self.parser.process(bytes.as_bytes());
            self
        }

        /// What is on the screen, with the cursor as `▮`; and what is above it.
        fn shown(&mut self) -> String {
            let contents = |screen: &vt100::Screen| -> Vec<String> { screen.rows(0, 20).collect() };
            let (row, column) = self.parser.screen().cursor_position();
            let mut rows = contents(self.parser.screen());
            let line: Vec<char> = format!("{:20}", rows[usize::from(row)]).chars().collect();
            let (before, after) = line.split_at(usize::from(column));
            let with: String = before.iter().chain(['▮'].iter()).chain(&after[1..]).collect();
            rows[usize::from(row)] = with.trim_end().to_owned();
            self.parser.screen_mut().set_scrollback(100);
            let n_above = self.parser.screen().scrollback();
            let above: Vec<String> = contents(self.parser.screen()).into_iter().take(n_above.min(6)).collect();
            self.parser.screen_mut().set_scrollback(0);
            let above = if above.is_empty() { String::new() } else { format!("{}\n----\n", above.join("\n")) };
            format!("{above}{}", rows.join("\n").trim_end())
        }
    }

    fn cells(count: u16) -> NonZero<u16> {
        NonZero::new(count).unwrap()
    }

    fn lines(lines: &[&str]) -> Vec<Line> {
        lines.iter().map(|line| Line::plain(*line)).collect()
    }

    fn frame(finished: &[&str], live: &[&str], cursor: (usize, usize)) -> Frame {
        Frame { finished: lines(finished), live: lines(live), cursor: Some(cursor) }
    }

    #[test]
    fn the_live_part_is_rewritten_in_place() {
        let mut terminal = Terminal::new();
        terminal.draw(&[], &["> a", "status"], (0, 3)).draw(&[], &["> ab", "more", "status"], (0, 4));
        assert_eq!(terminal.shown(), "$ rejoin\n> ab▮\nmore\nstatus");
        terminal.draw(&[], &["> "], (0, 2));
        assert_eq!(terminal.shown(), "$ rejoin\n> ▮");
    }

    #[test]
    fn finished_lines_go_above_and_into_the_scrollback() {
        let mut terminal = Terminal::new();
        terminal.draw(&[], &["> ", "status", "menu"], (0, 2)).draw(&["one", "two"], &["> ", "status"], (0, 2));
        assert_eq!(terminal.shown(), "$ rejoin\none\ntwo\n> ▮\nstatus");
        terminal.draw(&["three", "four", "five"], &["> ", "status"], (0, 2));
        assert_eq!(terminal.shown(), "$ rejoin\none\n----\ntwo\nthree\nfour\nfive\n> ▮\nstatus");
    }

    #[test]
    fn what_is_the_same_costs_nothing() {
        let mut screen = Screen::new(SIZE, Colours::Shown);
        screen.draw(frame(&[], &["> a", "status"], (0, 3)));
        assert_eq!(screen.draw(frame(&[], &["> a", "status"], (0, 3))), "");
        let change = screen.draw(frame(&[], &["> ab", "status"], (0, 4)));
        assert!(change.contains("> ab") && !change.contains("status"), "{change:?}");
    }

    #[test]
    fn a_line_that_fills_the_terminal_keeps_its_end() {
        let mut terminal = Terminal::new();
        let wide = "x".repeat(20);
        terminal.draw(&[&wide], &[&wide], (0, 0));
        assert_eq!(terminal.shown(), format!("$ rejoin\n{wide}\n▮{}", "x".repeat(19)));
    }

    #[test]
    fn a_new_size_is_painted_from_where_the_chat_began() {
        let mut terminal = Terminal::new();
        terminal.draw(&["one"], &["> ", "status"], (0, 2));
        let size = Size { width: 20, height: 8 };
        terminal.parser.screen_mut().set_size(cells(8), cells(20));
        assert_eq!(terminal.screen.resize(size), None);
        let bytes = terminal.screen.repaint(frame(&["one", "broken"], &["> x", "status"], (0, 3)));
        terminal.parser.process(bytes.as_bytes());
        assert_eq!(terminal.shown(), "$ rejoin\none\nbroken\n> x▮\nstatus");
    }

    #[test]
    fn a_new_size_is_filled_where_the_chat_began_above() {
        let mut terminal = Terminal::new();
        terminal.draw(&["1", "2", "3", "4", "5", "6", "7", "8"], &["> ", "status"], (0, 2));
        let size = Size { width: 10, height: 6 };
        terminal.parser.screen_mut().set_size(cells(6), cells(10));
        assert_eq!(terminal.screen.resize(size), Some(6));
        let bytes = terminal.screen.repaint(frame(&["3", "4", "5", "6", "7", "8"], &["> ", "status"], (0, 2)));
        terminal.parser.process(bytes.as_bytes());
        let shown = terminal.shown();
        assert!(shown.ends_with("----\n5\n6\n7\n8\n> ▮\nstatus"), "{shown}");
    }

    #[test]
    fn the_other_screen_leaves_no_trace() {
        let mut terminal = Terminal::new();
        terminal.draw(&["one"], &["> ", "status"], (0, 2));
        let full = terminal.screen.draw_full(lines(&["all", "of", "it"]));
        terminal.parser.process(full.as_bytes());
        assert!(terminal.parser.screen().contents().starts_with("all\nof\nit"));
        let full = terminal.screen.draw_full(lines(&["all", "or"]));
        terminal.parser.process(full.as_bytes());
        assert_eq!(terminal.parser.screen().contents().trim_end(), "all\nor");
        terminal.draw(&["two"], &["> ", "status"], (0, 2));
        assert_eq!(terminal.shown(), "$ rejoin\none\ntwo\n> ▮\nstatus");
    }

    #[test]
    fn nothing_of_the_live_part_is_left_behind() {
        let mut terminal = Terminal::new();
        terminal.draw(&["one"], &["rule", "> ", "status"], (1, 2));
        let bytes = terminal.screen.leave();
        terminal.parser.process(bytes.as_bytes());
        assert_eq!(terminal.shown(), "$ rejoin\none\n▮");
    }

    #[test]
    fn without_colours_the_rest_of_a_style_stays() {
        let style = AnsiColor::Red.on_default().bold();
        let frame = || Frame { live: vec![Line::styled("x", style)], cursor: Some((0, 0)), ..Frame::default() };
        let coloured = Screen::new(SIZE, Colours::Shown).draw(frame());
        let plain = Screen::new(SIZE, Colours::Hidden).draw(frame());
        assert!(
            coloured.contains("\x1b[31mx") && plain.contains("\x1b[1mx\x1b[0m") && !plain.contains("31m"),
            "{plain:?}"
        );
    }
}
