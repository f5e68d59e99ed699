//! Tables whose columns stand in line, and that fit the terminal.

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
}

impl Fit {
    /// How narrow a column that would be `natural` columns wide may become.
    fn least(self, natural: usize) -> usize {
        match self {
            Self::Whole => natural,
            Self::CutEnd(least) | Self::CutStart(least) => natural.min(least),
        }
    }
}

/// Which side of its column a cell stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A column.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) fit: Fit,
    pub(crate) side: Side,
}

/// Writes `rows` under the names of their columns.
pub(crate) fn write_table<const N: usize>(
    out: &mut Output,
    table: &[Column; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let natural = std::array::from_fn(|index| {
        let cells = rows.iter().map(|row| columns(&row[index]));
        cells.chain([columns(table[index].name)]).max().unwrap_or(0)
    });
    let widths = match out.width() {
        Some(width) => shrink(natural, &std::array::from_fn(|index| table[index].fit.least(natural[index])), width),
        None => natural,
    };
    let names = line(table, &std::array::from_fn(|index| table[index].name.to_owned()), &widths);
    let names = out.paint(DIM, &names);
    writeln!(out, "{names}")?;
    for row in rows {
        writeln!(out, "{}", line(table, row, &widths))?;
    }
    Ok(())
}

/// Makes those columns narrower that have the most to give, down to `least`, until all fit in `width`.
fn shrink<const N: usize>(mut widths: [usize; N], least: &[usize; N], width: usize) -> [usize; N] {
    let gaps = GAP.len() * N.saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let to_give = |index: &usize| widths[*index].saturating_sub(least[*index]);
        let Some(giver) = (0..N).filter(|index| to_give(index) > 0).max_by_key(to_give) else { break };
        widths[giver] -= 1;
    }
    widths
}

fn line<const N: usize>(table: &[Column; N], row: &[String; N], widths: &[usize; N]) -> String {
    let cells: [String; N] = std::array::from_fn(|index| {
        let (column, width) = (&table[index], widths[index]);
        let text = match column.fit {
            Fit::CutStart(_) => cut_start(&row[index], width),
            Fit::Whole | Fit::CutEnd(_) => cut_end(&row[index], width),
        };
        let blanks = " ".repeat(width.saturating_sub(columns(&text)));
        match column.side {
            Side::Left => format!("{text}{blanks}"),
            Side::Right => format!("{blanks}{text}"),
        }
    });
    cells.join(GAP).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_with_the_most_to_give_give_way_and_never_below_their_least() {
        assert_eq!(shrink([8, 40, 10], &[8, 10, 4], 80), [8, 40, 10]);
        assert_eq!(shrink([8, 40, 10], &[8, 10, 4], 50), [8, 28, 10]);
        assert_eq!(shrink([8, 40, 30], &[8, 24, 12], 52), [8, 26, 14]);
        assert_eq!(shrink([8, 40, 10], &[8, 10, 4], 20), [8, 10, 4]);
    }
}
