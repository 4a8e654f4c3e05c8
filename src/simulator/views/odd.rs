//! Owns the rows of `odd-rows`: what no documentation rules out and a reader may meet.

use crate::simulator::value::Datum;
use crate::simulator::views::schema::Record;

/// Whether rows of a view are odd.
pub(super) fn has_odd_rows(view: &str) -> bool {
    matches!(view, "dm_os_spinlock_stats" | "dm_os_wait_stats" | "dm_db_wait_stats" | "dm_os_latch_stats")
}

/// A spinlock's name a second time, with counters of its own; a latch class whose counters are NULL, and a spinlock
/// without a ratio; a wait type that no list has, which counts.
pub(super) fn add_rows(view: &str, rows: &mut Vec<Record>) {
    match view {
        "dm_os_spinlock_stats" => {
            let again = Record::new()
                .with("name", "LOCK_HASH")
                .with("collisions", 3)
                .with("spins", 750)
                .with("spins_per_collision", 250.0)
                .with("sleep_time", 1)
                .with("backoffs", 2);
            let blank = ["collisions", "spins", "spins_per_collision", "sleep_time", "backoffs"];
            rows.push(again);
            rows.push(blanked(Record::new().with("name", "SPL_WITHOUT_NUMBERS"), &blank));
        }
        "dm_os_wait_stats" | "dm_db_wait_stats" => rows.push(
            Record::new()
                .with("wait_type", "SPINLOCK_EXT")
                .with("waiting_tasks_count", 12_345)
                .with("wait_time_ms", 67_890)
                .with("max_wait_time_ms", 40)
                .with("signal_wait_time_ms", 100),
        ),
        "dm_os_latch_stats" => {
            let blank = ["waiting_requests_count", "wait_time_ms", "max_wait_time_ms"];
            rows.push(blanked(Record::new().with("latch_class", "CLASS_WITHOUT_NUMBERS"), &blank));
        }
        _ => {}
    }
}

fn blanked(record: Record, columns: &[&'static str]) -> Record {
    columns.iter().fold(record, |record, column| record.with(column, Datum::Null))
}
