//! Journals: of a run that died while it wrote, and of those that ended long ago.

use super::{Client, START, clean, ended, marker};
use crate::capture::Lab;
use xestack::agent::clock::MachineClock;
use xestack::agent::journal::{Journal, State, Step, owed};
use xestack::agent::run::RunId;
use xestack::model::{ServerVersion, UtcMicros};

fn begin(server: &str) -> Step {
    Step::Begin {
        server: server.to_owned(),
        server_name: Some("XESTACK-SIM".to_owned()),
        server_started: None,
        owner: Some(ended()),
        flags_on_before: vec![],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_torn_at_any_byte_is_read_as_far_as_it_is_whole() {
    let state = tempfile::tempdir().unwrap();
    let marker = marker(1, ended(), START, &[3656]);
    let session = marker.to_string();
    let mut journal = Journal::create(state.path(), &marker.run_id).unwrap();
    let steps = [
        (begin("s"), State::Done),
        (Step::CreateSession { session: session.clone() }, State::Intended),
        (Step::CreateSession { session: session.clone() }, State::Done),
        (Step::StartSession { session: session.clone() }, State::Intended),
        (Step::TraceOn { flags: vec![3656] }, State::Intended),
        (Step::TraceOn { flags: vec![3656] }, State::Refused { number: 2571 }),
    ];
    let clock = MachineClock::default();
    for (step, state) in steps {
        journal.write(&clock, step, state).unwrap();
    }
    let whole = std::fs::read(journal.path()).unwrap();
    let mut ends: Vec<usize> = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    ends.reverse();
    let torn = state.path().join("journal").join(format!("{}.jsonl", RunId::new(UtcMicros(0), 1)));
    for cut in 0..=whole.len() {
        std::fs::write(&torn, &whole[..cut]).unwrap();
        let read = Journal::open(torn.clone()).unwrap();
        let lines = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(read.entries(), &journal.entries()[..lines], "{cut} bytes");
        assert_eq!(read.owed(), owed(&journal.entries()[..lines]));
        // What is written after it stands on a line of its own.
        let mut read = read;
        read.write(&clock, Step::End, State::Done).unwrap();
        let again = Journal::open(torn.clone()).unwrap();
        assert_eq!(again.entries().last().unwrap().step, Step::End, "{cut} bytes");
        assert_eq!(again.entries().len(), lines + 1, "{cut} bytes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_of_a_dead_run_is_ended_and_one_of_another_server_is_named() {
    let lab = Lab::new(ServerVersion::V2019, |_| {}).await;
    let mut client = Client::of(&lab).await;
    let state = tempfile::tempdir().unwrap();
    let clock = MachineClock::default();
    let here = lab.surroundings.connect.address.to_string();
    for (number, server) in [(1, here.as_str()), (2, "elsewhere,1433")] {
        let marker = marker(number, ended(), START, &[]);
        let mut journal = Journal::create(state.path(), &marker.run_id).unwrap();
        journal.write(&clock, begin(server), State::Done).unwrap();
        let create = Step::CreateSession { session: marker.to_string() };
        journal.write(&clock, create, State::Intended).unwrap();
    }
    client.make(&marker(1, ended(), START, &[]).to_string(), true).await;
    let done = clean(&lab.surroundings, state.path(), false).await;
    let elsewhere: Vec<&str> = done.elsewhere.iter().map(|run| run.server.as_str()).collect();
    assert_eq!((elsewhere, done.left_behind.len(), client.sessions().await.len()), (vec!["elsewhere,1433"], 0, 0));
    let path = state.path().join("journal").join(format!("{}.jsonl", marker(1, ended(), START, &[]).run_id));
    assert_eq!(Journal::open(path).unwrap().entries().last().unwrap().step, Step::End);
    assert_eq!(clean(&lab.surroundings, state.path(), false).await.runs, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_finished_journals_the_newest_hundred_are_kept_and_of_unfinished_ones_all() {
    let lab = Lab::new(ServerVersion::V2019, |_| {}).await;
    let state = tempfile::tempdir().unwrap();
    let clock = MachineClock::default();
    let id = |second: i64| RunId::new(UtcMicros((START + second) * 1_000_000), 0);
    for second in 0..130 {
        let mut journal = Journal::create(state.path(), &id(second)).unwrap();
        journal.write(&clock, begin("elsewhere,1"), State::Done).unwrap();
        let create = Step::CreateSession { session: marker(second as u32, ended(), START, &[]).to_string() };
        journal.write(&clock, create, State::Done).unwrap();
        if second >= 10 {
            journal.write(&clock, Step::End, State::Done).unwrap();
        }
    }
    clean(&lab.surroundings, state.path(), false).await;
    let mut left: Vec<String> = std::fs::read_dir(state.path().join("journal"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort_unstable();
    let mut expected: Vec<String> = (0..10).chain(30..130).map(|second| format!("{}.jsonl", id(second))).collect();
    expected.sort_unstable();
    assert_eq!(left, expected);
}
