//! Owns requests as clients encode them: SQLBatch, RPC and transaction manager ([MS-TDS] 2.2.6.6, 2.2.6.7, 2.2.6.9).

use crate::simulator::value::{Datum, SqlType};
use crate::simulator::wire::argument::read_typed_value;
use crate::simulator::wire::reader::{DecodeError, Reader};

/// A procedure that a client calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Procedure {
    ExecuteSql,
    Prepare,
    Execute,
    PrepareAndExecute,
    Unprepare,
    ResetConnection,
    /// Any other, by its name.
    Other(String),
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    /// With its `@`; empty: by position.
    pub(crate) name: String,
    pub(crate) sql_type: SqlType,
    pub(crate) value: Datum,
}

/// A call of an RPC message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) procedure: Procedure,
    pub(crate) arguments: Vec<Argument>,
}

/// What a transaction manager request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionRequest {
    Begin,
    /// `and_begin`: a new transaction follows at once.
    Commit {
        and_begin: bool,
    },
    RollBack {
        and_begin: bool,
    },
    Save,
    /// Of distributed transactions, by number.
    Other(u16),
}

/// A request of any kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ClientRequest {
    Batch(String),
    Calls(Vec<Call>),
    Transaction(TransactionRequest),
}

/// Reads a SQLBatch: its statement text.
pub(crate) fn decode_batch(body: &[u8]) -> Result<String, DecodeError> {
    let mut reader = Reader::new(body);
    skip_headers(&mut reader)?;
    crate::simulator::wire::reader::utf16(reader.bytes(reader.remaining())?)
}

/// Reads an RPC message: its calls, in order.
pub(crate) fn decode_calls(body: &[u8]) -> Result<Vec<Call>, DecodeError> {
    let mut reader = Reader::new(body);
    skip_headers(&mut reader)?;
    let mut calls = vec![read_call(&mut reader)?];
    while reader.peek().is_some_and(ends_call) {
        reader.u8()?;
        if reader.is_empty() {
            break;
        }
        calls.push(read_call(&mut reader)?);
    }
    Ok(calls)
}

/// Reads a transaction manager request.
pub(crate) fn decode_transaction(body: &[u8]) -> Result<TransactionRequest, DecodeError> {
    const AND_BEGIN: u8 = 0x01;
    let mut reader = Reader::new(body);
    skip_headers(&mut reader)?;
    let request = reader.u16()?;
    let mut and_begin = || -> Result<bool, DecodeError> {
        let _name = reader.b_varchar()?;
        Ok(!reader.is_empty() && reader.u8()? & AND_BEGIN != 0)
    };
    Ok(match request {
        5 => TransactionRequest::Begin,
        7 => TransactionRequest::Commit { and_begin: and_begin()? },
        8 => TransactionRequest::RollBack { and_begin: and_begin()? },
        9 => TransactionRequest::Save,
        other => TransactionRequest::Other(other),
    })
}

/// Passes over ALL_HEADERS: query notification, transaction descriptor, trace activity.
fn skip_headers(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    const LENGTH_BYTES: u32 = 4;
    let total = reader.u32()?;
    let rest = total
        .checked_sub(LENGTH_BYTES)
        .ok_or(DecodeError::Malformed("the headers of a request are shorter than their own length"))?;
    reader.bytes(rest as usize)?;
    Ok(())
}

/// Whether a byte in place of the length of a parameter's name ends the call: "batch" or "no execution". No name is
/// that long.
fn ends_call(byte: u8) -> bool {
    byte == 0xFF || byte == 0xFE
}

fn read_call(reader: &mut Reader<'_>) -> Result<Call, DecodeError> {
    const BY_NUMBER: u16 = 0xFFFF;
    let name_characters = reader.u16()?;
    let procedure = if name_characters == BY_NUMBER {
        procedure_of_number(reader.u16()?)
    } else {
        procedure_of_name(reader.utf16(name_characters.into())?)
    };
    let _option_flags = reader.u16()?;
    let mut arguments = Vec::new();
    while !reader.is_empty() && !reader.peek().is_some_and(ends_call) {
        let name = reader.b_varchar()?;
        let _status = reader.u8()?; // by reference, default value, encrypted
        let (sql_type, value) = read_typed_value(reader)?;
        arguments.push(Argument { name, sql_type, value });
    }
    Ok(Call { procedure, arguments })
}

fn procedure_of_number(number: u16) -> Procedure {
    let name = match number {
        1 => "sp_cursor",
        2 => "sp_cursoropen",
        3 => "sp_cursorprepare",
        4 => "sp_cursorexecute",
        5 => "sp_cursorprepexec",
        6 => "sp_cursorunprepare",
        7 => "sp_cursorfetch",
        8 => "sp_cursoroption",
        9 => "sp_cursorclose",
        10 => return Procedure::ExecuteSql,
        11 => return Procedure::Prepare,
        12 => return Procedure::Execute,
        13 => return Procedure::PrepareAndExecute,
        14 => "sp_prepexecrpc",
        15 => return Procedure::Unprepare,
        other => return Procedure::Other(format!("#{other}")),
    };
    Procedure::Other(name.to_owned())
}

fn procedure_of_name(name: String) -> Procedure {
    let last = name.rsplit('.').next().unwrap_or_default();
    let bare = last.trim_matches(['[', ']', '"']).to_ascii_lowercase();
    match bare.as_str() {
        "sp_executesql" => Procedure::ExecuteSql,
        "sp_prepare" => Procedure::Prepare,
        "sp_execute" => Procedure::Execute,
        "sp_prepexec" => Procedure::PrepareAndExecute,
        "sp_unprepare" => Procedure::Unprepare,
        "sp_reset_connection" => Procedure::ResetConnection,
        _ => Procedure::Other(name),
    }
}
