//! What holds on the simulated server, checked on a real one when somebody has it: see docs/live.md. The same checks run on
//! the simulated server with every `cargo test`, so that they work on the day they are needed.

mod checks;

use checks::TestServer;

/// The server that the variables name.
fn named() -> TestServer {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let server = variable("XESTACK_TEST_SERVER").expect("XESTACK_TEST_SERVER names the server");
    TestServer {
        server,
        user: variable("SQLCMDUSER"),
        password: variable("SQLCMDPASSWORD"),
        database: variable("SQLCMDDBNAME"),
        ca: variable("XESTACK_TEST_CA").map(Into::into),
        trust: variable("XESTACK_TEST_TRUST").is_some(),
        trace_flags: variable("XESTACK_TEST_FLAGS").is_some(),
    }
}

macro_rules! on_a_real_server {
    ($($name:ident: $check:path;)*) => {
        $(
            #[test]
            #[cfg_attr(not(xestack_test_server), ignore = "XESTACK_TEST_SERVER names no server")]
            fn $name() {
                $check(&named());
            }
        )*
    };
}

on_a_real_server! {
    its_version_is_known: checks::version_is_known;
    doctor_changes_nothing: checks::doctor_changes_nothing;
    captures_leave_nothing: checks::captures_leave_nothing;
    a_killed_capture_is_cleaned_up: checks::a_killed_capture_is_cleaned_up;
    what_no_document_says_is_noted: checks::open_questions;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_live_checks_hold_on_the_simulated_server() {
    use xestack::simulator::launch::{self, LaunchOptions};
    let simulator = launch::launch(LaunchOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, simulator.certificate_pem().unwrap()).unwrap();
    let server = TestServer {
        server: format!("localhost,{}", simulator.local_addr().port()),
        user: Some(launch::USER.to_owned()),
        password: Some(simulator.password().to_owned()),
        database: None,
        ca: Some(ca),
        trust: false,
        trace_flags: true,
    };
    tokio::task::spawn_blocking(move || {
        checks::version_is_known(&server);
        checks::doctor_changes_nothing(&server);
        checks::captures_leave_nothing(&server);
        checks::a_killed_capture_is_cleaned_up(&server);
        checks::open_questions(&server);
    })
    .await
    .unwrap();
}
