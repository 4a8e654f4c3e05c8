//! Owns the outward forms of a report: a [`Report`] in, text out. One file a format.

pub mod json;
pub mod text;

use crate::model::{Doctor, Report};
use std::{fmt, str::FromStr};
pub use text::{Style, visible};

/// A form that a report can be printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For people, at a fixed width.
    #[default]
    Text,
    /// For programs: `xestack.report/1`.
    Json,
}

/// Text that names no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{text}`: use one of {}", Format::names())]
pub struct UnknownFormat {
    /// What was given.
    pub text: String,
}

impl Format {
    /// Every format, in the order they are offered.
    pub const ALL: [Self; 2] = [Self::Text, Self::Json];

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }

    /// All names, separated by commas.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| UnknownFormat { text: text.to_owned() })
    }
}

/// The report in one form, ending in a line feed. `style` concerns text only.
pub fn render(format: Format, report: &Report, style: &Style) -> String {
    match format {
        Format::Text => text::render(report, style),
        Format::Json => json::render(report),
    }
}

/// What `doctor` found in one form, ending in a line feed. `style` concerns text only.
pub fn render_doctor(format: Format, doctor: &Doctor, style: &Style) -> String {
    match format {
        Format::Text => text::doctor::render(doctor, style),
        Format::Json => json::write(doctor, &doctor.schema),
    }
}
