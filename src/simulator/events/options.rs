//! Owns the WITH options of an event session: grammar, limits, defaults.

use crate::simulator::events::cursor::{Cursor, Parsed};
use crate::simulator::events::errors;
use crate::simulator::events::statement::Grammar;
use crate::simulator::output::Message;

/// EVENT_RETENTION_MODE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Retention {
    SingleEventLoss,
    MultipleEventLoss,
    NoEventLoss,
}

/// MEMORY_PARTITION_MODE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Partition {
    None,
    PerNode,
    PerCpu,
}

/// One option as set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionSetting {
    /// In KB.
    MaxMemory(u64),
    /// EVENT_RETENTION_MODE.
    Retention(Retention),
    /// In ms; `None`: INFINITE.
    DispatchLatency(Option<u64>),
    /// In KB.
    MaxEventSize(u64),
    /// MEMORY_PARTITION_MODE.
    Partition(Partition),
    /// TRACK_CAUSALITY.
    TrackCausality(bool),
    /// STARTUP_STATE.
    StartupState(bool),
    /// MAX_DURATION in ms; `None`: UNLIMITED.
    Duration(Option<u64>),
}

/// The options of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Options {
    pub max_memory_kb: u64,
    pub retention: Retention,
    /// `None`: infinite.
    pub dispatch_latency_ms: Option<u64>,
    pub max_event_size_kb: u64,
    pub partition: Partition,
    pub track_causality: bool,
    pub startup_state: bool,
    /// The session stops by itself after this; `None`: it does not.
    pub max_duration_ms: Option<u64>,
}

impl Default for Options {
    /// The documented defaults: 4 MB, single event loss, 30 s.
    fn default() -> Self {
        Self {
            max_memory_kb: 4_096,
            retention: Retention::SingleEventLoss,
            dispatch_latency_ms: Some(30_000),
            max_event_size_kb: 0,
            partition: Partition::None,
            track_causality: false,
            startup_state: false,
            max_duration_ms: None,
        }
    }
}

/// MAX_MEMORY stays below 2 GB (documented).
const MAX_MEMORY_KB: u64 = 2_048 * 1_024;
/// MAX_EVENT_SIZE is at least 64 KB (documented).
const MIN_EVENT_SIZE_KB: u64 = 64;

impl OptionSetting {
    /// The option's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxMemory(_) => "MAX_MEMORY",
            Self::Retention(_) => "EVENT_RETENTION_MODE",
            Self::DispatchLatency(_) => "MAX_DISPATCH_LATENCY",
            Self::MaxEventSize(_) => "MAX_EVENT_SIZE",
            Self::Partition(_) => "MEMORY_PARTITION_MODE",
            Self::TrackCausality(_) => "TRACK_CAUSALITY",
            Self::StartupState(_) => "STARTUP_STATE",
            Self::Duration(_) => "MAX_DURATION",
        }
    }
}

impl Options {
    /// These options with the settings made. Errors: 25708, 25632, 25640.
    pub fn with(mut self, settings: &[OptionSetting]) -> Result<Self, Message> {
        for setting in settings {
            match *setting {
                OptionSetting::MaxMemory(kb) => self.max_memory_kb = kb,
                OptionSetting::Retention(mode) => self.retention = mode,
                OptionSetting::DispatchLatency(ms) => self.dispatch_latency_ms = ms,
                OptionSetting::MaxEventSize(kb) => self.max_event_size_kb = kb,
                OptionSetting::Partition(mode) => self.partition = mode,
                OptionSetting::TrackCausality(on) => self.track_causality = on,
                OptionSetting::StartupState(on) => self.startup_state = on,
                OptionSetting::Duration(ms) => self.max_duration_ms = ms,
            }
        }
        if self.max_memory_kb >= MAX_MEMORY_KB {
            return Err(errors::option_too_large("MAX_MEMORY"));
        }
        if self.max_event_size_kb > 0 {
            if self.max_event_size_kb < MIN_EVENT_SIZE_KB {
                return Err(errors::buffer_too_small(MIN_EVENT_SIZE_KB * 1_024));
            }
            if self.max_event_size_kb < self.max_memory_kb {
                return Err(errors::event_size());
            }
        }
        Ok(self)
    }
}

/// Parses what stands between the parentheses of WITH. Errors: 102, 25702, 25703.
pub fn parse(cursor: &mut Cursor<'_>, grammar: Grammar) -> Parsed<Vec<OptionSetting>> {
    let mut found: Vec<OptionSetting> = Vec::new();
    loop {
        let setting = option(cursor, grammar)?;
        if found.iter().any(|other| other.name() == setting.name()) {
            return Err(errors::option_twice(setting.name()));
        }
        found.push(setting);
        if !cursor.take_symbol(",") {
            return Ok(found);
        }
    }
}

fn option(cursor: &mut Cursor<'_>, grammar: Grammar) -> Parsed<OptionSetting> {
    if grammar.max_duration && cursor.take_word("MAX_DURATION") {
        cursor.expect_symbol("=")?;
        return duration(cursor);
    }
    let parse = [
        ("MAX_MEMORY", memory as fn(&mut Cursor<'_>) -> Parsed<OptionSetting>),
        ("EVENT_RETENTION_MODE", retention),
        ("MAX_DISPATCH_LATENCY", latency),
        ("MAX_EVENT_SIZE", event_size),
        ("MEMORY_PARTITION_MODE", partition),
        ("TRACK_CAUSALITY", |cursor| on_or_off(cursor).map(OptionSetting::TrackCausality)),
        ("STARTUP_STATE", |cursor| on_or_off(cursor).map(OptionSetting::StartupState)),
    ];
    for (name, value) in parse {
        if cursor.take_word(name) {
            cursor.expect_symbol("=")?;
            return value(cursor);
        }
    }
    Err(cursor.unexpected())
}

fn memory(cursor: &mut Cursor<'_>) -> Parsed<OptionSetting> {
    match kilobytes(cursor)? {
        Some(0) => Err(errors::option_invalid("MAX_MEMORY")),
        Some(size) => Ok(OptionSetting::MaxMemory(size)),
        None => Err(errors::option_too_large("MAX_MEMORY")),
    }
}

fn event_size(cursor: &mut Cursor<'_>) -> Parsed<OptionSetting> {
    let size = kilobytes(cursor)?.ok_or_else(|| errors::option_too_large("MAX_EVENT_SIZE"))?;
    Ok(OptionSetting::MaxEventSize(size))
}

/// `n [KB|MB]`; KB without a unit (the catalogue's). `None` where it cannot be counted in KB.
fn kilobytes(cursor: &mut Cursor<'_>) -> Parsed<Option<u64>> {
    let number = cursor.expect_integer()?;
    if cursor.take_word("MB") {
        return Ok(number.checked_mul(1_024));
    }
    cursor.take_word("KB");
    Ok(Some(number))
}

/// `n SECONDS` or INFINITE; 0 seconds are infinite too.
fn latency(cursor: &mut Cursor<'_>) -> Parsed<OptionSetting> {
    if cursor.take_word("INFINITE") {
        return Ok(OptionSetting::DispatchLatency(None));
    }
    let seconds = cursor.expect_integer()?;
    cursor.expect_word("SECONDS")?;
    // The catalogue keeps it in ms, in an int.
    let ms = seconds.checked_mul(1_000).filter(|ms| i32::try_from(*ms).is_ok());
    match ms {
        Some(0) => Ok(OptionSetting::DispatchLatency(None)),
        Some(ms) => Ok(OptionSetting::DispatchLatency(Some(ms))),
        None => Err(errors::option_invalid("MAX_DISPATCH_LATENCY")),
    }
}

/// `n SECONDS` or UNLIMITED. Assumed: no other unit, and that 0 is refused.
fn duration(cursor: &mut Cursor<'_>) -> Parsed<OptionSetting> {
    if cursor.take_word("UNLIMITED") {
        return Ok(OptionSetting::Duration(None));
    }
    let seconds = cursor.expect_integer()?;
    cursor.expect_word("SECONDS")?;
    match seconds.checked_mul(1_000).filter(|ms| *ms > 0 && i64::try_from(*ms).is_ok()) {
        Some(ms) => Ok(OptionSetting::Duration(Some(ms))),
        None => Err(errors::option_invalid("MAX_DURATION")),
    }
}

fn retention(cursor: &mut Cursor<'_>) -> Parsed<OptionSetting> {
    choose(
        cursor,
        &[
            ("ALLOW_SINGLE_EVENT_LOSS", Retention::SingleEventLoss),
            ("ALLOW_MULTIPLE_EVENT_LOSS", Retention::MultipleEventLoss),
            ("NO_EVENT_LOSS", Retention::NoEventLoss),
        ],
    )
    .map(OptionSetting::Retention)
}

fn partition(cursor: &mut Cursor<'_>) -> Parsed<OptionSetting> {
    choose(cursor, &[("NONE", Partition::None), ("PER_NODE", Partition::PerNode), ("PER_CPU", Partition::PerCpu)])
        .map(OptionSetting::Partition)
}

fn on_or_off(cursor: &mut Cursor<'_>) -> Parsed<bool> {
    choose(cursor, &[("ON", true), ("OFF", false)])
}

fn choose<T: Copy>(cursor: &mut Cursor<'_>, choices: &[(&str, T)]) -> Parsed<T> {
    choices.iter().find(|(word, _)| cursor.take_word(word)).map(|(_, value)| *value).ok_or_else(|| cursor.unexpected())
}

#[cfg(test)]
mod tests {
    use super::{Options, parse};
    use crate::model::ServerVersion;
    use crate::simulator::events::cursor::Cursor;
    use crate::simulator::events::statement::Grammar;
    use crate::simulator::sql::tokenizer::tokenize;

    fn options(text: &str) -> Result<Options, u32> {
        options_on(ServerVersion::V2022, text)
    }

    fn options_on(version: ServerVersion, text: &str) -> Result<Options, u32> {
        let tokens = tokenize(text).unwrap();
        let mut cursor = Cursor::new(&tokens);
        let settings = parse(&mut cursor, Grammar::of(version)).map_err(|message| message.number)?;
        cursor.expect_end().map_err(|message| message.number)?;
        Options::default().with(&settings).map_err(|message| message.number)
    }

    #[test]
    fn units_and_bounds() {
        for (text, kb) in [("MAX_MEMORY = 8 MB", 8_192), ("MAX_MEMORY=4096KB", 4_096), ("max_memory = 100", 100)] {
            assert_eq!(options(text).map(|options| options.max_memory_kb), Ok(kb), "{text}");
        }
        for (text, ms) in [
            ("MAX_DISPATCH_LATENCY = 1 SECONDS", Some(1_000)),
            ("MAX_DISPATCH_LATENCY = 0 SECONDS", None),
            ("MAX_DISPATCH_LATENCY = INFINITE", None),
        ] {
            assert_eq!(options(text).map(|options| options.dispatch_latency_ms), Ok(ms), "{text}");
        }
    }

    #[test]
    fn a_duration_exists_from_2025_on() {
        let duration = |text| options_on(ServerVersion::V2025, text).map(|options| options.max_duration_ms);
        assert_eq!(duration("MAX_DURATION = 7200 SECONDS"), Ok(Some(7_200_000)));
        assert_eq!(duration("MAX_DURATION = UNLIMITED"), Ok(None));
        assert_eq!(duration("MAX_DURATION = 0 SECONDS"), Err(25703));
        assert_eq!(duration("MAX_DURATION = 18446744073709551615 SECONDS"), Err(25703));
        assert_eq!(options("MAX_DURATION = 7200 SECONDS"), Err(102));
    }

    #[test]
    fn wrong_options_have_their_numbers() {
        for (text, number) in [
            ("MAX_MEMORY = 2048 MB", 25708),
            ("MAX_MEMORY = 18446744073709551615 MB", 25708),
            ("MAX_MEMORY = 0", 25703),
            ("MAX_MEMORY = 8 MB, MAX_MEMORY = 8 MB", 25702),
            ("MAX_DISPATCH_LATENCY = 99999999 SECONDS", 25703),
            ("MAX_EVENT_SIZE = 10 KB", 25632),
            ("MAX_EVENT_SIZE = 64 KB", 25640),
            ("MAX_DURATION = 10 SECONDS", 102),
            ("TRACK_CAUSALITY = MAYBE", 102),
            ("MAX_MEMORY 4 MB", 102),
        ] {
            assert_eq!(options(text), Err(number), "{text}");
        }
    }
}
