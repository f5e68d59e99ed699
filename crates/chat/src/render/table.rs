//! Tables: columns in line, cells broken where there is no room.

use super::line::Line;
use super::theme::{BOLD, DIM};
use super::wrap::wrap_words;

/// What stands between two columns.
const GAP: usize = 2;

/// No column is made narrower than this to make room for others.
const LEAST: usize = 6;

/// A table: its first row holds the names of the columns.
pub(super) struct Table {
    pub(super) rows: Vec<Vec<Line>>,
    /// Which columns have their cells on the right side.
    is_right: Vec<bool>,
}

impl Table {
    pub(super) fn new(is_right: Vec<bool>) -> Self {
        Self { rows: Vec::new(), is_right }
    }
}

/// The lines of `table`, none wider than `width` as long as its columns have their least.
pub(super) fn table_lines(table: &Table, width: usize) -> Vec<Line> {
    let widths = widths(table, width);
    let mut lines = Vec::new();
    for (number, row) in table.rows.iter().enumerate() {
        let row: Vec<Line> =
            if number == 0 { row.iter().map(|cell| cell.clone().over(BOLD)).collect() } else { row.clone() };
        lines.extend(row_lines(&row, &widths, &table.is_right, width));
        if number == 0 {
            let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
            lines.push(Line::styled("─".repeat(total.min(width)), DIM));
        }
    }
    lines
}

/// How wide each column is: those that are widest give first.
fn widths(table: &Table, width: usize) -> Vec<usize> {
    let n_columns = table.is_right.len();
    let natural = |column: usize| table.rows.iter().filter_map(|row| row.get(column)).map(Line::width).max();
    let mut widths: Vec<usize> = (0..n_columns).map(|column| natural(column).unwrap_or(0).max(1)).collect();
    let gaps = GAP * n_columns.saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > LEAST) else { break };
        *widest -= 1;
    }
    widths
}

fn row_lines(row: &[Line], widths: &[usize], is_right: &[bool], width: usize) -> Vec<Line> {
    let cells: Vec<Vec<Line>> = row.iter().zip(widths).map(|(cell, width)| wrap_words(cell, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |number: usize| {
        let mut line = Line::blank();
        let mut column = 0;
        for ((cell, width), is_right) in cells.iter().zip(widths).zip(is_right) {
            let text = cell.get(number).cloned().unwrap_or_default();
            let indent = if *is_right { width.saturating_sub(text.width()) } else { 0 };
            // Blanks come before a cell, so that no line ends with one.
            if !text.is_blank() {
                let blanks = (column + indent).saturating_sub(line.width());
                line.append(Line::plain(" ".repeat(blanks)));
                line.append(text);
            }
            column += width + GAP;
        }
        line.cut(width)
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use crate::render::line::Line;
    use crate::render::markdown::markdown;

    fn shown(text: &str, width: usize) -> String {
        markdown(text, width).iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    const TABLE: &str = "| tool | what it does | price |\n|---|---|--:|\n| brush | paints, slowly and well | 4 |\n| 東京 | a place | 12 |";

    #[test]
    fn columns_stand_in_line() {
        insta::assert_snapshot!(shown(TABLE, 80), @"
        tool   what it does             price
        ─────────────────────────────────────
        brush  paints, slowly and well      4
        東京   a place                     12
        ");
    }

    #[test]
    fn cells_break_where_there_is_no_room() {
        insta::assert_snapshot!(shown(TABLE, 26), @"
        tool   what it does  price
        ──────────────────────────
        brush  paints,           4
               slowly and
               well
        東京   a place          12
        ");
    }
}
