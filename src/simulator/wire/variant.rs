//! Owns sql_variant: a value that carries its own type ([MS-TDS] 2.2.5.5.4).

use crate::simulator::output::Message;
use crate::simulator::value::{Datum, SqlType};
use crate::simulator::wire::argument::Declared;
use crate::simulator::wire::reader::{DecodeError, Reader};
use crate::simulator::wire::scalar::put_scalar;
use crate::simulator::wire::token::COLLATION;
use crate::simulator::wire::type_info as ty;

/// Puts base type, its properties and the value.
pub(crate) fn put_variant(out: &mut Vec<u8>, base: SqlType, value: &Datum) -> Result<(), Message> {
    let (type_byte, properties) = match base {
        SqlType::Bit => (ty::BIT, Vec::new()),
        SqlType::TinyInt => (ty::INT1, Vec::new()),
        SqlType::SmallInt => (ty::INT2, Vec::new()),
        SqlType::Int => (ty::INT4, Vec::new()),
        SqlType::BigInt => (ty::INT8, Vec::new()),
        SqlType::Real => (ty::FLOAT4, Vec::new()),
        SqlType::Float => (ty::FLOAT8, Vec::new()),
        SqlType::UniqueIdentifier => (ty::GUID, Vec::new()),
        SqlType::DateTime => (ty::DATETIME, Vec::new()),
        SqlType::DateTime2(scale) => (ty::DATETIME2N, vec![scale.min(7)]),
        SqlType::DateTimeOffset(scale) => (ty::DATETIMEOFFSETN, vec![scale.min(7)]),
        SqlType::Decimal { precision, scale } => (ty::NUMERICN, vec![precision, scale]),
        SqlType::NVarChar(Some(length)) => (ty::NVARCHAR, text_properties(ty::utf16_bytes(length))),
        SqlType::NChar(length) => (ty::NCHAR, text_properties(ty::utf16_bytes(length))),
        SqlType::VarChar(Some(length)) => (ty::VARCHAR, text_properties(ty::plain_bytes(length))),
        SqlType::Char(length) => (ty::CHAR, text_properties(ty::plain_bytes(length))),
        SqlType::VarBinary(Some(length)) => (ty::VARBINARY, ty::plain_bytes(length).to_le_bytes().to_vec()),
        SqlType::NVarChar(None)
        | SqlType::VarChar(None)
        | SqlType::VarBinary(None)
        | SqlType::Xml
        | SqlType::SqlVariant => {
            let text = format!("Operand type clash: {base:?} is incompatible with sql_variant");
            return Err(Message::new(206, 16, text));
        }
    };
    out.extend_from_slice(&[type_byte, properties.len() as u8]);
    out.extend_from_slice(&properties);
    put_scalar(out, base, value)
}

fn text_properties(length: u16) -> Vec<u8> {
    let mut properties = COLLATION.to_vec();
    properties.extend_from_slice(&length.to_le_bytes());
    properties
}

/// Reads what [`put_variant`] writes.
pub(crate) fn read_variant(bytes: &[u8]) -> Result<Datum, DecodeError> {
    let mut reader = Reader::new(bytes);
    let type_byte = reader.u8()?;
    let property_count = usize::from(reader.u8()?);
    let mut properties = Reader::new(reader.bytes(property_count)?);
    let value = reader.bytes(reader.remaining())?;
    let mut declared = Declared { type_byte, max_bytes: value.len() as u32, ..Declared::default() };
    match type_byte {
        ty::DECIMALN | ty::NUMERICN => declared.read_precision_and_scale(&mut properties)?,
        ty::TIMEN | ty::DATETIME2N | ty::DATETIMEOFFSETN => declared.read_scale(&mut properties)?,
        ty::VARBINARY | ty::BINARY => declared.max_bytes = properties.u16()?.into(),
        ty::VARCHAR | ty::CHAR | ty::NVARCHAR | ty::NCHAR => {
            declared.read_collation(&mut properties)?;
            declared.max_bytes = properties.u16()?.into();
        }
        _ => {}
    }
    Ok(Datum::Variant(declared.sql_type()?, Box::new(declared.read_scalar(value)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base_type_reads_back() {
        let values = [
            (SqlType::Bit, Datum::Bit(true)),
            (SqlType::TinyInt, Datum::Int(200)),
            (SqlType::SmallInt, Datum::Int(-2)),
            (SqlType::Int, Datum::Int(1 << 30)),
            (SqlType::BigInt, Datum::Int(i64::MIN)),
            (SqlType::Real, Datum::Float(0.5)),
            (SqlType::Float, Datum::Float(0.1)),
            (SqlType::UniqueIdentifier, Datum::Guid([7; 16])),
            (SqlType::DateTime, Datum::Time(-30_000)),
            (SqlType::DateTime2(7), Datum::Time(1)),
            (SqlType::DateTimeOffset(3), Datum::Time(10_000)),
            (SqlType::Decimal { precision: 20, scale: 3 }, Datum::Decimal(-5)),
            (SqlType::NVarChar(Some(9)), Datum::Text("žluť".into())),
            (SqlType::NChar(2), Datum::Text("ab".into())),
            (SqlType::VarChar(Some(9)), Datum::Text("é".into())),
            (SqlType::Char(1), Datum::Text("é".into())),
            (SqlType::VarBinary(Some(3)), Datum::Binary(vec![1, 2, 3])),
        ];
        for (base, value) in values {
            let mut bytes = Vec::new();
            put_variant(&mut bytes, base, &value).unwrap();
            assert_eq!(read_variant(&bytes), Ok(Datum::Variant(base, Box::new(value))));
        }
    }

    #[test]
    fn long_types_are_no_base() {
        for base in [SqlType::NVarChar(None), SqlType::Xml, SqlType::SqlVariant] {
            assert_eq!(put_variant(&mut Vec::new(), base, &Datum::Null).unwrap_err().number, 206);
        }
    }
}
