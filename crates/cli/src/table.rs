//! Tables whose columns stand in line, and that fit the terminal.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::output::{DIM, Output, columns, cut_end, cut_start};

/// What stands between two columns.
const GAP: &str = "  ";

/// What happens to a column that is too wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It is shown whole.
    Whole,
    /// Its cells lose their ends, but at least this many columns stay.
    CutEnd(usize),
    /// Its cells lose their beginnings, but at least this many columns stay.
    CutStart(usize),
    /// This happens; where there is no room even then, it is left out, after those with higher numbers.
    OrLeft(u8, &'static Self),
}

impl Fit {
    /// How narrow a column that would be `natural` columns wide may become.
    fn least(self, natural: usize) -> usize {
        match self {
            Self::Whole => natural,
            Self::CutEnd(least) | Self::CutStart(least) => natural.min(least),
            Self::OrLeft(_, fit) => fit.least(natural),
        }
    }

    fn cut(self, cell: &str, width: usize) -> Cow<'_, str> {
        match self {
            Self::CutStart(_) => cut_start(cell, width),
            Self::Whole | Self::CutEnd(_) => cut_end(cell, width),
            Self::OrLeft(_, fit) => fit.cut(cell, width),
        }
    }
}

/// Which side of its column a cell stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A column. One that is empty in all rows is left out.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) fit: Fit,
    pub(crate) side: Side,
}

/// A column that has something in it, as wide as it will be.
struct Shown<'a> {
    index: usize,
    column: &'a Column,
    width: usize,
}

/// Writes `rows` under the names of their columns.
pub(crate) fn write_table<const N: usize>(
    out: &mut Output,
    table: &[Column; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let shown = table.iter().enumerate().filter_map(|(index, column)| {
        let widest = rows.iter().map(|row| columns(&row[index])).max().unwrap_or(0);
        (widest > 0).then(|| Shown { index, column, width: widest.max(columns(column.name)) })
    });
    let mut shown: Vec<Shown<'_>> = shown.collect();
    if let Some(width) = out.width() {
        leave_out(&mut shown, width);
        let least: Vec<usize> = shown.iter().map(|it| it.column.fit.least(it.width)).collect();
        let widths = shrink(shown.iter().map(|it| it.width).collect(), &least, width);
        shown.iter_mut().zip(widths).for_each(|(it, width)| it.width = width);
    }
    let names = out.paint(DIM, &line(&shown, |it| it.column.name));
    writeln!(out, "{names}")?;
    for row in rows {
        writeln!(out, "{}", line(&shown, |it| &row[it.index]))?;
    }
    Ok(())
}

/// Leaves out columns that may be, until the others can be made to fit in `width`.
fn leave_out(shown: &mut Vec<Shown<'_>>, width: usize) {
    let least = |it: &Shown<'_>| it.column.fit.least(it.width);
    let number = |it: &Shown<'_>| match it.column.fit {
        Fit::OrLeft(number, _) => Some(number),
        Fit::Whole | Fit::CutEnd(_) | Fit::CutStart(_) => None,
    };
    while shown.iter().map(least).sum::<usize>() + gaps(shown.len()) > width {
        let next = shown.iter().enumerate().filter_map(|(at, it)| Some((number(it)?, at))).max();
        let Some((_, next)) = next else { break };
        shown.remove(next);
    }
}

/// How many columns stand between `n_columns` columns.
fn gaps(n_columns: usize) -> usize {
    GAP.len() * n_columns.saturating_sub(1)
}

/// Makes those columns narrower that have the most to give, down to `least`, until all fit in `width`.
fn shrink(mut widths: Vec<usize>, least: &[usize], width: usize) -> Vec<usize> {
    while widths.iter().sum::<usize>() + gaps(widths.len()) > width {
        let to_give = |index: &usize| widths[*index].saturating_sub(least[*index]);
        let Some(giver) = (0..widths.len()).filter(|index| to_give(index) > 0).max_by_key(to_give) else { break };
        widths[giver] -= 1;
    }
    widths
}

fn line<'a>(shown: &[Shown<'_>], cell: impl Fn(&Shown<'_>) -> &'a str) -> String {
    let cells = shown.iter().map(|it| {
        let text = it.column.fit.cut(cell(it), it.width);
        let blanks = " ".repeat(it.width.saturating_sub(columns(&text)));
        match it.column.side {
            Side::Left => format!("{text}{blanks}"),
            Side::Right => format!("{blanks}{text}"),
        }
    });
    cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_with_the_most_to_give_give_way_and_never_below_their_least() {
        assert_eq!(shrink(vec![8, 40, 10], &[8, 10, 4], 80), [8, 40, 10]);
        assert_eq!(shrink(vec![8, 40, 10], &[8, 10, 4], 50), [8, 28, 10]);
        assert_eq!(shrink(vec![8, 40, 30], &[8, 24, 12], 52), [8, 26, 14]);
        assert_eq!(shrink(vec![8, 40, 10], &[8, 10, 4], 20), [8, 10, 4]);
    }
    #[test]
    fn columns_that_may_be_are_left_out_where_the_others_have_no_room() {
        const TABLE: [Column; 4] = [
            Column { name: "ID", fit: Fit::Whole, side: Side::Left },
            Column { name: "TITLE", fit: Fit::CutEnd(10), side: Side::Left },
            Column { name: "FOLDER", fit: Fit::OrLeft(2, &Fit::CutStart(6)), side: Side::Left },
            Column { name: "COST", fit: Fit::OrLeft(1, &Fit::Whole), side: Side::Right },
        ];
        let left = |width| {
            let shown = TABLE.iter().zip([8, 40, 30, 5]).enumerate();
            let mut shown: Vec<_> = shown.map(|(index, (column, width))| Shown { index, column, width }).collect();
            leave_out(&mut shown, width);
            shown.iter().map(|it| it.column.name).collect::<Vec<_>>()
        };
        assert_eq!(left(35), ["ID", "TITLE", "FOLDER", "COST"]);
        assert_eq!(left(34), ["ID", "TITLE", "COST"]);
        assert_eq!(left(26), ["ID", "TITLE"]);
        assert_eq!(left(1), ["ID", "TITLE"]);
    }
}
