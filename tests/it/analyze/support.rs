//! Builders of evidence, and a reader of frames as they are written in examples.

use std::{collections::BTreeMap, path::Path, sync::LazyLock};
use xestack::{
    catalog::Catalog,
    model::{
        Address, CountedStack, EventContext, Evidence, Frame, Report, ServerIdentity, ServerVersion, SessionEvidence,
        Slot, Snapshot, Stack, Table, Target, TargetRoot, Tool, UtcMicros, Value, Window,
    },
};

/// Folder with `symbols/` and `sessions/` that stand in for the built-in ones: how `.ci/weaken` weakens a rule.
const OTHER_CATALOG: &str = "XESTACK_TEST_CATALOG";

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| match std::env::var_os(OTHER_CATALOG) {
    None => Catalog::embedded().unwrap(),
    Some(root) => Catalog::from_texts(&catalog_files(Path::new(&root))).unwrap(),
});

pub(crate) fn catalog() -> Catalog {
    CATALOG.clone()
}

fn catalog_files(root: &Path) -> Vec<(String, String)> {
    let folders = std::fs::read_dir(root.join("sessions")).unwrap();
    let verdicts = folders.map(|folder| folder.unwrap().path().join("verdict.toml"));
    let symbols = std::fs::read_dir(root.join("symbols")).unwrap().map(|file| file.unwrap().path());
    let files = verdicts.chain(symbols).filter(|file| file.is_file());
    files
        .map(|file| {
            let name = file.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            (name, std::fs::read_to_string(&file).unwrap())
        })
        .collect()
}

pub(crate) fn analyze(evidence: &Evidence) -> Report {
    let tool = Tool { name: "xestack".to_owned(), version: "0".to_owned() };
    xestack::analyze::analyze(evidence, &CATALOG, tool)
}

/// `module[.dll]!symbol[+offset]`, `symbol[+offset]`, `module.dll+0xRVA`, `0xADDRESS`, `<frame .../>`.
pub(crate) fn frame(text: &str) -> Frame {
    let text = text.trim();
    let mut frame = Frame::unparsed(text);
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    if text.starts_with("<frame") || text.contains("Module(") {
        return frame;
    }
    if let Some(address) = text.strip_prefix("0x") {
        frame.address = hex(address).map(Address);
        return frame;
    }
    let text = text.split(" [").next().unwrap();
    let (module, rest) = match text.split_once('!') {
        Some((module, rest)) => (Some(module), rest),
        None => (None, text),
    };
    let (name, offset) = match rest.rsplit_once('+') {
        Some((name, offset)) if hex(offset).is_some() => (name, hex(offset)),
        _ => (rest, None),
    };
    if module.is_none() && name.to_ascii_lowercase().ends_with(".dll") {
        frame.module = Some(name[..name.len() - 4].to_owned());
        frame.rva = offset;
        return frame;
    }
    frame.module = module.map(|module| module.trim_end_matches(".dll").to_owned());
    frame.symbol = Some(name.to_owned());
    frame.offset = offset;
    frame
}

pub(crate) fn stack(lines: &[&str]) -> Stack {
    lines.iter().map(|line| frame(line)).collect()
}

/// The frames of the published yield stack, without event plumbing.
pub(crate) const PUBLISHED_STACK: [&str; 14] = [
    "IndexPageManager::GetPageWithKey+ef [ @ 0+0x0",
    "GetRowForKeyValue+146 [ @ 0+0x0",
    "IndexRowScanner::EstablishInitialKeyOrderPosition+10a [ @ 0+0x0",
    "IndexDataSetSession::GetNextRowValuesInternal+7d7 [ @ 0+0x0",
    "RowsetNewSS::FetchNextRow+12a [ @ 0+0x0",
    "CQScanRangeNew::GetRow+6a1 [ @ 0+0x0",
    "CQScanCountStarNew::GetRowHelper+44 [ @ 0+0x0",
    "CQScanStreamAggregateNew::Open+70 [ @ 0+0x0",
    "CQueryScan::Uncache+32f [ @ 0+0x0",
    "CXStmtQuery::SetupQueryScanAndExpression+2a2 [ @ 0+0x0",
    "CXStmtQuery::ErsqExecuteQuery+2f8 [ @ 0+0x0",
    "CMsqlExecContext::ExecuteStmts<1,1>+cca [ @ 0+0x0",
    "CMsqlExecContext::FExecute+58b [ @ 0+0x0",
    "CSQLSource::Execute+319",
];

pub(crate) const WAIT_PLUMBING: [&str; 4] = [
    "sqldk.dll!XeSosPkg::wait_info::Publish+0x138",
    "sqldk.dll!SOS_Scheduler::UpdateWaitTimeStats+0x2bc",
    "sqldk.dll!SOS_Task::PostWait+0x9e",
    "sqlmin.dll!SOS_Task::Sleep+0x149",
];

pub(crate) fn yield_stack() -> Stack {
    stack(&[&WAIT_PLUMBING[..], &PUBLISHED_STACK[..]].concat())
}

pub(crate) fn spin_stack() -> Stack {
    stack(&[
        "sqldk.dll!XeSosPkg::wait_info::Publish+0x138",
        "sqldk.dll!SOS_Scheduler::UpdateWaitTimeStats+0x2bc",
        "sqldk.dll!SOS_Task::PostWait+0x9e",
        "sqldk.dll!SpinlockBase::Backoff+0x123",
        "sqlmin.dll!Spinlock<143,7,1>::SpinToAcquireWithExponentialBackoff+0x16b",
        "sqlmin.dll!lck_lockInternal+0x7fa",
    ])
}

pub(crate) fn raw_stack() -> Stack {
    stack(&["0x00007FFEABD0D919", "0x00007FFEABC4D45D", "0x00007FFEAC0F7EE0"])
}

pub(crate) fn yields() -> EventContext {
    EventContext { event: Some("sqlos.wait_info".to_owned()), wait_type: Some("SOS_SCHEDULER_YIELD".to_owned()) }
}

/// A live session with one document of these slots.
pub(crate) fn session(context: EventContext, slots: Vec<(u64, Stack)>) -> SessionEvidence {
    let slots = slots.into_iter().enumerate();
    let slots =
        slots.map(|(index, (count, stack))| Slot { index, count, truncated_bytes: None, value: String::new(), stack });
    SessionEvidence {
        name: "yields".to_owned(),
        context,
        slots_requested: Some(1024),
        dropped_events: Some(0),
        dropped_buffers: Some(0),
        buffer_bytes: Some(1_048_576),
        event_cap: Some(1_000_000),
        live: true,
        target: Some(Target {
            root: TargetRoot::HistogramTarget,
            buckets: Some(1024),
            truncated: Some(0),
            slots: slots.collect(),
            cut: false,
            annotation: None,
            problems: Vec::new(),
        }),
        ..SessionEvidence::default()
    }
}

/// A file of stacks alone.
pub(crate) fn pasted(context: EventContext, stacks: Vec<(u64, Stack)>) -> SessionEvidence {
    SessionEvidence {
        name: "stacks.txt".to_owned(),
        context,
        slots_requested: None,
        dropped_events: None,
        dropped_buffers: None,
        buffer_bytes: None,
        event_cap: None,
        live: false,
        target: None,
        pasted: stacks.into_iter().map(|(count, stack)| CountedStack { count, stack }).collect(),
        ..SessionEvidence::default()
    }
}

pub(crate) fn table(columns: &[&str], rows: Vec<Vec<Value>>) -> Table {
    Table { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows }
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

pub(crate) fn wait_table(rows: &[(&str, i64, i64, i64)]) -> Table {
    let rows = rows.iter().map(|&(name, tasks, wait, signal)| {
        vec![text(name), Value::Integer(tasks), Value::Integer(wait), Value::Integer(1), Value::Integer(signal)]
    });
    table(
        &["wait_type", "waiting_tasks_count", "wait_time_ms", "max_wait_time_ms", "signal_wait_time_ms"],
        rows.collect(),
    )
}

pub(crate) fn latch_table(rows: &[(&str, i64, i64)]) -> Table {
    let rows = rows.iter().map(|&(name, requests, wait)| {
        vec![text(name), Value::Integer(requests), Value::Integer(wait), Value::Integer(1)]
    });
    table(&["latch_class", "waiting_requests_count", "wait_time_ms", "max_wait_time_ms"], rows.collect())
}

pub(crate) fn spinlock_table(rows: &[(&str, [i64; 4], f64)]) -> Table {
    let rows = rows.iter().map(|&(name, [collisions, spins, sleep, backoffs], ratio)| {
        vec![
            text(name),
            Value::Integer(collisions),
            Value::Integer(spins),
            Value::Real(ratio),
            Value::Integer(sleep),
            Value::Integer(backoffs),
        ]
    });
    table(&["name", "collisions", "spins", "spins_per_collision", "sleep_time", "backoffs"], rows.collect())
}

/// The published spinlock rows: name, (collisions, spins, sleep time, back-offs), spins a collision.
pub(crate) const PUBLISHED_SPINLOCKS: [(&str, [i64; 4], u64); 5] = [
    ("LOCK_HASH", [6_191_134, 4_005_774_890, 686, 1_601_383], 647),
    ("OPT_IDX_STATS", [1_164_849, 126_549_245, 57, 7_555], 108),
    ("SOS_OBJECT_STORE", [73, 305, 0, 0], 4),
    ("SOS_WAITABLE_ADDRESS_HASHBUCKET", [115, 44_495, 0, 3], 386),
    ("XDESMGR", [1, 0, 0, 0], 0),
];

/// What the server is like, for snapshots.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) elapsed_ms: i64,
    /// SQL Server's share of CPU, percent.
    pub(crate) cpu_percent: i64,
    /// Runnable tasks of each scheduler: 8 of them, 4 a NUMA node.
    pub(crate) runnable: [i64; 8],
    /// How often these 8 are there: 4 for 32 schedulers.
    pub(crate) eights: i64,
    /// SQL Server's share of each NUMA node's CPU, percent, where schedulers tell.
    pub(crate) node_cpu_percent: Option<[i64; 2]>,
    pub(crate) virtual_machine: &'static str,
    pub(crate) version: ServerVersion,
    pub(crate) samples: usize,
    /// Tasks a scheduler.
    pub(crate) tasks: i64,
    pub(crate) ticks_per_ms: i64,
    pub(crate) idle_capped_ms: i64,
    pub(crate) start_ticks: (i64, i64),
}

impl Default for Host {
    fn default() -> Self {
        Self {
            elapsed_ms: 10_000,
            cpu_percent: 96,
            runnable: [5, 6, 5, 6, 5, 6, 5, 6],
            eights: 1,
            node_cpu_percent: None,
            virtual_machine: "NONE",
            version: ServerVersion::V2019,
            samples: 20,
            tasks: 8,
            ticks_per_ms: 2_700_000,
            idle_capped_ms: 0,
            start_ticks: (1_000, 1_000),
        }
    }
}

impl Host {
    fn schedulers(&self, at_end: bool) -> Table {
        let used = |id: i64| {
            let percent = self.node_cpu_percent.map(|percent| percent[(id % 8 / 4) as usize])?;
            Some(Value::Integer(7 + if at_end { self.elapsed_ms * percent / 100 } else { 0 }))
        };
        let row = |node: i64, id: i64, status: &str, tasks: i64, runnable: i64, capped: i64| {
            let common = vec![
                Value::Integer(node),
                Value::Integer(id),
                text(status),
                Value::Integer(tasks),
                Value::Integer(runnable),
                Value::Integer(capped),
            ];
            common.into_iter().chain(used(id)).collect::<Vec<Value>>()
        };
        let capped = if at_end { self.idle_capped_ms } else { 0 };
        let user = (0..8 * self.eights)
            .map(|id| row(id % 8 / 4, id, "VISIBLE ONLINE", self.tasks, self.runnable[(id % 8) as usize], capped));
        let offline = row(1, 8 * self.eights, "VISIBLE OFFLINE", 500, 9, 0);
        let hidden = row(0, 1_048_578, "HIDDEN ONLINE", 500, 9, 0);
        let mut columns = vec![
            "parent_node_id",
            "scheduler_id",
            "status",
            "current_tasks_count",
            "runnable_tasks_count",
            "total_cpu_idle_capped_ms",
        ];
        columns.extend(self.node_cpu_percent.map(|_| "total_cpu_usage_ms"));
        table(&columns, user.chain([offline, hidden]).collect())
    }

    fn sys_info(&self, at_end: bool) -> Table {
        let passed = if at_end { self.elapsed_ms } else { 0 };
        let start = if at_end { self.start_ticks.1 } else { self.start_ticks.0 };
        table(
            &[
                "cpu_ticks",
                "ms_ticks",
                "process_kernel_time_ms",
                "process_user_time_ms",
                "sqlserver_start_time_ms_ticks",
            ],
            vec![vec![
                Value::Integer(7_000_000 + passed * self.ticks_per_ms),
                Value::Integer(500_000 + passed),
                Value::Integer(100 + passed * 8 * self.eights / 100),
                Value::Integer(900 + passed * 8 * self.eights * (self.cpu_percent - 1) / 100),
                Value::Integer(start),
            ]],
        )
    }

    pub(crate) fn snapshot(&self, at_end: bool, tables: &[(&str, Table)]) -> Snapshot {
        let mut all: BTreeMap<String, Table> =
            tables.iter().map(|(name, table)| ((*name).to_owned(), table.clone())).collect();
        all.insert("dm_os_schedulers".to_owned(), self.schedulers(at_end));
        all.insert("dm_os_sys_info".to_owned(), self.sys_info(at_end));
        Snapshot { taken_at: UtcMicros(0), tables: all }
    }

    pub(crate) fn window(&self) -> Window {
        let ended_at = UtcMicros(self.elapsed_ms * 1_000);
        Window { started_at: UtcMicros(0), ended_at, elapsed_ms: self.elapsed_ms as u64 }
    }

    /// Evidence of a whole capture.
    pub(crate) fn evidence(
        &self,
        sessions: Vec<SessionEvidence>,
        before: &[(&str, Table)],
        after: &[(&str, Table)],
    ) -> Evidence {
        Evidence {
            id: "run".to_owned(),
            scenario: Some("sos-yield".to_owned()),
            server: Some(ServerIdentity {
                name: "server".to_owned(),
                product_version: "15.0.4198.2".to_owned(),
                version: Some(self.version),
                edition: "Enterprise".to_owned(),
                engine_edition: 3,
                virtual_machine: Some(self.virtual_machine.to_owned()),
                ..ServerIdentity::default()
            }),
            window: Some(self.window()),
            sessions,
            before: Some(self.snapshot(false, before)),
            after: Some(self.snapshot(true, after)),
            samples: vec![self.snapshot(false, &[]); self.samples],
            ..Evidence::default()
        }
    }
}

/// The published case over ten seconds: a tenth of its waits, all of its spinlock rows.
pub(crate) fn published_case(host: &Host) -> Evidence {
    published_with(host, vec![session(yields(), vec![(20_000, yield_stack()), (647, other_yield())])])
}

pub(crate) fn published_with(host: &Host, sessions: Vec<SessionEvidence>) -> Evidence {
    let before: Vec<_> =
        PUBLISHED_SPINLOCKS.iter().map(|(name, [c, s, t, b], _)| (*name, [c * 3, s * 3, t * 3, b * 3], 1.0)).collect();
    let after: Vec<_> =
        PUBLISHED_SPINLOCKS.iter().map(|(name, [c, s, t, b], _)| (*name, [c * 4, s * 4, t * 4, b * 4], 1.0)).collect();
    host.evidence(
        sessions,
        &[
            ("dm_os_wait_stats", wait_table(&[("SOS_SCHEDULER_YIELD", 5, 7, 7), ("LCK_M_S", 1, 10, 0)])),
            ("dm_os_spinlock_stats", spinlock_table(&before)),
        ],
        &[
            (
                "dm_os_wait_stats",
                wait_table(&[("SOS_SCHEDULER_YIELD", 20_652, 457_484, 457_464), ("LCK_M_S", 31, 2_632, 26)]),
            ),
            ("dm_os_spinlock_stats", spinlock_table(&after)),
        ],
    )
}

pub(crate) fn other_yield() -> Stack {
    stack(
        &[&WAIT_PLUMBING[..], &["sqlmin.dll!BTreeMgr::Seek+0x11", "sqlmin.dll!BTreeMgr::GetHPageIdWithKey+0x22"]]
            .concat(),
    )
}

pub(crate) fn problem<'a>(report: &'a Report, code: &str) -> Option<&'a xestack::model::Problem> {
    report.capture.problems.iter().find(|problem| problem.code == code)
}

pub(crate) fn finding<'a>(report: &'a Report, name: &str) -> &'a xestack::model::Finding {
    report.findings.iter().find(|finding| finding.name == name).unwrap()
}

pub(crate) fn met(report: &Report, finding_name: &str, gate: &str) -> bool {
    finding(report, finding_name).gates.iter().find(|g| g.name == gate).unwrap().met
}

/// What the events of a session of spinlock back-offs are.
pub(crate) fn backoffs() -> EventContext {
    EventContext { event: Some("sqlos.spinlock_backoff".to_owned()), wait_type: None }
}

/// The first step of scenario `spinlock`: events by type.
pub(crate) fn type_session(counts: &[(u64, u64)]) -> SessionEvidence {
    let mut session = session(backoffs(), counts.iter().map(|(_, count)| (*count, Stack::default())).collect());
    for (slot, (key, _)) in session.target.iter_mut().flat_map(|target| &mut target.slots).zip(counts) {
        slot.value = key.to_string();
        slot.stack = Stack { frames: vec![Frame::unparsed(key.to_string()).into()] };
    }
    SessionEvidence { name: "types".to_owned(), bucket: Some("type".to_owned()), elapsed_ms: Some(3_000), ..session }
}

/// The second step: stacks of the dominant types.
pub(crate) fn stack_session(keys: &[u64], slots: Vec<(u64, Stack)>) -> SessionEvidence {
    SessionEvidence {
        name: "stacks".to_owned(),
        bucket: Some("callstack".to_owned()),
        filter_keys: keys.to_vec(),
        ..session(backoffs(), slots)
    }
}

/// A back-off for the lock hash; the template's number is not the type's key.
pub(crate) fn lock_hash_stack() -> Stack {
    stack(&[
        "sqldk.dll!XeSosPkg::spinlock_backoff::Publish+0x138",
        "sqldk.dll!SpinlockBase::Sleep+0x182",
        "sqlmin.dll!Spinlock<143,7,1>::SpinToAcquireWithExponentialBackoff+0x16b",
        "sqlmin.dll!lck_lockInternal+0x7fa",
        "sqlmin.dll!MDL::LockGenericLocal+0x382",
    ])
}

/// A back-off for the cache stores.
pub(crate) fn cachestore_stack() -> Stack {
    stack(&[
        "XeSosPkg::spinlock_backoff::Publish",
        "SpinlockBase::Sleep",
        "SpinlockBase::Backoff",
        "Spinlock<144,1,0>::SpinToAcquireOptimistic",
        "SOS_CacheStore::GetUserData",
        "OpenSystemTableRowset",
        "CMEDScanBase::Rowset",
    ])
}

/// Evidence of scenario `spinlock`: growth of spinlock rows, no waits to speak of, and the map of types.
pub(crate) fn spinlock_case(
    host: &Host,
    sessions: Vec<SessionEvidence>,
    growth: &[(&str, [i64; 4])],
    names: &[(u64, &str)],
) -> Evidence {
    let rows = |factor: i64| -> Vec<(&str, [i64; 4], f64)> {
        growth.iter().map(|(name, figures)| (*name, figures.map(|figure| figure * factor), 1.0)).collect()
    };
    let waits =
        |tasks: i64| wait_table(&[("SOS_SCHEDULER_YIELD", tasks, tasks * 20, tasks * 20), ("LCK_M_S", 1, 10, 0)]);
    let evidence = host.evidence(
        sessions,
        &[("dm_os_wait_stats", waits(10)), ("dm_os_spinlock_stats", spinlock_table(&rows(2)))],
        &[("dm_os_wait_stats", waits(20_000)), ("dm_os_spinlock_stats", spinlock_table(&rows(3)))],
    );
    Evidence {
        scenario: Some("spinlock".to_owned()),
        map_names: names.iter().map(|(key, name)| (*key, (*name).to_owned())).collect(),
        ..evidence
    }
}

/// The same evidence with other spins of LOCK_HASH, and no other spinlock.
pub(crate) fn with_spins(mut evidence: Evidence, spins: i64) -> Evidence {
    for (snapshot, factor) in [(&mut evidence.before, 1), (&mut evidence.after, 2)] {
        let row = ("LOCK_HASH", [6_191_134, spins, 686, 1_601_383].map(|figure| figure * factor), 1.0);
        snapshot.as_mut().unwrap().tables.insert("dm_os_spinlock_stats".to_owned(), spinlock_table(&[row]));
    }
    evidence
}

/// Ends of waits of these types.
pub(crate) fn waits_of(types: &str) -> EventContext {
    EventContext { event: Some("sqlos.wait_info".to_owned()), wait_type: Some(types.to_owned()) }
}

/// A wait for a latch, in the function that wants it and those under it.
pub(crate) fn latch_stack(wanted_by: &[&str]) -> Stack {
    const LATCH: [&str; 6] = [
        "sqldk.dll!XeSosPkg::wait_info::Publish+0x138",
        "sqldk.dll!SOS_Scheduler::UpdateWaitTimeStats+0x2bc",
        "sqldk.dll!SOS_Task::PostWait+0x9e",
        "sqldk.dll!EventInternal<SuspendQueueSLock>::Wait+0x1fb",
        "sqlmin.dll!LatchBase::Suspend+0x812",
        "sqlmin.dll!LatchBase::AcquireInternal+0x2c1",
    ];
    stack(&[&LATCH[..], wanted_by].concat())
}

/// A session whose target counts by something else than stacks: (value, events).
pub(crate) fn bucketed_session(context: EventContext, bucket: &str, counts: &[(&str, u64)]) -> SessionEvidence {
    let mut session = session(context, counts.iter().map(|(_, count)| (*count, Stack::default())).collect());
    for (slot, (value, _)) in session.target.iter_mut().flat_map(|target| &mut target.slots).zip(counts) {
        slot.value = (*value).to_owned();
    }
    SessionEvidence { name: bucket.to_owned(), bucket: Some(bucket.to_owned()), ..session }
}

/// Rows of `sys.dm_os_performance_counters`: counter and value.
pub(crate) fn performance_table(rows: &[(&str, i64)]) -> Table {
    let rows = rows
        .iter()
        .map(|&(counter, value)| vec![text("SQLServer:Object"), text(counter), text(""), Value::Integer(value)]);
    table(&["object_name", "counter_name", "instance_name", "cntr_value"], rows.collect())
}

/// The verdict in words: summary, reasons, next steps with their risks.
pub(crate) fn words_of(report: &Report) -> String {
    let verdict = &report.verdict;
    let reasons = verdict.reasons.iter().map(|reason| reason.text.clone());
    let steps = verdict.next_steps.iter().map(|step| format!("{} ({})", step.text, step.risk));
    std::iter::once(verdict.summary.clone()).chain(reasons).chain(steps).collect::<Vec<_>>().join("\n")
}

/// Kind, subject and confidence of the verdict.
pub(crate) fn answer(report: &Report) -> (xestack::model::VerdictKind, Option<&str>, xestack::model::Confidence) {
    (report.verdict.kind, report.verdict.subject.as_deref(), report.verdict.confidence)
}
