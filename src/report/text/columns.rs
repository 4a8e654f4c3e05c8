//! Owns tables of a name and figures, with lines between the rows that say more.

use super::layout::{columns, visible};
use super::page::{Ink, Page};

const GAP: usize = 2;

/// Below this many columns for names a table becomes a list.
const NARROWEST_NAME: usize = 12;

enum Row {
    Figures(String, Vec<String>),
    Line(String),
    Note(String),
}

/// Rows of a name and figures. A heading may have two lines.
pub(super) struct Columns {
    name: &'static str,
    figures: Vec<&'static str>,
    rows: Vec<Row>,
}

impl Columns {
    pub(super) fn new(name: &'static str, figures: &[&'static str]) -> Self {
        Self { name, figures: figures.to_vec(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, name: &str, figures: Vec<String>) {
        self.rows.push(Row::Figures(visible(name), figures));
    }

    /// A line across all columns, cut where it does not fit.
    pub(super) fn line(&mut self, text: &str) {
        self.rows.push(Row::Line(text.to_owned()));
    }

    /// Sentences across all columns, about the rows above them.
    pub(super) fn note(&mut self, text: &str) {
        self.rows.push(Row::Note(text.to_owned()));
    }

    /// Names left, figures right. A name too long for its column has a line of its own; where not even figures fit
    /// beside short names, each row becomes a list of `heading figure`.
    pub(super) fn print(&self, page: &mut Page, indent: usize) {
        let widths: Vec<usize> =
            self.figures.iter().enumerate().map(|(at, head)| self.figure_width(at, head)).collect();
        let taken = indent + widths.iter().map(|width| width + GAP).sum::<usize>();
        let room = page.width().saturating_sub(taken);
        let names = || self.rows().map(|(name, _)| columns(name)).chain([columns(self.name)]);
        if room < names().max().unwrap_or_default().min(NARROWEST_NAME) {
            return self.print_list(page, indent);
        }
        let name_width = names().filter(|&width| width <= room).max().unwrap_or_default();
        self.print_heads(page, indent, name_width, &widths);
        for row in &self.rows {
            let (name, figures) = match row {
                Row::Figures(name, figures) => (name, figures),
                other => {
                    print_words(page, indent, other);
                    continue;
                }
            };
            let beside = columns(name) <= name_width;
            if !beside {
                page.line(indent, Ink::Plain, name);
            }
            let line = aligned(if beside { name } else { "" }, name_width, figures.iter().map(String::as_str), &widths);
            page.line(indent, Ink::Plain, &line);
        }
    }

    fn rows(&self) -> impl Iterator<Item = (&String, &Vec<String>)> {
        self.rows.iter().filter_map(|row| match row {
            Row::Figures(name, figures) => Some((name, figures)),
            Row::Line(_) | Row::Note(_) => None,
        })
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
        for row in &self.rows {
            let (name, figures) = match row {
                Row::Figures(name, figures) => (name, figures),
                other => {
                    print_words(page, indent, other);
                    continue;
                }
            };
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
        let figures = self.rows().filter_map(|(_, figures)| figures.get(at)).map(|figure| columns(figure));
        heads.chain(figures).max().unwrap_or_default()
    }
}

fn print_words(page: &mut Page, indent: usize, row: &Row) {
    match row {
        Row::Figures(..) => {}
        Row::Line(text) => page.line(indent, Ink::Plain, text),
        Row::Note(text) => page.paragraph(indent + GAP, Ink::Dim, text),
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
