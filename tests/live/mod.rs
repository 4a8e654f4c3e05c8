//! The same capture against a real server, when somebody has one; see README.md beside this file.

use crate::cli::xestack;
use serde_json::Value;

#[test]
fn a_capture_on_a_real_server_leaves_nothing_behind() {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (Some(server), Some(user), Some(password)) =
        (variable("XESTACK_LIVE_SERVER"), variable("XESTACK_LIVE_USER"), variable("XESTACK_LIVE_PASSWORD"))
    else {
        eprintln!("skipped: XESTACK_LIVE_SERVER, XESTACK_LIVE_USER and XESTACK_LIVE_PASSWORD are not set");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut command = xestack(&["capture", "-S", &server, "-U", &user, "--scenario", "sos-yield", "--for", "20s"]);
    command.args(["--format", "json", "--state-dir"]).arg(folder.path()).env("SQLCMDPASSWORD", password);
    if variable("XESTACK_LIVE_TRUST").is_some() {
        command.arg("-C");
    }
    if variable("XESTACK_LIVE_FLAGS").is_some() {
        command.arg("--enable-trace-flags");
    }
    let output = command.output().unwrap();
    let code = output.status.code().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("exit {code}: {}", String::from_utf8_lossy(&output.stderr)));
    // 5 is an answer too: call stacks without names are partial.
    assert!(code == 0 || code == 5, "exit {code}: {}", report["capture"]["problems"]);
    assert_eq!(report["schema"], "xestack.report/1");
    for flag in report["capture"]["trace_flags"].as_array().unwrap() {
        assert_eq!(flag["restored"], true, "{flag}");
    }
    eprintln!("{}: {}", report["capture"]["server"]["product_version"], report["verdict"]["summary"]);
}
