//! Owns the survey: a few seconds of a session without call stacks, bucketed by the key itself, to find the keys that matter
//! and how frequent their events are.

use crate::agent::outcome::{CaptureError, Refusal};
use crate::agent::preflight::{self, EventPlan, SessionPlan};
use crate::agent::progress::Progress;
use crate::agent::session::CaptureSession;
use crate::agent::window::Window;
use crate::catalog::sessions::{Scenario, Survey};
use crate::model::Target;
use crate::statements::SessionDefinition;
use std::time::Duration;

/// Surveys a scenario, keeps what was counted as evidence, and gives the keys to capture with call stacks: the dominant
/// ones, or none (all events) where nothing was counted.
pub(super) async fn survey(
    window: &mut Window,
    events: &EventPlan,
    scenario: &Scenario,
    planned: &SessionPlan,
    survey: &Survey,
) -> Result<Vec<u64>, CaptureError> {
    let asked_for = planned.key_numbers();
    let session = CaptureSession {
        scenario: scenario.clone(),
        definition: SessionDefinition {
            bucket: planned.template.field.clone(),
            slots: survey.slots,
            ..window.definition(events, scenario, planned, asked_for.clone().unwrap_or_default())
        },
        template: planned.template.clone(),
        filter_names: Vec::new(),
    };
    (window.surroundings.observer)(&Progress::Surveying { length: Duration::from_secs(survey.seconds) });
    window.create(&session).await?;
    window.start(&session).await?;
    let clock = std::sync::Arc::clone(&window.surroundings.clock);
    let started = clock.monotonic();
    let interrupt = window.surroundings.interrupt.clone();
    tokio::select! {
        () = clock.sleep_until(started + Duration::from_secs(survey.seconds)) => {}
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    }
    window.silence(&session).await?;
    let seconds = clock.monotonic().saturating_sub(started).as_secs_f64().max(0.001);
    window.await_dispatch(clock.monotonic(), planned.template.dispatch_latency_seconds).await;
    let mut evidence = window.read(&session, None).await?;
    if evidence.target.is_none() {
        // Without its counts nothing would bound the capture that follows.
        return Err(CaptureError::refused(
            Refusal::Busy,
            "the session that surveys the spinlocks was stopped or dropped by someone before it was read",
            Some("find out who did it, and repeat the capture".to_owned()),
        ));
    }
    evidence.elapsed_ms = Some((seconds * 1000.0) as u64);
    window.remove(&session).await?;
    let counted: Vec<(u64, u64)> = evidence.target.as_ref().map(counts).unwrap_or_default();
    window.gathered.sessions.push(evidence);
    let keys = asked_for.unwrap_or_else(|| dominant(&counted, survey));
    let of_interest = |key: u64| keys.is_empty() || keys.contains(&key);
    let counted: u64 = counted.iter().filter(|(key, _)| of_interest(*key)).map(|(_, events)| events).sum();
    let sampled = events.filters.sample_one_in.unwrap_or(1);
    preflight::check_rate(scenario, (counted * sampled) as f64 / seconds, &window.options)?;
    Ok(keys)
}

/// Events by key; a value that is no number has no key.
fn counts(target: &Target) -> Vec<(u64, u64)> {
    target.slots.iter().filter_map(|slot| Some((slot.value.trim().parse().ok()?, slot.count))).collect()
}

/// The keys with at least the survey's share of the events, most events first, and no more of them than it allows.
fn dominant(counted: &[(u64, u64)], survey: &Survey) -> Vec<u64> {
    let total: u128 = counted.iter().map(|(_, events)| u128::from(*events)).sum();
    let mut by_events = counted.to_vec();
    by_events.sort_unstable_by_key(|(key, events)| (std::cmp::Reverse(*events), *key));
    by_events
        .into_iter()
        .filter(|(_, events)| *events as f64 >= total as f64 * survey.dominant_share)
        .map(|(key, _)| key)
        .take(survey.most_types)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::dominant;
    use crate::catalog::sessions::Survey;

    #[test]
    fn the_dominant_keys_are_few_and_have_their_share() {
        let survey = Survey { seconds: 4, slots: 512, dominant_share: 0.1, most_types: 2 };
        for (counted, keys) in [
            (&[][..], &[][..]),
            (&[(7, 0)], &[7]),
            (&[(7, 10), (8, 90)], &[8, 7]),
            (&[(7, 9), (8, 91)], &[8]),
            (&[(1, 30), (2, 30), (3, 40)], &[3, 1]),
        ] {
            assert_eq!(dominant(counted, &survey), keys, "{counted:?}");
        }
    }
}
