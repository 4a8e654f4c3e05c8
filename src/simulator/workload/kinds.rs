//! Owns kinds of events: what fires, with which values and stack, and how often by when.

use crate::simulator::maps;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::counters::Reading;

/// The value of an event's field or of an action's source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldValue {
    /// Any integer or map key.
    Number(u64),
    /// Text.
    Text(String),
}

/// How often a kind fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rhythm {
    /// `share` events in one burst, or in ten seconds of steady load. `phase` / 1000 of an event is done at the start.
    Load {
        /// Events.
        share: u64,
        /// 0..1000: kinds of one group with different phases fire in turn.
        phase: u64,
    },
    /// Whatever the load.
    PerHour(u64),
}

/// Events that are alike in all but their time.
#[derive(Debug, Clone)]
pub struct EventKind {
    /// Name without package, `wait_info`.
    pub event: &'static str,
    /// Values of its fields, and of the actions and predicate sources that depend on it (`sqlserver.session_id`).
    pub values: Vec<(&'static str, FieldValue)>,
    /// Number of its stack.
    pub stack: usize,
    /// How often.
    pub rhythm: Rhythm,
}

impl EventKind {
    /// A value by the name of its field or source.
    pub fn value(&self, name: &str) -> Option<&FieldValue> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// How many have fired by then, since some fixed moment.
    pub fn fired(&self, reading: Reading) -> u64 {
        match self.rhythm {
            Rhythm::Load { share, phase } => reading.progress.amount_with_phase(share, phase, 1_000),
            Rhythm::PerHour(rate) => {
                u64::try_from(u128::from(rate) * u128::from(reading.elapsed_micros) / 3_600_000_000).unwrap_or(u64::MAX)
            }
        }
    }
}

/// A number as a value.
pub fn number(value: impl Into<u64>) -> FieldValue {
    FieldValue::Number(value.into())
}

/// The key of a wait type by its map text; 0 for none.
pub fn wait_key(version: &VersionData, map_text: &str) -> u64 {
    maps::map(version, "wait_types").and_then(|map| map.key(map_text)).map_or(0, u64::from)
}

/// The three events of a wait: wait_info at its begin and end, wait_completed at its end.
pub fn push_wait(
    kinds: &mut Vec<EventKind>,
    common: &[(&'static str, FieldValue)],
    key: u64,
    [begin, end, completed]: [usize; 3],
    rhythm: Rhythm,
    duration: u64,
    signal: u64,
) {
    let events = [
        ("wait_info", begin, 0, 0, vec![("opcode", number(0_u8))]),
        ("wait_info", end, duration, signal, vec![("opcode", number(1_u8))]),
        ("wait_completed", completed, duration, signal, vec![("wait_result", number(0_u8))]),
    ];
    for (event, stack, duration, signal, mut values) in events {
        values.extend([
            ("wait_type", number(key)),
            ("duration", number(duration)),
            ("signal_duration", number(signal)),
        ]);
        values.extend(common.iter().cloned());
        kinds.push(EventKind { event, values, stack, rhythm });
    }
}
