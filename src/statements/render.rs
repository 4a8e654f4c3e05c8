//! Owns putting values into a statement's text. Every value is quoted by its kind, so none can end its own quotation.

use std::fmt::Write as _;

/// A value for a `{placeholder}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument<'a> {
    /// An identifier: `[name]`, with `]` doubled.
    Name(&'a str),
    /// A string: `N'text'`, with `'` doubled.
    Text(&'a str),
    /// A number.
    Number(u64),
    /// Several numbers, comma-separated.
    Numbers(&'a [u32]),
    /// A keyword or dotted name of the statement's grammar: letters, digits, `_` and `.` only.
    Keyword(&'a str),
    /// A value that is only known at run time, shown in a dry run as `0 /* … */`.
    LookedUp(&'a str),
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
        Argument::Number(number) => write!(text, "{number}"),
        Argument::Numbers(numbers) => {
            let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            write!(text, "{}", list.join(", "))
        }
        Argument::LookedUp(what) => write!(text, "0 /* {}, looked up at run time */", what.replace("*/", "* /")),
        Argument::Keyword(value) => {
            if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
                return Err(RenderError::Keyword { statement: statement.to_owned(), value: (*value).to_owned() });
            }
            write!(text, "{value}")
        }
    };
    // Writing to a String cannot fail.
    debug_assert!(written.is_ok());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Argument, RenderError, render};

    #[test]
    fn values_stay_inside_their_quotation() {
        let filled = render(
            "s",
            "A {name} {text} {n} {list} {word} {key}\n",
            &[
                ("name", Argument::Name("a]; DROP")),
                ("text", Argument::Text("it's '' {n}")),
                ("n", Argument::Number(7)),
                ("list", Argument::Numbers(&[3656, 2592])),
                ("word", Argument::Keyword("sqlos.wait_info")),
                ("key", Argument::LookedUp("wait_types: X*/Y")),
            ],
        );
        assert_eq!(
            filled.as_deref(),
            Ok(
                "A [a]]; DROP] N'it''s '''' {n}' 7 3656, 2592 sqlos.wait_info 0 /* wait_types: X* /Y, looked up at run time */"
            )
        );
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
