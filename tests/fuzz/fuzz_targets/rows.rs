//! Saved rows: no panic, every row as long as its table's columns, nothing beyond the bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xestack::model::{KnownColumn, KnownTable};
use xestack::parse::rows::{MAX_COLUMNS, read};

fuzz_target!(|bytes: &[u8]| {
    let column = |name: &str, text| KnownColumn { name: name.into(), aliases: vec![], seconds: vec!["s".into()], text };
    let known = [KnownTable {
        name: "dm_a".into(),
        also: vec![],
        told_by: vec![vec!["a".into()]],
        columns: vec![column("a", true), column("b", false)],
    }];
    if let Ok(rows) = read(bytes, &known) {
        for table in rows.tables.values() {
            assert!(table.columns.len() <= MAX_COLUMNS);
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        }
    }
});
