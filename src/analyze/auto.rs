//! Owns the choice of a scenario from a short look at the counters: which one's waits lead, and where none do, whether the
//! CPU or a file is the question.

use super::{deltas, files, measures, verdict::NO_RISK, words::percent};
use crate::{
    catalog::{
        Catalog,
        sessions::{AutoRule, Scenario},
    },
    model::{Confidence, Evidence, FileRow, Mark, NextStep, Reason, Verdict, VerdictKind, WaitRow},
};
use std::collections::BTreeMap;

/// What stands for a scenario until one is chosen.
pub const AUTO: &str = "auto";

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Scenario; `None` where nothing stands out that one explains.
    pub scenario: Option<String>,
    /// Why, in one sentence.
    pub why: String,
    /// Whether nothing waited at all, so that there is nothing to explain.
    pub idle: bool,
}

/// The scenario that the counters of `evidence` speak for.
///
/// In this order: spins that are proven to take most of the CPU; the scenario whose wait types have most of the wait time
/// that is not idle, if no single other wait type has more; busy schedulers; a slow file.
pub fn choose(evidence: &Evidence, catalog: &Catalog) -> Choice {
    let settings = &catalog.sos_yield;
    let measures = measures::measures(evidence, &settings.gates);
    let (before, after) = (evidence.before.as_ref(), evidence.after.as_ref());
    let deltas = deltas::deltas(before, after, &measures, &catalog.waits, &settings.spins);
    let chosen = |scenario: &Scenario, why: String| Choice { scenario: Some(scenario.name.clone()), why, idle: false };

    let spins = deltas.spinlocks.iter().flatten().map(|row| u128::from(row.spins)).fold(0, u128::saturating_add);
    let spinning = deltas::spin_cpu_share(spins, &measures, &settings.spins).map_or(0.0, |share| share.low);
    let rules = || catalog.sessions.scenarios().iter().filter_map(|scenario| Some((scenario, scenario.auto.as_ref()?)));
    if let Some((scenario, _)) =
        rules().find(|(_, rule)| rule.spin_cpu_share_low.is_some_and(|from| spinning > 0.0 && spinning >= from))
    {
        return chosen(scenario, format!("at least {} of the CPU went into spinning on spinlocks", percent(spinning)));
    }

    let limits = &catalog.sessions.auto();
    let elapsed_ms = measures.elapsed_ms.unwrap_or_default();
    let rows = deltas.waits.unwrap_or_default();
    let waits = Waits::of(&rows, catalog, &rules());
    let is_lead = |wait_ms: u128| {
        wait_ms as f64 >= elapsed_ms as f64 * limits.least_tasks_waiting
            && wait_ms as f64 >= waits.total_ms as f64 * limits.least_share
    };
    if let Some((scenario, wait_ms)) = waits.leader(rules())
        && wait_ms > 0
        && is_lead(wait_ms)
        && waits.other.is_none_or(|(_, other_ms)| wait_ms >= other_ms)
    {
        let share = wait_ms as f64 / waits.total_ms as f64;
        return chosen(scenario, format!("its waits have {} of the wait time that is not idle", percent(share)));
    }
    let cpu = measures.sql_cpu_share.unwrap_or_default();
    if let Some((scenario, _)) = rules().find(|(_, rule)| rule.sql_cpu_share.is_some_and(|from| cpu >= from)) {
        return chosen(scenario, format!("no scenario's waits lead, and SQL Server uses {} of its CPU", percent(cpu)));
    }
    let files = files::files(evidence, &measures).rows.unwrap_or_default();
    let slowest = files
        .iter()
        .filter(|file| file.mark.is_none() && file.reads.saturating_add(file.writes) >= limits.least_ios)
        .filter_map(|file| Some((file, slowness(file)?)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    if let Some((file, latency_ms)) = slowest
        && let Some((scenario, _)) =
            rules().find(|(_, rule)| rule.file_latency_ms.is_some_and(|from| latency_ms >= from))
    {
        let why =
            format!("no scenario's waits lead, and I/Os of {}.{} took {latency_ms:.0} ms", file.database, file.file);
        return chosen(scenario, why);
    }
    match waits.other.filter(|(_, wait_ms)| is_lead(*wait_ms)) {
        Some((wait_type, wait_ms)) => Choice {
            scenario: None,
            why: format!(
                "{wait_type} leads with {} of the wait time that is not idle, and no scenario investigates it",
                percent(wait_ms as f64 / waits.total_ms as f64)
            ),
            idle: false,
        },
        None => Choice { scenario: None, why: "nothing waits long enough to ask why".to_owned(), idle: true },
    }
}

/// The longer of a file's two latencies, ms.
fn slowness(file: &FileRow) -> Option<f64> {
    [file.read_latency_ms, file.write_latency_ms].into_iter().flatten().max_by(f64::total_cmp)
}

/// The wait time that is not idle, by scenario.
struct Waits<'a> {
    by_scenario: BTreeMap<&'a str, u128>,
    /// The wait type of no scenario that waited longest.
    other: Option<(&'a str, u128)>,
    total_ms: u128,
}

impl<'a> Waits<'a> {
    fn of(
        rows: &'a [WaitRow],
        catalog: &'a Catalog,
        rules: &(impl Iterator<Item = (&'a Scenario, &'a AutoRule)> + Clone),
    ) -> Self {
        let mut waits = Self { by_scenario: BTreeMap::new(), other: None, total_ms: 0 };
        let counts = |row: &&WaitRow| {
            matches!(row.mark, None | Some(Mark::New)) && row.wait_ms > 0 && !catalog.waits.is_idle(&row.wait_type)
        };
        for row in rows.iter().filter(counts) {
            let wait_ms = u128::from(row.wait_ms);
            waits.total_ms += wait_ms;
            let mut is_of_scenario = false;
            for (scenario, rule) in rules.clone() {
                if rule.wait_types.iter().any(|pattern| pattern.matches(&row.wait_type)) {
                    *waits.by_scenario.entry(&scenario.name).or_default() += wait_ms;
                    is_of_scenario = true;
                }
            }
            if !is_of_scenario && waits.other.is_none_or(|(_, most)| wait_ms > most) {
                waits.other = Some((&row.wait_type, wait_ms));
            }
        }
        waits
    }

    /// The scenario with most wait time; of equal ones the first.
    fn leader(&self, rules: impl Iterator<Item = (&'a Scenario, &'a AutoRule)>) -> Option<(&'a Scenario, u128)> {
        let timed = rules.map(|(scenario, _)| (scenario, self.by_scenario.get(scenario.name.as_str()).copied()));
        timed
            .filter_map(|(scenario, wait_ms)| Some((scenario, wait_ms?)))
            .reduce(|most, next| if next.1 > most.1 { next } else { most })
    }
}

/// The verdict where no scenario was chosen: no window was opened.
pub fn verdict(choice: &Choice) -> Verdict {
    let (kind, confidence) = if choice.idle {
        (VerdictKind::NoContention, Confidence::Medium)
    } else {
        (VerdictKind::Inconclusive, Confidence::Low)
    };
    Verdict {
        kind,
        subject: None,
        confidence,
        summary: format!("No scenario was chosen and no window was opened: {}.", choice.why),
        shares: BTreeMap::new(),
        reasons: vec![Reason { text: format!("By a look at the counters, {}.", choice.why), evidence: Vec::new() }],
        next_steps: vec![NextStep {
            text: "Look again while the trouble is there, or name a scenario with --scenario.".to_owned(),
            risk: NO_RISK.to_owned(),
        }],
    }
}
