//! Owns joining query hashes to the statements that the server still knows: their text and counts, where the login may see
//! them.

use crate::agent::counters;
use crate::agent::outcome::CaptureError;
use crate::agent::window::Window;
use crate::catalog::sessions::QUERY_HASH;
use crate::model::{Problem, SessionEvidence, Severity};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Statements that are looked up: the leading ones.
const MOST: usize = 50;

impl Window {
    /// Reads the statements of the hashes that led, once the targets are read.
    pub(super) async fn read_statements(&mut self) -> Result<(), CaptureError> {
        let hashes = leading(&self.gathered.sessions);
        if hashes.is_empty() || self.gathered.statements.is_some() {
            return Ok(());
        }
        let sql = self.statements().query_statements(&hashes)?;
        match self.server.table(&sql).await {
            Ok(table) => self.gathered.statements = Some(table),
            Err(error) if error.is_connection_lost() => return Err(error.into()),
            Err(error) => {
                let message = format!("the statements of the query hashes are not known: {}", counters::chain(&error));
                let hint = error.number().and_then(|number| self.plan.rights.view_refused_hint(number));
                let problem = Problem::new("statements_unreadable", Severity::Warning, message);
                self.gathered.problems.push(match hint {
                    Some(hint) => problem.with_hint(hint),
                    None => problem,
                });
            }
        }
        Ok(())
    }
}

/// The hashes with most events; 0 stands for no cached statement.
fn leading(sessions: &[SessionEvidence]) -> Vec<u64> {
    let mut events: BTreeMap<u64, u64> = BTreeMap::new();
    let by_statement = sessions.iter().filter(|session| session.bucket.as_deref() == Some(QUERY_HASH));
    for slot in by_statement.flat_map(|session| &session.target).flat_map(|target| &target.slots) {
        if let Ok(hash @ 1..) = slot.value.trim().parse::<u64>() {
            let known = events.entry(hash).or_default();
            *known = known.saturating_add(slot.count);
        }
    }
    let mut hashes: Vec<(u64, u64)> = events.into_iter().collect();
    hashes.sort_unstable_by_key(|(hash, events)| (Reverse(*events), *hash));
    hashes.into_iter().take(MOST).map(|(hash, _)| hash).collect()
}

#[cfg(test)]
mod tests {
    use super::leading;
    use crate::catalog::sessions::QUERY_HASH;
    use crate::model::SessionEvidence;
    use crate::parse::target::parse_targets;

    #[test]
    fn the_hashes_with_most_events_lead_over_all_sessions() {
        let session = |bucket: &str, slots: &[(&str, u64)]| {
            let slot = |(value, count): &(&str, u64)| format!("<Slot count=\"{count}\"><value>{value}</value></Slot>");
            let slots: String = slots.iter().map(slot).collect();
            let target = parse_targets(&format!("<HistogramTarget>{slots}</HistogramTarget>")).into_iter().next();
            SessionEvidence { bucket: Some(bucket.to_owned()), target, ..SessionEvidence::default() }
        };
        let sessions = [
            session("type", &[("7", 1_000)]),
            session(QUERY_HASH, &[("0", 900), ("11", 5), (" 18446744073709551615 ", 7), ("x", 800)]),
            session(QUERY_HASH, &[("11", 5)]),
        ];
        assert_eq!(leading(&sessions), [11, u64::MAX]);
        assert!(leading(&[]).is_empty());
    }
}
