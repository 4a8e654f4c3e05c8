//! What is tried again and what is not: a refused password never, wherever it happens.

use crate::capture::{Lab, connect_options};
use std::sync::atomic::{AtomicBool, Ordering};
use xestack::agent::CaptureError;
use xestack::model::ServerVersion;
use xestack::simulator::launch::{self, LaunchOptions};
use xestack::simulator::wire::hooks::{HookAction, Hooks, Phase};
use xestack::sqlserver::{Connection, SqlServerError};

#[tokio::test]
async fn one_attempt_is_one_login() {
    for fault in ["refused", "locked", "expired", "must-change"] {
        let faults = vec![format!("login={fault}")];
        let simulator = launch::launch(LaunchOptions { faults, ..LaunchOptions::default() }).await.unwrap();
        let error = Connection::open(&connect_options(&simulator)).await.unwrap_err();
        assert!(matches!(error, SqlServerError::Login { .. }) && !error.may_be_retried(), "{error}");
        assert_eq!(simulator.connections(), 1, "{fault}");
        simulator.stop().await;
    }
}

/// The connection is cut in the window, and by then the account is locked: restoring tries once and says what remains.
#[tokio::test]
async fn restoring_does_not_knock_at_a_locked_account() {
    for fault in ["locked", "refused", "expired", "must-change"] {
        let cut = AtomicBool::new(false);
        let lab = Lab::new(ServerVersion::V2019, |launch| {
            launch.faults = vec![format!("login={fault}:1")];
            launch.hooks = Hooks::new(move |point| {
                let starts = point.sql.contains("STATE = START") && point.phase == Phase::ExecutedNotAnswered;
                if starts && !cut.swap(true, Ordering::SeqCst) { HookAction::Disconnect } else { HookAction::Continue }
            });
        })
        .await;
        let error = lab.capture().await.unwrap_err();
        let CaptureError::LeftBehind { left_behind, .. } = &error else { panic!("{error}") };
        assert!(!left_behind.is_empty(), "{fault}");
        assert_eq!(lab.simulator.connections(), 2, "{fault}: the first, and one attempt to come back");
    }
}
