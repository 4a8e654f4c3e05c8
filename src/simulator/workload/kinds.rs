//! Owns kinds of events: what fires, with which values and stack, and how often by when.

use crate::model::ServerVersion;
use crate::simulator::maps;
use crate::simulator::seeded;
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

/// Waits that are alike.
#[derive(Debug, Clone)]
pub struct WaitKind<'a> {
    /// Key of its type.
    pub key: u64,
    /// How often.
    pub rhythm: Rhythm,
    /// In ms.
    pub duration: u64,
    /// Part of it that is signal wait.
    pub signal: u64,
    /// What it waits for, in words; `None`: nothing that has a name.
    pub resource: Option<&'a str>,
}

impl WaitKind<'_> {
    fn fields(&self, duration: u64, signal: u64) -> Vec<(&'static str, FieldValue)> {
        vec![("wait_type", number(self.key)), ("duration", number(duration)), ("signal_duration", number(signal))]
    }
}

/// `wait_resource` of wait_info and wait_info_external. Measured: text on 2025, a pointer on 2016; assumed: text from
/// 2022 on. Before 2016 there is no such field.
fn wait_resource(version: &VersionData, resource: &str) -> Option<(&'static str, FieldValue)> {
    let value = if version.version >= ServerVersion::V2022 {
        FieldValue::Text(resource.to_owned())
    } else if version.version >= ServerVersion::V2016 {
        number(0x0000_01f0_0000_0000 + seeded::hash(&["wait_resource", resource]) % 0x0400_0000 * 0x40)
    } else {
        return None;
    };
    Some(("wait_resource", value))
}

/// The three events of a wait: wait_info at its begin and end, wait_completed at its end, with these stacks.
pub fn push_wait(
    kinds: &mut Vec<EventKind>,
    version: &VersionData,
    common: &[(&'static str, FieldValue)],
    [begin, end, completed]: [usize; 3],
    wait: &WaitKind<'_>,
) {
    let in_words = wait.resource.map(|resource| ("wait_resource", FieldValue::Text(resource.to_owned())));
    let resource = wait.resource.and_then(|resource| wait_resource(version, resource));
    let events = [
        ("wait_info", begin, 0, 0, ("opcode", number(0_u8)), resource.clone()),
        ("wait_info", end, wait.duration, wait.signal, ("opcode", number(1_u8)), resource),
        ("wait_completed", completed, wait.duration, wait.signal, ("wait_result", number(0_u8)), in_words),
    ];
    for (event, stack, duration, signal, own, resource) in events {
        let mut values = wait.fields(duration, signal);
        values.push(own);
        values.extend(resource);
        values.extend(common.iter().cloned());
        kinds.push(EventKind { event, values, stack, rhythm: wait.rhythm });
    }
}

/// The two events of a wait outside of the scheduler: wait_info_external at its begin and end (measured; assumed: no
/// wait_completed).
pub fn push_external_wait(
    kinds: &mut Vec<EventKind>,
    version: &VersionData,
    common: &[(&'static str, FieldValue)],
    [begin, end]: [usize; 2],
    wait: &WaitKind<'_>,
) {
    for (stack, opcode, duration) in [(begin, 0_u8, 0), (end, 1, wait.duration)] {
        let mut values =
            vec![("wait_type", number(wait.key)), ("opcode", number(opcode)), ("duration", number(duration))];
        values.extend(wait.resource.and_then(|resource| wait_resource(version, resource)));
        values.extend(common.iter().cloned());
        kinds.push(EventKind { event: "wait_info_external", values, stack, rhythm: wait.rhythm });
    }
}
