//! The demo as a newcomer runs it, in real time.

use crate::cli::xestack;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn the_demo_ends_with_its_verdict_and_an_untouched_server() {
    let output = xestack(&["demo", "--for", "3s", "--format", "json"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{err}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdict"]["kind"], "cpu_bound_yields");
    assert!(report["verdict"]["shares"]["spinlock_backoff"]["high"].as_f64().unwrap() <= 0.05);
    assert_eq!(report["spinlocks"][0]["name"], "LOCK_HASH");
    assert_eq!(report["spinlocks"][0]["backoffs"], 1_601_383);
    assert!(err.contains("afterwards on the server: 0 sessions of ours, 0 trace flags on"), "{err}");
}

#[test]
fn an_interrupt_at_twenty_moments_of_the_demo_ends_with_130_and_nothing_left() {
    const MOMENTS: u64 = 20;
    // From the first line it prints to about its end: 2 s of looking, 3 s of window, 2 s of dispatch latency.
    let step = Duration::from_millis(340);
    let runs: Vec<_> =
        (0..MOMENTS).map(|moment| std::thread::spawn(move || interrupted_demo(step * moment as u32))).collect();
    for (moment, run) in runs.into_iter().enumerate() {
        let (code, err) = run.join().unwrap();
        assert_eq!(code, Some(130), "moment {moment}: {err}");
        assert!(
            err.contains("afterwards on the server: 0 sessions of ours, 0 trace flags on"),
            "moment {moment}: {err}"
        );
    }
}

fn interrupted_demo(after: Duration) -> (Option<i32>, String) {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_xestack"))
        .args(["demo", "--for", "3s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = BufReader::new(demo.stderr.take().unwrap());
    let mut text = String::new();
    errors.read_line(&mut text).unwrap();
    // The moment itself is what is tried; no outcome is waited for by it.
    std::thread::sleep(after);
    let pid = demo.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    errors.read_to_string(&mut text).unwrap();
    (demo.wait().unwrap().code(), text)
}
