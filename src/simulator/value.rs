//! Owns T-SQL types and values as the simulated server holds them between its SQL engine and the wire.

/// A T-SQL type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SqlType {
    Bit,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Real,
    Float,
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// Length in characters; `None` = max.
    NVarChar(Option<u16>),
    NChar(u16),
    /// Length in bytes; `None` = max.
    VarChar(Option<u16>),
    Char(u16),
    /// Length in bytes; `None` = max.
    VarBinary(Option<u16>),
    UniqueIdentifier,
    DateTime,
    /// Fraction digits, 0 to 7.
    DateTime2(u8),
    DateTimeOffset(u8),
    Xml,
    SqlVariant,
}

/// A value. Its column's [`SqlType`] says how it is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// NULL.
    Null,
    /// bit.
    Bit(bool),
    /// tinyint, smallint, int, bigint.
    Int(i64),
    /// real, float.
    Float(f64),
    /// decimal: the unscaled number; the scale is the type's.
    Decimal(i128),
    /// Character types and xml.
    Text(String),
    /// varbinary.
    Binary(Vec<u8>),
    /// uniqueidentifier, in the byte order in which its text is read.
    Guid([u8; 16]),
    /// datetime, datetime2, datetimeoffset: 100 ns since 1970-01-01T00:00:00 (UTC for datetimeoffset, sent with offset 0).
    Time(i64),
    /// sql_variant: a value with its own base type.
    Variant(SqlType, Box<Datum>),
}

/// A column of a view or of a result set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name; empty for an unnamed expression.
    pub name: String,
    /// Type.
    pub sql_type: SqlType,
    /// Whether NULL may stand in it.
    pub nullable: bool,
}

impl Column {
    /// A nullable column.
    pub fn new(name: &str, sql_type: SqlType) -> Self {
        Self { name: name.to_owned(), sql_type, nullable: true }
    }
}
