//! Saved rows of views: published figures out of files as people and tools write them, and files that are not what they
//! should be.

use crate::cli::xestack;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use xestack::catalog::Catalog;
use xestack::model::{self, KnownTable, Table};
use xestack::parse::rows::{MAX_COLUMNS, MAX_VALUES, Rows, RowsError, read};
use xestack::store::bundle;

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());

fn known() -> &'static [KnownTable] {
    CATALOG.rows.tables()
}

fn rows(text: &str) -> Rows {
    read(text.as_bytes(), known()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn refused(text: &str) -> RowsError {
    read(text.as_bytes(), known()).unwrap_err()
}

fn only(rows: &Rows) -> (&str, &Table) {
    let mut tables = rows.tables.iter();
    let (name, table) = tables.next().unwrap();
    assert!(tables.next().is_none(), "{:?}", rows.tables.keys());
    (name, table)
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn report(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.err))
    }
}

fn analyze(folder: &Path, files: &[(&str, &[u8])], arguments: &[&str]) -> Ran {
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    let output = xestack(&["analyze", "--format", "json"]).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn utf16(text: &str) -> Vec<u8> {
    format!("\u{FEFF}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The spinlocks of the published case, and one that is new in the second snapshot.
const SPINS_BEFORE: &str = "\
name,collisions,spins,spins_per_collision,sleep_time,backoffs
LOCK_HASH,\"1,000,000\",\"500,000,000\",500,100,\"200,000\"
OPT_IDX_STATS,1000,200000,200,1,10
SOS_OBJECT_STORE,10,20,2,0,0
SOS_WAITABLE_ADDRESS_HASHBUCKET,1,2,2,0,0
XDESMGR,0,0,0,0,0
";
const SPINS_AFTER: &str = "\
NAME;Collisions;Spins;Spins per collision;Sleep time;Backoffs
LOCK_HASH;7 191 134;4 505 774 890;626;786;1 801 383
OPT_IDX_STATS;1165849;126749245;108,7;58;7565
SOS_OBJECT_STORE;83;325;3,9;0;0
SOS_WAITABLE_ADDRESS_HASHBUCKET;116;44497;383,5;0;3
XDESMGR;1;0;0;0;0
SOS_SUSPEND_QUEUE;40;500;12,5;0;1
";
/// Its waits, as a well-known query prints them.
const WAITS_BEFORE: &str = "\
WaitType,Wait_S,Resource_S,Signal_S,WaitCount,Percentage,AvgWait_S
SOS_SCHEDULER_YIELD,0.00,0.00,0.00,0,0,0
LCK_M_S,0.00,0.00,0.00,0,0,0
";
const WAITS_AFTER: &str = "\
WaitType,Wait_S,Resource_S,Signal_S,WaitCount,Percentage,AvgWait_S
SOS_SCHEDULER_YIELD,4574.77,0.20,4574.57,\"206,473\",99.43,0.0222
LCK_M_S,26.23,26.23,0.00,12,0.57,2.1858
";

#[test]
fn the_published_figures_come_out_of_saved_rows() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("spins1.csv", SPINS_BEFORE.as_bytes().to_vec()),
        ("spins2.csv", utf16(SPINS_AFTER)),
        ("waits1.csv", WAITS_BEFORE.as_bytes().to_vec()),
        ("waits2.csv", WAITS_AFTER.replace(',', "\t").replace("206\t473", "206,473").into_bytes()),
    ];
    let files = files.each_ref().map(|(name, bytes)| (*name, bytes.as_slice()));
    let given = ["--before", "spins1.csv", "--before", "waits1.csv", "--after", "spins2.csv", "--after", "waits2.csv"];
    let ran = analyze(folder.path(), &files, &[&given[..], &["--elapsed", "10s"]].concat());
    let report = ran.report();
    assert_eq!(ran.code, 0, "{}", report["capture"]["problems"]);
    let spinlocks: Vec<_> = report["spinlocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let figure = |key: &str| row[key].as_u64().unwrap();
            let figures = ["collisions", "spins", "spins_per_collision", "sleep_time_ms", "backoffs"].map(figure);
            (row["name"].as_str().unwrap(), figures, row["mark"].as_str())
        })
        .collect();
    assert_eq!(
        spinlocks,
        [
            ("LOCK_HASH", [6_191_134, 4_005_774_890, 647, 686, 1_601_383], None),
            ("OPT_IDX_STATS", [1_164_849, 126_549_245, 108, 57, 7_555], None),
            ("SOS_WAITABLE_ADDRESS_HASHBUCKET", [115, 44_495, 386, 0, 3], None),
            ("SOS_SUSPEND_QUEUE", [40, 500, 12, 0, 1], Some("new")),
            ("SOS_OBJECT_STORE", [73, 305, 4, 0, 0], None),
            ("XDESMGR", [1, 0, 0, 0, 0], None),
        ]
    );
    let wait = &report["waits"][0];
    assert_eq!(wait["wait_type"], "SOS_SCHEDULER_YIELD");
    let figures = ["waiting_tasks", "wait_ms", "resource_ms", "signal_ms"].map(|key| wait[key].as_u64().unwrap());
    assert_eq!(figures, [206_473, 4_574_770, 200, 4_574_570]);
    assert!((wait["share"].as_f64().unwrap() - 0.9943).abs() < 0.00005, "{wait}");
    assert_eq!(report["capture"]["window"]["elapsed_ms"], 10_000);
}

#[test]
fn the_rows_alone_tell_what_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let spins =
        |n: u64| format!("name,collisions,spins,spins_per_collision,sleep_time,backoffs\nMUTEX,{n},{n},1,0,{n}\n");
    let latches = |n: u64| format!("latch_class,waiting_requests_count,wait_time_ms\nFCB,{n},{n}\n");
    let waits = |name: &str, n: u64| {
        format!(
            "wait_type,waiting_tasks_count,wait_time_ms,signal_wait_time_ms\n{name},{n},{n},0\nSLEEP_TASK,{n},{n},0\n"
        )
    };
    // As the view has them: the number of the file tells what it is.
    let files = |log: [u64; 3], data: u64| {
        let columns = "database_id,file_id,num_of_reads,num_of_writes,num_of_bytes_written,io_stall_write_ms";
        let [writes, bytes, stall] = log;
        format!("{columns}\n7,1,{data},0,0,0\n7,2,0,{writes},{bytes},{stall}\n")
    };
    let none = [0, 0, 0];
    let durable = [500_012, 526_448_640, 35_593];
    for (before, after, scenario, kind) in [
        (spins(0), spins(9), "spinlock", "inconclusive"),
        (latches(0), latches(9), "latch", "inconclusive"),
        (waits("PAGELATCH_EX", 0), waits("PAGELATCH_EX", 90_000), "pagelatch", "latch_contention"),
        (waits("PREEMPTIVE_OS_WRITEFILE", 0), waits("PREEMPTIVE_OS_WRITEFILE", 90_000), "snapshot", "inconclusive"),
        (waits("SOS_SCHEDULER_YIELD", 0), waits("SOS_SCHEDULER_YIELD", 90_000), "sos-yield", "inconclusive"),
        (files(none, 0), files(durable, 12), "log-write", "log_write_bound"),
        (files(none, 0), files([8_068, 261_894_656, 6_232], 12), "log-write", "inconclusive"),
        (files(none, 0), files(durable, 900_000), "file-latency", "no_contention"),
    ] {
        let given = [("before.csv", before.as_bytes()), ("after.csv", after.as_bytes())];
        let arguments = ["--before", "before.csv", "--after", "after.csv", "--elapsed", "120s"];
        let report = analyze(folder.path(), &given, &arguments).report();
        assert_eq!(report["verdict"]["kind"], kind, "{after}: {}", report["verdict"]["summary"]);
        let named = analyze(folder.path(), &given, &[&arguments[..], &["--scenario", scenario]].concat()).report();
        assert_eq!(report["verdict"], named["verdict"], "{scenario}: {after}");
    }
}

#[test]
fn every_shape_of_json_gives_the_same_rows() {
    let object = |wait: &str, count: u64| json!({"wait_type": wait, "waiting_tasks_count": count, "wait_time_ms": 5, "signal_wait_time_ms": null});
    let (one, two) = (object("A", 1), object("B", 2));
    let split = json!({
        "columns": ["wait_type", "waiting_tasks_count", "wait_time_ms", "signal_wait_time_ms"],
        "rows": [["A", 1, 5, null], ["B", 2, 5, null]],
    });
    let list = json!([one, two]);
    let expected = rows(&list.to_string());
    let (name, table) = only(&expected);
    assert_eq!((name, table.rows.len(), table.integer(1, "waiting_tasks_count")), ("dm_os_wait_stats", 2, Some(2)));
    assert_eq!(table.value(0, "signal_wait_time_ms"), Some(&model::Value::Null));
    for text in [
        split.to_string(),
        json!({"sys.dm_os_wait_stats": list}).to_string(),
        json!({"taken_at": "2026-01-01T00:00:00Z", "tables": {"dm_os_wait_stats": split}}).to_string(),
        format!("{one}\n{two}\n"),
        format!("\u{FEFF} {list}"),
    ] {
        assert_eq!(rows(&text).tables, expected.tables, "{text}");
    }
    // The same columns under another view's name stay that view's.
    let of_database = rows(&json!({"dm_db_wait_stats": list}).to_string());
    assert_eq!(only(&of_database).0, "dm_db_wait_stats");
}

#[test]
fn a_table_is_known_by_its_columns_whatever_their_case_and_spelling() {
    for (header, expected) in [
        ("wait_type,waiting_tasks_count,wait_time_ms", "dm_os_wait_stats"),
        ("Wait Type,Waits,Wait time (ms)", "dm_os_wait_stats"),
        ("LATCH_CLASS,WAITING_REQUESTS_COUNT,WAIT_TIME_MS", "dm_os_latch_stats"),
        ("spinlock,collisions,spins,spins/collision,sleep time,back-offs", "dm_os_spinlock_stats"),
        ("[name],[spins],[backoffs]", "dm_os_spinlock_stats"),
        ("database_id,file_id,num_of_writes,num_of_bytes_written", "dm_io_virtual_file_stats"),
        ("scheduler_id,runnable_tasks_count", "dm_os_schedulers"),
        ("cpu_ticks,ms_ticks", "dm_os_sys_info"),
        ("session_id,wait_type,wait_duration_ms", "dm_os_waiting_tasks"),
        ("name,database_id,delayed_durability_desc", "databases"),
        ("database_id,file_id,type_desc,name", "master_files"),
        ("database_id,reserved_space_kb", "dm_tran_version_store_space_usage"),
        ("io_pending,requests", "dm_io_pending_io_requests"),
    ] {
        let values = vec!["1"; header.split(',').count()].join(",");
        assert_eq!(only(&rows(&format!("{header}\n{values}\n"))).0, expected, "{header}");
    }
    let counters = rows("object_name,counter_name,instance_name,cntr_value\nx,Log Flushes/sec,1234,7\n");
    assert_eq!(counters.tables.keys().collect::<Vec<_>>(), ["dm_os_performance_counters", "log_counters"]);
    // A name stays one, though it looks like a number.
    assert_eq!(counters.tables["log_counters"].text(0, "instance_name"), Some("1234"));
    assert_eq!(counters.tables["log_counters"].integer(0, "cntr_value"), Some(7));
}

#[test]
fn files_by_name_have_ids_and_names() {
    let folder = tempfile::tempdir().unwrap();
    let before = "database,file_type,writes,bytes,stall_ms\ndd1,LOG,0,0,0\ndd5,LOG,0,0,0\n";
    let after = "database,file_type,writes,bytes,stall_ms\ndd5,LOG,\"500,012\",\"526,448,640\",\"35,593\"\ndd1,LOG,\"8,068\",\"261,894,656\",\"6,232\"\n";
    let files = [("a.csv", before.as_bytes()), ("b.csv", after.as_bytes())];
    let ran = analyze(folder.path(), &files, &["--before", "a.csv", "--after", "b.csv", "--scenario", "log-write"]);
    let report = ran.report();
    assert_eq!(report["capture"]["scenario"], "log-write");
    let codes: Vec<&str> =
        report["capture"]["problems"].as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"file_ids_made_up"), "{codes:?}");
}

#[test]
fn what_exports_add_is_left_out() {
    let sqlcmd = "wait_type,waiting_tasks_count,wait_time_ms\n---------,-------------------,------------\nA,1,2\n\n(1 rows affected)\n";
    let excel = "sep=;\nwait_type;waiting_tasks_count;wait_time_ms\nA;1;2\n";
    for text in [sqlcmd, excel] {
        let read = rows(text);
        assert!(read.problems.is_empty(), "{:?}", read.problems);
        assert_eq!(only(&read).1.rows.len(), 1, "{text}");
    }
    let ragged = rows("wait_type,wait_time_ms\nA,1\nB\nC,1,2\nD,4\n");
    assert_eq!(only(&ragged).1.rows.len(), 2);
    assert!(ragged.problems[0].message.contains("2 rows are left out that have not 2 fields; the first on line 3"));
}

#[test]
fn no_digit_is_lost_silently() {
    let problem = |rows: &Rows, code: &str| {
        rows.problems.iter().find(|problem| problem.code == code).map(|problem| problem.message.clone())
    };
    let csv = rows("name,spins,backoffs\nA,9223372036854775807,18446744073709551615\nB,4.01E+09,9223372036854775808\n");
    let (_, table) = only(&csv);
    assert_eq!(table.integer(0, "spins"), Some(i64::MAX));
    assert_eq!(table.text(0, "backoffs"), Some("18446744073709551615"));
    assert_eq!(
        problem(&csv, "numbers_too_large").unwrap(),
        "2 values beyond 2^63 - 1 are kept as text and not calculated with; the first: backoffs 18446744073709551615"
    );
    assert!(problem(&csv, "numbers_rounded").unwrap().contains("spins 4.01E+09"));
    let json = rows(r#"[{"name": "A", "spins": 18446744073709551615, "backoffs": 1}]"#);
    assert_eq!(only(&json).1.text(0, "spins"), Some("18446744073709551615"));
    assert!(problem(&json, "numbers_too_large").unwrap().contains("spins 18446744073709551615"));
}

#[test]
fn what_cannot_be_used_says_why() {
    for (text, needle) in [
        ("", "holds no rows"),
        ("wait_type,wait_time_ms\n", "holds no rows"),
        ("[]", "by which no view is known"),
        (
            "a,b,c\n1,2,3\n",
            "has the columns a, b, c, by which no view is known; expected one of: dm_os_wait_stats (wait_type, wait_time_ms)",
        ),
        ("{\"a\": [1, 2]}", "expected an array of objects"),
        ("[1, 2]", "expected an array of objects"),
        ("[{\"wait_type\": {\"x\": 1}}]", "expected an array of objects"),
        ("[{\"wait_type\": \"A\", ", "is no JSON that can be read: EOF"),
        (
            "wait_type,wait_time_ms\nA,1\nlatch_class,wait_time_ms\nB,2\n",
            "line 3 is the header of a further table: a CSV file holds one table",
        ),
        ("wait_type,wait_time_ms\nA,1\nwait_type,wait_time_ms\nA,2\n", "line 3 is the header of a further table"),
    ] {
        let error = refused(text).to_string();
        assert!(error.contains(needle), "{text}: {error}");
    }
    // One table of several that is not known is told, and the others are used.
    let read =
        rows(r#"{"dm_os_latch_stats": [{"latch_class": "A", "wait_time_ms": 1}], "mine": [{"a": 1}], "meta": [1]}"#);
    assert_eq!(only(&read).0, "dm_os_latch_stats");
    assert_eq!(read.problems.iter().filter(|problem| problem.code == "table_not_known").count(), 2);
}

#[test]
fn hostile_files_are_refused_within_bounds() {
    let wide = (0..100_000).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    assert_eq!(refused(&wide), RowsError::TooMany { what: "columns", limit: MAX_COLUMNS });
    let members = |count: usize| (0..count).map(|n| format!("\"c{n}\":1,")).collect::<Vec<_>>().concat();
    let object = members(100_000);
    assert_eq!(refused(&format!("[{{{object}\"x\":1}}]")), RowsError::TooMany { what: "columns", limit: MAX_COLUMNS });
    let deep = "[".repeat(200_000);
    assert!(refused(&deep).to_string().contains("recursion limit"), "{}", refused(&deep));
    let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
    assert_eq!(refused(&many), RowsError::TooMany { what: "values", limit: MAX_VALUES });
    // Each row with its last column only.
    let columns = members(MAX_COLUMNS - 1);
    let sparse = format!("[{{{columns}\"z\":1}}{}]", ",{\"z\":1}".repeat(1_000));
    assert_eq!(refused(&sparse), RowsError::TooMany { what: "values", limit: MAX_VALUES });
    let huge = rows(&format!("wait_type,wait_time_ms\n{},1\n", "A".repeat(1 << 20)));
    assert_eq!(only(&huge).1.text(0, "wait_type").unwrap().len(), 65_536);
    assert_eq!(huge.problems[0].code, "text_cut");
    let open = rows("wait_type,wait_time_ms\nA,1\n\"B,2\nC,3\n");
    assert_eq!((only(&open).1.rows.len(), open.problems[0].code.as_str()), (1, "rows_left_out"));
    let cut = rows("{\"wait_type\": \"A\", \"wait_time_ms\": 1}\n{\"wait_type\": \"B\", \"wai");
    assert_eq!((only(&cut).1.rows.len(), cut.problems[0].code.as_str()), (1, "rows_cut"));
    let nul = rows("wait_type,wait_time_ms\nA\0B,1\n");
    assert_eq!(only(&nul).1.text(0, "wait_type"), Some("A\0B"));
    assert!(matches!(refused("\0\0\0"), RowsError::NotKnown { .. } | RowsError::Empty));
}

#[test]
fn before_needs_after_and_one_bad_file_of_two_is_partial() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("a.csv", WAITS_BEFORE.as_bytes()), ("b.csv", WAITS_AFTER.as_bytes()), ("bad.csv", b"x,y\n1,2\n")];
    for arguments in [["--before", "a.csv"], ["--after", "b.csv"]] {
        let ran = analyze(folder.path(), &files, &arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains("a difference needs both"), "{}", ran.err);
    }
    let none = analyze(folder.path(), &files, &["--before", "bad.csv", "--after", "bad.csv"]);
    assert_eq!((none.code, none.out.as_str()), (7, ""), "{}", none.err);
    assert!(none.err.contains("bad.csv has the columns x, y, by which no view is known"), "{}", none.err);
    let some = analyze(folder.path(), &files, &["--before", "a.csv", "--after", "b.csv", "--after", "bad.csv"]);
    assert_eq!(some.code, 5, "{}", some.err);
    assert_eq!(some.report()["waits"][0]["wait_ms"], 4_574_770);
    let unknown = analyze(folder.path(), &files, &["--before", "a.csv", "--after", "b.csv", "--scenario", "x"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("unknown scenario `x`"), "{}", unknown.err);
    let archive = analyze(folder.path(), &[("c.zip", b"PK\x03\x04")], &["--before", "c.zip", "--after", "c.zip"]);
    assert_eq!(archive.code, 7);
    assert!(archive.err.contains("is an archive"), "{}", archive.err);
}

#[test]
fn the_time_between_comes_from_the_servers_clocks() {
    let folder = tempfile::tempdir().unwrap();
    let elapsed = |before: &str, after: &str, more: &[&str]| {
        let files = [("a.json", before.as_bytes()), ("b.json", after.as_bytes())];
        let ran = analyze(folder.path(), &files, &[&["--before", "a.json", "--after", "b.json"], more].concat());
        ran.report()["capture"]["window"]["elapsed_ms"].as_u64()
    };
    let info = |ticks: i64| json!({"cpu_ticks": 1, "ms_ticks": ticks}).to_string();
    assert_eq!(elapsed(&info(1_000), &info(6_000), &[]), Some(5_000));
    assert_eq!(elapsed(&info(1_000), &info(6_000), &["--elapsed", "7s"]), Some(7_000));
    assert_eq!(elapsed(&info(6_000), &info(1_000), &[]), None);
    let file = |ms: i64| {
        json!([{"database_id": 1, "file_id": 1, "sample_ms": ms, "num_of_writes": 1, "num_of_bytes_written": 1}])
            .to_string()
    };
    assert_eq!(elapsed(&file(2_147_480_000), &file(2_147_483_000), &[]), Some(3_000));
    assert_eq!(elapsed(&file(2_147_483_000), &file(-2_147_480_000), &[]), None);
    assert_eq!(elapsed(&file(-9), &file(9), &[]), None);
}

#[test]
fn rows_complete_stacks_and_leave_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let stack = "SOS_Task::PostWait\nSOS_Task::Sleep\nYieldAndCheckForAbort\n";
    let files =
        [("stack.txt", stack.as_bytes()), ("a.csv", WAITS_BEFORE.as_bytes()), ("b.csv", WAITS_AFTER.as_bytes())];
    let ran = analyze(folder.path(), &files, &["stack.txt", "--before", "a.csv", "--after", "b.csv"]);
    let report = ran.report();
    assert_eq!(
        (report["stacks"]["total_events"].as_u64(), report["waits"][0]["wait_ms"].as_u64()),
        (Some(1), Some(4_574_770))
    );
}

#[test]
fn rows_complete_a_bundle_and_never_replace_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let waits = |count: i64| {
        let integer = model::Value::Integer;
        let row = vec![model::Value::Text("WRITELOG".to_owned()), integer(count), integer(count), integer(0)];
        let columns = ["wait_type", "waiting_tasks_count", "wait_time_ms", "signal_wait_time_ms"];
        let table = Table { columns: columns.map(str::to_owned).to_vec(), rows: vec![row] };
        Some(model::Snapshot { tables: [("dm_os_wait_stats".to_owned(), table)].into(), ..model::Snapshot::default() })
    };
    let evidence =
        model::Evidence { id: "run".to_owned(), before: waits(1), after: waits(8), ..model::Evidence::default() };
    bundle::write(&folder.path().join("b.zip"), &bundle::Bundle { evidence, ..bundle::Bundle::default() }).unwrap();
    let files = [
        ("s1.csv", SPINS_BEFORE.as_bytes()),
        ("s2.csv", SPINS_AFTER.as_bytes()),
        ("w1.csv", WAITS_BEFORE.as_bytes()),
        ("l2.csv", b"latch_class,waiting_requests_count,wait_time_ms\nBUFFER,1,1\n"),
    ];
    let given = ["b.zip", "--before", "s1.csv", "--before", "w1.csv", "--after", "s2.csv", "--after", "l2.csv"];
    let report = analyze(folder.path(), &files, &given).report();
    assert_eq!(report["waits"].as_array().unwrap().len(), 1, "{}", report["waits"]);
    assert_eq!(report["waits"][0]["wait_ms"], 7);
    assert_eq!(report["spinlocks"][0]["spins_per_collision"], 647);
    let problems = report["capture"]["problems"].as_array().unwrap();
    let message = |code: &str| {
        let of_code = problems.iter().filter(|problem| problem["code"] == code);
        of_code.map(|problem| problem["message"].as_str().unwrap()).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(message("table_twice"), "dm_os_wait_stats: the bundle has its own rows, and they stand");
    assert_eq!(message("one_sided"), "dm_os_latch_stats came in --after only: a difference needs both");
}

#[test]
fn the_seeds_of_the_fuzzer_are_read_whole_and_cut() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds");
    for name in ["rows.csv", "rows.json"] {
        let bytes = fs::read(folder.join(name)).unwrap();
        for at in 0..=bytes.len() {
            check(&bytes[..at]);
            check(&bytes[at..]);
        }
    }
    let csv = read(&fs::read(folder.join("rows.csv")).unwrap(), known()).unwrap();
    let (_, table) = only(&csv);
    assert_eq!(table.integer(0, "waiting_tasks_count"), Some(1_234));
    assert_eq!(table.integer(0, "wait_time_ms"), Some(70));
    assert_eq!(table.integer(1, "wait_time_ms"), Some(1_500_000));
    let json = read(&fs::read(folder.join("rows.json")).unwrap(), known()).unwrap();
    assert_eq!(only(&json).1.rows.len(), 2);
}

fn check(bytes: &[u8]) {
    if let Ok(rows) = read(bytes, known()) {
        for table in rows.tables.values() {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }

    #[test]
    fn any_lines_are_read_or_refused(text in "(wait_type|name|spins|backoffs|[,;\t\"\n]|[0-9.,' Ee+-]{1,6}|NULL|\u{A0}){0,60}") {
        check(text.as_bytes());
        check(format!("name,spins,backoffs\n{text}").as_bytes());
    }

    #[test]
    fn any_json_is_read_or_refused(text in r#"([\[\]{},:]|"[a-z_]{0,9}"|"wait_type"|"rows"|"columns"|"tables"|-?[0-9]{1,20}(\.[0-9])?|null|true){0,60}"#) {
        check(text.as_bytes());
        check(format!("[{{\"wait_type\": {text}").as_bytes());
    }

    #[test]
    fn a_number_comes_out_as_it_went_in(number in any::<i64>()) {
        let digits = number.unsigned_abs().to_string();
        let grouped: Vec<char> = digits.chars().rev().enumerate().flat_map(|(at, c)| {
            (at > 0 && at % 3 == 0).then_some(',').into_iter().chain([c])
        }).collect();
        let grouped: String = grouped.into_iter().rev().collect();
        let sign = if number < 0 { "-" } else { "" };
        for text in [number.to_string(), format!("{sign}{grouped}")] {
            let read = rows(&format!("name,spins,backoffs\nA,\"{text}\",0\n"));
            prop_assert_eq!(only(&read).1.integer(0, "spins"), Some(number));
        }
    }
}
