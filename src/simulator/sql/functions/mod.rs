//! Owns the built-in scalar functions: which exist in which version, their types, their answers.
#![expect(clippy::unnecessary_wraps, reason = "the table of functions has one type for all of them")]

mod dates;
mod numbers;
mod server;
mod text;

pub(super) use dates::date_part;
pub(super) use server::{ErrorDetails, ServerState};

use crate::model::ServerVersion;
use crate::simulator::output::Message;
use crate::simulator::sql::types::{Family, family, is_text, text_length, text_type};
use crate::simulator::value::{Datum, SqlType};
use std::borrow::Cow;

/// A built-in function.
pub(super) struct Function {
    pub(super) name: &'static str,
    /// Least and most arguments.
    pub(super) arguments: (usize, usize),
    since: ServerVersion,
    /// Whether any NULL argument makes the answer NULL.
    pub(super) strict: bool,
    /// The types for these argument types; the error is the place (from 1) of an argument it cannot take.
    pub(super) signature: fn(&[SqlType]) -> Result<Signature, usize>,
    pub(super) evaluate: fn(&Call<'_>) -> Result<Datum, Message>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What a function's arguments are brought to, and what it answers.
pub(super) struct Signature {
    pub(super) parameters: Vec<SqlType>,
    pub(super) result: SqlType,
}

/// A call whose arguments have their parameters' types.
pub(super) struct Call<'a> {
    pub(super) arguments: &'a [Cow<'a, Datum>],
    pub(super) types: &'a [SqlType],
    pub(super) result: SqlType,
    pub(super) server: &'a ServerState<'a>,
}

impl Call<'_> {
    fn argument(&self, place: usize) -> &Datum {
        self.arguments.get(place).map_or(&Datum::Null, |argument| &**argument)
    }

    fn is_null(&self, place: usize) -> bool {
        matches!(self.argument(place), Datum::Null)
    }

    /// Empty where it is not text.
    fn text(&self, place: usize) -> &str {
        if let Datum::Text(text) = self.argument(place) { text } else { "" }
    }

    /// 0 where it is no integer.
    fn int(&self, place: usize) -> i64 {
        match self.argument(place) {
            Datum::Int(number) | Datum::Time(number) => *number,
            Datum::Bit(bit) => i64::from(*bit),
            _ => 0,
        }
    }

    fn float(&self, place: usize) -> f64 {
        if let Datum::Float(float) = self.argument(place) { *float } else { 0.0 }
    }
}

/// The function of this name in this version. `@@NAME` is found too.
pub(super) fn find_function(name: &str, version: ServerVersion) -> Option<&'static Function> {
    [text::FUNCTIONS, numbers::FUNCTIONS, dates::FUNCTIONS, server::FUNCTIONS]
        .into_iter()
        .flatten()
        .find(|function| function.name.eq_ignore_ascii_case(name) && function.since <= version)
}

/// A function of every version that answers NULL for NULL.
const fn function(
    name: &'static str,
    arguments: (usize, usize),
    signature: fn(&[SqlType]) -> Result<Signature, usize>,
    evaluate: fn(&Call<'_>) -> Result<Datum, Message>,
) -> Function {
    Function { name, arguments, since: ServerVersion::V2008R2, strict: true, signature, evaluate }
}

impl Function {
    const fn since(self, since: ServerVersion) -> Self {
        Self { since, ..self }
    }

    const fn sees_nulls(self) -> Self {
        Self { strict: false, ..self }
    }
}

/// The text type an argument is brought to; the error is its place.
fn text_parameter(types: &[SqlType], place: usize) -> Result<SqlType, usize> {
    let Some(sql_type) = types.get(place).copied() else { return Ok(SqlType::VarChar(Some(1))) };
    match family(sql_type) {
        Family::Text => Ok(sql_type),
        Family::Integer | Family::Decimal | Family::Float | Family::Time | Family::Guid => {
            Ok(text_type(false, text_length(sql_type)))
        }
        Family::Binary => Ok(text_type(false, text_length(sql_type))),
        Family::Xml | Family::Variant => Err(place + 1),
    }
}

/// The integer type an argument is brought to: bigint stays, anything else becomes int.
fn int_parameter(types: &[SqlType], place: usize) -> Result<SqlType, usize> {
    match types.get(place) {
        Some(SqlType::BigInt) => Ok(SqlType::BigInt),
        Some(sql_type) if matches!(family(*sql_type), Family::Xml | Family::Variant | Family::Time | Family::Guid) => {
            Err(place + 1)
        }
        _ => Ok(SqlType::Int),
    }
}

/// The variable-length type of text cut from text of this type.
fn variable_length(sql_type: SqlType) -> SqlType {
    match sql_type {
        SqlType::NChar(length) => SqlType::NVarChar(Some(length)),
        SqlType::Char(length) => SqlType::VarChar(Some(length)),
        other if is_text(other) => other,
        other => text_type(false, text_length(other)),
    }
}

fn signature(parameters: &[SqlType], result: SqlType) -> Result<Signature, usize> {
    Ok(Signature { parameters: parameters.to_vec(), result })
}
