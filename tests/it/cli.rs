//! The command line from outside: exit codes, what goes where, and files that are not what they should be.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

pub(crate) fn xestack(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xestack"));
    command.args(arguments);
    for variable in ["SQLCMDSERVER", "SQLCMDUSER", "SQLCMDPASSWORD", "XESTACK_STATE_DIR", "XESTACK_ACCESS_TOKEN"] {
        command.env_remove(variable);
    }
    command
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn run(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// A file of the reference data, which stands beside a checkout on some machines only.
pub(crate) fn reference(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(path);
    if path.try_exists().unwrap_or(false) {
        return Some(path);
    }
    eprintln!("skipped: no {}", path.display());
    None
}

/// The published yield stack (2011, SQL Server 2008 R2), as its article prints it.
const PUBLISHED_YIELD: &str = "\
IndexPageManager::GetPageWithKey+ef [ @ 0+0x0
GetRowForKeyValue+146 [ @ 0+0x0
IndexRowScanner::EstablishInitialKeyOrderPosition+10a [ @ 0+0x0
IndexDataSetSession::GetNextRowValuesInternal+7d7 [ @ 0+0x0
RowsetNewSS::FetchNextRow+12a [ @ 0+0x0
CQScanRangeNew::GetRow+6a1 [ @ 0+0x0
CQScanCountStarNew::GetRowHelper+44 [ @ 0+0x0
CQScanStreamAggregateNew::Open+70 [ @ 0+0x0
CQueryScan::Uncache+32f [ @ 0+0x0
CXStmtQuery::SetupQueryScanAndExpression+2a2 [ @ 0+0x0
CXStmtQuery::ErsqExecuteQuery+2f8 [ @ 0+0x0
CMsqlExecContext::ExecuteStmts<1,1>+cca [ @ 0+0x0
CMsqlExecContext::FExecute+58b [ @ 0+0x0
CSQLSource::Execute+319
";

#[test]
fn wrong_usage_is_2_and_says_what_is_right() {
    for (arguments, needle) in [
        (&["bogus"][..], "unrecognized subcommand"),
        (&["demo", "--for", "0s"], "1s to 24h"),
        (&["demo", "--server-version", "2018"], "2008R2"),
        (&["demo", "--scenario", "nothing"], "sos-yield"),
        (&["demo", "--workload", "nothing"], "lock-hash"),
        (&["demo", "--fault", "nothing"], "symbolise-at"),
        (&["demo", "--format", "yaml"], "json"),
        (&["capture", "-S", "np:x", "-U", "a", "-P", "b", "--scenario", "sos-yield"], "np:"),
        (&["capture", "-S", "x,0", "-U", "a", "-P", "b", "--scenario", "sos-yield"], "TCP port"),
        (&["capture", "-S", "x", "-U", "a", "--scenario", "sos-yield"], "SQLCMDPASSWORD"),
        (&["capture", "-S", "x", "-U", "a", "-P", "b", "-N", "maybe", "--scenario", "sos-yield"], "mandatory"),
        (
            &["capture", "-S", "x", "-U", "a", "-P", "b", "--scenario", "sos-yield", "--force-flags"],
            "--enable-trace-flags",
        ),
        (&["sql", "--scenario", "sos-yield", "--server-version", "2008"], "2008R2"),
        (&["simulate", "--workload", "nothing", "--listen", "127.0.0.1:0"], "lock-hash"),
        (&["simulate", "--tls", "maybe"], "strict"),
        (&["simulate", "--login", "bird=FLY", "--listen", "127.0.0.1:0"], "##MS_ServerStateReader##"),
        (&["simulate", "--tls", "off", "--tls-cert-out", "c.pem", "--listen", "127.0.0.1:0"], "no certificate"),
        (&["simulate", "--fault", "attention=later", "--listen", "127.0.0.1:0"], "apart"),
    ] {
        let ran = run(&mut xestack(arguments));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(needle), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn no_server_is_3_and_names_the_port() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["capture", "-S", "127.0.0.1,1", "-U", "sa", "--scenario", "sos-yield"];
    let ran = run(xestack(&arguments).env("SQLCMDPASSWORD", "secret-word").env("XESTACK_STATE_DIR", folder.path()));
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("could not connect to 127.0.0.1,1") && ran.err.contains("hint:"), "{}", ran.err);
    assert!(!ran.err.contains("secret-word"), "{}", ran.err);
}

#[test]
fn a_state_folder_that_cannot_be_written_is_2_before_anything_else() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let inside = file.path().join("below");
    let arguments = ["capture", "-S", "127.0.0.1,1", "-U", "sa", "-P", "x", "--scenario", "sos-yield", "--state-dir"];
    let ran = run(xestack(&arguments).arg(&inside));
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("state folder"), "{}", ran.err);
}

#[test]
fn an_event_file_is_named_as_one_whole_cut_or_empty() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        run(xestack(&["analyze"]).arg(path))
    };
    let mut header = vec![0x5A, 0x37, 0xAB, 0xEF, 10, 0, 0, 2];
    let cut = of("cut.xel", &header);
    header.resize(4096, 0);
    for ran in [of("whole.xel", &header), cut] {
        assert_eq!((ran.code, ran.out.as_str()), (7, ""), "{}", ran.err);
        assert!(ran.err.contains(".xel is an event file (.xel)") && ran.err.contains("fn_xe_file_target_read_file"));
    }
    let ran = of("empty.xel", b"");
    assert_eq!(ran.code, 7);
    assert!(ran.err.contains("empty.xel is empty"), "{}", ran.err);
}

#[test]
fn unreadable_input_is_7_and_one_bad_file_of_two_is_partial() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.xml");
    let empty = folder.path().join("empty.txt");
    let good = folder.path().join("good.txt");
    fs::File::create(&empty).unwrap();
    fs::copy(write(&folder, "stack", PUBLISHED_YIELD), &good).unwrap();
    assert_eq!(run(xestack(&["analyze"]).arg(&missing)).code, 7);
    assert_eq!(run(xestack(&["analyze"]).arg(&empty)).code, 7);
    assert_eq!(run(xestack(&["analyze", "-"]).write_stdin("nothing here")).code, 7);
    assert_eq!(run(xestack(&["report"]).arg(&good)).code, 7);
    let both = run(xestack(&["analyze", "--format", "json"]).arg(&missing).arg(&good));
    assert_eq!(both.code, 5, "{}", both.err);
    let report: Value = serde_json::from_str(&both.out).unwrap();
    assert_eq!(report["capture"]["problems"][0]["code"], "input_unreadable");
    assert_eq!(report["stacks"]["total_events"], 1);
}

fn write(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    use std::io::Write as _;
    let path = folder.path().join(name);
    fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    path
}

#[test]
fn the_published_stack_is_a_yield_by_its_context_only() {
    let analysed = |context: &[&str], text: &str| -> (Value, Value) {
        let ran = run(xestack(&["analyze", "-", "--format", "json"]).args(context).write_stdin(text));
        let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
        let item = &report["stacks"]["items"][0];
        assert_eq!(item["frames"].as_array().unwrap().len(), 14);
        (item["class"].clone(), item["rule"].clone())
    };
    let context = ["--event", "sqlos.wait_info", "--wait-type", "SOS_SCHEDULER_YIELD"];
    let on_one_line = PUBLISHED_YIELD.replace('\n', " ");
    for text in [PUBLISHED_YIELD, on_one_line.as_str()] {
        assert_eq!(analysed(&context, text), (Value::from("cpu_yield"), Value::from("yield-by-predicate")));
        assert_eq!(analysed(&[], text).0, "other");
        assert_eq!(analysed(&["--event", "sqlos.wait_info", "--wait-type", "LATCH_EX"], text).0, "other");
    }
}

#[test]
fn real_target_documents_lose_nothing() {
    for (file, slots, events) in [
        ("LOCK_HASH/SpinlockData.xml", 4, 2_181_498),
        ("PAGELATCH_EX/waitdata.xml", 104, 22_614),
        ("Memobj/MemObjData.xml", 195, 27_039),
    ] {
        let Some(path) = reference(&format!("callstackresolver/fork-demos/{file}")) else { return };
        let ran = run(xestack(&["analyze", "--format", "json"]).arg(path));
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(report["stacks"]["total_events"], events, "{file}");
        assert_eq!(report["capture"]["sessions"][0]["slots_used"], slots, "{file}");
        let merged: usize = report["stacks"]["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["slots"].as_array().unwrap().len())
            .sum();
        assert_eq!(merged, slots, "{file}");
        // Addresses without names: partial, and said so.
        assert_eq!(ran.code, 5, "{file}");
    }
}

#[test]
fn the_dry_run_names_every_statement_and_no_built_in_key() {
    let ran =
        run(&mut xestack(&["sql", "--scenario", "sos-yield", "--server-version", "15.0", "--enable-trace-flags"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("wait_type = 0 /* wait_types: SOS_SCHEDULER_YIELD, looked up at run time */"),
        "{}",
        ran.out
    );
    let order = ["CREATE EVENT SESSION", "STATE = START", "DROP EVENT sqlos", "STATE = STOP", "DROP EVENT SESSION"];
    let places: Vec<usize> = order.iter().map(|statement| ran.out.find(statement).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(ran.out.contains("DBCC TRACEON (3656, 2592, -1)"));
    let without = run(&mut xestack(&["sql", "--scenario", "sos-yield", "--server-version", "2017"]));
    assert!(!without.out.contains("TRACEON") && without.out.contains("TRACESTATUS (3656, -1)"), "{}", without.out);
}

#[test]
fn help_is_on_standard_output_and_shows_examples() {
    for arguments in [&["--help"][..], &["capture", "--help"], &["demo", "--help"], &["analyze", "--help"]] {
        let ran = run(&mut xestack(arguments));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(ran.out.contains("Example"), "{arguments:?}");
        assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "{arguments:?}");
    }
}
