//! Tests of the decoders as a whole: what is encoded reads back, and no bytes make them panic or loop.

use crate::simulator::host::Login;
use crate::simulator::value::{Column, Datum, SqlType};
use crate::simulator::wire::encode::{put_b_varchar, put_utf16};
use crate::simulator::wire::login::tests::login_bytes;
use crate::simulator::wire::packet::{ResponseWriter, read_message};
use crate::simulator::wire::prelogin::{self, Encryption, PreLogin};
use crate::simulator::wire::reader::DecodeError;
use crate::simulator::wire::request::{
    Argument, Call, Procedure, TransactionRequest, decode_batch, decode_calls, decode_transaction,
};
use crate::simulator::wire::row::encode_row;
use crate::simulator::wire::token::COLLATION;
use crate::simulator::wire::type_info::put_type_info;
use crate::simulator::wire::{login, variant};
use proptest::prelude::*;

/// ALL_HEADERS with a transaction descriptor, as every driver sends it.
fn all_headers() -> Vec<u8> {
    let mut out = 22_u32.to_le_bytes().to_vec();
    out.extend_from_slice(&18_u32.to_le_bytes());
    out.extend_from_slice(&2_u16.to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&1_u32.to_le_bytes());
    out
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn put_argument(out: &mut Vec<u8>, argument: &Argument) {
    put_b_varchar(out, &argument.name);
    out.push(0);
    put_type_info(out, argument.sql_type);
    let columns = [Column::new("", argument.sql_type)];
    let row = [argument.value.clone()];
    let mut writer = ResponseWriter::new(Vec::new(), 0, 4096);
    block_on(encode_row(&columns, &row, false).unwrap().write(&mut writer)).unwrap();
    out.extend_from_slice(&writer.body()[1..]);
}

fn rpc_bytes(number: u16, arguments: &[Argument]) -> Vec<u8> {
    let mut out = all_headers();
    out.extend_from_slice(&[0xFF, 0xFF]);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    for argument in arguments {
        put_argument(&mut out, argument);
    }
    out
}

fn argument(sql_type: SqlType, value: Datum) -> Argument {
    Argument { name: "@P1".into(), sql_type, value }
}

/// A type with a value of it.
fn any_argument() -> impl Strategy<Value = Argument> {
    const TICKS_OF_YEARS_1753_TO_9999: std::ops::Range<i64> = -68_000_000_000_000_000..2_500_000_000_000_000_000;
    let text = |length: usize| proptest::collection::vec(any::<char>(), 0..length).prop_map(String::from_iter);
    let latin = proptest::collection::vec(0x20_u8..0x7F, 0..40)
        .prop_map(|bytes| bytes.into_iter().map(char::from).collect::<String>());
    let moment = TICKS_OF_YEARS_1753_TO_9999;
    let value = prop_oneof![
        any::<bool>().prop_map(|value| (SqlType::Bit, Datum::Bit(value))),
        any::<u8>().prop_map(|value| (SqlType::TinyInt, Datum::Int(value.into()))),
        any::<i16>().prop_map(|value| (SqlType::SmallInt, Datum::Int(value.into()))),
        any::<i32>().prop_map(|value| (SqlType::Int, Datum::Int(value.into()))),
        any::<i64>().prop_map(|value| (SqlType::BigInt, Datum::Int(value))),
        any::<f32>().prop_map(|value| (SqlType::Real, Datum::Float(value.into()))),
        any::<f64>().prop_map(|value| (SqlType::Float, Datum::Float(value))),
        any::<i64>().prop_map(|value| (SqlType::Decimal { precision: 38, scale: 7 }, Datum::Decimal(value.into()))),
        text(20).prop_map(|text| (SqlType::NVarChar(Some(40)), Datum::Text(text))),
        text(3_000).prop_map(|text| (SqlType::NVarChar(None), Datum::Text(text))),
        text(100)
            .prop_map(|text| text.trim_start_matches('\u{FEFF}').to_owned())
            .prop_map(|text| (SqlType::Xml, Datum::Text(text))),
        latin.clone().prop_map(|text| (SqlType::VarChar(Some(40)), Datum::Text(text))),
        latin.prop_map(|text| (SqlType::VarChar(None), Datum::Text(text))),
        any::<[u8; 5]>().prop_map(|bytes| (SqlType::VarBinary(Some(5)), Datum::Binary(bytes.into()))),
        any::<Vec<u8>>().prop_map(|bytes| (SqlType::VarBinary(None), Datum::Binary(bytes))),
        any::<[u8; 16]>().prop_map(|bytes| (SqlType::UniqueIdentifier, Datum::Guid(bytes))),
        moment.clone().prop_map(|ticks| (SqlType::DateTime2(7), Datum::Time(ticks))),
        moment.clone().prop_map(|ticks| (SqlType::DateTime2(0), Datum::Time(ticks - ticks.rem_euclid(10_000_000)))),
        moment.clone().prop_map(|ticks| (SqlType::DateTimeOffset(7), Datum::Time(ticks))),
        moment.prop_map(|ticks| (SqlType::DateTime, Datum::Time(ticks - ticks.rem_euclid(100_000)))),
        any::<i32>().prop_map(|value| {
            (SqlType::SqlVariant, Datum::Variant(SqlType::Int, Box::new(Datum::Int(value.into()))))
        }),
    ];
    (value, any::<bool>())
        .prop_map(|((sql_type, value), null)| argument(sql_type, if null { Datum::Null } else { value }))
}

/// A valid message with some bytes changed, cut or doubled.
fn damaged(message: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = message.len();
    let changes = proptest::collection::vec((0..length, any::<u8>()), 0..6);
    (changes, 0..=length, any::<bool>()).prop_map(move |(changes, cut, cuts)| {
        let mut bytes = message.clone();
        for (index, byte) in changes {
            bytes[index] = byte;
        }
        if cuts {
            bytes.truncate(cut);
        }
        bytes
    })
}

fn sample_rpc() -> Vec<u8> {
    let arguments = [
        argument(SqlType::NVarChar(Some(4_000)), Datum::Text("SELECT @a".into())),
        argument(SqlType::NVarChar(None), Datum::Text("@a int".into())),
        argument(SqlType::Decimal { precision: 18, scale: 4 }, Datum::Decimal(-77)),
        argument(SqlType::DateTime2(7), Datum::Time(17_960_420_967_890_123)),
        argument(SqlType::SqlVariant, Datum::Variant(SqlType::DateTime, Box::new(Datum::Time(0)))),
        argument(SqlType::UniqueIdentifier, Datum::Guid([9; 16])),
        argument(SqlType::Xml, Datum::Text("<a/>".into())),
    ];
    rpc_bytes(10, &arguments)
}

proptest! {
    #[test]
    fn arguments_of_every_type_read_back(arguments in proptest::collection::vec(any_argument(), 0..5)) {
        let calls = decode_calls(&rpc_bytes(10, &arguments)).unwrap();
        prop_assert_eq!(calls, [Call { procedure: Procedure::ExecuteSql, arguments }]);
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut with_headers = all_headers();
        with_headers.extend_from_slice(&bytes);
        for body in [&bytes, &with_headers] {
            drop(prelogin::decode(body));
            drop(login::decode(body));
            drop(decode_batch(body));
            drop(decode_calls(body));
            drop(decode_transaction(body));
            drop(variant::read_variant(body));
        }
        let mut stream = bytes.as_slice();
        while let Ok(Some(_)) = block_on(read_message(&mut stream, 1_000)) {}
    }

    #[test]
    fn damaged_calls_never_panic(body in damaged(sample_rpc())) {
        drop(decode_calls(&body));
    }

    #[test]
    fn damaged_logins_never_panic(body in damaged(login_bytes(&Login::default(), 0x7400_0004, 4096))) {
        drop(login::decode(&body));
    }

    #[test]
    fn damaged_prelogins_never_panic(
        body in damaged(prelogin::encode(
            (16, 0, 1000),
            Encryption::On,
            PreLogin { encryption: Encryption::On, asks_fed_auth: true },
        ))
    ) {
        drop(prelogin::decode(&body));
    }
}

#[test]
fn a_call_cut_anywhere_is_an_error_or_ends_between_arguments() {
    let whole = sample_rpc();
    let complete = decode_calls(&whole).unwrap().remove(0).arguments;
    for length in 0..whole.len() {
        if let Ok(calls) = decode_calls(&whole[..length]) {
            let arguments = &calls[0].arguments;
            assert!(arguments.len() < complete.len() && complete.starts_with(arguments), "{length}");
        }
    }
}

#[test]
fn calls_in_one_message_are_told_apart() {
    let mut body = rpc_bytes(15, &[argument(SqlType::Int, Datum::Int(1))]);
    body.push(0xFF);
    let second = rpc_bytes(12, &[argument(SqlType::Int, Datum::Int(2))]);
    body.extend_from_slice(&second[all_headers().len()..]);
    let calls = decode_calls(&body).unwrap();
    let procedures: Vec<&Procedure> = calls.iter().map(|call| &call.procedure).collect();
    assert_eq!(procedures, [&Procedure::Unprepare, &Procedure::Execute]);
}

#[test]
fn procedures_are_known_by_any_spelling_of_their_name() {
    let named = |name: &str| {
        let mut body = all_headers();
        body.extend_from_slice(&(name.encode_utf16().count() as u16).to_le_bytes());
        put_utf16(&mut body, name);
        body.extend_from_slice(&[0, 0]);
        decode_calls(&body).unwrap().remove(0).procedure
    };
    assert_eq!(named("sp_executesql"), Procedure::ExecuteSql);
    assert_eq!(named("[master]..[SP_EXECUTESQL]"), Procedure::ExecuteSql);
    assert_eq!(named("sp_reset_connection"), Procedure::ResetConnection);
    assert_eq!(named("dbo.sp_who2"), Procedure::Other("dbo.sp_who2".into()));
}

#[test]
fn batches_are_text_behind_their_headers() {
    let mut body = all_headers();
    put_utf16(&mut body, "SELECT N'ž'");
    assert_eq!(decode_batch(&body), Ok("SELECT N'ž'".into()));
    body.push(0);
    assert_eq!(decode_batch(&body), Err(DecodeError::Length { what: "UTF-16 text", length: 23 }));
    assert!(decode_batch(&[3, 0, 0, 0]).is_err());
    assert_eq!(decode_batch(&[9, 0, 0, 0]), Err(DecodeError::Truncated { missing: 5 }));
}

#[test]
fn transaction_requests_read() {
    let request = |bytes: &[u8]| {
        let mut body = all_headers();
        body.extend_from_slice(bytes);
        decode_transaction(&body)
    };
    assert_eq!(request(&[5, 0, 2, 0]), Ok(TransactionRequest::Begin));
    assert_eq!(request(&[7, 0, 0, 0]), Ok(TransactionRequest::Commit { and_begin: false }));
    assert_eq!(request(&[8, 0, 0, 1, 0, 0]), Ok(TransactionRequest::RollBack { and_begin: true }));
    assert_eq!(request(&[1, 0]), Ok(TransactionRequest::Other(1)));
    assert_eq!(request(&[7]), Err(DecodeError::Truncated { missing: 1 }));
}

/// TYPE_INFO and values that drivers send and rows here do not use.
#[test]
fn types_that_only_clients_use_are_read() {
    let decode = |bytes: &[u8]| {
        let mut body = rpc_bytes(10, &[]);
        body.extend_from_slice(&[0, 0]);
        body.extend_from_slice(bytes);
        decode_calls(&body).map(|mut calls| {
            let argument = calls.remove(0).arguments.remove(0);
            (argument.sql_type, argument.value)
        })
    };
    let mut ntext = vec![0x63, 0xFF, 0xFF, 0xFF, 0x7F];
    ntext.extend(COLLATION);
    ntext.extend([2, 0, 0, 0, 0x7E, 1]);
    assert_eq!(decode(&ntext), Ok((SqlType::NVarChar(None), Datum::Text("ž".into()))));
    ntext.truncate(10);
    ntext.extend([0xFF; 4]);
    assert_eq!(decode(&ntext), Ok((SqlType::NVarChar(None), Datum::Null)));

    let utf8 = [0xA7, 8, 0, 0x09, 0x04, 0xD0, 0x04, 0, 2, 0, 0xC5, 0xBE];
    assert_eq!(decode(&utf8), Ok((SqlType::VarChar(Some(8)), Datum::Text("ž".into()))));

    let money = SqlType::Decimal { precision: 19, scale: 4 };
    assert_eq!(decode(&[0x6E, 8, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE, 0xFF, 0xFF, 0xFF]), Ok((money, Datum::Decimal(-2))));
    assert_eq!(decode(&[0x7A, 1, 0, 0, 0]), Ok((money, Datum::Decimal(1))));

    const DAY: i64 = 864_000_000_000;
    assert_eq!(decode(&[0x28, 3, 0x3B, 0xF9, 0x0A]), Ok((SqlType::DateTime2(0), Datum::Time(DAY))));
    assert_eq!(decode(&[0x29, 0, 3, 1, 0, 0]), Ok((SqlType::DateTime2(0), Datum::Time(-25_567 * DAY + 10_000_000))));
    assert_eq!(decode(&[0x6F, 4, 4, 0xDF, 0x63, 1, 0]), Ok((SqlType::DateTime, Datum::Time(600_000_000))));
    assert_eq!(decode(&[0x38, 0xFE, 0xFF, 0xFF, 0xFF]), Ok((SqlType::Int, Datum::Int(-2))));
    assert_eq!(decode(&[0x1F]), Ok((SqlType::NVarChar(Some(1)), Datum::Null)));

    assert_eq!(decode(&[0xF3]), Err(DecodeError::UnsupportedType(0xF3)));
    assert!(decode(&[0x26, 3, 0]).is_err(), "no integer has three bytes");
    assert!(decode(&[0x26, 4, 3, 0, 0, 0]).is_err());
    assert!(decode(&[0x2A, 8, 0]).is_err(), "no time has eight fraction digits");
    assert!(decode(&[0x6A, 17, 39, 0, 0]).is_err(), "no decimal has 39 digits");
    let over = [0x6A, 17, 38, 0, 17, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255];
    assert!(decode(&over).is_err());
    let lying_total = [0xA5, 0xFF, 0xFF, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0];
    assert!(decode(&lying_total).is_err());
}
