//! Owns how cells of counter tables are read: columns found once, and numbers of any width and writing.

use crate::model::{Table, Value};

/// The columns of a table that are read, each under the first of its names that the table has.
pub(super) struct Columns<'a> {
    table: &'a Table,
}

/// Where a column stands; `None` in a table without it.
pub(super) type Place = Option<usize>;

impl<'a> Columns<'a> {
    /// The columns of a table.
    pub(super) fn of(table: &'a Table) -> Self {
        Self { table }
    }

    /// The place of the first of these names that the table has.
    pub(super) fn place(&self, names: &[&str]) -> Place {
        names.iter().find_map(|name| self.table.column(name))
    }
}

/// A cell; `None` where the column is missing.
pub(super) fn cell(row: &[Value], place: Place) -> Option<&Value> {
    row.get(place?)
}

/// A whole number; see [`number`].
pub(super) fn number_in(row: &[Value], place: Place) -> Option<i128> {
    number(cell(row, place)?)
}

/// A whole number that fits an id.
pub(super) fn id_in(row: &[Value], place: Place) -> Option<i64> {
    i64::try_from(number_in(row, place)?).ok()
}

/// A trimmed text that is not empty.
pub(super) fn text_in(row: &[Value], place: Place) -> Option<&str> {
    cell(row, place)?.as_text().map(str::trim).filter(|text| !text.is_empty())
}

/// A bit, also where it came as a number or as text.
pub(super) fn flag_in(row: &[Value], place: Place) -> Option<bool> {
    let value = cell(row, place)?;
    if let Some(text) = value.as_text() {
        let is = |words: &[&str]| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
        if is(&["true", "on", "yes"]) {
            return Some(true);
        }
        if is(&["false", "off", "no"]) {
            return Some(false);
        }
    }
    number(value).map(|number| number != 0)
}

/// A value as a whole number, beyond 64 bits too. Text may be written for people, with separators between groups of three
/// digits (`1,234,567`). `None` for what is no whole number.
pub(super) fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Null => None,
        Value::Bool(flag) => Some(i128::from(*flag)),
        Value::Integer(number) => Some(i128::from(*number)),
        #[allow(clippy::float_cmp)]
        Value::Real(number) => (number.is_finite() && number.fract() == 0.0).then_some(*number as i128),
        Value::Text(text) => from_text(text.trim()),
    }
}

fn from_text(text: &str) -> Option<i128> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let is_separator = |c: char| matches!(c, ',' | '\'' | '_' | ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut groups = digits.split(is_separator);
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()))?;
    let grouped = first.bytes().all(|b| b.is_ascii_digit())
        && groups.all(|group| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit()));
    let joined: String = text.chars().filter(|c| !is_separator(*c)).collect();
    grouped.then(|| joined.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::number;
    use crate::model::Value;

    #[test]
    fn numbers_are_read_in_any_writing() {
        let text = |text: &str| number(&Value::Text(text.to_owned()));
        for (written, read) in [
            (" 500012 ", Some(500_012)),
            ("500,012", Some(500_012)),
            ("526,448,640", Some(526_448_640)),
            ("1\u{202f}234\u{202f}567", Some(1_234_567)),
            ("-1,000", Some(-1_000)),
            ("18446744073709551615", Some(u64::MAX.into())),
            ("1,5", None),
            ("12,34,567", None),
            ("1,234.5", None),
            (",123", None),
            ("", None),
            ("NULL", None),
        ] {
            assert_eq!(text(written), read, "{written}");
        }
        assert_eq!(number(&Value::Real(9.3e18)), Some(9_300_000_000_000_000_000));
        assert_eq!(number(&Value::Real(f64::NAN)), None);
        assert_eq!(number(&Value::Real(0.5)), None);
        assert_eq!(number(&Value::Null), None);
    }
}
