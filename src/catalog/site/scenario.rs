//! Owns a site's scenario. It has no SQL of its own: its statements are built from names and numbers, and every name is held
//! to the letters that names of events, fields and maps have, so nothing written here can become another statement.

use super::{Document, Fault};
use crate::catalog::sessions::{
    AutoRule, CALLSTACK, Counters, Limits, Question, Scenario, SessionTemplate, Sessions, Survey,
};
use crate::model::ServerVersion;
use serde::Deserialize;

/// Most characters of a name that goes into the names of event sessions, which a marker of the run follows.
const MAX_NAME: usize = 24;
/// Most characters of a line for people.
const MAX_LINE: usize = 300;
/// Most event sessions of a scenario.
const MAX_SESSIONS: usize = 4;
/// Most map values of a session: each is a test of its predicate.
const MAX_VALUES: usize = 64;

/// What stands outside of the sections.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Heading {
    name: String,
    title: String,
    question: Question,
    #[serde(default = "usual_workload")]
    workload: String,
    minimum_version: ServerVersion,
    cost: String,
    undo: String,
}

fn usual_workload() -> String {
    "lock-hash".to_owned()
}

const HEADING: [&str; 7] = ["name", "title", "question", "workload", "minimum_version", "cost", "undo"];
const SECTIONS: [&str; 5] = ["session", "survey", "counters", "limits", "auto"];

/// Reads a scenario; `None` where it has faults.
pub(super) fn read(
    document: &Document<'_>,
    folder: &str,
    known: &Sessions,
    faults: &mut Vec<Fault>,
) -> Option<Scenario> {
    let before = faults.len();
    document.refuse_other_keys(&[&HEADING[..], &SECTIONS[..]].concat(), faults);
    let heading = document.read::<Heading>(&HEADING, faults);
    let sessions: Vec<(usize, SessionTemplate)> = document.entries("session", faults);
    let survey: Option<Survey> = document.section("survey", faults);
    let counters: Option<Counters> = document.section("counters", faults);
    let limits: Option<Limits> = document.section("limits", faults);
    let auto: Option<AutoRule> = document.section("auto", faults);

    let mut check = Check { document, faults };
    if let Some(heading) = &heading {
        check.heading(heading, folder, known);
    }
    if sessions.len() > MAX_SESSIONS {
        check.tell("session", &format!("a scenario has at most {MAX_SESSIONS} event sessions"));
    }
    let is_surveyed = document.has("survey");
    for (index, session) in &sessions {
        check.session(*index, session, known);
        if session.values.is_empty() && session.values_from.is_none() && !is_surveyed {
            check.tell(&format!("session[{index}]"), "needs values, values_from, or a [survey] that finds the values");
        }
    }
    check.counters(counters.as_ref(), known);
    if let Some(limits) = &limits {
        check.limits(limits);
    }
    if let Some(survey) = &survey {
        check.shares(&[("survey.dominant_share", survey.dominant_share)]);
        check.range("survey.seconds", survey.seconds, 1, 60);
        check.range("survey.slots", survey.slots, 1, 4_096);
    }
    if let Some(auto) = &auto {
        let given = [("auto.spin_cpu_share_low", auto.spin_cpu_share_low), ("auto.sql_cpu_share", auto.sql_cpu_share)];
        let shares: Vec<(&str, f64)> = given.into_iter().filter_map(|(path, share)| Some((path, share?))).collect();
        check.shares(&shares);
    }
    let (heading, counters) = heading.zip(counters)?;
    let Heading { name, title, question, workload, minimum_version, cost, undo } = heading;
    let places: Vec<usize> = sessions.iter().map(|(index, _)| *index).collect();
    let scenario = Scenario {
        name,
        title,
        question,
        workload,
        minimum_version,
        cost,
        undo,
        sessions: sessions.into_iter().map(|(_, session)| session).collect(),
        survey,
        counters,
        limits: limits.unwrap_or_default(),
        auto,
    };
    check.full_names(&scenario, &places, known);
    (faults.len() == before).then_some(scenario)
}

struct Check<'a, 't> {
    document: &'a Document<'t>,
    faults: &'a mut Vec<Fault>,
}

impl Check<'_, '_> {
    fn tell(&mut self, path: &str, message: &str) {
        self.faults.push(self.document.fault_at(path, message));
    }

    fn heading(&mut self, heading: &Heading, folder: &str, known: &Sessions) {
        if !is_name(&heading.name) {
            self.tell("name", &format!("must be 1 to {MAX_NAME} lower-case letters, digits and -, a letter first"));
        }
        if heading.name != folder {
            self.tell("name", &format!("must be the name of its folder, `{folder}`"));
        }
        if known.scenario(&heading.name).is_ok() || heading.name == "auto" {
            self.tell("name", &format!("`{}` is there already; a site's scenario replaces no other", heading.name));
        }
        if !is_name(&heading.workload) {
            self.tell("workload", "must be the name of a workload");
        }
        for (key, text) in [("title", &heading.title), ("cost", &heading.cost), ("undo", &heading.undo)] {
            let is_line = !text.trim().is_empty() && text.len() <= MAX_LINE && !text.contains(char::is_control);
            if !is_line {
                self.tell(key, &format!("must be one line of text, at most {MAX_LINE} bytes"));
            }
        }
    }

    fn session(&mut self, index: usize, session: &SessionTemplate, known: &Sessions) {
        let path = |key: &str| format!("session[{index}].{key}");
        if !session.name.is_empty() && !is_name(&session.name) {
            self.tell(&path("name"), "must be lower-case letters, digits and -, a letter first");
        }
        if session.name == session.by_statement().name {
            self.tell(&path("name"), &format!("`{}` is kept for the session by statement", session.name));
        }
        if !is_qualified(&session.event) {
            self.tell(&path("event"), "must be `package.event`, of letters, digits and _");
        }
        for (key, text) in [("field", &session.field), ("map", &session.map)] {
            if !is_word(text) {
                self.tell(&path(key), "must be a name of letters, digits and _");
            }
        }
        let is_bucket = session.bucket == CALLSTACK || is_word(&session.bucket) || is_qualified(&session.bucket);
        if !is_bucket {
            self.tell(&path("bucket"), "must be callstack, a field of the event, or an action as `package.action`");
        }
        for (key, values) in [("values", &session.values), ("never", &session.never)] {
            if values.len() > MAX_VALUES {
                self.tell(&path(key), &format!("at most {MAX_VALUES} values"));
            }
            for (place, value) in values.iter().enumerate().filter(|(_, value)| !is_value(value)) {
                let message = format!("`{}` is no map value: letters, digits, blanks and _ - . only", shown(value));
                self.tell(&format!("{}[{place}]", path(key)), &message);
            }
        }
        if let Some(table) =
            session.values_from.as_ref().filter(|table| !known.counter_names().contains(table.as_str()))
        {
            self.tell(&path("values_from"), &format!("`{}` is no counter table: {}", shown(table), counters(known)));
        }
        self.range(&path("slots"), session.slots, 1, 16_384);
        self.range(&path("slots_rva"), session.slots_rva, 1, 16_384);
        self.range(&path("max_memory_kb"), session.max_memory_kb, 512, 65_536);
        self.range(&path("dispatch_latency_seconds"), session.dispatch_latency_seconds, 1, 30);
    }

    fn counters(&mut self, counters_read: Option<&Counters>, known: &Sessions) {
        let Some(Counters { snapshot, sample, series, volume }) = counters_read else {
            // Faults of its own are told already.
            if !self.document.has("counters") {
                self.tell("counters", "missing section: counters to read at the start and the end, and between");
            }
            return;
        };
        for (key, names) in [("snapshot", snapshot), ("sample", sample), ("series", series)] {
            for (place, name) in
                names.iter().enumerate().filter(|(_, name)| !known.counter_names().contains(name.as_str()))
            {
                let message = format!("`{}` is no counter table: {}", shown(name), counters(known));
                self.tell(&format!("counters.{key}[{place}]"), &message);
            }
        }
        if let Some(volume) = volume.as_ref().filter(|volume| !known.volumes().contains(volume.as_str())) {
            let names: Vec<&str> = known.volumes().into_iter().collect();
            self.tell("counters.volume", &format!("`{}` is none of: {}", shown(volume), names.join(", ")));
        }
    }

    fn limits(&mut self, limits: &Limits) {
        self.shares(&[
            ("limits.max_cpu_for_trace_flags", limits.max_cpu_for_trace_flags),
            ("limits.max_memory_share", limits.max_memory_share),
            ("limits.max_cpu_share", limits.max_cpu_share),
            ("limits.max_cpu_growth", limits.max_cpu_growth),
            ("limits.max_own_cpu_share", limits.max_own_cpu_share),
        ]);
        self.range("limits.max_events", limits.max_events, 1, 100_000_000);
        self.range("limits.max_events_per_second", limits.max_events_per_second, 1, 1_000_000);
        self.range("limits.max_target_bytes", limits.max_target_bytes, 1, 4 << 20);
    }

    fn shares(&mut self, shares: &[(&str, f64)]) {
        for (path, _) in shares.iter().filter(|(_, share)| !(0.0..=1.0).contains(share)) {
            self.tell(path, "must be between 0 and 1");
        }
    }

    fn range(&mut self, path: &str, value: u64, least: u64, most: u64) {
        if !(least..=most).contains(&value) {
            self.tell(path, &format!("must be between {least} and {most}"));
        }
    }

    /// The names of its event sessions, among those of all scenarios.
    fn full_names(&mut self, scenario: &Scenario, places: &[usize], known: &Sessions) {
        let taken: Vec<String> = known.scenarios().iter().flat_map(full_names).collect();
        let own = full_names(scenario);
        for (place, name) in own.iter().enumerate() {
            let path = places.get(place).map_or_else(|| "name".to_owned(), |index| format!("session[{index}].name"));
            if name.len() > MAX_NAME && place < places.len() {
                self.tell(&path, &format!("`{name}` has more than {MAX_NAME} characters"));
            }
            if own.iter().take(place).chain(&taken).any(|other| other == name) {
                self.tell(&path, &format!("another event session has the name `{name}`"));
            }
        }
    }
}

/// The names of a scenario's sessions, the one for statements last.
fn full_names(scenario: &Scenario) -> Vec<String> {
    scenario.sessions_with(true).map(|session| session.full_name(scenario)).collect()
}

fn counters(known: &Sessions) -> String {
    let names: Vec<&str> = known.counter_names().into_iter().collect();
    format!("use one of {}", names.join(", "))
}

/// A text as it may stand in a message.
fn shown(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_NAME).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-')
        && text.bytes().all(fits)
}

fn is_word(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_qualified(text: &str) -> bool {
    text.split_once('.').is_some_and(|(package, name)| is_word(package) && is_word(name))
}

fn is_value(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ');
    (1..=128).contains(&text.len()) && text.trim() == text && text.bytes().all(fits)
}
