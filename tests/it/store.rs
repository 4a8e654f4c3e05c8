//! Tests of store: what goes into a bundle comes out of it; what is wrong with one is told; files are private.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod private_file;

use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    io::{Cursor, Read, Write},
};
use xestack::{
    model::{
        Address, EventContext, Evidence, Module, Problem, ServerIdentity, ServerVersion, SessionEvidence, Severity,
        Snapshot, Table, Target, TargetRoot, Tool, TraceFlagUse, UtcMicros, Value, Window,
    },
    store::{
        StoreError,
        bundle::{self, Bundle, MapKey, StatementRecord, TargetMember},
    },
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

const NOW: UtcMicros = UtcMicros(1_796_067_092_250_001);

fn session(name: &str) -> SessionEvidence {
    SessionEvidence {
        name: name.to_owned(),
        context: EventContext {
            event: Some("sqlos.wait_info".to_owned()),
            wait_type: Some("SOS_SCHEDULER_YIELD".to_owned()),
        },
        slots_requested: Some(1024),
        dropped_events: Some(0),
        dropped_buffers: None,
        buffer_bytes: Some(u64::MAX),
        event_cap: Some(1_000_000),
        live: true,
        target: None,
        pasted: vec![],
        ..SessionEvidence::default()
    }
}

fn table() -> Table {
    Table {
        columns: ["name", "spins", "share", "is_online", "gone"].map(str::to_owned).to_vec(),
        rows: vec![
            vec![
                Value::Text("LOCK_HASH \u{1f512}\n".to_owned()),
                Value::Integer(i64::MAX),
                Value::Real(0.1 + 0.2),
                Value::Bool(true),
                Value::Null,
            ],
            vec![
                Value::Text(String::new()),
                Value::Integer(i64::MIN),
                Value::Real(2.0),
                Value::Bool(false),
                Value::Null,
            ],
        ],
    }
}

fn snapshot(tables: &[&str]) -> Snapshot {
    Snapshot { taken_at: NOW, tables: tables.iter().map(|&name| (name.to_owned(), table())).collect() }
}

fn whole_bundle() -> Bundle {
    let evidence = Evidence {
        id: "20261130T193132Z-1a2b3c4d".to_owned(),
        scenario: Some("sos-yield".to_owned()),
        server: Some(ServerIdentity {
            name: "SIM-2019".to_owned(),
            product_version: "15.0.4198.2".to_owned(),
            version: Some(ServerVersion::V2019),
            edition: "Developer Edition (64-bit)".to_owned(),
            engine_edition: 3,
            virtual_machine: Some("NONE".to_owned()),
            ..ServerIdentity::default()
        }),
        window: Some(Window { started_at: NOW, ended_at: UtcMicros(NOW.0 + 10_000_000), elapsed_ms: 10_000 }),
        sessions: vec![session("first"), session("second")],
        before: Some(snapshot(&["dm_os_wait_stats", "dm_os_spinlock_stats"])),
        after: Some(snapshot(&[])),
        samples: vec![snapshot(&["dm_os_schedulers"]), snapshot(&["dm_os_schedulers"])],
        series: vec![snapshot(&["dm_io_virtual_file_stats"])],
        statements: Some(table()),
        trace_flags: vec![TraceFlagUse {
            flag: 3656,
            global_before: None,
            enabled_by_us: true,
            scope: "global".to_owned(),
            on_ms: 212,
            restored: true,
        }],
        modules: vec![Module {
            path: "C:\\Binn\\sqldk.dll".to_owned(),
            base: Address(0x7FFC_22DB_0000),
            file_version: Some("2019.150.4198.2".to_owned()),
        }],
        map_names: [(156, "LOCK_HASH".to_owned())].into(),
        other_event_sessions: vec!["someone's session".to_owned()],
        other_runs: vec!["xestack:1:spinlock".to_owned()],
        problems: vec![Problem::new("window_mismatch", Severity::Warning, "They differ.").with_hint("Take another.")],
    };
    let statement = |n, error: Option<u32>| StatementRecord {
        n,
        utc: NOW,
        sql: "SELECT 1;\nGO -- é \u{0}".to_owned(),
        rows: error.map_or(Some(1), |_| None),
        error,
        ms: 3,
    };
    let document = |session, symbolised| TargetMember {
        session,
        symbolised,
        bytes: b"<HistogramTarget truncated=\"0\" buckets=\"1024\">\xff\x00</Hist".to_vec(),
    };
    Bundle {
        tool: Some(Tool { name: "xestack".to_owned(), version: "0.1.0".to_owned() }),
        map_keys: vec![MapKey {
            map: "wait_types".to_owned(),
            value: "SOS_SCHEDULER_YIELD".to_owned(),
            key: 124,
            build: "15.0.4198.2".to_owned(),
        }],
        statements: vec![statement(1, None), statement(2, Some(25623))],
        targets: vec![document(0, false), document(0, true), document(1, false)],
        evidence,
        report_json: Some("{ \"schema\": \"xestack.report/1\" }\n".to_owned()),
    }
}

type Members = BTreeMap<String, Vec<u8>>;

fn unzip(archive: &[u8]) -> Members {
    let mut archive = ZipArchive::new(Cursor::new(archive)).unwrap();
    (0..archive.len())
        .map(|index| {
            let mut member = archive.by_index(index).unwrap();
            let mut bytes = vec![];
            member.read_to_end(&mut bytes).unwrap();
            (member.name().unwrap().into_owned(), bytes)
        })
        .collect()
}

fn zip_of<'a>(members: impl IntoIterator<Item = (&'a String, &'a Vec<u8>)>) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(vec![]));
    for (name, bytes) in members {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// The whole bundle, its members changed, read again.
fn read_changed(change: impl FnOnce(&mut Members)) -> Result<Bundle, StoreError> {
    let mut members = unzip(&bundle::to_bytes(&whole_bundle()).unwrap());
    change(&mut members);
    bundle::from_bytes(&zip_of(&members))
}

/// The problems that reading adds to the one that the bundle brings along.
fn problems_of(bundle: &Bundle) -> Vec<(&str, Severity, &str)> {
    let problems = bundle.evidence.problems.iter().filter(|problem| problem.code.starts_with("bundle_"));
    problems.map(|problem| (problem.code.as_str(), problem.severity, problem.message.as_str())).collect()
}

#[test]
fn what_goes_in_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    for (name, written) in [("whole", whole_bundle()), ("empty", Bundle::default())] {
        let path = folder.path().join(name);
        bundle::write(&path, &written).unwrap();
        assert_eq!(bundle::read(&path).unwrap(), written);
        let bytes = std::fs::read(&path).unwrap();
        assert!(bundle::is_bundle(&bytes));
        assert_eq!(bytes, bundle::to_bytes(&written).unwrap());
    }
    assert!(!bundle::is_bundle(b"<HistogramTarget"));
    assert!(!bundle::is_bundle(b"PK"));
}

#[test]
fn members_stand_where_the_contract_says() {
    let members = unzip(&bundle::to_bytes(&whole_bundle()).unwrap());
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "manifest.json",
            "modules.json",
            "problems.json",
            "report.json",
            "sessions.json",
            "snapshots/before/dm_os_spinlock_stats.json",
            "snapshots/before/dm_os_wait_stats.json",
            "snapshots/samples.json",
            "snapshots/series.json",
            "statements.jsonl",
            "targets/1.xml",
            "targets/2.xml",
            "targets/3.xml",
        ]
    );
    let manifest: serde_json::Value = serde_json::from_slice(&members["manifest.json"]).unwrap();
    assert_eq!(manifest["schema"], "xestack.bundle/1");
    assert_eq!(manifest["run_id"], "20261130T193132Z-1a2b3c4d");
    assert_eq!(manifest["map_keys"][0]["build"], "15.0.4198.2");
    assert_eq!(manifest["sha256"].as_object().unwrap().len(), names.len() - 1);
    let statements = String::from_utf8(members["statements.jsonl"].clone()).unwrap();
    assert_eq!(statements.lines().count(), 2);
    let failed: serde_json::Value = serde_json::from_str(statements.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&failed["n"], &failed["error"]), (&2.into(), &25623.into()));
    assert_eq!(members["targets/2.xml"], whole_bundle().targets[1].bytes);
}

#[test]
fn parsed_targets_are_left_to_the_raw_documents() {
    let mut parsed = whole_bundle();
    parsed.evidence.sessions[0].target = Some(Target {
        root: TargetRoot::HistogramTarget,
        buckets: None,
        truncated: None,
        slots: vec![],
        cut: false,
        annotation: None,
        problems: vec![],
    });
    let read = bundle::from_bytes(&bundle::to_bytes(&parsed).unwrap()).unwrap();
    assert_eq!(read, whole_bundle());
}

#[test]
fn unknown_members_and_fields_are_ignored() {
    let read = read_changed(|members| {
        members.insert("notes/later.bin".to_owned(), vec![0; 1000]);
        members.insert("targets/".to_owned(), vec![]);
        members.insert("targets/01.xml".to_owned(), vec![1]);
    });
    assert_eq!(read.unwrap(), whole_bundle());
}

#[test]
fn a_changed_member_is_used_and_told() {
    let read = read_changed(|members| members.get_mut("targets/1.xml").unwrap().push(b'!')).unwrap();
    assert_eq!(
        problems_of(&read),
        [(
            "bundle_member_changed",
            Severity::Partial,
            "Member targets/1.xml of the bundle is not what the manifest says it was"
        )]
    );
    assert!(read.targets[0].bytes.ends_with(b"</Hist!"));
}

#[test]
fn every_member_may_be_missing_and_is_told() {
    let names: Vec<String> = unzip(&bundle::to_bytes(&whole_bundle()).unwrap()).into_keys().collect();
    for name in names.iter().filter(|name| *name != "manifest.json") {
        let read = read_changed(|members| drop(members.remove(name))).unwrap();
        let told = format!("Member {name} of the bundle is missing");
        assert!(
            problems_of(&read).contains(&("bundle_member_missing", Severity::Partial, told.as_str())),
            "{name}: {:?}",
            problems_of(&read)
        );
        assert_eq!(read.evidence.id, whole_bundle().evidence.id);
    }
    assert!(matches!(read_changed(|members| drop(members.remove("manifest.json"))), Err(StoreError::NoManifest)));
}

#[test]
fn a_missing_target_does_not_shift_the_others() {
    let read = read_changed(|members| drop(members.remove("targets/1.xml"))).unwrap();
    let sessions: Vec<(usize, bool)> = read.targets.iter().map(|target| (target.session, target.symbolised)).collect();
    assert_eq!(sessions, [(0, true), (1, false)]);
}

#[test]
fn targets_without_a_session_get_one() {
    let read = read_changed(|members| {
        members.remove("sessions.json");
        members.insert("targets/10.xml".to_owned(), b"<BucketizerTarget/>".to_vec());
    })
    .unwrap();
    let names: Vec<&str> = read.evidence.sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["targets/1.xml", "targets/2.xml", "targets/3.xml", "targets/10.xml"]);
    assert_eq!(read.targets.iter().map(|target| target.session).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let told = problems_of(&read);
    assert_eq!(told.iter().filter(|(code, ..)| *code == "bundle_target_without_session").count(), 4);
    assert_eq!(told.iter().filter(|(code, ..)| *code == "bundle_member_unlisted").count(), 1);
}

#[test]
fn every_member_may_be_nonsense_and_is_told() {
    let names: Vec<String> = unzip(&bundle::to_bytes(&whole_bundle()).unwrap()).into_keys().collect();
    for name in names.iter().filter(|name| *name != "manifest.json" && !name.starts_with("targets/")) {
        let read = read_changed(|members| drop(members.insert(name.clone(), b"{ \"n\": [\xff".to_vec()))).unwrap();
        let told = problems_of(&read);
        assert!(
            told.iter().any(|(code, severity, message)| *code == "bundle_member_unreadable"
                && *severity == Severity::Partial
                && message.contains(name.as_str())),
            "{name}: {told:?}"
        );
    }
}

#[test]
fn readable_statements_survive_an_unreadable_line() {
    let read = read_changed(|members| {
        let statements = members.get_mut("statements.jsonl").unwrap();
        let cut = statements.len() - 5;
        statements.truncate(cut);
    })
    .unwrap();
    assert_eq!(read.statements, whole_bundle().statements[..1]);
    assert!(problems_of(&read).iter().any(|(.., message)| message.ends_with("has 1 lines that cannot be read")));
}

#[test]
fn manifests_of_other_kinds_are_refused() {
    let with =
        |manifest: &str| read_changed(|members| drop(members.insert("manifest.json".to_owned(), manifest.into())));
    let other = with(r#"{ "schema": "xestack.bundle/2", "run_id": 7 }"#).unwrap_err();
    assert_eq!(other.to_string(), "the bundle is of kind \"xestack.bundle/2\"; this program reads xestack.bundle/1");
    for manifest in ["", "[]", "{}", r#"{ "schema": "xestack.bundle/1" }"#, r#"{ "schema": 1 }"#] {
        assert!(matches!(with(manifest), Err(StoreError::BadManifest { .. })), "{manifest}");
    }
    assert!(with(r#"{ "schema": "xestack.bundle/1", "run_id": "x", "later": {} }"#).is_ok());
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    for name in ["../up", "/etc/passwd", "a/../../up", "C:/x", "a\\..\\b", "a//b", "./a", ".."] {
        let refused = read_changed(|members| drop(members.insert(name.to_owned(), vec![])));
        assert!(
            matches!(&refused, Err(StoreError::UnsafeName { name: found }) if found == name),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn too_many_members_are_refused_by_reader_and_writer() {
    let refused = read_changed(|members| members.extend((0..1000).map(|n| (format!("more/{n}"), vec![]))));
    assert!(matches!(refused, Err(StoreError::TooManyMembers { members: 1013 })), "{refused:?}");
    let target = TargetMember { session: 0, symbolised: false, bytes: vec![] };
    let crowded = Bundle { targets: vec![target; 1000], ..whole_bundle() };
    assert!(matches!(bundle::to_bytes(&crowded), Err(StoreError::TooManyMembers { .. })));
}

#[test]
fn two_members_of_one_name_are_refused() {
    let mut archive = zip_of(&unzip(&bundle::to_bytes(&whole_bundle()).unwrap()));
    replace(&mut archive, b"targets/1.xml", b"targets/2.xml");
    assert!(matches!(bundle::from_bytes(&archive), Err(StoreError::DuplicateNames)));
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let places: Vec<usize> = (0..=bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
}

#[test]
fn a_cut_archive_is_refused_at_every_length() {
    let archive = bundle::to_bytes(&whole_bundle()).unwrap();
    for length in 0..archive.len() {
        let refused = bundle::from_bytes(&archive[..length]);
        assert!(matches!(refused, Err(StoreError::Archive { .. })), "{length}: {refused:?}");
    }
}

#[test]
fn a_damaged_member_leaves_the_others() {
    let mut stored = ZipWriter::new(Cursor::new(vec![]));
    for (name, bytes) in unzip(&bundle::to_bytes(&whole_bundle()).unwrap()) {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        stored.start_file(name, options).unwrap();
        stored.write_all(&bytes).unwrap();
    }
    let mut archive = stored.finish().unwrap().into_inner();
    replace(&mut archive, b"sqldk.dll", b"sqldk.DLL");
    let read = bundle::from_bytes(&archive).unwrap();
    assert_eq!(read.evidence.modules, []);
    assert_eq!(read.targets, whole_bundle().targets);
    let told = problems_of(&read);
    assert!(matches!(told.as_slice(), [("bundle_member_unreadable", Severity::Partial, _)]), "{told:?}");
}

#[test]
fn table_names_that_are_no_file_names_are_not_written() {
    for name in ["", "../x", "a/b", "a b", "a.json"] {
        let mut bundle = whole_bundle();
        bundle.evidence.after = Some(snapshot(&[name]));
        assert!(matches!(bundle::to_bytes(&bundle), Err(StoreError::TableName { .. })), "{name:?}");
    }
}

#[cfg(unix)]
#[test]
fn bundles_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle.zip");
    bundle::write(&path, &whole_bundle()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn errors_name_the_file_and_keep_their_cause() {
    let error = bundle::read(std::path::Path::new("/nowhere/x.zip")).unwrap_err();
    assert_eq!(error.to_string(), "cannot read /nowhere/x.zip");
    assert!(std::error::Error::source(&error).is_some());
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(bundle::from_bytes(&bytes).is_err());
    }

    #[test]
    fn any_change_of_a_bundle_is_read_without_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let whole = whole_bundle();
        let mut archive = bundle::to_bytes(&whole).unwrap();
        for (at, byte) in changes {
            let at = at.index(archive.len());
            archive[at] = byte;
        }
        // Nothing is lost silently: what differs is told, or the archive is refused.
        if let Ok(read) = bundle::from_bytes(&archive) {
            prop_assert!(read == whole || !problems_of(&read).is_empty());
        }
    }

    #[test]
    fn any_target_comes_back_as_received(documents in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..15)) {
        let targets = documents.into_iter().map(|bytes| TargetMember { session: 1, symbolised: true, bytes }).collect();
        let written = Bundle { targets, ..whole_bundle() };
        prop_assert_eq!(bundle::from_bytes(&bundle::to_bytes(&written).unwrap()).unwrap(), written);
    }
}
