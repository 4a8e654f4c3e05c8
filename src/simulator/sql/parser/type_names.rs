//! Owns the grammar of data types: `int`, `decimal(10, 2)`, `nvarchar(max)`.

use super::{Parsed, Parser};
use crate::simulator::output::Message;
use crate::simulator::sql::messages::{error, not_simulated};
use crate::simulator::sql::tokenizer::TokenKind;
use crate::simulator::sql::types::{MAX_BYTES, MAX_NATIONAL, MAX_PRECISION};
use crate::simulator::value::SqlType;

/// What stands in the parentheses after a type.
enum Size {
    None,
    Max,
    One(u32),
    Two(u32, u32),
}

impl Parser<'_> {
    /// A type as in DECLARE, where a length left out is 1.
    pub(super) fn data_type(&mut self) -> Parsed<SqlType> {
        self.data_type_with_default_length(1)
    }

    pub(super) fn data_type_with_default_length(&mut self, default_length: u16) -> Parsed<SqlType> {
        let line = self.line();
        if self.accept_word("NATIONAL") {
            return Err(not_simulated("the type names of NATIONAL").at_line(line));
        }
        let mut parts = self.multi_part_name()?;
        let name = parts.pop().unwrap_or_default();
        let of_system = match parts.as_slice() {
            [] => true,
            [schema] => schema.eq_ignore_ascii_case("sys"),
            _ => false,
        };
        if !of_system {
            return Err(unknown_type(&name, line));
        }
        let size = self.size()?;
        sized_type(&name, &size, default_length).map_err(|message| message.at_line(line))
    }

    fn size(&mut self) -> Parsed<Size> {
        if !self.accept_symbol("(") {
            return Ok(Size::None);
        }
        let size = if self.accept_word("MAX") {
            Size::Max
        } else {
            let first = self.size_number()?;
            if self.accept_symbol(",") { Size::Two(first, self.size_number()?) } else { Size::One(first) }
        };
        self.expect_symbol(")")?;
        Ok(size)
    }

    fn size_number(&mut self) -> Parsed<u32> {
        let number = self.peek().filter(|token| token.kind == TokenKind::Number);
        let number = number.and_then(|token| token.text.parse().ok()).ok_or_else(|| self.unexpected_here())?;
        self.at += 1;
        Ok(number)
    }
}

fn sized_type(name: &str, size: &Size, default_length: u16) -> Result<SqlType, Message> {
    let lower = name.to_ascii_lowercase();
    let sql_type = match lower.as_str() {
        "nvarchar" => return Ok(SqlType::NVarChar(length(name, size, default_length, MAX_NATIONAL, true)?)),
        "varchar" => return Ok(SqlType::VarChar(length(name, size, default_length, MAX_BYTES, true)?)),
        "varbinary" => return Ok(SqlType::VarBinary(length(name, size, default_length, MAX_BYTES, true)?)),
        "nchar" => {
            let length = length(name, size, default_length, MAX_NATIONAL, false)?;
            return Ok(SqlType::NChar(length.unwrap_or(default_length)));
        }
        "char" => {
            let length = length(name, size, default_length, MAX_BYTES, false)?;
            return Ok(SqlType::Char(length.unwrap_or(default_length)));
        }
        "decimal" | "numeric" | "dec" => return decimal(name, size),
        "datetime2" => return Ok(SqlType::DateTime2(fraction_digits(name, size)?)),
        "datetimeoffset" => return Ok(SqlType::DateTimeOffset(fraction_digits(name, size)?)),
        "float" => {
            return match size {
                Size::None | Size::One(25..=53) => Ok(SqlType::Float),
                Size::One(1..=24) => Ok(SqlType::Real),
                _ => Err(bad_size(name)),
            };
        }
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" | "integer" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "real" => SqlType::Real,
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "datetime" => SqlType::DateTime,
        "xml" => SqlType::Xml,
        "sql_variant" => SqlType::SqlVariant,
        "sysname" => SqlType::NVarChar(Some(128)),
        "date" | "time" | "smalldatetime" | "money" | "smallmoney" | "text" | "ntext" | "image" | "binary"
        | "timestamp" | "rowversion" | "hierarchyid" | "geography" | "geometry" | "json" | "vector" | "cursor"
        | "table" => {
            return Err(not_simulated(&format!("the type {lower}")));
        }
        _ => return Err(unknown_type(name, 1)),
    };
    if matches!(size, Size::None) { Ok(sql_type) } else { Err(bad_size(name)) }
}

fn length(name: &str, size: &Size, default: u16, most: u16, max_allowed: bool) -> Result<Option<u16>, Message> {
    match *size {
        Size::None => Ok(Some(default)),
        Size::Max if max_allowed => Ok(None),
        Size::One(0) => Err(error(1001, 15, 1, "Length or precision specification 0 is invalid.")),
        Size::One(length) => match u16::try_from(length).ok().filter(|length| *length <= most) {
            Some(length) => Ok(Some(length)),
            None => Err(error(
                131,
                15,
                3,
                format!(
                    "The size ({length}) given to the type '{name}' exceeds the maximum allowed for any data type \
                         (8000)."
                ),
            )),
        },
        Size::Max | Size::Two(..) => Err(bad_size(name)),
    }
}

fn decimal(name: &str, size: &Size) -> Result<SqlType, Message> {
    let (precision, scale) = match *size {
        Size::None => (18, 0),
        Size::One(precision) => (precision, 0),
        Size::Two(precision, scale) => (precision, scale),
        Size::Max => return Err(bad_size(name)),
    };
    if precision == 0 || precision > u32::from(MAX_PRECISION) {
        let text = format!("Specified column precision {precision} is greater than the maximum precision of 38.");
        return Err(error(2750, 16, 1, text));
    }
    if scale > precision {
        let text = format!("Specified scale {scale} is greater than the specified precision of {precision}.");
        return Err(error(183, 15, 1, text));
    }
    Ok(SqlType::Decimal { precision: precision as u8, scale: scale as u8 })
}

fn fraction_digits(name: &str, size: &Size) -> Result<u8, Message> {
    match *size {
        Size::None => Ok(7),
        Size::One(digits @ 0..=7) => Ok(digits as u8),
        Size::One(digits) => Err(error(1002, 15, 1, format!("Line 1: Specified scale {digits} is invalid."))),
        Size::Max | Size::Two(..) => Err(bad_size(name)),
    }
}

fn unknown_type(name: &str, line: u32) -> Message {
    error(243, 16, 1, format!("Type {name} is not a defined system type.")).at_line(line)
}

fn bad_size(name: &str) -> Message {
    error(2716, 16, 1, format!("Column, parameter, or variable: Cannot specify a column width on data type {name}."))
}
