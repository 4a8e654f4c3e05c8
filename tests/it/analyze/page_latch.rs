//! Which pages in memory tasks wait for, what kind of page each is, and how it is known.

use super::support::{
    Host, analyze, answer, bucketed_session, finding, latch_stack, latch_table, met, session, table, wait_table,
    waits_of, words_of,
};
use xestack::{
    analyze::pages::page_type,
    model::{
        Confidence::{self, High, Low, Medium},
        Evidence, Report, Snapshot, Stack, Table, Value,
        VerdictKind::{self, Inconclusive, LatchContention, NoContention},
    },
};

const PAGE_WAITS: &str = "PAGELATCH_NL,PAGELATCH_KP,PAGELATCH_SH,PAGELATCH_UP,PAGELATCH_EX,PAGELATCH_DT";

fn allocating() -> Stack {
    latch_stack(&["sqlmin.dll!BUF::AcquireLatch+0x7b", "sqlmin.dll!BPool::Get+0x9a", "sqlmin.dll!AllocPfsPage+0x1"])
}

fn inserting() -> Stack {
    latch_stack(&[
        "sqlmin.dll!BUF::AcquireLatch+0x7b",
        "sqlmin.dll!BPool::Get+0x9a",
        "sqlmin.dll!IndexPageManager::GetPageForInsert+0x1",
        "sqlmin.dll!IndexDataSetSession::InsertSmallRecord+0x23",
        "sqlmin.dll!IndexDataSetSession::InsertRowInternal+0x41",
    ])
}

/// 64 sessions that create temporary tables.
#[derive(Clone)]
struct Case {
    /// PAGELATCH_UP: waits and their time; time of other waits; of PAGEIOLATCH_SH; of class BUFFER.
    latch: (i64, i64),
    others_ms: i64,
    disk_ms: i64,
    buffer_ms: i64,
    /// Pages by the event, where there are any.
    pages: Vec<(&'static str, u64)>,
    /// Pages of waiting tasks in each of 20 samples.
    sampled: Vec<&'static str>,
    stacks: Vec<(u64, Stack)>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            latch: (200_000, 80_000),
            others_ms: 20_000,
            disk_ms: 0,
            buffer_ms: 80_000,
            pages: vec![("2:1:1", 160_000), ("2:1:3", 30_000), ("2:1:118", 10_000)],
            sampled: Vec::new(),
            stacks: vec![(200_000, allocating())],
        }
    }
}

impl Case {
    fn last_page() -> Self {
        Self {
            pages: vec![("5:1:8456", 190_000), ("5:1:9000", 10_000)],
            stacks: vec![(190_000, inserting()), (10_000, allocating())],
            ..Self::default()
        }
    }

    fn evidence(&self) -> Evidence {
        let host = Host { cpu_percent: 30, runnable: [0; 8], ..Host::default() };
        let (waits, wait_ms) = self.latch;
        let grown = |factor: i64| {
            vec![
                (
                    "dm_os_wait_stats",
                    wait_table(&[
                        ("PAGELATCH_UP", 9 + waits * factor, 30 + wait_ms * factor, 0),
                        ("WRITELOG", 9 + factor, 40 + self.others_ms * factor, 0),
                        ("PAGEIOLATCH_SH", 9 + factor, 40 + self.disk_ms * factor, 0),
                    ]),
                ),
                ("dm_os_latch_stats", latch_table(&[("BUFFER", 7 + waits * factor, 8 + self.buffer_ms * factor)])),
                ("databases", databases()),
                ("master_files", files(1)),
            ]
        };
        let mut sessions = vec![session(waits_of(PAGE_WAITS), self.stacks.clone())];
        if !self.pages.is_empty() {
            sessions.push(bucketed_session(waits_of(PAGE_WAITS), "wait_resource", &self.pages));
        }
        let mut evidence = host.evidence(sessions, &grown(0), &grown(1));
        evidence.scenario = Some("pagelatch".to_owned());
        for sample in &mut evidence.samples {
            sample.tables.insert("dm_os_waiting_tasks".to_owned(), tasks(&self.sampled));
        }
        evidence
    }

    fn report(&self) -> Report {
        analyze(&self.evidence())
    }
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn databases() -> Table {
    let row = |name: &str, id: i64| vec![text(name), Value::Integer(id)];
    table(&["name", "database_id"], vec![row("tempdb", 2), row("orders", 5)])
}

fn files(of_tempdb: i64) -> Table {
    let row = |database: i64, file: i64, kind: &str| {
        vec![Value::Integer(database), Value::Integer(file), text(kind), text("file"), Value::Bool(false)]
    };
    let data = (0..of_tempdb).map(|file| row(2, file + 3, "ROWS"));
    let rows = data.chain([row(2, 2, "LOG"), row(5, 1, "ROWS")]).collect();
    table(&["database_id", "file_id", "type_desc", "name", "is_sparse"], rows)
}

fn tasks(pages: &[&str]) -> Table {
    let row = |wait: &str, page: &str| vec![Value::Integer(60), text(wait), Value::Integer(3), text(page)];
    // A wait for the disk and one for the log are no waits for pages in memory.
    let others = [row("PAGEIOLATCH_SH", "9:1:77"), row("WRITELOG", "")];
    let rows = pages.iter().map(|page| row("PAGELATCH_UP", page)).chain(others).collect();
    table(&["session_id", "wait_type", "wait_duration_ms", "resource_description"], rows)
}

#[test]
fn the_number_of_a_page_tells_what_it_is() {
    for (file, page, kind) in [
        (1, 0, "file header"),
        (1, 9, "boot"),
        (3, 9, "data or index"),
        (1, 1, "PFS"),
        (1, 8_088, "PFS"),
        (1, 16_176, "PFS"),
        (1, 8_089, "data or index"),
        (1, 2, "GAM"),
        (1, 511_232, "GAM"),
        (1, 1_022_464, "GAM"),
        (1, 3, "SGAM"),
        (1, 511_233, "SGAM"),
        (1, 6, "DCM"),
        (1, 511_238, "DCM"),
        (1, 7, "BCM"),
        (1, 511_239, "BCM"),
        (1, 4, "data or index"),
        (1, 511_231, "data or index"),
        (1, 511_234, "data or index"),
    ] {
        assert_eq!(page_type(file, page), kind, "{file}:{page}");
    }
}

#[test]
fn allocation_pages_of_tempdb_are_told_from_others() {
    let report = Case::default().report();
    assert_eq!(answer(&report), (LatchContention, Some("tempdb"), High), "{}", words_of(&report));
    let hot = finding(&report, "hot_pages");
    assert_eq!((hot.state.as_str(), hot.low, hot.high), ("tempdb_allocation", Some(0.95), Some(0.95)));
    assert!(hot.text.contains("in 1 file, most for 2:1:1 in tempdb (PFS)"), "{}", hot.text);
    let first = &report.pages[0];
    assert_eq!((first.database.as_str(), first.page_type.as_str(), first.waits), ("tempdb", "PFS", 160_000));
    assert_eq!((first.share, first.basis.as_str(), report.pages[1].page_type.as_str()), (0.8, "events", "SGAM"));
    assert!(
        report.verdict.next_steps[0].text.contains("8 data files, all equal in size and growth; it has 1"),
        "{}",
        words_of(&report)
    );
    // The values of the second session are no stacks, and its events are not counted twice.
    assert_eq!((report.stacks.total_events, report.stacks.distinct), (200_000, 1));
    assert!(report.capture.problems.is_empty(), "{:?}", report.capture.problems);

    let mut many = Case::default().evidence();
    many.after.as_mut().unwrap().tables.insert("master_files".to_owned(), files(8));
    assert!(analyze(&many).verdict.next_steps[0].text.contains("has 8 data files already"));
}

#[test]
fn one_page_that_rows_are_put_into_is_a_last_page() {
    let report = Case::last_page().report();
    assert_eq!(answer(&report), (LatchContention, Some("orders"), High), "{}", words_of(&report));
    let hot = finding(&report, "hot_pages");
    assert_eq!((hot.state.as_str(), hot.low), ("last_page_insert", Some(0.95)));
    assert!(report.verdict.summary.contains("5:1:8456 in orders"), "{}", report.verdict.summary);
    assert!(
        words_of(&report).contains("OPTIMIZE_FOR_SEQUENTIAL_KEY")
            && words_of(&report).contains("sys.dm_db_page_info(5, 1, 8456")
    );
    for frame in [
        "HeapDataSetSession::InsertRow",
        "RowsetNewSS::InsertRow",
        "RowsetInsert::Insert",
        "CValRow::InsertRow",
        "CQScanUpdateNew::GetRow",
        "BTreeRow::InsertX",
    ] {
        let stacks =
            vec![(200_000, latch_stack(&["sqlmin.dll!BUF::AcquireLatch+0x7b", &format!("sqlmin.dll!{frame}+0x1")]))];
        let report = Case { stacks, ..Case::last_page() }.report();
        assert_eq!(finding(&report, "hot_pages").state, "last_page_insert", "{frame}");
    }
}

#[test]
fn shares_of_pages_have_their_edges() {
    let page = |first: u64, second: u64, inserts: u64| Case {
        pages: vec![("5:1:8456", first), ("5:1:9000", second), ("5:1:9001", 200_000 - first - second)],
        stacks: vec![(inserts, inserting()), (200_000 - inserts, allocating())],
        ..Case::default()
    };
    let tempdb = |pfs: u64, sgam: u64| Case {
        pages: vec![("2:1:1", pfs), ("2:1:3", sgam), ("2:1:118", 95_000), ("2:1:119", 105_000 - pfs - sgam)],
        ..Case::default()
    };
    let cases = [
        (page(100_000, 60_000, 100_000), "last_page_insert", High),
        (page(100_000, 60_000, 99_999), "hot_page", High),
        (page(99_999, 60_001, 200_000), "spread", Medium),
        (tempdb(60_000, 40_000), "tempdb_allocation", High),
        (tempdb(60_000, 39_999), "spread", Medium),
        (Case { pages: vec![("5:1:1", 200_000)], ..Case::default() }, "hot_page", High),
    ];
    for (case, state, confidence) in cases {
        let report = case.report();
        assert_eq!(finding(&report, "hot_pages").state, state, "{}", words_of(&report));
        assert_eq!(
            (report.verdict.kind, report.verdict.confidence),
            (LatchContention, confidence),
            "{state}: {}",
            words_of(&report)
        );
    }
    // The database needs half of the waits.
    for (first, subject) in [(100_000, Some("tempdb")), (99_999, None)] {
        let pages = vec![("2:1:1", first), ("5:1:8456", 60_000), ("6:1:8456", 140_000 - first)];
        let report = Case { pages, ..Case::default() }.report();
        assert_eq!(report.verdict.subject.as_deref(), subject, "{first}");
        assert_eq!(met(&report, "page_latch_contention", "database_share_low"), subject.is_some());
    }
}

#[test]
fn gates_have_their_edges() {
    let with = |waits: i64, wait_ms: i64, others_ms: i64| Case {
        latch: (waits, wait_ms),
        others_ms,
        buffer_ms: wait_ms,
        stacks: vec![(u64::try_from(waits).unwrap(), allocating())],
        ..Case::default()
    };
    let reconciled = |buffer_ms: i64| Case { buffer_ms, disk_ms: 20_000, others_ms: 1, ..Case::default() };
    let cases: [(Case, VerdictKind, Confidence); 9] = [
        (with(200_000, 10_000, 90_000), LatchContention, High),
        (with(200_000, 9_999, 90_001), Inconclusive, Low),
        (with(1_000, 80_000, 20_000), LatchContention, High),
        (with(999, 80_000, 20_000), Inconclusive, Low),
        (with(99, 999, 99_001), NoContention, High),
        (with(100, 999, 99_001), Inconclusive, Low),
        (with(99, 1_000, 99_000), Inconclusive, Low),
        // Waits for the disk are of class BUFFER too.
        (reconciled(90_000), LatchContention, High),
        (reconciled(89_999), LatchContention, Medium),
    ];
    for (case, kind, confidence) in cases {
        let report = case.report();
        assert_eq!((report.verdict.kind, report.verdict.confidence), (kind, confidence), "{}", words_of(&report));
    }
    // Waits for the disk are never counted.
    let disk =
        Case { latch: (9, 9), disk_ms: 90_000, others_ms: 1, stacks: vec![(9, allocating())], ..Case::default() };
    assert_eq!(disk.report().verdict.kind, NoContention);
}

#[test]
fn samples_tell_the_pages_where_events_do_not() {
    // Twenty samples of 60 tasks.
    let sampled: Vec<&'static str> =
        std::iter::repeat_n("2:1:1 (PFS)", 55).chain(std::iter::repeat_n("2:1:3", 5)).collect();
    for pages in [vec![], vec![("0x7FF8A1B2", 200_000), ("140712345678", 5)]] {
        let addresses = !pages.is_empty();
        let report = Case { pages, sampled: sampled.clone(), ..Case::default() }.report();
        assert_eq!(answer(&report), (LatchContention, Some("tempdb"), High), "{}", words_of(&report));
        let hot = finding(&report, "hot_pages");
        assert_eq!(hot.state, "tempdb_allocation");
        assert!(hot.text.contains("1,200 waiting tasks seen in samples"), "{}", hot.text);
        assert_eq!(hot.text.contains("did not name the page"), addresses, "{}", hot.text);
        assert_eq!((report.pages[0].waits, report.pages[0].basis.as_str()), (1_100, "samples"));
    }
    let few = Case { pages: vec![], sampled: vec!["2:1:1"], ..Case::default() }.report();
    assert_eq!(few.verdict.confidence, Medium, "{}", words_of(&few));
    assert!(words_of(&few).contains("20 waiting tasks in samples only"), "{}", words_of(&few));
    let none = Case { pages: vec![], ..Case::default() }.report();
    assert_eq!(answer(&none), (LatchContention, None, Low));
    assert_eq!(finding(&none, "hot_pages").state, "unknown");
    // A page that is not numbered, or by too few numbers, is none.
    let odd = Case { pages: vec![("2:1", 5), ("2:1:1:4", 5), ("a:b:c", 5), ("2:-1:1", 5)], ..Case::default() }.report();
    assert!(odd.pages.is_empty());
    assert!(finding(&odd, "hot_pages").text.contains("20 waits did not name the page"));
}

#[test]
fn events_that_are_missing_may_be_of_any_page() {
    let low = |change: fn(&mut Evidence)| {
        let mut evidence = Case::default().evidence();
        change(&mut evidence);
        let report = analyze(&evidence);
        let hot = finding(&report, "hot_pages");
        (hot.state.clone(), hot.low)
    };
    let (state, share) = low(|e| e.sessions[1].dropped_events = Some(50_000));
    assert_eq!((state.as_str(), share), ("tempdb_allocation", Some(0.76)));
    // Full, cut, or with a loss that nothing bounds: nothing is proven.
    for change in [
        (|e: &mut Evidence| e.sessions[1].target.as_mut().unwrap().buckets = Some(3)) as fn(&mut Evidence),
        |e| e.sessions[1].target.as_mut().unwrap().cut = true,
        |e| e.sessions[1].dropped_events = None,
    ] {
        assert_eq!(low(change).0, "unknown");
    }
    // Then samples are better than nothing.
    let mut evidence = Case { sampled: vec!["2:1:1"; 60], ..Case::default() }.evidence();
    evidence.sessions[1].target.as_mut().unwrap().cut = true;
    assert_eq!(analyze(&evidence).pages[0].basis, "samples");
}

#[test]
fn databases_whose_names_are_hidden_keep_their_number() {
    let mut evidence = Case { pages: vec![("2:1:1", 5), ("7:1:44", 9)], ..Case::default() }.evidence();
    let remove = |snapshot: &mut Option<Snapshot>| snapshot.as_mut().unwrap().tables.remove("databases");
    remove(&mut evidence.before);
    remove(&mut evidence.after);
    let names: Vec<String> = analyze(&evidence).pages.into_iter().map(|page| page.database).collect();
    assert_eq!(names, ["database 7", "tempdb"]);
}

#[test]
fn reset_counters_decide_nothing() {
    let mut evidence = Case::default().evidence();
    let rows = [("PAGELATCH_UP", 999_999_999, 999_999_999, 9), ("WRITELOG", 1, 1, 0), ("LCK_M_S", 0, 0, 0)];
    evidence.before.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), wait_table(&rows));
    let report = analyze(&evidence);
    assert_eq!(answer(&report), (Inconclusive, None, Low), "{}", words_of(&report));
}
