//! Owns running targets: what dispatched events become.

use crate::model::ServerVersion;
use crate::simulator::events::callstack::{StackWriter, Symbols};
use crate::simulator::events::catalogue::{FieldType, TargetKind};
use crate::simulator::events::histogram::{Histogram, Overflow, SlotKey, Source};
use crate::simulator::events::session::{BoundEvent, BoundTarget};
use crate::simulator::events::xml::{self, TextForm, escape};
use crate::simulator::maps;
use crate::simulator::workload::kinds::{EventKind, FieldValue};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A target of a running session.
#[derive(Debug, Clone)]
pub struct RunningTarget {
    /// Its definition.
    pub bound: Arc<BoundTarget>,
    /// Times buffers were dispatched to it.
    pub executions: u64,
    data: TargetData,
}

#[derive(Debug, Clone)]
enum TargetData {
    Histogram(Histogram),
    RingBuffer {
        events: VecDeque<RingEvent>,
        seen: u64,
    },
    Counter(BTreeMap<(&'static str, &'static str), u64>),
    /// Assumed: the simulator writes no file; it tells how many events it would have written.
    File {
        events: u64,
    },
}

#[derive(Debug, Clone)]
struct RingEvent {
    event: Arc<BoundEvent>,
    kind: usize,
    utc_micros: i64,
}

/// Events that are alike, on their way to the targets.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// What they are.
    pub kind: &'a EventKind,
    /// Its number.
    pub index: usize,
    /// The session's event that fired.
    pub event: &'a Arc<BoundEvent>,
    /// How many.
    pub count: u64,
    /// When.
    pub utc_micros: i64,
    /// Call stacks become text at once, with these symbols; otherwise when they are read.
    pub symbolise_now: Option<Symbols>,
}

/// What writing a target's document needs.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// Writes stacks.
    pub writer: StackWriter<'a>,
    /// Symbols at hand now.
    pub symbols: Symbols,
    /// All kinds of events.
    pub kinds: &'a [EventKind],
    /// How text stands in documents; `None`: the version's way.
    pub text_values: Option<TextForm>,
}

impl Reader<'_> {
    /// How text stands in an event: in CDATA on 2025 (measured), with entities before (published shapes).
    fn event_text(&self, text: &str) -> String {
        let of_version = if self.writer.version.version >= ServerVersion::V2025 {
            TextForm::CharacterData
        } else {
            TextForm::Escaped
        };
        self.text_values.unwrap_or(of_version).write(text)
    }

    /// The value of callstack_rva: in CDATA (published events and histograms), unless told otherwise.
    pub fn frames_text(&self, frames: &str) -> String {
        self.text_values.unwrap_or(TextForm::CharacterData).write(frames)
    }

    /// Text of a histogram's slot. Assumed: with entities on every version; no published sample has text other than
    /// call stacks, and those were cleaned.
    pub fn slot_text(&self, text: &str) -> String {
        self.text_values.unwrap_or(TextForm::Escaped).write(text)
    }
}

/// Events a ring buffer keeps unless told otherwise (documented default of max_events_limit).
const RING_EVENTS: u64 = 1_000;

impl RunningTarget {
    /// An empty target.
    pub fn new(bound: &Arc<BoundTarget>, overflow: Overflow) -> Self {
        let data = match bound.object.kind {
            TargetKind::Histogram => {
                TargetData::Histogram(Histogram::new(bound.filtering_event(), bound.source(), bound.slots(), overflow))
            }
            TargetKind::RingBuffer => TargetData::RingBuffer { events: VecDeque::new(), seen: 0 },
            TargetKind::EventCounter => TargetData::Counter(BTreeMap::new()),
            TargetKind::EventFile => TargetData::File { events: 0 },
        };
        Self { bound: Arc::clone(bound), executions: 0, data }
    }

    /// Takes dispatched events.
    pub fn take(&mut self, batch: &Batch<'_>, writer: StackWriter<'_>) {
        match &mut self.data {
            TargetData::Histogram(histogram) => {
                if let Some(key) = slot_key(histogram, batch, writer) {
                    histogram.add(key, batch.count);
                }
            }
            TargetData::RingBuffer { events, seen } => {
                *seen += batch.count;
                let limit = self.bound.number("max_events_limit").filter(|limit| *limit > 0).unwrap_or(RING_EVENTS);
                for _ in 0..batch.count.min(limit) {
                    events.push_back(RingEvent {
                        event: Arc::clone(batch.event),
                        kind: batch.index,
                        utc_micros: batch.utc_micros,
                    });
                }
                while events.len() as u64 > limit {
                    events.pop_front();
                }
            }
            TargetData::Counter(counts) => {
                *counts.entry((batch.event.object.package, batch.event.object.name)).or_default() += batch.count;
            }
            TargetData::File { events } => *events += batch.count,
        }
    }

    /// The document of sys.dm_xe_session_targets.target_data.
    pub fn document(&self, reader: Reader<'_>) -> String {
        match &self.data {
            TargetData::Histogram(histogram) => histogram.document(reader),
            TargetData::RingBuffer { events, seen } => ring_buffer_document(events, *seen, reader),
            TargetData::Counter(counts) => counter_document(counts),
            TargetData::File { events } => {
                let name = escape(self.bound.text("filename").unwrap_or_default());
                format!(
                    "<EventFileTarget truncated=\"0\"><Buffers logged=\"{events}\" dropped=\"0\"/><File name=\"{name}\"/></EventFileTarget>"
                )
            }
        }
    }
}

/// The slot of an event; `None` when it has no value there: another event, a field it lacks, an action that the session
/// does not collect (assumed: such events are left out silently).
fn slot_key(histogram: &Histogram, batch: &Batch<'_>, writer: StackWriter<'_>) -> Option<SlotKey> {
    let object = batch.event.object;
    if histogram.filtering_event.as_ref().is_some_and(|wanted| *wanted != object.full_name()) {
        return None;
    }
    match &histogram.source {
        Source::Field(field) => {
            let (name, field_type) = object.field(field)?;
            Some(match batch.kind.value(name) {
                Some(FieldValue::Number(number)) => SlotKey::Number(*number),
                Some(FieldValue::Text(text)) => SlotKey::Text(text.clone()),
                None if *field_type == FieldType::Text => SlotKey::Text(String::new()),
                None => SlotKey::Number(0),
            })
        }
        Source::Action(action) => {
            let action = batch.event.actions.iter().find(|known| known.full_name() == *action)?;
            Some(match (action.name, batch.symbolise_now) {
                ("callstack_rva", _) => SlotKey::StackRva(batch.kind.stack),
                ("callstack", None) => SlotKey::Stack(batch.kind.stack),
                ("callstack", Some(symbols)) => SlotKey::Text(writer.callstack(batch.kind.stack, symbols)),
                _ => match batch.kind.value(&action.full_name()) {
                    Some(FieldValue::Number(number)) => SlotKey::Number(*number),
                    Some(FieldValue::Text(text)) => SlotKey::Text(text.clone()),
                    None if action.field_type == FieldType::Text => SlotKey::Text(String::new()),
                    None => SlotKey::Number(0),
                },
            })
        }
    }
}

fn counter_document(counts: &BTreeMap<(&'static str, &'static str), u64>) -> String {
    let mut packages: BTreeMap<&str, String> = BTreeMap::new();
    for ((package, event), count) in counts {
        let events = packages.entry(package).or_default();
        xml::push(events, format_args!("<Event name=\"{event}\" count=\"{count}\"/>"));
    }
    let mut text = "<CounterTarget truncated=\"0\"><Packages>".to_owned();
    for (package, events) in packages {
        xml::push(&mut text, format_args!("<Package name=\"{package}\">{events}</Package>"));
    }
    text + "</Packages></CounterTarget>"
}

fn ring_buffer_document(events: &VecDeque<RingEvent>, seen: u64, reader: Reader<'_>) -> String {
    let mut text = format!(
        "<RingBufferTarget truncated=\"0\" processingTime=\"0\" totalEventsProcessed=\"{seen}\" eventCount=\"{}\" droppedCount=\"0\" memoryUsed=\"{}\">",
        events.len(),
        events.len() * 256,
    );
    for event in events {
        let Some(kind) = reader.kinds.get(event.kind) else { continue };
        text += &event_element(event, kind, reader);
    }
    text + "</RingBufferTarget>"
}

fn event_element(event: &RingEvent, kind: &EventKind, reader: Reader<'_>) -> String {
    let object = event.event.object;
    let mut text = format!(
        "<event name=\"{}\" package=\"{}\" timestamp=\"{}\">",
        object.name,
        object.package,
        timestamp(event.utc_micros)
    );
    for (name, field_type) in object.fields {
        let value = kind.value(name);
        let (value, map_text) = match (value, field_type) {
            (Some(FieldValue::Number(key)), FieldType::Map(map)) => {
                let text = maps::map(reader.writer.version, map).and_then(|map| map.text(*key));
                (key.to_string(), text.map(|text| format!("<text>{}</text>", reader.event_text(text))))
            }
            (Some(FieldValue::Number(number)), _) => (number.to_string(), None),
            (Some(FieldValue::Text(value)), _) => (reader.event_text(value), None),
            (None, FieldType::Text) => (reader.event_text(""), None),
            (None, _) => ("0".to_owned(), None),
        };
        let package = if matches!(field_type, FieldType::Map(_)) { object.package } else { "package0" };
        let part = format!(
            "<data name=\"{name}\"><type name=\"{}\" package=\"{package}\"/><value>{value}</value>{}</data>",
            field_type.name(),
            map_text.unwrap_or_default(),
        );
        text.push_str(&part);
    }
    for action in &event.event.actions {
        let value = match action.name {
            "callstack" => reader.event_text(&reader.writer.callstack(kind.stack, reader.symbols)),
            "callstack_rva" => reader.frames_text(&reader.writer.callstack_rva(kind.stack)),
            _ => match kind.value(&action.full_name()) {
                Some(FieldValue::Number(number)) => number.to_string(),
                Some(FieldValue::Text(value)) => reader.event_text(value),
                None => String::new(),
            },
        };
        let part = format!(
            "<action name=\"{}\" package=\"{}\"><type name=\"{}\" package=\"package0\"/><value>{value}</value></action>",
            action.name,
            action.package,
            action.field_type.name(),
        );
        text.push_str(&part);
    }
    text + "</event>"
}

/// `2026-01-01T00:00:00.000Z`.
fn timestamp(utc_micros: i64) -> String {
    let (days, of_day) = (utc_micros.div_euclid(86_400_000_000), utc_micros.rem_euclid(86_400_000_000) / 1_000);
    let (year, month, day) = civil_date(days);
    let (hours, minutes, seconds) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", of_day % 1_000)
}

/// Year, month and day of days since 1970-01-01, in the proleptic Gregorian calendar, by eras of 400 years that begin
/// in March.
fn civil_date(days: i64) -> (i64, i64, i64) {
    let since_era_zero = days + 719_468;
    let era = since_era_zero.div_euclid(146_097);
    let of_era = since_era_zero.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn timestamps_are_iso() {
        assert_eq!(timestamp(1_767_225_600_000_000), "2026-01-01T00:00:00.000Z");
        assert_eq!(timestamp(1_709_210_096_789_000), "2024-02-29T12:34:56.789Z");
        assert_eq!(timestamp(-1), "1969-12-31T23:59:59.999Z");
    }
}
