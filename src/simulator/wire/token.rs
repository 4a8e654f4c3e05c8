//! Owns the tokens of an answer, rows aside ([MS-TDS] 2.2.7).

use crate::simulator::output::Message;
use crate::simulator::value::Column;
use crate::simulator::wire::encode::{put_b_varchar, put_us_varchar, put_with_length};
use crate::simulator::wire::type_info::put_type_info;

/// The server's collation: SQL_Latin1_General_CP1_CI_AS, code page 1252.
pub(crate) const COLLATION: [u8; 5] = [0x09, 0x04, 0xD0, 0x00, 0x34];

const RETURN_STATUS: u8 = 0x79;
const COLUMN_METADATA: u8 = 0x81;
const ERROR: u8 = 0xAA;
const INFO: u8 = 0xAB;
const RETURN_VALUE: u8 = 0xAC;
const LOGIN_ACKNOWLEDGEMENT: u8 = 0xAD;
pub(crate) const ROW: u8 = 0xD1;
pub(crate) const ROW_WITH_NULL_BITMAP: u8 = 0xD2;
const ENVIRONMENT_CHANGE: u8 = 0xE3;

/// Message texts are at most this long; it keeps a token's length in two bytes.
const MESSAGE_TEXT_LIMIT: u16 = 8_000;

/// Whose end a DONE token marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DoneKind {
    /// DONE: a statement of a batch.
    Batch = 0xFD,
    /// DONEPROC: a procedure.
    Procedure = 0xFE,
    /// DONEINPROC: a statement inside a procedure.
    InProcedure = 0xFF,
}

/// The content of a DONE token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Done {
    /// More of the answer follows.
    pub(crate) more: bool,
    pub(crate) error: bool,
    /// Rows of a SELECT.
    pub(crate) rows: Option<u64>,
    /// Answers an attention.
    pub(crate) attention: bool,
}

pub(crate) fn put_done(out: &mut Vec<u8>, kind: DoneKind, done: Done) {
    const SELECT: u16 = 0xC1;
    let status = u16::from(done.more)
        | u16::from(done.error) << 1
        | u16::from(done.rows.is_some()) << 4
        | u16::from(done.attention) << 5;
    let command = if done.rows.is_some() { SELECT } else { 0 };
    out.push(kind as u8);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&command.to_le_bytes());
    out.extend_from_slice(&done.rows.unwrap_or(0).to_le_bytes());
}

/// ERROR or INFO, as the message's class says.
pub(crate) fn put_message(out: &mut Vec<u8>, server_name: &str, message: &Message) {
    out.push(if message.is_error() { ERROR } else { INFO });
    put_with_length(out, |out| {
        out.extend_from_slice(&message.number.to_le_bytes());
        out.extend_from_slice(&[message.state, message.class]);
        put_us_varchar(out, &message.text, MESSAGE_TEXT_LIMIT);
        put_b_varchar(out, server_name);
        put_b_varchar(out, ""); // no procedure
        out.extend_from_slice(&message.line.to_le_bytes());
    });
}

/// Settings whose change is told as two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Environment {
    Database = 1,
    Language = 2,
    PacketSize = 4,
    /// Acknowledges the reset of a connection; both texts are empty.
    Reset = 18,
}

pub(crate) fn put_environment_change(out: &mut Vec<u8>, environment: Environment, new: &str, old: &str) {
    out.push(ENVIRONMENT_CHANGE);
    put_with_length(out, |out| {
        out.push(environment as u8);
        put_b_varchar(out, new);
        put_b_varchar(out, old);
    });
}

/// ENVCHANGE and INFO 5701, which always come together.
pub(crate) fn put_database_change(out: &mut Vec<u8>, server_name: &str, new: &str, old: &str) {
    put_environment_change(out, Environment::Database, new, old);
    let mut message = Message::new(5701, 0, format!("Changed database context to '{new}'."));
    message.state = 2;
    put_message(out, server_name, &message);
}

pub(crate) fn put_collation_change(out: &mut Vec<u8>) {
    const SQL_COLLATION: u8 = 7;
    out.push(ENVIRONMENT_CHANGE);
    put_with_length(out, |out| {
        out.extend_from_slice(&[SQL_COLLATION, COLLATION.len() as u8]);
        out.extend_from_slice(&COLLATION);
        out.push(0);
    });
}

/// FEATUREEXTACK: the access token was taken ([MS-TDS] 2.2.7.11).
pub(crate) fn put_federated_authentication_acknowledgement(out: &mut Vec<u8>) {
    const FEATURE_EXTENSION_ACKNOWLEDGEMENT: u8 = 0xAE;
    const FEDERATED_AUTHENTICATION: u8 = 0x02;
    const TERMINATOR: u8 = 0xFF;
    out.extend_from_slice(&[FEATURE_EXTENSION_ACKNOWLEDGEMENT, FEDERATED_AUTHENTICATION]);
    out.extend_from_slice(&0u32.to_le_bytes());
    out.push(TERMINATOR);
}

/// ENVCHANGE of type 20: the client is to go to another server ([MS-TDS] 2.2.7.9).
pub(crate) fn put_routing(out: &mut Vec<u8>, host: &str, port: u16) {
    const ROUTING: u8 = 20;
    const TCP: u8 = 0;
    out.push(ENVIRONMENT_CHANGE);
    put_with_length(out, |out| {
        out.push(ROUTING);
        put_with_length(out, |out| {
            out.push(TCP);
            out.extend_from_slice(&port.to_le_bytes());
            put_us_varchar(out, host, 1_024);
        });
        out.extend_from_slice(&0u16.to_le_bytes()); // no old value
    });
}

/// What happened to a transaction that the client began through the transaction manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionChange {
    Begun = 8,
    Committed = 9,
    RolledBack = 10,
}

pub(crate) fn put_transaction_change(out: &mut Vec<u8>, change: TransactionChange, descriptor: u64) {
    const DESCRIPTOR_BYTES: u8 = 8;
    out.push(ENVIRONMENT_CHANGE);
    put_with_length(out, |out| {
        out.push(change as u8);
        if change == TransactionChange::Begun {
            out.push(DESCRIPTOR_BYTES);
            out.extend_from_slice(&descriptor.to_le_bytes());
            out.push(0);
        } else {
            out.extend_from_slice(&[0, DESCRIPTOR_BYTES]);
            out.extend_from_slice(&descriptor.to_le_bytes());
        }
    });
}

pub(crate) fn put_login_acknowledgement(out: &mut Vec<u8>, tds_version: u32, server_version: (u8, u8, u16)) {
    const INTERFACE_SQL: u8 = 1;
    let (major, minor, build) = server_version;
    out.push(LOGIN_ACKNOWLEDGEMENT);
    put_with_length(out, |out| {
        out.push(INTERFACE_SQL);
        out.extend_from_slice(&tds_version.to_be_bytes());
        put_b_varchar(out, "Microsoft SQL Server");
        out.extend_from_slice(&[major, minor]);
        out.extend_from_slice(&build.to_be_bytes());
    });
}

/// COLMETADATA.
pub(crate) fn put_column_metadata(out: &mut Vec<u8>, columns: &[Column]) {
    const NULLABLE: u16 = 0x0001;
    const READ_WRITE_UNKNOWN: u16 = 0x0008;
    out.push(COLUMN_METADATA);
    out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    for column in columns {
        let flags = READ_WRITE_UNKNOWN | if column.nullable { NULLABLE } else { 0 };
        out.extend_from_slice(&0u32.to_le_bytes()); // user type: none
        out.extend_from_slice(&flags.to_le_bytes());
        put_type_info(out, column.sql_type);
        put_b_varchar(out, &column.name);
    }
}

pub(crate) fn put_return_status(out: &mut Vec<u8>, status: i32) {
    out.push(RETURN_STATUS);
    out.extend_from_slice(&status.to_le_bytes());
}

/// RETURNVALUE of an int output parameter: the handle of a prepared statement.
pub(crate) fn put_return_handle(out: &mut Vec<u8>, name: &str, handle: i32) {
    const OUTPUT_PARAMETER: u8 = 1;
    const INTN: u8 = 0x26;
    out.push(RETURN_VALUE);
    out.extend_from_slice(&0u16.to_le_bytes()); // the first parameter
    put_b_varchar(out, name);
    out.push(OUTPUT_PARAMETER);
    out.extend_from_slice(&0u32.to_le_bytes());
    out.extend_from_slice(&0u16.to_le_bytes());
    out.extend_from_slice(&[INTN, 4, 4]);
    out.extend_from_slice(&handle.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_says_what_it_ends() {
        let mut out = Vec::new();
        put_done(&mut out, DoneKind::Batch, Done { more: true, rows: Some(258), ..Done::default() });
        assert_eq!(out, [0xFD, 0x11, 0, 0xC1, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
        out.clear();
        put_done(&mut out, DoneKind::Procedure, Done { error: true, ..Done::default() });
        assert_eq!(out, [0xFE, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_message_token_is_as_long_as_it_says() {
        for length in [0, 1, 2_000, 100_000] {
            let mut out = Vec::new();
            put_message(&mut out, "SERVER", &Message::new(208, 16, "x".repeat(length)));
            assert_eq!(out[0], ERROR);
            assert_eq!(usize::from(u16::from_le_bytes([out[1], out[2]])), out.len() - 3);
        }
        let mut out = Vec::new();
        put_message(&mut out, "SERVER", &Message::new(5701, 10, "x"));
        assert_eq!(out[0], INFO);
    }
}
