//! Owns putting values into a statement's text. Every value is quoted by its kind, so none can end its own quotation.

use crate::catalog::sessions::FieldTest;
use std::fmt::Write as _;

/// A value for a `{placeholder}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument<'a> {
    /// An identifier: `[name]`, with `]` doubled.
    Name(&'a str),
    /// A string: `N'text'`, with `'` doubled.
    Text(&'a str),
    /// Several strings, comma-separated.
    Texts(&'a [String]),
    /// Binary values of 8 bytes, comma-separated: `0x…`.
    Binaries(&'a [u64]),
    /// A number.
    Number(u64),
    /// Several numbers, comma-separated.
    Numbers(&'a [u32]),
    /// A keyword or dotted name of the statement's grammar: letters, digits, `_` and `.` only.
    Keyword(&'a str),
    /// A test of a predicate, followed by ` AND `; nothing where it tests for no key.
    Keys {
        /// Event field.
        field: &'a str,
        /// Its keys; `None` where they are only known at run time.
        keys: Option<&'a [u64]>,
        /// What is looked up then.
        looked_up: &'a str,
    },
    /// Tests of event fields, each followed by ` AND `.
    Tests(&'a [FieldTest]),
    /// Further tests of a predicate, each followed by ` AND `.
    Filters(&'a Filters),
    /// The actions of an event, on a line of their own before its predicate; nothing without one.
    Action(Option<&'a str>),
    /// An option of an event session in seconds, on a line of its own before the next one; nothing without a value.
    Seconds {
        /// Its name.
        option: &'a str,
        /// Its value.
        seconds: Option<u64>,
    },
}

/// Which events of a session are counted, beside those of its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filters {
    /// Only those in this database.
    pub database_id: Option<u64>,
    /// Only those of this session.
    pub session_id: Option<u64>,
    /// Only each n-th.
    pub sample_one_in: Option<u64>,
}

impl Filters {
    /// The filters for people, without the sample.
    pub fn in_words(self) -> Vec<String> {
        let database = self.database_id.map(|id| format!("database {id}"));
        let session = self.session_id.map(|id| format!("session {id}"));
        database.into_iter().chain(session).collect()
    }

    /// The integer tests first, the sample last: each event that reaches it is counted there.
    fn conditions(self) -> impl Iterator<Item = String> {
        let database = self.database_id.map(|id| format!("sqlserver.database_id = {id}"));
        let session = self.session_id.map(|id| format!("sqlserver.session_id = {id}"));
        let sample = self.sample_one_in.map(|n| format!("package0.divides_by_uint64(package0.counter, {n})"));
        database.into_iter().chain(session).chain(sample)
    }
}

/// A statement text that cannot be filled in: an error in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A placeholder without a value.
    #[error("statement `{statement}` has a placeholder {{{placeholder}}} that nothing fills")]
    Placeholder {
        /// Statement.
        statement: String,
        /// Placeholder.
        placeholder: String,
    },
    /// A keyword with characters that no keyword has.
    #[error("`{value}` cannot stand as a keyword in statement `{statement}`")]
    Keyword {
        /// Statement.
        statement: String,
        /// Value.
        value: String,
    },
    /// No such statement in the catalogue.
    #[error("the catalogue holds no statement `{0}`")]
    Missing(String),
}

/// Fills the `{placeholders}` of a statement's text. Text outside of placeholders stays as it is.
pub fn render(statement: &str, text: &str, arguments: &[(&str, Argument<'_>)]) -> Result<String, RenderError> {
    let mut filled = String::with_capacity(text.len() + 64);
    let mut rest = text.trim_end();
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let unfilled =
            |name: &str| RenderError::Placeholder { statement: statement.to_owned(), placeholder: name.to_owned() };
        let (name, behind) = after.split_once('}').ok_or_else(|| unfilled(after))?;
        let (_, argument) = arguments.iter().find(|(key, _)| *key == name).ok_or_else(|| unfilled(name))?;
        write_argument(&mut filled, statement, argument)?;
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn write_argument(text: &mut String, statement: &str, argument: &Argument<'_>) -> Result<(), RenderError> {
    let written = match argument {
        Argument::Name(name) => write!(text, "[{}]", name.replace(']', "]]")),
        Argument::Text(value) => write!(text, "N'{}'", value.replace('\'', "''")),
        Argument::Texts(values) => {
            let list: Vec<String> = values.iter().map(|value| format!("N'{}'", value.replace('\'', "''"))).collect();
            write!(text, "{}", list.join(", "))
        }
        Argument::Binaries(values) => {
            let list: Vec<String> = values.iter().map(|value| format!("0x{value:016X}")).collect();
            write!(text, "{}", list.join(", "))
        }
        Argument::Number(number) => write!(text, "{number}"),
        Argument::Numbers(numbers) => {
            let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            write!(text, "{}", list.join(", "))
        }
        Argument::Keyword(value) => write!(text, "{}", keyword(statement, value)?),
        Argument::Keys { field, keys, looked_up } => {
            let field = keyword(statement, field)?;
            match keys {
                None => {
                    write!(text, "{field} = 0 /* {}, looked up at run time */ AND ", looked_up.replace("*/", "* /"))
                }
                Some([]) => Ok(()),
                Some([key]) => write!(text, "{field} = {key} AND "),
                Some(keys) => {
                    let tests: Vec<String> = keys.iter().map(|key| format!("{field} = {key}")).collect();
                    write!(text, "({}) AND ", tests.join(" OR "))
                }
            }
        }
        Argument::Tests(tests) => {
            for FieldTest { field, value } in *tests {
                write!(text, "{} = {value} AND ", keyword(statement, field)?).ok();
            }
            Ok(())
        }
        Argument::Action(action) => match action {
            Some(action) => write!(text, "ACTION ({})\n    ", keyword(statement, action)?),
            None => Ok(()),
        },
        Argument::Filters(filters) => filters.conditions().try_for_each(|condition| write!(text, "{condition} AND ")),
        Argument::Seconds { option, seconds } => match seconds {
            Some(seconds) => write!(text, "{} = {seconds} SECONDS,\n    ", keyword(statement, option)?),
            None => Ok(()),
        },
    };
    // Writing to a String cannot fail.
    debug_assert!(written.is_ok());
    Ok(())
}

fn keyword<'a>(statement: &str, value: &'a str) -> Result<&'a str, RenderError> {
    if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
        return Err(RenderError::Keyword { statement: statement.to_owned(), value: value.to_owned() });
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::{Argument, Filters, RenderError, render};

    #[test]
    fn predicates_test_keys_first_and_sample_last() {
        let shown = |keys, filters: Filters| {
            let looked_up = "wait_types: X*/Y";
            let arguments =
                [("keys", Argument::Keys { field: "type", keys, looked_up }), ("filters", Argument::Filters(&filters))];
            render("s", "WHERE {keys}{filters}package0.counter <= 9", &arguments).unwrap()
        };
        let none = Filters::default();
        let all = Filters { database_id: Some(5), session_id: Some(52), sample_one_in: Some(10) };
        for (keys, filters, expected) in [
            (Some(&[][..]), none, "WHERE package0.counter <= 9"),
            (Some(&[7][..]), none, "WHERE type = 7 AND package0.counter <= 9"),
            (Some(&[7, 8][..]), none, "WHERE (type = 7 OR type = 8) AND package0.counter <= 9"),
            (None, none, "WHERE type = 0 /* wait_types: X* /Y, looked up at run time */ AND package0.counter <= 9"),
            (
                Some(&[7][..]),
                all,
                "WHERE type = 7 AND sqlserver.database_id = 5 AND sqlserver.session_id = 52 AND \
                 package0.divides_by_uint64(package0.counter, 10) AND package0.counter <= 9",
            ),
        ] {
            assert_eq!(shown(keys, filters), expected);
        }
    }

    #[test]
    fn values_stay_inside_their_quotation() {
        let filled = render(
            "s",
            "A {name} {text} {n} {list} {word}\n",
            &[
                ("name", Argument::Name("a]; DROP")),
                ("text", Argument::Text("it's '' {n}")),
                ("n", Argument::Number(7)),
                ("list", Argument::Numbers(&[3656, 2592])),
                ("word", Argument::Keyword("sqlos.wait_info")),
            ],
        );
        assert_eq!(filled.as_deref(), Ok("A [a]]; DROP] N'it''s '''' {n}' 7 3656, 2592 sqlos.wait_info"));
    }

    #[test]
    fn what_cannot_be_filled_is_an_error() {
        assert_eq!(
            render("s", "{a}", &[]),
            Err(RenderError::Placeholder { statement: "s".into(), placeholder: "a".into() })
        );
        assert!(render("s", "{a", &[("a", Argument::Number(1))]).is_err());
        for value in ["", "a b", "a'", "x;y", "[x]"] {
            assert!(render("s", "{a}", &[("a", Argument::Keyword(value))]).is_err(), "{value}");
        }
    }
}
