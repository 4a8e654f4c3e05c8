//! Owns the string functions.

use super::{Call, Function, Signature, function, int_parameter, signature, text_parameter, variable_length};
use crate::model::ServerVersion;
use crate::simulator::output::Message;
use crate::simulator::sql::messages::{error, too_long_value};
use crate::simulator::sql::types::{
    Family, MAX_BYTES, MAX_NATIONAL, MAX_VALUE_BYTES, concatenated, family, is_national, is_text, text_length,
    text_type,
};
use crate::simulator::value::{Datum, SqlType};

pub(super) const FUNCTIONS: &[Function] = &[
    function("LEN", (1, 1), one_text_to_int, |call| {
        Ok(Datum::Int(call.text(0).trim_end_matches(' ').encode_utf16().count() as i64))
    }),
    function(
        "DATALENGTH",
        (1, 1),
        |types| signature(types, length_type(types)),
        |call| {
            Ok(call.types.first().map_or(Datum::Null, |sql_type| Datum::Int(stored_bytes(call.argument(0), *sql_type))))
        },
    ),
    function("LEFT", (2, 2), cut_signature, |call| {
        let count = cut_length(call, 1, "left")?;
        Ok(Datum::Text(call.text(0).chars().take(count).collect()))
    }),
    function("RIGHT", (2, 2), cut_signature, |call| {
        let count = cut_length(call, 1, "right")?;
        let length = call.text(0).chars().count();
        Ok(Datum::Text(call.text(0).chars().skip(length.saturating_sub(count)).collect()))
    }),
    function("SUBSTRING", (3, 3), substring_signature, substring),
    function("CHARINDEX", (2, 3), charindex_signature, charindex),
    function("PATINDEX", (2, 2), two_texts_to_int, patindex),
    function("REPLACE", (3, 3), replace_signature, replace),
    function("STUFF", (4, 4), stuff_signature, stuff),
    function("UPPER", (1, 1), same_text, |call| Ok(Datum::Text(call.text(0).to_uppercase()))),
    function("LOWER", (1, 1), same_text, |call| Ok(Datum::Text(call.text(0).to_lowercase()))),
    function("LTRIM", (1, 1), same_text, |call| Ok(Datum::Text(call.text(0).trim_start_matches(' ').to_owned()))),
    function("RTRIM", (1, 1), same_text, |call| Ok(Datum::Text(call.text(0).trim_end_matches(' ').to_owned()))),
    function("TRIM", (1, 1), same_text, |call| Ok(Datum::Text(call.text(0).trim_matches(' ').to_owned())))
        .since(ServerVersion::V2017),
    function("REVERSE", (1, 1), same_text, |call| Ok(Datum::Text(call.text(0).chars().rev().collect()))),
    function(
        "SPACE",
        (1, 1),
        |types| signature(&[int_parameter(types, 0)?], SqlType::VarChar(Some(MAX_BYTES))),
        |call| Ok(usize::try_from(call.int(0)).map_or(Datum::Null, |count| Datum::Text(" ".repeat(count.min(8000))))),
    ),
    function("REPLICATE", (2, 2), replicate_signature, replicate),
    function("CONCAT", (2, 254), concat_signature, concat).sees_nulls().since(ServerVersion::V2012),
    function("CONCAT_WS", (3, 254), concat_signature, concat_with_separator).sees_nulls().since(ServerVersion::V2017),
    function(
        "QUOTENAME",
        (1, 2),
        |types| {
            let mut parameters = vec![SqlType::NVarChar(Some(128))];
            parameters.extend(types.get(1).map(|_| SqlType::NVarChar(Some(1))));
            signature(&parameters, SqlType::NVarChar(Some(258)))
        },
        quote_name,
    ),
    function(
        "CHAR",
        (1, 1),
        |types| signature(&[int_parameter(types, 0)?], SqlType::Char(1)),
        |call| Ok(u8::try_from(call.int(0)).map_or(Datum::Null, |byte| Datum::Text(char::from(byte).to_string()))),
    ),
    function(
        "NCHAR",
        (1, 1),
        |types| signature(&[int_parameter(types, 0)?], SqlType::NChar(1)),
        |call| {
            let character = u32::try_from(call.int(0)).ok().filter(|code| *code <= 0xFFFF).and_then(char::from_u32);
            Ok(character.map_or(Datum::Null, |character| Datum::Text(character.to_string())))
        },
    ),
    function("ASCII", (1, 1), one_text_to_int, |call| {
        Ok(call
            .text(0)
            .chars()
            .next()
            .map_or(Datum::Null, |c| Datum::Int(i64::from(u8::try_from(u32::from(c)).unwrap_or(b'?')))))
    }),
    function("UNICODE", (1, 1), one_text_to_int, |call| {
        Ok(call.text(0).encode_utf16().next().map_or(Datum::Null, |unit| Datum::Int(i64::from(unit))))
    }),
    function(
        "PARSENAME",
        (2, 2),
        |types| {
            signature(&[SqlType::NVarChar(Some(MAX_NATIONAL)), int_parameter(types, 1)?], SqlType::NVarChar(Some(128)))
        },
        parse_name,
    ),
];

/// bigint for max types, as their length may need it.
fn length_type(types: &[SqlType]) -> SqlType {
    match types.first() {
        Some(SqlType::NVarChar(None) | SqlType::VarChar(None) | SqlType::VarBinary(None)) => SqlType::BigInt,
        _ => SqlType::Int,
    }
}

fn one_text_to_int(types: &[SqlType]) -> Result<Signature, usize> {
    signature(&[text_parameter(types, 0)?], length_type(types))
}

fn two_texts_to_int(types: &[SqlType]) -> Result<Signature, usize> {
    signature(&[text_parameter(types, 0)?, text_parameter(types, 1)?], length_type(types.get(1..).unwrap_or_default()))
}

fn same_text(types: &[SqlType]) -> Result<Signature, usize> {
    let parameter = text_parameter(types, 0)?;
    signature(&[parameter], variable_length(parameter))
}

fn cut_signature(types: &[SqlType]) -> Result<Signature, usize> {
    let parameter = text_parameter(types, 0)?;
    signature(&[parameter, int_parameter(types, 1)?], variable_length(parameter))
}

/// Error 536 for a negative length.
fn cut_length(call: &Call<'_>, place: usize, name: &str) -> Result<usize, Message> {
    usize::try_from(call.int(place))
        .map_err(|_| error(536, 16, 1, format!("Invalid length parameter passed to the {name} function.")))
}

fn stored_bytes(value: &Datum, sql_type: SqlType) -> i64 {
    match value {
        Datum::Text(text) if is_national(sql_type) || sql_type == SqlType::Xml => {
            text.encode_utf16().count() as i64 * 2
        }
        Datum::Text(text) => text.chars().count() as i64,
        Datum::Binary(bytes) => bytes.len() as i64,
        Datum::Variant(base, inner) => stored_bytes(inner, *base),
        Datum::Null => 0,
        _ => match sql_type {
            SqlType::Bit | SqlType::TinyInt => 1,
            SqlType::SmallInt => 2,
            SqlType::Int | SqlType::Real => 4,
            SqlType::UniqueIdentifier => 16,
            SqlType::DateTime2(digits) => 6 + i64::from(digits > 2) + i64::from(digits > 4),
            SqlType::DateTimeOffset(digits) => 8 + i64::from(digits > 2) + i64::from(digits > 4),
            SqlType::Decimal { precision, .. } => match precision {
                ..=9 => 5,
                10..=19 => 9,
                20..=28 => 13,
                _ => 17,
            },
            _ => 8,
        },
    }
}

fn substring_signature(types: &[SqlType]) -> Result<Signature, usize> {
    let first = types.first().copied().unwrap_or(SqlType::Int);
    let parameter = if family(first) == Family::Binary { first } else { text_parameter(types, 0)? };
    if !is_text(first) && family(first) != Family::Binary {
        return Err(1);
    }
    let result = if family(first) == Family::Binary { first } else { variable_length(parameter) };
    signature(&[parameter, int_parameter(types, 1)?, int_parameter(types, 2)?], result)
}

/// A start before 1 takes its missing places from the length.
fn substring(call: &Call<'_>) -> Result<Datum, Message> {
    let length = cut_length(call, 2, "substring")? as i64;
    let end = call.int(1).saturating_add(length);
    let start = call.int(1).max(1);
    let (skip, take) = ((start - 1) as usize, end.saturating_sub(start).max(0) as usize);
    Ok(match call.argument(0) {
        Datum::Binary(bytes) => Datum::Binary(bytes.iter().skip(skip).take(take).copied().collect()),
        _ => Datum::Text(call.text(0).chars().skip(skip).take(take).collect()),
    })
}

fn charindex_signature(types: &[SqlType]) -> Result<Signature, usize> {
    let mut parameters = vec![text_parameter(types, 0)?, text_parameter(types, 1)?];
    if types.len() > 2 {
        parameters.push(int_parameter(types, 2)?);
    }
    signature(&parameters, length_type(types.get(1..).unwrap_or_default()))
}

/// The characters as the server's collation tells them apart.
fn folded_characters(call: &Call<'_>, text: &str) -> Vec<char> {
    let collation = call.server.host.collation();
    text.chars().map(|c| collation.fold(c)).collect()
}

fn find(text: &[char], wanted: &[char], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.windows(wanted.len().max(1)).position(|window| window == wanted).map(|at| at + from)
}

fn charindex(call: &Call<'_>) -> Result<Datum, Message> {
    let (wanted, text) = (folded_characters(call, call.text(0)), folded_characters(call, call.text(1)));
    let from = usize::try_from(call.int(2) - 1).unwrap_or(0);
    Ok(Datum::Int(find(&text, &wanted, from).map_or(0, |at| at as i64 + 1)))
}

/// The pattern's `%` at both ends decide where it may stand; between them LIKE decides.
fn patindex(call: &Call<'_>) -> Result<Datum, Message> {
    use crate::simulator::sql::compare::like;
    let collation = call.server.host.collation();
    let (pattern, text) = (call.text(0), call.text(1));
    let matches = |tail: &str, pattern: &str| like(tail, pattern, None, collation) == Some(true);
    let Some(open) = pattern.strip_prefix('%') else {
        return Ok(Datum::Int(i64::from(matches(text, pattern))));
    };
    let starts = text.char_indices().enumerate();
    for (place, (at, _)) in starts {
        if matches(text.get(at..).unwrap_or_default(), open) {
            return Ok(Datum::Int(place as i64 + 1));
        }
    }
    Ok(Datum::Int(0))
}

fn replace_signature(types: &[SqlType]) -> Result<Signature, usize> {
    let parameters = [text_parameter(types, 0)?, text_parameter(types, 1)?, text_parameter(types, 2)?];
    let national = parameters.iter().any(|parameter| is_national(*parameter));
    let most = if national { MAX_NATIONAL } else { MAX_BYTES };
    let length = parameters.first().and_then(|parameter| text_length(*parameter)).map(|_| most);
    signature(&parameters, text_type(national, length))
}

fn replace(call: &Call<'_>) -> Result<Datum, Message> {
    let (text, wanted, with) = (call.text(0), call.text(1), call.text(2));
    if wanted.is_empty() {
        return Ok(Datum::Text(text.to_owned()));
    }
    let (characters, folded, wanted) =
        (text.chars().collect::<Vec<_>>(), folded_characters(call, text), folded_characters(call, wanted));
    let mut replaced = String::new();
    let mut at = 0;
    while let Some(found) = find(&folded, &wanted, at) {
        replaced.extend(characters.get(at..found).unwrap_or_default());
        replaced.push_str(with);
        at = found + wanted.len();
    }
    replaced.extend(characters.get(at..).unwrap_or_default());
    limited(replaced, call.result)
}

/// No text of a max type may outgrow what a value can hold; other types are cut by the caller of every function.
fn limited(text: String, result: SqlType) -> Result<Datum, Message> {
    if text_length(result).is_none() && text.len() > MAX_VALUE_BYTES {
        return Err(too_long_value());
    }
    Ok(Datum::Text(text))
}

fn stuff_signature(types: &[SqlType]) -> Result<Signature, usize> {
    let parameters =
        [text_parameter(types, 0)?, int_parameter(types, 1)?, int_parameter(types, 2)?, text_parameter(types, 3)?];
    let joined = [parameters.first(), parameters.last()];
    let result = joined.into_iter().flatten().copied().reduce(concatenated).unwrap_or(SqlType::VarChar(None));
    signature(&parameters, result)
}

/// NULL where the start lies outside the text or the length is negative.
fn stuff(call: &Call<'_>) -> Result<Datum, Message> {
    let characters: Vec<char> = call.text(0).chars().collect();
    let start = usize::try_from(call.int(1) - 1).ok().filter(|start| *start < characters.len());
    let (Some(start), Ok(length)) = (start, usize::try_from(call.int(2))) else { return Ok(Datum::Null) };
    let before = characters.iter().take(start);
    let after = characters.iter().skip(start.saturating_add(length));
    limited(before.copied().chain(call.text(3).chars()).chain(after.copied()).collect(), call.result)
}

fn replicate_signature(types: &[SqlType]) -> Result<Signature, usize> {
    let parameter = text_parameter(types, 0)?;
    let national = is_national(parameter);
    let length = text_length(parameter).map(|_| if national { MAX_NATIONAL } else { MAX_BYTES });
    signature(&[parameter, int_parameter(types, 1)?], text_type(national, length))
}

fn replicate(call: &Call<'_>) -> Result<Datum, Message> {
    let Ok(count) = usize::try_from(call.int(1)) else { return Ok(Datum::Null) };
    let text = call.text(0);
    // One copy beyond the limit is enough to see that it is passed.
    let most = MAX_VALUE_BYTES / text.len().max(1) + 1;
    let most = text_length(call.result).map_or(most, |limit| usize::from(limit) / text.chars().count().max(1) + 1);
    limited(text.repeat(count.min(most)), call.result)
}

fn concat_signature(types: &[SqlType]) -> Result<Signature, usize> {
    let parameters = (0..types.len()).map(|place| text_parameter(types, place)).collect::<Result<Vec<_>, _>>()?;
    let national = parameters.iter().any(|parameter| is_national(*parameter));
    let length = parameters
        .iter()
        .try_fold(0_u16, |sum, parameter| text_length(*parameter).map(|length| sum.saturating_add(length)));
    Ok(Signature { parameters, result: text_type(national, length) })
}

fn concat(call: &Call<'_>) -> Result<Datum, Message> {
    let mut joined = String::new();
    for place in 0..call.arguments.len() {
        joined.push_str(call.text(place));
    }
    limited(joined, call.result)
}

fn concat_with_separator(call: &Call<'_>) -> Result<Datum, Message> {
    let parts: Vec<&str> =
        (1..call.arguments.len()).filter(|place| !call.is_null(*place)).map(|place| call.text(place)).collect();
    limited(parts.join(call.text(0)), call.result)
}

fn quote_name(call: &Call<'_>) -> Result<Datum, Message> {
    let (open, close) = match call.arguments.get(1).map(|_| call.text(1)) {
        None | Some("[" | "]") => ('[', ']'),
        Some("'") => ('\'', '\''),
        Some("\"") => ('"', '"'),
        Some(_) => return Ok(Datum::Null),
    };
    let doubled = call.text(0).replace(close, &format!("{close}{close}"));
    Ok(Datum::Text(format!("{open}{doubled}{close}")))
}

/// Parts are counted from the right.
fn parse_name(call: &Call<'_>) -> Result<Datum, Message> {
    let parts: Vec<&str> = call.text(0).split('.').collect();
    let place = usize::try_from(call.int(1)).unwrap_or(0);
    let part = (parts.len() <= 4 && place >= 1).then(|| parts.iter().rev().nth(place - 1)).flatten();
    let part = part.filter(|part| !part.is_empty());
    Ok(part.map_or(Datum::Null, |part| Datum::Text(part.trim_matches(['[', ']', '"']).to_owned())))
}
