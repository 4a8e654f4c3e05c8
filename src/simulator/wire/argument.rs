//! Owns how the values of parameters are read: TYPE_INFO and the value behind it.
//!
//! Types that [`SqlType`] lacks are read as the nearest that holds all their values: money as decimal(19,4), date as
//! datetime2(0), time as datetime2 on 1900-01-01, smalldatetime as datetime, the old long types as max types.

use crate::simulator::value::{Datum, SqlType};
use crate::simulator::wire::reader::{DecodeError, Reader, utf16};
use crate::simulator::wire::scalar::swap_guid;
use crate::simulator::wire::text::from_code_page;
use crate::simulator::wire::time::{read_datetime, read_datetime2, read_smalldatetime, split_datetime2};
use crate::simulator::wire::type_info as ty;
use crate::simulator::wire::variant::read_variant;
use std::borrow::Cow;

/// A type as the wire declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Declared {
    pub(crate) type_byte: u8,
    pub(crate) max_bytes: u32,
    pub(crate) precision: u8,
    pub(crate) scale: u8,
    /// Text of one byte a character is UTF-8 rather than of the code page.
    pub(crate) utf8: bool,
}

/// Reads a type and a value of it.
pub(crate) fn read_typed_value(reader: &mut Reader<'_>) -> Result<(SqlType, Datum), DecodeError> {
    let declared = Declared::read(reader)?;
    let sql_type = declared.sql_type()?;
    let datum = match declared.read_bytes(reader)? {
        None => Datum::Null,
        Some(bytes) if declared.type_byte == ty::VARIANT => read_variant(&bytes)?,
        Some(bytes) => declared.read_scalar(&bytes)?,
    };
    Ok((sql_type, datum))
}

impl Declared {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut declared = Self { type_byte: reader.u8()?, ..Self::default() };
        match declared.type_byte {
            ty::NULL => {}
            ty::INT1 | ty::BIT => declared.max_bytes = 1,
            ty::INT2 => declared.max_bytes = 2,
            ty::INT4 | ty::FLOAT4 | ty::DATETIME4 | ty::MONEY4 => declared.max_bytes = 4,
            ty::INT8 | ty::FLOAT8 | ty::DATETIME | ty::MONEY => declared.max_bytes = 8,
            ty::DATEN => declared.max_bytes = 3,
            ty::TIMEN | ty::DATETIME2N | ty::DATETIMEOFFSETN => declared.read_scale(reader)?,
            ty::INTN
            | ty::BITN
            | ty::FLOATN
            | ty::MONEYN
            | ty::DATETIMEN
            | ty::GUID
            | ty::OLD_VARBINARY
            | ty::OLD_BINARY
            | ty::OLD_VARCHAR
            | ty::OLD_CHAR => declared.max_bytes = reader.u8()?.into(),
            ty::DECIMALN | ty::NUMERICN | ty::OLD_DECIMAL | ty::OLD_NUMERIC => {
                declared.max_bytes = reader.u8()?.into();
                declared.read_precision_and_scale(reader)?;
            }
            ty::VARBINARY | ty::BINARY => declared.max_bytes = reader.u16()?.into(),
            ty::VARCHAR | ty::CHAR | ty::NVARCHAR | ty::NCHAR => {
                declared.max_bytes = reader.u16()?.into();
                declared.read_collation(reader)?;
            }
            ty::IMAGE | ty::VARIANT => declared.max_bytes = reader.u32()?,
            ty::TEXT | ty::NTEXT => {
                declared.max_bytes = reader.u32()?;
                declared.read_collation(reader)?;
            }
            ty::XML => {
                if reader.u8()? != 0 {
                    let _database = reader.b_varchar()?;
                    let _owner = reader.b_varchar()?;
                    let _schema_collection = reader.us_varchar()?;
                }
            }
            other => return Err(DecodeError::UnsupportedType(other)),
        }
        Ok(declared)
    }

    pub(crate) fn read_scale(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.scale = reader.u8()?;
        if self.scale > 7 {
            return Err(DecodeError::Malformed("a time has more than seven fraction digits"));
        }
        Ok(())
    }

    pub(crate) fn read_precision_and_scale(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.precision = reader.u8()?;
        self.scale = reader.u8()?;
        if !(1..=38).contains(&self.precision) || self.scale > self.precision {
            return Err(DecodeError::Malformed("a decimal has an impossible precision or scale"));
        }
        Ok(())
    }

    pub(crate) fn read_collation(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        const UTF_8: u32 = 1 << 26;
        self.utf8 = reader.u32()? & UTF_8 != 0;
        let _sort_id = reader.u8()?;
        Ok(())
    }

    pub(crate) fn sql_type(self) -> Result<SqlType, DecodeError> {
        let length = self.max_bytes as usize;
        let is_max = self.max_bytes == u32::from(ty::MAX_LENGTH);
        let characters = ((self.max_bytes / 2).clamp(1, 4_000)) as u16;
        let bytes = self.max_bytes.clamp(1, 8_000) as u16;
        Ok(match self.type_byte {
            ty::NULL => SqlType::NVarChar(Some(1)),
            ty::BIT | ty::BITN => SqlType::Bit,
            ty::INT1 | ty::INT2 | ty::INT4 | ty::INT8 | ty::INTN => match length {
                1 => SqlType::TinyInt,
                2 => SqlType::SmallInt,
                4 => SqlType::Int,
                8 => SqlType::BigInt,
                _ => return Err(DecodeError::Length { what: "integer", length }),
            },
            ty::FLOAT4 | ty::FLOAT8 | ty::FLOATN => match length {
                4 => SqlType::Real,
                8 => SqlType::Float,
                _ => return Err(DecodeError::Length { what: "float", length }),
            },
            ty::MONEY | ty::MONEY4 | ty::MONEYN => SqlType::Decimal { precision: 19, scale: 4 },
            ty::DECIMALN | ty::NUMERICN | ty::OLD_DECIMAL | ty::OLD_NUMERIC => {
                SqlType::Decimal { precision: self.precision, scale: self.scale }
            }
            ty::GUID => SqlType::UniqueIdentifier,
            ty::DATETIME | ty::DATETIME4 | ty::DATETIMEN => SqlType::DateTime,
            ty::DATEN => SqlType::DateTime2(0),
            ty::TIMEN | ty::DATETIME2N => SqlType::DateTime2(self.scale),
            ty::DATETIMEOFFSETN => SqlType::DateTimeOffset(self.scale),
            ty::NVARCHAR => SqlType::NVarChar((!is_max).then_some(characters)),
            ty::NTEXT => SqlType::NVarChar(None),
            ty::NCHAR => SqlType::NChar(characters),
            ty::VARCHAR => SqlType::VarChar((!is_max).then_some(bytes)),
            ty::OLD_VARCHAR => SqlType::VarChar(Some(bytes)),
            ty::TEXT => SqlType::VarChar(None),
            ty::CHAR | ty::OLD_CHAR => SqlType::Char(bytes),
            ty::VARBINARY => SqlType::VarBinary((!is_max).then_some(bytes)),
            ty::BINARY | ty::OLD_BINARY | ty::OLD_VARBINARY => SqlType::VarBinary(Some(bytes)),
            ty::IMAGE => SqlType::VarBinary(None),
            ty::XML => SqlType::Xml,
            ty::VARIANT => SqlType::SqlVariant,
            other => return Err(DecodeError::UnsupportedType(other)),
        })
    }

    /// The bytes of the value; `None` is NULL.
    fn read_bytes<'a>(self, reader: &mut Reader<'a>) -> Result<Option<Cow<'a, [u8]>>, DecodeError> {
        let length = match self.type_byte {
            ty::NULL => None,
            ty::INT1
            | ty::BIT
            | ty::INT2
            | ty::INT4
            | ty::FLOAT4
            | ty::DATETIME4
            | ty::MONEY4
            | ty::INT8
            | ty::FLOAT8
            | ty::DATETIME
            | ty::MONEY => Some(self.max_bytes),
            ty::OLD_VARBINARY | ty::OLD_BINARY | ty::OLD_VARCHAR | ty::OLD_CHAR => {
                Some(reader.u8()?).filter(|length| *length != u8::MAX).map(u32::from)
            }
            ty::VARBINARY | ty::VARCHAR | ty::NVARCHAR if self.max_bytes == u32::from(ty::MAX_LENGTH) => {
                return read_chunks(reader);
            }
            ty::XML => return read_chunks(reader),
            ty::VARBINARY | ty::BINARY | ty::VARCHAR | ty::CHAR | ty::NVARCHAR | ty::NCHAR => {
                Some(reader.u16()?).filter(|length| *length != u16::MAX).map(u32::from)
            }
            ty::IMAGE | ty::TEXT | ty::NTEXT => Some(reader.u32()?).filter(|length| *length != u32::MAX),
            ty::VARIANT => Some(reader.u32()?).filter(|length| *length != 0),
            _ => Some(reader.u8()?).filter(|length| *length != 0).map(u32::from),
        };
        length.map(|length| reader.bytes(length as usize).map(Cow::Borrowed)).transpose()
    }

    /// Reads a value other than NULL.
    pub(crate) fn read_scalar(self, bytes: &[u8]) -> Result<Datum, DecodeError> {
        let length = |what| DecodeError::Length { what, length: bytes.len() };
        Ok(match self.type_byte {
            ty::BIT | ty::BITN => match bytes {
                [byte] => Datum::Bit(*byte != 0),
                _ => return Err(length("bit")),
            },
            ty::INT1 | ty::INT2 | ty::INT4 | ty::INT8 | ty::INTN => {
                Datum::Int(read_integer(bytes).ok_or_else(|| length("integer"))?)
            }
            ty::FLOAT4 | ty::FLOAT8 | ty::FLOATN => {
                let value = read_float(bytes).ok_or_else(|| length("float"))?;
                if !value.is_finite() {
                    return Err(DecodeError::Malformed("a float is not finite"));
                }
                Datum::Float(value)
            }
            ty::MONEY | ty::MONEY4 | ty::MONEYN => {
                Datum::Decimal(read_money(bytes).ok_or_else(|| length("money"))?.into())
            }
            ty::DECIMALN | ty::NUMERICN | ty::OLD_DECIMAL | ty::OLD_NUMERIC => Datum::Decimal(read_decimal(bytes)?),
            ty::GUID => Datum::Guid(swap_guid(bytes.try_into().map_err(|_| length("uniqueidentifier"))?)),
            ty::DATETIME | ty::DATETIME4 | ty::DATETIMEN => Datum::Time(read_old_datetime(bytes)?),
            ty::DATEN if bytes.len() == 3 => Datum::Time(read_datetime2(&[], Some(bytes), 0)?),
            ty::DATEN => return Err(length("date")),
            ty::TIMEN if bytes.len() <= 5 => Datum::Time(read_datetime2(bytes, None, self.scale)?),
            ty::TIMEN => return Err(length("time")),
            ty::DATETIME2N => {
                let (time, day) = split_datetime2(bytes, self.scale)?;
                Datum::Time(read_datetime2(time, Some(day), self.scale)?)
            }
            ty::DATETIMEOFFSETN => {
                // The time on the wire is UTC already; the offset only says how to show it.
                let (utc, _offset) = bytes.split_last_chunk::<2>().ok_or_else(|| length("datetimeoffset"))?;
                let (time, day) = split_datetime2(utc, self.scale)?;
                Datum::Time(read_datetime2(time, Some(day), self.scale)?)
            }
            ty::NVARCHAR | ty::NCHAR | ty::NTEXT => Datum::Text(utf16(bytes)?),
            ty::XML => Datum::Text(utf16(bytes.strip_prefix(&[0xFF, 0xFE]).unwrap_or(bytes))?),
            ty::VARCHAR | ty::CHAR | ty::TEXT | ty::OLD_VARCHAR | ty::OLD_CHAR => {
                Datum::Text(if self.utf8 { String::from_utf8_lossy(bytes).into_owned() } else { from_code_page(bytes) })
            }
            ty::VARBINARY | ty::BINARY | ty::IMAGE | ty::OLD_VARBINARY | ty::OLD_BINARY => {
                Datum::Binary(bytes.to_vec())
            }
            other => return Err(DecodeError::UnsupportedType(other)),
        })
    }
}

/// Reads a partially length-prefixed value (PLP): a total, then chunks up to an empty one.
fn read_chunks<'a>(reader: &mut Reader<'a>) -> Result<Option<Cow<'a, [u8]>>, DecodeError> {
    const NULL: u64 = u64::MAX;
    const UNKNOWN: u64 = u64::MAX - 1;
    let total = reader.u64()?;
    if total == NULL {
        return Ok(None);
    }
    let mut value: Cow<'a, [u8]> = Cow::Borrowed(&[]);
    loop {
        let length = reader.u32()? as usize;
        if length == 0 {
            break;
        }
        let chunk = reader.bytes(length)?;
        if value.is_empty() {
            value = Cow::Borrowed(chunk);
        } else {
            value.to_mut().extend_from_slice(chunk);
        }
    }
    if total != UNKNOWN && total != value.len() as u64 {
        return Err(DecodeError::Malformed("the chunks of a value are not as long as its total says"));
    }
    Ok(Some(value))
}

fn read_integer(bytes: &[u8]) -> Option<i64> {
    match bytes {
        [byte] => Some((*byte).into()),
        [_, _] => bytes.try_into().ok().map(i16::from_le_bytes).map(i64::from),
        [_, _, _, _] => bytes.try_into().ok().map(i32::from_le_bytes).map(i64::from),
        _ => bytes.try_into().ok().map(i64::from_le_bytes),
    }
}

fn read_float(bytes: &[u8]) -> Option<f64> {
    match bytes {
        [_, _, _, _] => bytes.try_into().ok().map(f32::from_le_bytes).map(f64::from),
        _ => bytes.try_into().ok().map(f64::from_le_bytes),
    }
}

/// Ten-thousandths; of the long form the high half comes first.
fn read_money(bytes: &[u8]) -> Option<i64> {
    match bytes.split_at_checked(4)? {
        (all, []) => all.try_into().ok().map(i32::from_le_bytes).map(i64::from),
        (high, low) => {
            let high = high.try_into().ok().map(i32::from_le_bytes)?;
            let low = low.try_into().ok().map(u32::from_le_bytes)?;
            Some(i64::from(high) << 32 | i64::from(low))
        }
    }
}

fn read_decimal(bytes: &[u8]) -> Result<i128, DecodeError> {
    let length = DecodeError::Length { what: "decimal", length: bytes.len() };
    let (sign, magnitude) = bytes.split_first().ok_or_else(|| length.clone())?;
    let mut wide = [0; 16];
    wide.get_mut(..magnitude.len()).ok_or(length)?.copy_from_slice(magnitude);
    let magnitude = i128::try_from(u128::from_le_bytes(wide))
        .map_err(|_| DecodeError::Malformed("a decimal has more than 38 digits"))?;
    Ok(if *sign == 0 { -magnitude } else { magnitude })
}

/// A datetime of eight bytes or a smalldatetime of four: days, then the time of day.
fn read_old_datetime(bytes: &[u8]) -> Result<i64, DecodeError> {
    let mut reader = Reader::new(bytes);
    match bytes.len() {
        8 => read_datetime(reader.u32()?.cast_signed(), reader.u32()?),
        4 => read_smalldatetime(reader.u16()?, reader.u16()?),
        length => Err(DecodeError::Length { what: "datetime", length }),
    }
}
