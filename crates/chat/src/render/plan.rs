//! A plan as a check list.

use anstyle::Style;

use super::line::Line;
use super::theme::{ACCENT, BOLD, DIM, GOOD};
use super::wrap::{Break, wrap};
use crate::protocol::{PlanEntry, PlanStatus};
use crate::text::one_line;

/// The lines of `plan`, none wider than `width`.
pub(crate) fn plan_lines(plan: &[PlanEntry], width: usize) -> Vec<Line> {
    let n_done = plan.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
    let head = Line::styled("Plan", BOLD).with(format!(" {n_done}/{}", plan.len()), DIM);
    [head.cut(width)].into_iter().chain(plan.iter().flat_map(|entry| entry_lines(entry, width))).collect()
}

fn entry_lines(entry: &PlanEntry, width: usize) -> Vec<Line> {
    let (mark, mark_style, style) = match entry.status {
        PlanStatus::Completed => ("✓ ", GOOD, DIM),
        PlanStatus::InProgress => ("▸ ", ACCENT, BOLD),
        PlanStatus::Pending => ("☐ ", DIM, Style::new()),
    };
    let text = Line::styled(one_line(&entry.content), style);
    wrap(&text, width, Break::Words, &Line::styled(mark, mark_style), &Line::plain("  "))
}
