//! Owns finding `spinlock_contention`: what the contended spinlock costs, with the gates of `spinlock_backoff`.

use super::gate;
use crate::{
    analyze::{
        facts::Facts,
        spinlock::{
            conclusion::{Conclusion, Open, conclude, spin_cpu_share_low},
            names::{self, Names},
            rates, warnings,
        },
        words::{count, figure, percent_range},
    },
    model::{Finding, Gate, ServerVersion, SpinlockRow},
};

/// The finding.
pub(super) fn finding(facts: &Facts<'_>) -> Finding {
    let names = Names::of(facts);
    let subject = names.subject();
    let row = subject.and_then(|name| names::row(facts, name));
    let share = row.and_then(|row| row.spin_cpu_share);
    let (state, lead) = match conclude(facts) {
        Conclusion::Contention => ("contention", subject.unwrap_or("A spinlock").to_owned()),
        Conclusion::None => ("none", "Back-offs are few and spins take little of the CPU".to_owned()),
        Conclusion::Open(Open::CostNotProven) => {
            ("undecided", format!("{}, whose cost is not proven", subject.unwrap_or("Some spinlock")))
        }
        Conclusion::Open(_) => ("unknown", "No back-offs were counted that name a spinlock".to_owned()),
    };
    let cost = row.map_or_else(String::new, |row| format!(": {}", figures(row)));
    let mut sentences = vec![format!("{lead}{cost}."), bucket_remark(facts)];
    if let Some(rate) = facts.measures.batch_requests_per_second {
        sentences.push(format!("Throughput beside it: {} batch requests a second.", figure(rate)));
    }
    if row.is_some() && version(facts).is_some_and(|version| version >= ServerVersion::V2022) {
        sentences
            .push("Spinlocks changed in SQL Server 2022: compare these figures with no older version's.".to_owned());
    }
    Finding {
        name: "spinlock_contention".to_owned(),
        state: state.to_owned(),
        value: None,
        low: share.map(|share| share.low),
        high: share.map(|share| share.high),
        gates: gates(facts),
        text: sentences.join(" "),
    }
}

/// The gates of `spinlock_backoff`.
pub fn gates(facts: &Facts<'_>) -> Vec<Gate> {
    let settings = &facts.catalog.spinlock;
    let (least, many) = (settings.gates.spin_cpu_share_low, settings.gates.many_schedulers);
    let buckets = &settings.buckets;
    let mut cost = gate(
        "spin_cpu_share_low",
        spin_cpu_share_low(facts),
        format!(">= {least}, or an event spinlock_backoff_warning"),
        |low| low >= least,
    );
    cost.met |= warnings(facts) > 0;
    vec![
        cost,
        gate("schedulers", facts.measures.schedulers.map(|known| known as f64), format!(">= {many}"), |known| {
            known >= many as f64
        }),
        gate(
            "stack_events_per_minute",
            rates::most_events_per_minute(facts),
            format!(
                "> {} is notable, > {} likely a problem; of the most frequent stack, where nothing was left out",
                count(buckets.notable_events_per_minute),
                count(buckets.problem_events_per_minute)
            ),
            |rate| rate > buckets.notable_events_per_minute as f64,
        ),
    ]
}

/// A row's figures in words.
pub fn figures(row: &SpinlockRow) -> String {
    let share = row.spin_cpu_share.map_or_else(String::new, |share| {
        format!(", which can have taken {} of the CPU", percent_range(share.low, share.high))
    });
    format!(
        "{} collisions, {} spins ({} a collision){share}, {} back-offs",
        count(row.collisions),
        count(row.spins),
        count(row.spins_per_collision),
        count(row.backoffs)
    )
}

fn bucket_remark(facts: &Facts<'_>) -> String {
    let buckets = &facts.catalog.spinlock.buckets;
    let Some(rate) = rates::most_events_per_minute(facts) else {
        return "How many events a minute one stack has is not judged: counts are not whole.".to_owned();
    };
    let judged = if rate > buckets.problem_events_per_minute as f64 {
        "likely a problem"
    } else if rate > buckets.notable_events_per_minute as f64 {
        "notable"
    } else {
        "not notable"
    };
    format!("The most frequent stack had {} events a minute: {judged}.", figure(rate))
}

fn version(facts: &Facts<'_>) -> Option<ServerVersion> {
    facts.evidence.server.as_ref().and_then(|server| server.version)
}
