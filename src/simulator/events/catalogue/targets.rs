//! Owns the targets, as data.

use super::{Parameter, TargetKind, TargetObject};
use crate::model::ServerVersion;
use crate::simulator::versions::VersionRange;

const BUCKETIZER_PARAMETERS: &[Parameter] = &[
    ("filtering_event_name", "unicode_string_ptr", false),
    ("slots", "uint32", false),
    ("source_type", "uint8", false),
    ("source", "unicode_string_ptr", true),
];

const FILE_PARAMETERS: &[Parameter] = &[
    ("filename", "unicode_string_ptr", true),
    ("max_file_size", "uint64", false),
    ("max_rollover_files", "uint32", false),
    ("increment", "uint64", false),
    ("metadatafile", "unicode_string_ptr", false),
];

/// Those of 2008 R2 have names of their own, which later versions take beside theirs (documented; the taking measured).
pub(super) static TARGETS: [TargetObject; 8] = [
    TargetObject {
        kind: TargetKind::Histogram,
        name: "histogram",
        aliases: &["asynchronous_bucketizer", "synchronous_bucketizer"],
        parameters: BUCKETIZER_PARAMETERS,
        description: "Use the histogram target to aggregate event data based on a specific event data field or action.",
        versions: VersionRange::since(ServerVersion::V2012),
    },
    TargetObject {
        kind: TargetKind::Histogram,
        name: "asynchronous_bucketizer",
        aliases: &[],
        parameters: BUCKETIZER_PARAMETERS,
        description: "Asynchronous target that aggregates events by an event field or action.",
        versions: VersionRange::until(ServerVersion::V2008R2),
    },
    TargetObject {
        kind: TargetKind::Histogram,
        name: "synchronous_bucketizer",
        aliases: &[],
        parameters: BUCKETIZER_PARAMETERS,
        description: "Synchronous target that aggregates events by an event field or action.",
        versions: VersionRange::until(ServerVersion::V2008R2),
    },
    TargetObject {
        kind: TargetKind::RingBuffer,
        name: "ring_buffer",
        aliases: &[],
        parameters: &[
            ("max_memory", "uint64", false),
            ("max_events_limit", "uint32", false),
            ("occurrence_number", "uint32", false),
        ],
        description: "Asynchronous ring buffer target.",
        versions: VersionRange::ALL,
    },
    TargetObject {
        kind: TargetKind::EventCounter,
        name: "event_counter",
        aliases: &["synchronous_event_counter"],
        parameters: &[],
        description: "Use the event_counter target to count the number of occurrences of each event.",
        versions: VersionRange::since(ServerVersion::V2012),
    },
    TargetObject {
        kind: TargetKind::EventCounter,
        name: "synchronous_event_counter",
        aliases: &[],
        parameters: &[],
        description: "Synchronous counter target.",
        versions: VersionRange::until(ServerVersion::V2008R2),
    },
    TargetObject {
        kind: TargetKind::EventFile,
        name: "event_file",
        aliases: &["asynchronous_file_target"],
        parameters: FILE_PARAMETERS,
        description: "Use the event_file target to save the event data to an XEL file.",
        versions: VersionRange::since(ServerVersion::V2012),
    },
    TargetObject {
        kind: TargetKind::EventFile,
        name: "asynchronous_file_target",
        aliases: &[],
        parameters: FILE_PARAMETERS,
        description: "Asynchronous file target.",
        versions: VersionRange::until(ServerVersion::V2008R2),
    },
];
