//! Owns tables of a name and figures.

use super::layout::{columns, visible};
use super::page::{Ink, Page};

const GAP: usize = 2;

/// Below this many columns for names a table becomes a list.
const NARROWEST_NAME: usize = 12;

/// Rows of a name and figures. A heading may have two lines.
pub(super) struct Columns {
    name: &'static str,
    figures: Vec<&'static str>,
    rows: Vec<(String, Vec<String>)>,
}

impl Columns {
    pub(super) fn new(name: &'static str, figures: &[&'static str]) -> Self {
        Self { name, figures: figures.to_vec(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, name: &str, figures: Vec<String>) {
        self.rows.push((visible(name), figures));
    }

    /// Names left, figures right. A name too long for its column has a line of its own; where not even figures fit
    /// beside short names, each row becomes a list of `heading figure`.
    pub(super) fn print(&self, page: &mut Page, indent: usize) {
        let widths: Vec<usize> =
            self.figures.iter().enumerate().map(|(at, head)| self.figure_width(at, head)).collect();
        let taken = indent + widths.iter().map(|width| width + GAP).sum::<usize>();
        let room = page.width().saturating_sub(taken);
        if room < NARROWEST_NAME {
            return self.print_list(page, indent);
        }
        let fitting = self.rows.iter().map(|(name, _)| columns(name)).filter(|&width| width <= room);
        let name_width = fitting.chain([columns(self.name)]).max().unwrap_or_default().min(room);
        self.print_heads(page, indent, name_width, &widths);
        for (name, figures) in &self.rows {
            let beside = columns(name) <= name_width;
            if !beside {
                page.line(indent, Ink::Plain, name);
            }
            let line = aligned(if beside { name } else { "" }, name_width, figures.iter().map(String::as_str), &widths);
            page.line(indent, Ink::Plain, &line);
        }
    }

    fn print_heads(&self, page: &mut Page, indent: usize, name_width: usize, widths: &[usize]) {
        let two_lines = self.figures.iter().any(|head| head.contains('\n'));
        let halves = |head: &&'static str| head.split_once('\n').unwrap_or(("", head));
        if two_lines {
            let upper = self.figures.iter().map(|head| halves(head).0);
            page.line(indent, Ink::Dim, &aligned("", name_width, upper, widths));
        }
        let lower = self.figures.iter().map(|head| halves(head).1);
        page.line(indent, Ink::Dim, &aligned(self.name, name_width, lower, widths));
    }

    fn print_list(&self, page: &mut Page, indent: usize) {
        for (name, figures) in &self.rows {
            page.line(indent, Ink::Plain, name);
            let pairs = self.figures.iter().zip(figures);
            let listed: Vec<String> = pairs
                .map(|(head, figure)| format!("{} {figure}", head.replace("/\n", "/").replace('\n', " ")))
                .collect();
            page.paragraph(indent + GAP, Ink::Plain, &listed.join(", "));
        }
    }

    fn figure_width(&self, at: usize, head: &str) -> usize {
        let heads = head.split('\n').map(columns);
        let figures = self.rows.iter().filter_map(|(_, figures)| figures.get(at)).map(|figure| columns(figure));
        heads.chain(figures).max().unwrap_or_default()
    }
}

fn aligned<'a>(name: &str, name_width: usize, figures: impl Iterator<Item = &'a str>, widths: &[usize]) -> String {
    let pad = |used: usize, width: usize| " ".repeat(width.saturating_sub(used));
    let mut line = format!("{name}{}", pad(columns(name), name_width));
    for (figure, &width) in figures.zip(widths) {
        line.push_str(&pad(columns(figure), width + GAP));
        line.push_str(figure);
    }
    line
}
