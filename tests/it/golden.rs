//! `xestack sql` for every scenario and version, with and without trace flags, against one file each.
//!
//! `XESTACK_BLESS=1 cargo test --locked --test it golden` writes the files anew; the change is then to be read.

use crate::cli::xestack;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use xestack::catalog::sessions::{EMBEDDED, Scenario, Sessions};
use xestack::model::ServerVersion;

/// What a dry run is asked for: name of its file, arguments.
fn all() -> Vec<(String, Vec<String>)> {
    let sessions = Sessions::from_texts(EMBEDDED).unwrap();
    let mut variants: Vec<(String, &[&str])> =
        sessions.scenarios().iter().map(|scenario| (scenario.name.clone(), &[][..])).collect();
    variants.push(("sos-yield+spinlock".to_owned(), &[]));
    variants.push(("sos-yield+latch".to_owned(), &["--queries"]));
    for with_flags in ["sos-yield", "spinlock", "sos-yield+spinlock"] {
        variants.push((with_flags.to_owned(), &["--enable-trace-flags"]));
    }
    let mut asked = Vec::new();
    for version in ServerVersion::names().split(", ") {
        for (scenario, more) in &variants {
            let is_too_old = |known: &Scenario| version.parse::<ServerVersion>().unwrap() < known.minimum_version;
            if sessions.joined_scenarios(scenario).unwrap().into_iter().any(is_too_old) {
                continue;
            }
            let arguments = ["sql", "--scenario", scenario, "--server-version", version];
            let arguments = arguments.iter().chain(*more).map(|argument| (*argument).to_owned()).collect();
            let ending: String = more.iter().map(|more| more.replace("--enable-", "-").replace("--", "-")).collect();
            asked.push((format!("{version}-{scenario}{ending}.sql"), arguments));
        }
    }
    asked
}

#[test]
fn every_dry_run_is_as_its_file_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sql");
    let bless = std::env::var_os("XESTACK_BLESS").is_some();
    let asked = all();
    assert_eq!(asked.len(), 119);
    let mut different = Vec::new();
    for (name, arguments) in &asked {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = xestack(&arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.len() > 1_000, "{name}: {}", String::from_utf8_lossy(&output.stderr));
        if bless {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(name), &text).unwrap();
        }
        if fs::read_to_string(folder.join(name)).ok().as_ref() != Some(&text) {
            different.push(name);
        }
    }
    assert!(different.is_empty(), "XESTACK_BLESS=1 writes them anew: {different:?}");
    // No file outlives what it is of.
    let expected: BTreeSet<&str> = asked.iter().map(|(name, _)| name.as_str()).collect();
    for file in fs::read_dir(&folder).unwrap() {
        let name = file.unwrap().file_name();
        assert!(expected.contains(name.to_str().unwrap()), "{} is of nothing", name.display());
    }
}

#[test]
fn a_dry_run_says_where_a_capture_would_refuse_the_trace_flags() {
    for (version, more, told) in [
        ("2019", &[][..], ""),
        ("2022", &[], "callstack_rva"),
        ("2022", &["--force-flags"], ""),
        ("azure-mi", &[], "Managed Instance has no trace flags"),
        ("azure-db", &["--force-flags"], "Azure SQL Database has no trace flags"),
    ] {
        let arguments = ["sql", "--scenario", "sos-yield", "--server-version", version, "--enable-trace-flags"];
        let output = xestack(&[&arguments, more].concat()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(err.is_empty(), told.is_empty(), "{version}: {err}");
        assert!(output.status.success() && err.contains(told), "{version}: {err}");
        let sent = String::from_utf8(output.stdout).unwrap();
        assert_eq!(sent.contains("TRACEON"), told.is_empty(), "{version}");
    }
}
