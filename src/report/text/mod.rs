//! Owns the text report: its sections, in their order.

mod columns;
mod counters;
pub(super) mod doctor;
mod figures;
mod findings;
mod header;
mod layout;
mod limits;
mod page;
mod stacks;
mod verdict;

use crate::model::{Problem, Report, Severity};
pub use layout::visible;
use page::{Ink, Page};

/// How a text report looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of a line, 40 to 500; what lies outside is brought inside.
    pub width: usize,
    /// Whether meaning is repeated in ANSI colours.
    pub colour: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, colour: false }
    }
}

impl Style {
    fn usable_width(self) -> usize {
        self.width.clamp(40, 500)
    }
}

/// Rows of one kind that are written out before the rest is summed up.
const MOST_ROWS: usize = 20;

/// The report for people. No line is wider than the style's width; names are shortened in the middle where they must be,
/// and the JSON report has them whole. Characters that would steer a terminal are shown, not sent.
pub fn render(report: &Report, style: &Style) -> String {
    let mut page = Page::new(style);
    header::print(&mut page, report);
    page.heading("Verdict");
    verdict::print(&mut page, report);
    page.heading("Why");
    verdict::print_reasons(&mut page, report);
    page.heading("Stacks");
    stacks::print(&mut page, &report.stacks);
    page.heading("Counters");
    counters::print(&mut page, report);
    findings::print(&mut page, &report.findings);
    page.heading("Not shown by this");
    limits::print(&mut page, report);
    page.heading("Next");
    verdict::print_next_steps(&mut page, report);
    page.heading("Problems");
    print_problems(&mut page, &report.capture.problems);
    page.into_text()
}

fn print_problems(page: &mut Page, problems: &[Problem]) {
    if problems.is_empty() {
        page.line(2, Ink::Plain, "None.");
    }
    let mut gravest_first: Vec<&Problem> = problems.iter().collect();
    gravest_first.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
    for problem in gravest_first.iter().take(MOST_ROWS) {
        let (ink, lead) = match problem.severity {
            Severity::Info => (Ink::Plain, "info     "),
            Severity::Warning => (Ink::Warning, "warning  "),
            Severity::Partial => (Ink::Bad, "partial  "),
        };
        page.entry(2, (ink, lead), Ink::Plain, &format!("{}: {}", problem.code, problem.message));
        if let Some(hint) = &problem.hint {
            page.paragraph(2 + lead.len(), Ink::Dim, hint);
        }
    }
    if let Some(more) = problems.len().checked_sub(MOST_ROWS).filter(|&more| more > 0) {
        page.line(2, Ink::Dim, &format!("and {more} more"));
    }
}
