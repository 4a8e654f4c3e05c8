//! Every type there and back: as columns, and as parameters.

use super::double::{Double, Seen, config, connect, rows, serve};
use tiberius::numeric::Numeric;
use tiberius::time::chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, Utc};
use tiberius::xml::XmlData;
use tiberius::{EncryptionLevel, Row, Uuid};
use xestack::simulator::host::Request;
use xestack::simulator::server::TlsMode;
use xestack::simulator::value::{Column, Datum, SqlType};

/// 2026-11-30T12:34:56.7890123, in 100 ns since 1970.
const MOMENT: i64 = 17_960_420_967_890_123;

fn moment(nanoseconds: u32) -> NaiveDateTime {
    NaiveDate::from_ymd_opt(2026, 11, 30).unwrap().and_hms_nano_opt(12, 34, 56, nanoseconds).unwrap()
}

fn variant(base: SqlType, value: Datum) -> (SqlType, Datum) {
    (SqlType::SqlVariant, Datum::Variant(base, Box::new(value)))
}

/// Every type with a value, in the order that [`check`] reads.
fn values() -> Vec<(SqlType, Datum)> {
    let text = |text: &str| Datum::Text(text.into());
    vec![
        (SqlType::Bit, Datum::Bit(true)),
        (SqlType::TinyInt, Datum::Int(255)),
        (SqlType::SmallInt, Datum::Int(-32_768)),
        (SqlType::Int, Datum::Int(i32::MIN.into())),
        (SqlType::BigInt, Datum::Int(i64::MAX)),
        (SqlType::Real, Datum::Float(0.5)),
        (SqlType::Float, Datum::Float(-1.25e300)),
        (SqlType::Decimal { precision: 38, scale: 4 }, Datum::Decimal(-(10_i128.pow(37)))),
        (SqlType::NVarChar(Some(128)), text("žluť😀")),
        (SqlType::NVarChar(None), text("long žluť😀")),
        (SqlType::NChar(4), text("ab")),
        (SqlType::VarChar(Some(60)), text("é€")),
        (SqlType::VarChar(None), text("é€")),
        (SqlType::Char(4), text("é")),
        (SqlType::VarBinary(Some(8)), Datum::Binary(vec![0xDE, 0xAD])),
        (SqlType::VarBinary(None), Datum::Binary(vec![7; 9_000])),
        (
            SqlType::UniqueIdentifier,
            Datum::Guid(*Uuid::from_u128(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF).as_bytes()),
        ),
        (SqlType::DateTime, Datum::Time(MOMENT)),
        (SqlType::DateTime2(7), Datum::Time(MOMENT)),
        (SqlType::DateTime2(0), Datum::Time(MOMENT)),
        (SqlType::DateTimeOffset(3), Datum::Time(MOMENT)),
        (SqlType::Xml, text("<a b=\"1\">ž</a>")),
        variant(SqlType::Int, Datum::Int(5)),
        variant(SqlType::NVarChar(Some(10)), text("ž")),
        variant(SqlType::DateTime2(7), Datum::Time(MOMENT)),
        variant(SqlType::Decimal { precision: 5, scale: 2 }, Datum::Decimal(-150)),
    ]
}

#[track_caller]
fn check(row: &Row) {
    let text = |index: usize| row.try_get::<&str, _>(index).unwrap().unwrap();
    let binary = |index: usize| row.try_get::<&[u8], _>(index).unwrap().unwrap();
    let time = |index: usize| row.try_get::<NaiveDateTime, _>(index).unwrap().unwrap();
    assert_eq!(row.try_get(0).unwrap(), Some(true));
    assert_eq!(row.try_get(1).unwrap(), Some(255_u8));
    assert_eq!(row.try_get(2).unwrap(), Some(i16::MIN));
    assert_eq!(row.try_get(3).unwrap(), Some(i32::MIN));
    assert_eq!(row.try_get(4).unwrap(), Some(i64::MAX));
    assert_eq!(row.try_get(5).unwrap(), Some(0.5_f32));
    assert_eq!(row.try_get(6).unwrap(), Some(-1.25e300_f64));
    assert_eq!(row.try_get(7).unwrap(), Some(Numeric::new_with_scale(-(10_i128.pow(37)), 4)));
    assert_eq!([text(8), text(9), text(10)], ["žluť😀", "long žluť😀", "ab  "]);
    assert_eq!([text(11), text(12), text(13)], ["é€", "é€", "é   "]);
    assert_eq!(binary(14), [0xDE, 0xAD]);
    assert_eq!(binary(15), [7; 9_000]);
    let guid = Uuid::parse_str("00112233-4455-6677-8899-aabbccddeeff").unwrap();
    assert_eq!(row.try_get(16).unwrap(), Some(guid));
    // A datetime counts 300ths of a second: 236.70 of them become 237.
    assert_eq!(time(17).and_utc().timestamp_millis(), moment(790_000_000).and_utc().timestamp_millis());
    assert_eq!(time(18), moment(789_012_300));
    assert_eq!(time(19), moment(0) + std::time::Duration::from_secs(1));
    assert_eq!(row.try_get::<DateTime<Utc>, _>(20).unwrap(), Some(moment(789_000_000).and_utc()));
    assert_eq!(row.try_get::<&XmlData, _>(21).unwrap().unwrap().to_string(), "<a b=\"1\">ž</a>");
    assert_eq!(row.try_get(22).unwrap(), Some(5_i32));
    assert_eq!(text(23), "ž");
    assert_eq!(time(24), moment(789_012_300));
    assert_eq!(row.try_get(25).unwrap(), Some(Numeric::new_with_scale(-150, 2)));
}

#[tokio::test]
async fn every_type_reaches_the_client_whole_and_null() {
    let (types, row): (Vec<_>, Vec<_>) = values().into_iter().unzip();
    let columns: Vec<Column> =
        types.iter().enumerate().map(|(index, sql_type)| Column::new(&format!("c{index}"), *sql_type)).collect();
    let nulls = vec![Datum::Null; row.len()];
    let mut one_null = row.clone();
    one_null[3] = Datum::Null;
    let answer = rows(columns.clone(), vec![row.clone(), nulls, one_null, row]);
    let server = serve(TlsMode::Off, &Double::answering([("types", vec![answer])])).await;
    // The smallest packets split every value somewhere.
    for packet_bytes in [512, 513, 4_096, 32_767] {
        let mut config = config(&server);
        config.packet_size(packet_bytes);
        let mut client = connect(config).await.unwrap();
        let rows = client.simple_query("types").await.unwrap().into_first_result().await.unwrap();
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[0].columns()[24].name(), "c24");
        check(&rows[0]);
        check(&rows[3]);
        for (index, (_, data)) in rows[1].cells().enumerate() {
            let text = format!("{data:?}");
            assert!(text.ends_with("(None)"), "column {index} of the row of nulls is {text}");
        }
        assert_eq!(rows[2].try_get::<i32, _>(3).unwrap(), None);
        assert_eq!(rows[2].try_get::<i64, _>(4).unwrap(), Some(i64::MAX));
    }
}

#[tokio::test]
async fn parameters_of_every_type_reach_the_session() {
    let double = Double::answering([]);
    let server = serve(TlsMode::Off, &double).await;
    let mut client = connect(config(&server)).await.unwrap();
    let guid = Uuid::from_u128(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF);
    let long = "ž😀".repeat(300_000);
    let offset = DateTime::<FixedOffset>::parse_from_rfc3339("2026-11-30T13:34:56.7890123+01:00").unwrap();
    let date = NaiveDate::from_ymd_opt(1970, 1, 2).unwrap();
    let nothing: Option<i32> = None;
    client
        .query(
            "SELECT @P1",
            &[
                &true,
                &200_u8,
                &-2_i16,
                &-4_i32,
                &-8_i64,
                &0.5_f32,
                &1.5_f64,
                &"žluť😀",
                &long.as_str(),
                &[1_u8, 2].as_slice(),
                &guid,
                &Numeric::new_with_scale(-12_345, 3),
                &moment(789_012_300),
                &offset,
                &date,
                &nothing,
            ],
        )
        .await
        .unwrap()
        .into_row()
        .await
        .unwrap();
    let Some(Seen::Start(Request::ExecuteSql { sql, parameters })) = double.seen().pop() else {
        panic!("no statement with parameters was seen")
    };
    assert_eq!(sql, "SELECT @P1");
    let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names[..3], ["@P1", "@P2", "@P3"]);
    let values: Vec<Datum> = parameters.into_iter().map(|parameter| parameter.value).collect();
    let expected = [
        Datum::Bit(true),
        Datum::Int(200),
        Datum::Int(-2),
        Datum::Int(-4),
        Datum::Int(-8),
        Datum::Float(0.5),
        Datum::Float(1.5),
        Datum::Text("žluť😀".into()),
        Datum::Text(long),
        Datum::Binary(vec![1, 2]),
        Datum::Guid(*guid.as_bytes()),
        Datum::Decimal(-12_345),
        Datum::Time(MOMENT),
        Datum::Time(MOMENT),
        Datum::Time(864_000_000_000),
        Datum::Null,
    ];
    assert_eq!(values, expected);
}

#[tokio::test]
async fn values_of_sixteen_megabytes_arrive_whole() {
    const BYTES: usize = 16 << 20;
    let text: String = "<event>žluť😀</event>".chars().cycle().take(BYTES / 2).collect();
    let bytes: Vec<u8> = (0..BYTES).map(|index| (index % 251) as u8).collect();
    let columns = vec![
        Column::new("text", SqlType::NVarChar(None)),
        Column::new("xml", SqlType::Xml),
        Column::new("bytes", SqlType::VarBinary(None)),
    ];
    let xml: String = text.chars().take(BYTES / 16).collect();
    let row = vec![Datum::Text(text.clone()), Datum::Text(xml.clone()), Datum::Binary(bytes.clone())];
    for tls in [TlsMode::Off, TlsMode::On] {
        let double = Double::answering([("big", vec![rows(columns.clone(), vec![row.clone()])])]);
        let server = serve(tls, &double).await;
        let mut config = config(&server);
        if tls == TlsMode::On {
            config.encryption(EncryptionLevel::Required);
            config.trust_cert();
        }
        let mut client = connect(config).await.unwrap();
        let row = client.simple_query("big").await.unwrap().into_row().await.unwrap().unwrap();
        assert!(row.try_get::<&str, _>(0).unwrap() == Some(&text));
        assert!(row.try_get::<&XmlData, _>(1).unwrap().unwrap().as_ref() == xml);
        assert!(row.try_get::<&[u8], _>(2).unwrap() == Some(&bytes));
    }
}

#[tokio::test]
async fn a_value_that_does_not_fit_its_column_is_an_error_and_not_a_broken_stream() {
    let columns = vec![Column::new("n", SqlType::TinyInt)];
    let good = vec![Datum::Int(1)];
    let bad = vec![Datum::Int(256)];
    let answer = vec![rows(columns.clone(), vec![good.clone(), bad, good.clone()]), rows(columns, vec![good])];
    let server = serve(TlsMode::Off, &Double::answering([("overflow", answer)])).await;
    let mut client = connect(config(&server)).await.unwrap();
    for _ in 0..2 {
        let stream = client.simple_query("overflow").await.unwrap();
        assert_eq!(stream.into_results().await.unwrap_err().code(), Some(8115));
    }
}
