//! Tests of predicates: a table of comparisons, counters over batches.

use super::Predicate;
use crate::model::ServerVersion;
use crate::simulator::events::catalogue;
use crate::simulator::events::cursor::Cursor;
use crate::simulator::events::expression;
use crate::simulator::events::statement::PredicateClause;
use crate::simulator::sql::tokenizer::tokenize;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::kinds::{EventKind, FieldValue, Rhythm};
use proptest::prelude::*;

fn bind_on(version: ServerVersion, text: &str) -> Result<Predicate, u32> {
    let tokens = tokenize(text).unwrap();
    let mut cursor = Cursor::new(&tokens);
    let expression = expression::parse(&mut cursor).map_err(|message| message.number)?;
    cursor.expect_end().map_err(|message| message.number)?;
    let clause = PredicateClause { expression, length: text.len() };
    let version = VersionData::of(version).unwrap();
    let event = catalogue::event(version, "sqlos", "wait_info").unwrap();
    Predicate::bind(&clause, event, version).map_err(|message| message.number)
}

fn bind(text: &str) -> Predicate {
    bind_on(ServerVersion::V2017, text).unwrap_or_else(|number| panic!("{text}: {number}"))
}

fn wait() -> EventKind {
    EventKind {
        event: "wait_info",
        values: vec![
            ("wait_type", FieldValue::Number(123)),
            ("opcode", FieldValue::Number(1)),
            ("duration", FieldValue::Number(20)),
            ("sqlserver.session_id", FieldValue::Number(52)),
            ("sqlserver.sql_text", FieldValue::Text("SELECT Count".into())),
        ],
        stack: 0,
        rhythm: Rhythm::PerHour(0),
    }
}

fn passing(text: &str, batches: &[u64]) -> Vec<u64> {
    let predicate = bind(text);
    let mut counters = predicate.new_counters();
    batches.iter().map(|count| predicate.passing(&wait(), *count, &mut counters)).collect()
}

#[test]
fn comparisons() {
    for (text, passes) in [
        ("wait_type = 123", true),
        ("([wait_type]=(123))", true),
        ("wait_type <> 123", false),
        ("wait_type != (124)", true),
        ("duration > 20", false),
        ("duration >= 20", true),
        ("duration !> 20", true),
        ("duration !< 21", false),
        ("duration > -1", true),
        ("sqlserver.session_id = 52", true),
        ("[sqlserver].[session_id] < 52", false),
        ("[6fdd0bcb].sqlserver.session_id = 52", true),
        ("[package0].[equal_uint64]([wait_type],(123))", true),
        ("package0.less_than_equal_uint64(duration, 19)", false),
        ("package0.greater_than_int64(duration, 19)", true),
        ("package0.divides_by_uint64(duration, 10)", true),
        ("package0.divides_by_uint64(duration, 0)", false),
        ("sqlserver.sql_text = N'select COUNT'", true),
        ("sqlserver.sql_text LIKE '%lect c_unt'", true),
        ("sqlserver.sql_text LIKE 'x%'", false),
        ("package0.like_i_sql_unicode_string(sqlserver.sql_text, N'%COUNT%')", true),
        ("sqlserver.client_app_name = 'x'", false),
        ("NOT wait_type = 1", true),
        ("NOT (wait_type = 123 AND opcode = 1)", false),
        ("opcode = 0 AND wait_type = 1 OR duration = 20", true),
        ("opcode = 0 AND (wait_type = 1 OR duration = 20)", false),
        ("NOT opcode = 0 AND NOT duration = 1", true),
    ] {
        assert_eq!(passing(text, &[3]), [if passes { 3 } else { 0 }], "{text}");
    }
}

#[test]
fn a_divisor_is_not_negative() {
    assert_eq!(bind_on(ServerVersion::V2017, "package0.divides_by_uint64(package0.counter, -10)"), Err(25713));
}

#[test]
fn map_texts_are_taken_from_2022_on() {
    assert!(bind_on(ServerVersion::V2022, "wait_type = 'SOS_SCHEDULER_YIELD'").is_ok());
    assert_eq!(bind_on(ServerVersion::V2022, "wait_type = 'SOS_YIELD'"), Err(25713));
    assert_eq!(bind_on(ServerVersion::V2019, "wait_type = 'SOS_SCHEDULER_YIELD'"), Err(25713));
    let shown = bind_on(ServerVersion::V2022, "wait_type = 'SOS_SCHEDULER_YIELD'").unwrap().to_string();
    assert_eq!(shown, "([package0].[equal_uint64]([wait_type],(145)))");
}

#[test]
fn a_counter_is_exact_across_batches() {
    assert_eq!(passing("package0.counter <= 1000", &[600, 600, 600]), [600, 400, 0]);
    assert_eq!(passing("package0.counter < 1000", &[999, 1]), [999, 0]);
    assert_eq!(passing("package0.counter = 5", &[4, 1, 10]), [0, 1, 0]);
    assert_eq!(passing("package0.counter > 5", &[4, 4]), [0, 3]);
    assert_eq!(passing("package0.divides_by_uint64(package0.counter, 10)", &[9, 1, 25]), [0, 1, 2]);
    assert_eq!(passing("package0.divides_by_uint64(package0.counter, 1)", &[7]), [7]);
}

#[test]
fn a_counter_counts_what_reaches_it() {
    // Nothing gets past the first test, so the counter stands still.
    let predicate = bind("duration >= 100 AND package0.counter <= 2");
    let mut counters = predicate.new_counters();
    assert_eq!(predicate.passing(&wait(), 50, &mut counters), 0);
    let mut long = wait();
    long.values[2].1 = FieldValue::Number(100);
    assert_eq!(predicate.passing(&long, 5, &mut counters), 2);
    // The other way round it counts everything.
    assert_eq!(passing("package0.counter <= 2 AND wait_type = 123", &[5]), [2]);
    // Every tenth, of those the first three.
    let sampled = "package0.divides_by_uint64(package0.counter, 10) AND package0.counter <= 3";
    assert_eq!(passing(sampled, &[25, 100]), [2, 1]);
    // OR: the right side sees only what the left side let fall.
    assert_eq!(passing("package0.counter <= 2 OR package0.counter <= 3", &[10]), [5]);
}

proptest! {
    #[test]
    fn batches_pass_as_single_events_do(
        batches in proptest::collection::vec(0_u64..40, 1..8), cap in 0_u64..60, every in 1_u64..7,
    ) {
        let text = format!(
            "wait_type = 123 AND package0.divides_by_uint64(package0.counter, {every}) AND NOT package0.counter > {cap}"
        );
        let total = batches.iter().sum::<u64>();
        let single = passing(&text, &vec![1; total as usize]).into_iter().sum::<u64>();
        prop_assert_eq!(passing(&text, &batches).into_iter().sum::<u64>(), single);
        prop_assert_eq!(single, (total / every).min(cap));
    }
}
