//! Triggers and audits on what a capture sends.

use super::{faults, lab, notes, refusal};
use crate::kill_points::state::look;
use std::sync::{Arc, Mutex};
use xestack::agent::Refusal;
use xestack::agent::progress::Progress;
use xestack::model::ServerVersion;

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_rolls_back_is_policy_and_named_where_it_can_be_seen() {
    for (denied, needle) in [
        (&[][..], "enabled server triggers on event sessions: refuse_event_sessions"),
        (&["deny=VIEW ANY DEFINITION"], "VIEW ANY DEFINITION"),
    ] {
        let all: Vec<&str> = ["ddl-trigger=rollback"].iter().chain(denied).copied().collect();
        let (mut lab, sent) = lab(ServerVersion::V2019, &faults(&all)).await;
        let notes = notes(&mut lab);
        let before = look(&lab.surroundings.connect).await;
        let error = lab.capture().await.unwrap_err();
        let (reason, text, hint, number) = refusal(&error);
        assert_eq!((reason, number), (Refusal::Policy, 3609), "{error:?}");
        assert!(text.contains("trigger") && text.contains("rolled back") && hint.contains(needle), "{text}; {hint}");
        assert_eq!(sent.changes().len(), 1, "{:?}", sent.changes());
        let told = notes.lock().unwrap().iter().any(|note| note.contains("refuse_event_sessions"));
        assert_eq!(told, denied.is_empty(), "told before the change where it can be seen");
        assert_eq!(look(&lab.surroundings.connect).await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn triggers_and_audits_that_only_look_on_are_told_before_the_change() {
    let (mut lab, sent) = lab(ServerVersion::V2019, &faults(&["ddl-trigger=audit"])).await;
    let notes = notes(&mut lab);
    let changes_when_told = Arc::new(Mutex::new(None));
    let (observer, inside, told) = (lab.surroundings.observer.clone(), sent.clone(), Arc::clone(&changes_when_told));
    lab.surroundings.observer = Arc::new(move |progress| {
        observer(progress);
        if matches!(progress, Progress::Note(text) if text.contains("note_event_sessions")) {
            *told.lock().unwrap() = Some(inside.changes().len());
        }
    });
    lab.capture().await.unwrap();
    assert_eq!(*changes_when_told.lock().unwrap(), Some(0));
    let notes = notes.lock().unwrap().join("\n");
    assert!(notes.contains("CREATE_EVENT_SESSION") && notes.contains("the audit changes is on"), "{notes}");
}

/// An error of RAISERROR or THROW comes from code beside the statement, which may stand all the same: it is dropped.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_a_trigger_raises_does_not_mean_that_nothing_was_done() {
    let (lab, sent) = lab(ServerVersion::V2019, &faults(&["error=50000@create"])).await;
    let before = look(&lab.surroundings.connect).await;
    let error = lab.capture().await.unwrap_err();
    let (reason, _, _, number) = refusal(&error);
    assert_eq!((reason, number), (Refusal::Policy, 50_000));
    let changes = sent.changes();
    assert!(changes.len() == 2 && changes[1].starts_with("DROP EVENT SESSION"), "{changes:?}");
    assert_eq!(look(&lab.surroundings.connect).await, before);
}
