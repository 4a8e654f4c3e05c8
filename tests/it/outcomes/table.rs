//! Every outcome alone and with each other one that can occur with it, over made-up evidence: what JSON and text say must
//! tell each set of them from every other.

use crate::analyze::support::{Host, analyze, backoffs, published_with, session, wait_table, yield_stack, yields};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use xestack::model::{Evidence, Problem, Report, SessionEvidence, SessionState, Severity, Stack, Value};
use xestack::report::{json, text};

/// What may happen to a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    NoEvents,
    Dropped,
    OutOfReach,
    RanOut,
    StoppedBySomeone,
    StartedAgain,
    Restarted,
    NotCreated,
    NoDocument,
    AtCapacity,
    WithoutSlot,
    Cut,
    EventsDropped,
    BuffersDropped,
    CapReached,
    WaitsReset,
    SpinlocksReset,
    OtherServer,
    Reconnected,
    StoppedEarly,
}

use Happening::{
    AtCapacity, BuffersDropped, CapReached, Cut, Dropped, EventsDropped, NoDocument, NoEvents, NotCreated, OtherServer,
    OutOfReach, RanOut, Reconnected, Restarted, SpinlocksReset, StartedAgain, StoppedBySomeone, StoppedEarly,
    WaitsReset, WithoutSlot,
};

/// All of them, each with the code of its problem and words of its own in the text report.
const ALL: [(Happening, &str, &str); 20] = [
    (NoEvents, "no_events", "ran and counted no event"),
    (Dropped, "session_missing", "did not exist any more"),
    (OutOfReach, "session_missing", "is on the server that no longer answers"),
    (RanOut, "stopped_by_server", "by its own bound, MAX_DURATION of 190 s"),
    (StoppedBySomeone, "stopped_by_server", "was stopped by someone before"),
    (StartedAgain, "stopped_by_server", "stopped by someone and started again"),
    (Restarted, "server_restarted", "the server restarted inside the window"),
    (NotCreated, "counters_only", "there are counters and no call stacks"),
    (NoDocument, "target_missing", "gave no document of its target"),
    (AtCapacity, "at_capacity", "every slot of yields is in use"),
    (WithoutSlot, "events_without_slot", "31 events of yields found no slot"),
    (Cut, "target_cut", "ends early"),
    (EventsDropped, "events_dropped", "dropped 17 events, one by one"),
    (BuffersDropped, "events_dropped", "dropped 3 buffers whole"),
    (CapReached, "event_cap_reached", "reached its cap"),
    (WaitsReset, "counters_reset", "sys.dm_os_wait_stats was cleared"),
    (SpinlocksReset, "counters_reset", "sys.dm_os_spinlock_stats was cleared"),
    (OtherServer, "identity_changed", "of different servers or runs"),
    (Reconnected, "reconnected", "made again: 4.0 s without samples"),
    (StoppedEarly, "window_stopped_early", "the window was ended after 4.0 s of 10 s"),
];

impl Happening {
    /// Whether it is what became of the session as a whole: a session has one fate.
    fn is_fate(self) -> bool {
        self.state().is_some() || self == NoEvents
    }

    fn state(self) -> Option<SessionState> {
        Some(match self {
            Dropped => SessionState::Gone,
            OutOfReach => SessionState::Unreachable,
            RanOut => SessionState::StoppedByMaxDuration,
            StoppedBySomeone => SessionState::StoppedBySomeone,
            StartedAgain => SessionState::StartedAgain,
            Restarted => SessionState::StoppedByRestart,
            NotCreated => SessionState::NotCreated,
            NoDocument => SessionState::Running,
            _ => return None,
        })
    }

    /// Whether it is something that a session has counted, or not.
    fn is_of_events(self) -> bool {
        matches!(self, AtCapacity | WithoutSlot | Cut | EventsDropped | BuffersDropped | CapReached)
    }

    /// Whether the counters show it.
    fn is_of_counters(self) -> bool {
        matches!(self, WaitsReset | SpinlocksReset | OtherServer | Restarted)
    }

    fn may_go_with(self, other: Self) -> bool {
        let one_fate = self.is_fate() && other.is_fate();
        let nothing_counted = (self.is_fate() && other.is_of_events()) || (self.is_of_events() && other.is_fate());
        // A restart clears all counters, and of two servers none are compared.
        let one_run = self.is_of_counters() && other.is_of_counters();
        let one_run = one_run && [self, other].iter().any(|one| matches!(one, OtherServer | Restarted));
        !one_fate && !nothing_counted && !one_run
    }

    fn happen(self, evidence: &mut Evidence) {
        if let Some(state) = self.state() {
            let session = &mut evidence.sessions[0];
            session.state = Some(state);
            session.target = None;
            session.max_duration_seconds = Some(190);
        }
        let session = &mut evidence.sessions[0];
        match self {
            NoEvents => target(session).slots.clear(),
            AtCapacity => target(session).buckets = Some(1),
            WithoutSlot => target(session).truncated = Some(31),
            Cut => target(session).cut = true,
            EventsDropped => session.dropped_events = Some(17),
            BuffersDropped => session.dropped_buffers = Some(3),
            CapReached => session.event_cap = Some(20_000),
            WaitsReset => clear(evidence, "dm_os_wait_stats"),
            SpinlocksReset => clear(evidence, "dm_os_spinlock_stats"),
            Restarted => start(evidence, 505_000),
            OtherServer => start(evidence, 90_000),
            NotCreated => note(evidence, "counters_only", "there are counters and no call stacks: refused"),
            Reconnected => note(evidence, "reconnected", "the connection was made again: 4.0 s without samples"),
            StoppedEarly => note(evidence, "window_stopped_early", "the window was ended after 4.0 s of 10 s: a limit"),
            _ => {}
        }
    }
}

fn target(session: &mut SessionEvidence) -> &mut xestack::model::Target {
    session.target.as_mut().unwrap()
}

fn note(evidence: &mut Evidence, code: &str, message: &str) {
    evidence.problems.push(Problem::new(code, Severity::Partial, message));
}

/// Every counter of a view at zero at the end.
fn clear(evidence: &mut Evidence, view: &str) {
    let table = evidence.after.as_mut().unwrap().tables.get_mut(view).unwrap();
    for cell in table.rows.iter_mut().flat_map(|row| row.iter_mut().skip(1)) {
        *cell = Value::Integer(0);
    }
}

/// When the server of the second snapshot started; the window runs from 500,000 to 510,000 on its clock.
fn start(evidence: &mut Evidence, ms_ticks: i64) {
    let info = evidence.after.as_mut().unwrap().tables.get_mut("dm_os_sys_info").unwrap();
    let column = info.column("sqlserver_start_time_ms_ticks").unwrap();
    info.rows[0][column] = Value::Integer(ms_ticks);
}

fn evidence() -> Evidence {
    let session =
        SessionEvidence { state: Some(SessionState::Running), ..session(yields(), vec![(20_000, yield_stack())]) };
    let mut evidence = published_with(&Host::default(), vec![session]);
    // As many waits as events, so that no difference between them is a problem of its own.
    for (snapshot, tasks) in [(&mut evidence.before, 5), (&mut evidence.after, 20_005)] {
        let waits = wait_table(&[("SOS_SCHEDULER_YIELD", tasks, tasks * 22, tasks * 22), ("LCK_M_S", tasks, tasks, 0)]);
        snapshot.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), waits);
    }
    evidence
}

fn with(happenings: &[Happening]) -> Report {
    let mut evidence = evidence();
    for happening in happenings {
        happening.happen(&mut evidence);
    }
    analyze(&evidence)
}

/// What a program reads of a report's outcomes: the session's own, its losses, and the problems' codes.
fn as_programs_see_it(report: &Report) -> String {
    let json: Json = serde_json::from_str(&json::render(report)).unwrap();
    let session = &json["capture"]["sessions"][0];
    let more_than_none = |key: &str| session[key].as_u64().is_some_and(|count| count > 0);
    let codes: BTreeMap<&str, usize> =
        json["capture"]["problems"].as_array().unwrap().iter().fold(BTreeMap::new(), |mut codes, problem| {
            *codes.entry(problem["code"].as_str().unwrap()).or_default() += 1;
            codes
        });
    let marks = |rows: &str| {
        json[rows].as_array().unwrap().iter().filter_map(|row| row["mark"].as_str()).collect::<BTreeSet<&str>>()
    };
    format!(
        "{} {} {} {} {} {} {} {} {codes:?} {:?} {:?}",
        session["outcome"],
        session["stopped_by"],
        session["at_capacity"],
        session["target_cut"],
        session["event_cap_reached"],
        more_than_none("events_without_slot"),
        more_than_none("dropped_events"),
        more_than_none("dropped_buffers"),
        marks("waits"),
        marks("spinlocks"),
    )
}

/// The section of problems as one line.
fn problems_in_words(report: &Report) -> String {
    let style = text::Style { width: 200, colour: false };
    let text = text::render(report, &style);
    let (_, problems) = text.split_once("\nProblems\n").unwrap();
    problems.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_capture_to_which_nothing_happened_has_no_problem() {
    let report = with(&[]);
    assert!(report.capture.problems.is_empty(), "{:?}", report.capture.problems);
    assert!(as_programs_see_it(&report).starts_with("\"counted\" null false false false false false false"));
}

#[test]
fn every_outcome_and_every_pair_is_told_from_every_other() {
    let mut sets: Vec<Vec<Happening>> = vec![Vec::new()];
    sets.extend(ALL.iter().map(|(one, ..)| vec![*one]));
    for (at, (one, ..)) in ALL.iter().enumerate() {
        let others = ALL.iter().skip(at + 1).filter(|(other, ..)| one.may_go_with(*other));
        sets.extend(others.map(|(other, ..)| vec![*one, *other]));
    }
    assert!(sets.len() >= 116, "only {} sets", sets.len());
    let mut seen: BTreeMap<String, Vec<Happening>> = BTreeMap::new();
    for set in sets {
        let report = with(&set);
        let words = problems_in_words(&report);
        for (happening, code, own_words) in ALL {
            let told = words.contains(own_words);
            assert_eq!(told, set.contains(&happening), "{set:?}: {happening:?} in: {words}");
            if told {
                assert!(words.contains(&format!("{code}: ")), "{set:?}: {words}");
            }
        }
        // Two fates with one outcome differ in words and in what stopped the session; two views cleared in their rows.
        let seen_by_programs = as_programs_see_it(&report);
        if let Some(other) = seen.insert(format!("{seen_by_programs} {:?}", fate_in_words(&words)), set.clone()) {
            panic!("{set:?} and {other:?} look alike to programs: {seen_by_programs}");
        }
    }
}

/// A dropped session and one out of reach have one code and outcome, and so have the two ways of being stopped by
/// someone; what the message says is the rest.
fn fate_in_words(words: &str) -> Vec<&'static str> {
    let alike = [Dropped, OutOfReach, StoppedBySomeone, StartedAgain];
    let told = ALL.iter().filter(|(happening, ..)| alike.contains(happening));
    told.map(|(.., own_words)| *own_words).filter(|own_words| words.contains(own_words)).collect()
}

#[test]
fn losses_alone_are_no_emptiness() {
    for happening in [Cut, EventsDropped, BuffersDropped, WithoutSlot] {
        let mut evidence = evidence();
        target(&mut evidence.sessions[0]).slots.clear();
        happening.happen(&mut evidence);
        let report = analyze(&evidence);
        assert_eq!(report.capture.sessions[0].outcome.name(), "counted", "{happening:?}");
        assert!(!report.capture.problems.iter().any(|problem| problem.code == "no_events"), "{happening:?}");
    }
}

#[test]
fn the_cap_counts_what_was_lost_behind_it() {
    for (counted, dropped, without_slot, reached) in
        [(99, 0, 0, false), (100, 0, 0, true), (60, 40, 0, true), (60, 0, 40, true), (60, 20, 19, false)]
    {
        let mut session =
            SessionEvidence { event_cap: Some(100), ..session(backoffs(), vec![(counted, Stack::default())]) };
        session.dropped_events = Some(dropped);
        target(&mut session).truncated = Some(without_slot);
        let report = analyze(&published_with(&Host::default(), vec![session]));
        let context = format!("{counted} + {dropped} + {without_slot}");
        assert_eq!(report.capture.sessions[0].event_cap_reached, reached, "{context}");
        let told = report.capture.problems.iter().any(|problem| problem.code == "event_cap_reached");
        assert_eq!(told, reached, "{context}");
    }
}

#[test]
fn no_time_no_waits_and_no_reads_divide_by_nothing() {
    let mut evidence = evidence();
    for snapshot in [&mut evidence.before, &mut evidence.after] {
        for table in snapshot.as_mut().unwrap().tables.values_mut() {
            for cell in table.rows.iter_mut().flatten() {
                if matches!(cell, Value::Integer(_)) {
                    *cell = Value::Integer(0);
                }
            }
        }
    }
    if let Some(window) = &mut evidence.window {
        window.elapsed_ms = 0;
    }
    let report = analyze(&evidence);
    let json: Json = serde_json::from_str(&json::render(&report)).unwrap();
    assert!(json["spinlocks"].as_array().unwrap().is_empty(), "{}", json["spinlocks"]);
    let text = text::render(&report, &text::Style::default());
    assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
}
