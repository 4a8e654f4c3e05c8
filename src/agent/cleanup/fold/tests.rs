//! What is dead, and what of it is undone.

use super::{FoundRun, View, fold, named_flags};
use crate::agent::journal::{Entry, State, Step};
use crate::agent::listing::{Listed, Listing};
use crate::agent::run::{Life, Marker, Owner, RunId};
use crate::model::UtcMicros;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const NOW: i64 = 1_796_067_000;
const ALIVE: u32 = 1;

fn here() -> Owner {
    Owner { host: "0a1b2c3d".into(), boot: "00000001".into(), pid: ALIVE, start_ticks: 1 }
}

/// A marker of a run that is told apart by its number.
fn marker(number: u32, owner: Owner, deadline_unix: i64, flags: &[u32]) -> Marker {
    Marker {
        scenario: "sos-yield".into(),
        run_id: RunId::new(UtcMicros(NOW * 1_000_000), number),
        owner,
        deadline_unix,
        flags: flags.to_vec(),
    }
}

fn dead(number: u32, flags: &[u32]) -> Marker {
    marker(number, Owner { pid: 99, ..here() }, NOW, flags)
}

fn live(number: u32, flags: &[u32]) -> Marker {
    marker(number, here(), NOW, flags)
}

fn elsewhere(number: u32, deadline_unix: i64) -> Marker {
    marker(number, Owner { host: "ffffffff".into(), ..here() }, deadline_unix, &[])
}

fn listed(names: &[String]) -> Listing {
    Listing(names.iter().map(|name| Listed { name: name.clone(), running: true }).collect())
}

/// What is around a listing.
#[derive(Default)]
struct Around {
    journals: BTreeMap<RunId, Vec<Entry>>,
    on: Option<BTreeSet<u32>>,
    force: Option<RunId>,
    started_unix: Option<i64>,
    started: Option<i64>,
}

impl Around {
    fn fold(&self, listing: &Listing) -> Vec<FoundRun> {
        fold(&View {
            here: &here(),
            is_running: &|owner| owner.pid == ALIVE,
            server_unix: NOW,
            server_started_unix: self.started_unix,
            server_started: self.started,
            force: self.force.as_ref(),
            listing,
            journals: &self.journals,
            flags_on: self.on.as_ref(),
        })
    }
}

fn only(runs: Vec<FoundRun>) -> FoundRun {
    let [run] = <[FoundRun; 1]>::try_from(runs).unwrap();
    run
}

fn entry(step: Step, state: State) -> Entry {
    Entry { utc: UtcMicros(0), step, state }
}

#[test]
fn life_follows_from_host_boot_process_and_deadline() {
    for (marker, life) in [
        (live(1, &[]), Life::Runs),
        (dead(1, &[]), Life::ProcessGone),
        (marker(1, Owner { boot: "00000002".into(), ..here() }, NOW + 999, &[]), Life::OtherBoot),
        (elsewhere(1, NOW - 60), Life::MayLive),
        (elsewhere(1, NOW - 61), Life::DeadlinePassed),
    ] {
        assert_eq!(only(Around::default().fold(&listed(&[marker.to_string()]))).life, life, "{marker}");
    }
}

#[test]
fn force_is_for_one_run_of_another_machine_and_never_for_one_that_lives_here() {
    let (one, other, here) = (elsewhere(1, NOW), elsewhere(2, NOW), live(3, &[]));
    let names = [&one, &other, &here].map(ToString::to_string);
    for (force, dead) in [(None, vec![]), (Some(&one), vec![&one.run_id]), (Some(&here), vec![])] {
        let around = Around { force: force.map(|marker| marker.run_id.clone()), ..Around::default() };
        let runs = around.fold(&listed(&names));
        let given_up: Vec<&RunId> = runs.iter().filter(|run| run.is_dead()).map(|run| &run.marker.run_id).collect();
        assert_eq!(given_up, dead);
    }
}

#[test]
fn flags_are_those_of_dead_markers_that_are_on_and_that_no_live_marker_names() {
    let flags_of = |on: Option<&[u32]>, beside: &[Marker]| {
        let mut names = vec![dead(1, &[3656, 2592]).to_string()];
        names.extend(beside.iter().map(ToString::to_string));
        let around = Around { on: on.map(|on| on.iter().copied().collect()), ..Around::default() };
        let run = around.fold(&listed(&names)).remove(0);
        (run.flags, run.handed_over.into_iter().map(|left| left.flag).collect::<Vec<_>>())
    };
    assert_eq!(flags_of(Some(&[3656, 2592, 1118]), &[]), (vec![2592, 3656], vec![]));
    assert_eq!(flags_of(Some(&[3656]), &[]), (vec![3656], vec![]));
    assert_eq!(flags_of(Some(&[]), &[]), (vec![], vec![]));
    assert_eq!(flags_of(None, &[]), (vec![2592, 3656], vec![]), "unknown is not off");
    assert_eq!(flags_of(Some(&[3656, 2592]), &[live(2, &[3656])]), (vec![2592], vec![3656]));
    assert_eq!(flags_of(Some(&[3656, 2592]), &[dead(2, &[3656])]), (vec![2592, 3656], vec![]));
}

#[test]
fn a_flag_that_is_on_after_a_restart_is_somebodys() {
    let marker = dead(1, &[3656]);
    let names = listed(&[marker.to_string()]);
    let on = || Some(BTreeSet::from([3656]));
    let flags = |around: Around| only(around.fold(&names)).flags;
    assert_eq!(flags(Around { on: on(), started_unix: Some(NOW + 1), ..Around::default() }), Vec::<u32>::new());
    assert_eq!(flags(Around { on: on(), started_unix: Some(NOW - 1), ..Around::default() }), [3656]);
    let begin = Step::Begin {
        server: "s".into(),
        server_name: None,
        server_started: Some(7),
        owner: None,
        flags_on_before: vec![],
    };
    let journals: BTreeMap<RunId, Vec<Entry>> = [(marker.run_id, vec![entry(begin, State::Done)])].into();
    for (started, expected) in [(Some(7), vec![3656]), (Some(8), vec![]), (None, vec![3656])] {
        assert_eq!(flags(Around { on: on(), started, journals: journals.clone(), ..Around::default() }), expected);
    }
}

#[test]
fn a_journal_knows_sessions_that_are_not_shown_but_not_ones_like_a_foreign_name() {
    let marker = dead(1, &[3656]);
    let name = marker.to_string();
    let create = entry(Step::CreateSession { session: name.clone() }, State::Intended);
    let on = entry(Step::TraceOn { flags: vec![3656] }, State::Intended);
    let journals: BTreeMap<RunId, Vec<Entry>> = [(marker.run_id, vec![create, on])].into();
    let around = Around { journals, ..Around::default() };
    let run = only(around.fold(&listed(&[])));
    assert!(run.is_dead() && run.is_owing());
    assert_eq!((run.sessions[0].name.as_str(), run.sessions[0].shown, run.flags), (name.as_str(), false, vec![3656]));
    assert_eq!(named_flags(&listed(&[]), &around.journals), BTreeSet::from([3656]));
    assert_eq!(around.fold(&listed(&[name.to_uppercase()])), []);
}

fn any_marker() -> impl Strategy<Value = Marker> {
    let owner = (prop::bool::ANY, prop::bool::ANY, 1_u32..4).prop_map(|(same_host, same_boot, pid)| Owner {
        host: if same_host { here().host } else { "ffffffff".into() },
        boot: if same_boot { here().boot } else { "00000002".into() },
        pid,
        start_ticks: 1,
    });
    let flags = prop::sample::subsequence(vec![3656, 2592], 0..=2);
    (0_u32..4, owner, NOW - 200..NOW + 200, flags)
        .prop_map(|(number, owner, deadline, flags)| marker(number, owner, deadline, &flags))
}

proptest! {
    #[test]
    fn nothing_of_a_live_run_and_nothing_foreign_is_ever_undone(
        markers in prop::collection::vec(any_marker(), 0..6),
        foreign in prop::collection::vec("\\PC{0,40}", 0..3),
        changed in prop::collection::vec(any_marker(), 0..3),
        unreadable in prop::bool::ANY,
    ) {
        let mut names: Vec<String> = markers.iter().map(ToString::to_string).collect();
        names.extend(foreign);
        names.extend(changed.iter().map(|marker| format!("{marker}]")));
        names.extend(changed.iter().map(|marker| marker.to_string().to_uppercase()));
        let on = (!unreadable).then(|| BTreeSet::from([3656, 2592, 1118]));
        let runs = Around { on, ..Around::default() }.fold(&listed(&names));
        let is_live = |marker: &Marker| !marker.life(&here(), NOW, &|owner| owner.pid == ALIVE).is_dead();
        let live_flags: BTreeSet<u32> = markers.iter().filter(|marker| is_live(marker)).flat_map(|marker| marker.flags.clone()).collect();
        for run in &runs {
            for session in &run.sessions {
                prop_assert!(markers.iter().any(|marker| marker.to_string() == session.name));
                let of_session: Marker = session.name.parse().unwrap();
                prop_assert!(!(run.is_dead() && is_live(&of_session)));
            }
            prop_assert!(run.flags.iter().all(|flag| !live_flags.contains(flag) && *flag != 1118));
            prop_assert!(run.is_dead() || run.flags.is_empty());
        }
        let listed: usize = runs.iter().map(|run| run.sessions.len()).sum();
        prop_assert_eq!(listed, markers.len());
    }
}
