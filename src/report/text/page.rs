//! Owns the page being written: every line of a report passes here, so width, escaping and colour hold everywhere.

use super::{
    Style,
    layout::{columns, shorten, visible, wrap},
};
use anstyle::{AnsiColor, Effects};

/// Longest text of one paragraph, in bytes; the JSON report has it whole.
const LONGEST_PARAGRAPH: usize = 4000;

/// What a piece of text means; colour repeats the meaning and never carries it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Heading,
    Strong,
    Dim,
    Good,
    Warning,
    Bad,
}

impl Ink {
    fn style(self) -> anstyle::Style {
        let plain = anstyle::Style::new();
        match self {
            Self::Plain => plain,
            Self::Heading => plain.fg_color(Some(AnsiColor::Cyan.into())).effects(Effects::BOLD),
            Self::Strong => plain.effects(Effects::BOLD),
            Self::Dim => plain.effects(Effects::DIMMED),
            Self::Good => plain.fg_color(Some(AnsiColor::Green.into())),
            Self::Warning => plain.fg_color(Some(AnsiColor::Yellow.into())),
            Self::Bad => plain.fg_color(Some(AnsiColor::Red.into())).effects(Effects::BOLD),
        }
    }
}

/// A report under way.
pub(super) struct Page {
    text: String,
    width: usize,
    colour: bool,
    below_heading: bool,
}

impl Page {
    pub(super) fn new(style: &Style) -> Self {
        Self { text: String::new(), width: style.usable_width(), colour: style.colour, below_heading: false }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// The name of a section, after an empty line.
    pub(super) fn heading(&mut self, name: &str) {
        self.text.push('\n');
        self.line(0, Ink::Heading, name);
        self.below_heading = true;
    }

    /// An empty line between the blocks of a section.
    pub(super) fn gap(&mut self) {
        if !self.below_heading {
            self.text.push('\n');
        }
    }

    /// One line; what does not fit is cut from its middle.
    pub(super) fn line(&mut self, indent: usize, ink: Ink, text: &str) {
        let shown = shorten(visible(text).trim_end(), self.width.saturating_sub(indent));
        self.write(indent, &[(ink, &shown)]);
    }

    /// Sentences, wrapped.
    pub(super) fn paragraph(&mut self, indent: usize, ink: Ink, text: &str) {
        self.entry(indent, (ink, ""), ink, text);
    }

    /// Sentences after a lead such as `1. `, wrapped, their further lines under the first word.
    pub(super) fn entry(&mut self, indent: usize, (lead_ink, lead): (Ink, &str), ink: Ink, text: &str) {
        let lead = shorten(&visible(lead), self.width.saturating_sub(indent) / 2);
        let inner = indent + columns(&lead);
        let mut lead = lead.as_str();
        for line in wrap(&bounded(text), self.width.saturating_sub(inner)) {
            if lead.is_empty() {
                self.write(inner, &[(ink, &line)]);
            } else {
                self.write(indent, &[(lead_ink, lead), (ink, &line)]);
                lead = "";
            }
        }
        if !lead.is_empty() {
            self.write(indent, &[(lead_ink, lead.trim_end())]);
        }
    }

    fn write(&mut self, indent: usize, pieces: &[(Ink, &str)]) {
        self.below_heading = false;
        self.text.extend(std::iter::repeat_n(' ', indent));
        for (ink, text) in pieces {
            let style = ink.style();
            if self.colour && !style.is_plain() {
                self.text.extend([style.render().to_string().as_str(), text, &style.render_reset().to_string()]);
            } else {
                self.text.push_str(text);
            }
        }
        self.text.push('\n');
    }
}

fn bounded(text: &str) -> String {
    if text.len() <= LONGEST_PARAGRAPH {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LONGEST_PARAGRAPH / 4).collect();
    format!("{kept}... (shortened; the JSON report has it whole)")
}
