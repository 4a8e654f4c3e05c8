//! Connections from outside: how they are made, what is said when they cannot be, and which code comes back.

mod failures;
mod retries;
mod secrets;
mod sources;
mod ways;

use crate::cli::xestack;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) const PASSWORD: &str = "Look-0n!only";

/// `xestack simulate` as a process of its own.
struct Server {
    process: Child,
    port: String,
    /// Of its SQL Server Browser, where it has one.
    browser_port: Option<String>,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, |_| {})
    }

    fn start_with(arguments: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xestack"));
        command.arg("simulate").args(arguments);
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.env("XESTACK_SIM_PASSWORD", PASSWORD).stdout(Stdio::piped());
        let has_browser = arguments.contains(&"--browser");
        if has_browser {
            command.stderr(Stdio::piped());
        }
        change(&mut command);
        let mut process = command.spawn().unwrap();
        let last_part = |line: String| line.rsplit(':').next().unwrap().to_owned();
        let browser_port = has_browser
            .then(|| last_part(BufReader::new(process.stderr.take().unwrap()).lines().next().unwrap().unwrap()));
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = last_part(lines.next().unwrap().unwrap());
        Self { process, port, browser_port }
    }

    /// Its address, as it is given with -S.
    fn address(&self) -> String {
        format!("127.0.0.1,{}", self.port)
    }

    /// Exit code and standard error of a capture that does not come to its window.
    fn refuses(&self, state_dir: &Path, arguments: &[&str]) -> (i32, String) {
        let server = self.address();
        let output = xestack(&["capture", "-S", &server, "-U", "sa", "--scenario", "sos-yield", "--for", "1s"])
            .args(arguments)
            .arg("--state-dir")
            .arg(state_dir)
            .env("SQLCMDPASSWORD", PASSWORD)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
        let journals = std::fs::read_dir(state_dir.join("journal")).map_or(0, Iterator::count);
        assert_eq!(journals, 0, "nothing may have been changed on the server");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains(PASSWORD), "{said}");
        (output.status.code().unwrap(), said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Exit code and standard error of a look at a server, which needs a connection and changes nothing.
fn look(server: &str, change: impl FnOnce(&mut assert_cmd::Command)) -> (i32, String) {
    let mut command = xestack(&["doctor", "--scenario", "sos-yield", "-S", server]);
    change(&mut command);
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A look as sa.
fn look_as_sa(server: &str, arguments: &[&str]) -> (i32, String) {
    look(server, |command| {
        command.args(["-U", "sa"]).args(arguments).env("SQLCMDPASSWORD", PASSWORD);
    })
}

#[track_caller]
fn assert_works((code, said): (i32, String)) -> String {
    assert!(matches!(code, 0 | 5), "{code}: {said}");
    said
}

#[track_caller]
fn assert_says((code, said): (i32, String), expected: i32, needles: &[&str]) -> String {
    assert_eq!(code, expected, "{said}");
    for needle in needles {
        assert!(said.contains(needle), "no `{needle}` in {said}");
    }
    said
}

#[test]
fn a_connection_that_cannot_be_made_says_how_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let certificate = file("certificate.pem");
    std::fs::write(file("other.pem"), "no certificate").unwrap();
    let (missing, other) = (file("missing.pem"), file("other.pem"));

    let with_tls = Server::start(&["--tls-cert-out", &certificate]);
    let without_tls = Server::start(&["--tls", "off"]);
    for (server, arguments, code, needles) in [
        (&with_tls, &[][..], 3, &["certificate", "--ca FILE"][..]),
        (&with_tls, &["--ca", &certificate, "-F", "elsewhere"], 3, &["elsewhere", "-F NAME"]),
        (&with_tls, &["-C", "-P", "wrong"], 3, &["18456", "not tried again"]),
        (&with_tls, &["-C", "-d", "nowhere"], 3, &["4060", "-d"]),
        (&with_tls, &["-N", "strict", "-C"], 3, &["-N strict needs SQL Server 2022"]),
        (&with_tls, &["--ca", &missing], 2, &["cannot use --ca", "missing.pem"]),
        (&with_tls, &["--ca", &other], 2, &["it holds no certificate"]),
        (&without_tls, &[], 3, &["offers no encryption", "-N disable"]),
        (&without_tls, &["-N", "optional"], 3, &["offers no encryption", "-N disable"]),
    ] {
        let (found, said) = server.refuses(&folder.path().join("state"), arguments);
        assert_eq!(found, code, "{arguments:?}: {said}");
        for needle in needles {
            assert!(said.contains(needle), "{arguments:?}: no {needle} in {said}");
        }
        assert!(!said.contains("Config::"), "the driver's own functions are no advice: {said}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_found_before_anything_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("missing/file").display().to_string();
    let of_a_folder = folder.path().display().to_string();
    let server = Server::start(&[]);
    for option in ["--bundle", "-o"] {
        for path in [&nowhere, &of_a_folder] {
            let (code, said) = server.refuses(&folder.path().join("state"), &["-C", option, path]);
            assert_eq!(code, 2, "{option} {path}: {said}");
            assert!(said.contains("cannot write"), "{option} {path}: {said}");
        }
    }
}

#[test]
fn a_window_that_fails_does_not_cost_the_ones_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&["--tls", "off"]);
    let mut capture = Command::new(env!("CARGO_BIN_EXE_xestack"))
        .args(["capture", "-S", &format!("127.0.0.1,{}", server.port), "-U", "sa", "-N", "disable"])
        .args(["--scenario", "sos-yield", "--for", "1s", "--repeat", "2", "--format", "json", "--state-dir"])
        .arg(folder.path())
        .env("SQLCMDPASSWORD", PASSWORD)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(capture.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "window 2 of 2"));
    drop(server);
    said.for_each(drop);
    let output = capture.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["stacks"]["total_events"].as_u64().unwrap() > 1_000);
}
