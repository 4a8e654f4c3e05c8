//! Tests of the choice of a scenario: what leads, what does not, and what is said where nothing does.

use super::support::{Host, catalog, spinlock_table, table, wait_table};
use xestack::analyze::auto::{AUTO, choose};
use xestack::model::{Evidence, Table, Value};

/// Ten seconds of these waits (type, waits, wait time) on 8 schedulers with this use of CPU, percent, and spins on.
fn evidence(waits: &[(&str, i64, i64)], cpu_percent: i64, spins: i64, files: Option<(Table, Table)>) -> Evidence {
    let host = Host { cpu_percent, ..Host::default() };
    let none: Vec<(&str, i64, i64, i64)> = waits.iter().map(|(name, ..)| (*name, 0, 0, 0)).collect();
    let grown: Vec<(&str, i64, i64, i64)> = waits.iter().map(|(name, count, ms)| (*name, *count, *ms, 0)).collect();
    let spinlocks = |spins| spinlock_table(&[("MUTEX", [spins, spins, 0, 0], 1.0)]);
    let mut before = vec![("dm_os_wait_stats", wait_table(&none)), ("dm_os_spinlock_stats", spinlocks(1))];
    let mut after = vec![("dm_os_wait_stats", wait_table(&grown)), ("dm_os_spinlock_stats", spinlocks(1 + spins))];
    if let Some((first, last)) = files {
        before.push(("dm_io_virtual_file_stats", first));
        after.push(("dm_io_virtual_file_stats", last));
    }
    Evidence {
        window: Some(host.window()),
        before: Some(host.snapshot(false, &before)),
        after: Some(host.snapshot(true, &after)),
        ..Evidence::default()
    }
}

/// Statistics of one file: reads and what they took.
fn file(reads: i64, stall_ms: i64) -> Table {
    let columns = [
        "database_id",
        "file_id",
        "num_of_reads",
        "num_of_bytes_read",
        "io_stall_read_ms",
        "num_of_writes",
        "num_of_bytes_written",
        "io_stall_write_ms",
    ];
    let row = [5, 1, reads, reads * 8_192, stall_ms, 0, 0, 0];
    table(&columns, vec![row.map(Value::Integer).to_vec()])
}

#[test]
fn the_waits_that_lead_choose() {
    for (waits, scenario) in [
        (&[("LATCH_EX", 9, 5_000), ("WRITELOG", 9, 4_900)][..], Some("latch")),
        (&[("LATCH_EX", 9, 2_000), ("WRITELOG", 9, 4_900), ("LATCH_SH", 9, 3_000)], Some("latch")),
        (&[("PAGELATCH_UP", 9, 5_000), ("LATCH_EX", 9, 400)], Some("pagelatch")),
        (&[("HADR_SYNC_COMMIT", 9, 3_000), ("WRITELOG", 9, 900)], Some("log-write")),
        (&[("FCB_REPLICA_WRITE", 9, 300)], Some("snapshot")),
        (&[("PAGEIOLATCH_SH", 9, 3_000), ("PAGELATCH_SH", 9, 900)], Some("file-latency")),
        (&[("SOS_SCHEDULER_YIELD", 9, 3_000)], Some("sos-yield")),
        // Of equal ones the first, whatever the order of the rows.
        (&[("WRITELOG", 9, 500), ("LATCH_EX", 9, 500)], Some("latch")),
        // Idle waits are nobody's.
        (&[("SLEEP_TASK", 9, 90_000), ("WRITELOG", 9, 200)], Some("log-write")),
        // A tenth of a task waiting on average, for every thousandth of which nobody asks.
        (&[("WRITELOG", 9, 100)], Some("log-write")),
        (&[("WRITELOG", 9, 99)], None),
        // One wait type of no scenario has more.
        (&[("LCK_M_X", 9, 9_000), ("WRITELOG", 9, 8_999)], None),
        (&[("LCK_M_X", 9, 8_999), ("WRITELOG", 9, 9_000)], Some("log-write")),
        (&[], None),
    ] {
        let choice = choose(&evidence(waits, 20, 0, None), &catalog());
        assert_eq!(choice.scenario.as_deref(), scenario, "{waits:?}: {choice:?}");
    }
}

#[test]
fn the_share_of_the_wait_time_must_be_a_tenth() {
    let many: Vec<(String, i64, i64)> = (0..20).map(|n| (format!("MADE_UP_{n}"), 1, 900)).collect();
    let mut waits: Vec<(&str, i64, i64)> = many.iter().map(|(name, count, ms)| (name.as_str(), *count, *ms)).collect();
    waits.push(("WRITELOG", 9, 2_000));
    assert_eq!(choose(&evidence(&waits, 20, 0, None), &catalog()).scenario.as_deref(), Some("log-write"));
    waits.pop();
    waits.push(("WRITELOG", 9, 1_999));
    assert_eq!(choose(&evidence(&waits, 20, 0, None), &catalog()).scenario, None);
}

#[test]
fn spins_come_first_and_the_cpu_and_files_where_no_wait_leads() {
    let locks = [("LCK_M_X", 9, 9_000)];
    // 8 x 2.7 GHz x 10 s are 216e9 cycles: half of them at 10 a spin are 10.8e9 spins.
    for (cpu, spins, files, scenario) in [
        (96, 10_800_000_000, None, Some("spinlock")),
        (96, 10_700_000_000, None, Some("sos-yield")),
        (70, 0, None, Some("sos-yield")),
        (69, 0, None, None),
        (20, 0, Some((file(0, 0), file(30, 1_500))), Some("file-latency")),
        (20, 0, Some((file(0, 0), file(29, 1_500))), None),
        (20, 0, Some((file(0, 0), file(30, 1_499))), None),
        // A file that counts anew tells nothing.
        (20, 0, Some((file(900, 1_500), file(40, 90_000))), None),
    ] {
        let choice = choose(&evidence(&locks, cpu, spins, files.clone()), &catalog());
        assert_eq!(choice.scenario.as_deref(), scenario, "{cpu} {spins} {files:?}: {choice:?}");
    }
}

#[test]
fn what_is_not_chosen_is_told_for_what_it_is() {
    let report_of = |waits: &[(&str, i64, i64)]| {
        let evidence = Evidence { scenario: Some(AUTO.to_owned()), ..evidence(waits, 5, 0, None) };
        super::support::analyze(&evidence)
    };
    let idle = report_of(&[("SLEEP_TASK", 9, 90_000)]);
    assert_eq!(idle.verdict.kind.name(), "no_contention");
    let locks = report_of(&[("LCK_M_X", 9, 9_000)]);
    assert_eq!(locks.verdict.kind.name(), "inconclusive");
    assert!(locks.verdict.summary.contains("LCK_M_X leads with 100 %"), "{}", locks.verdict.summary);
    for report in [idle, locks] {
        assert!(report.capture.problems.is_empty(), "{:?}", report.capture.problems);
        assert_eq!(report.capture.scenario.as_deref(), Some(AUTO));
    }
    // Nothing at all was read.
    let nothing = choose(&Evidence::default(), &catalog());
    assert_eq!((nothing.scenario, nothing.idle), (None, true));
}
