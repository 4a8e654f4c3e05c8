//! Owns the events, as data.

use super::EventObject;
use super::FieldType::{self, Integer, Map, Text};
use crate::model::ServerVersion;
use crate::simulator::versions::VersionRange;

const UINT64: FieldType = Integer("uint64");
const UINT32: FieldType = Integer("uint32");

const WAIT_INFO: &str = "Occurs when there is a wait on a SQLOS controlled resource.";

const WAIT_INFO_EXTERNAL: &str = "Occurs when a SQLOS task switches to preemptive mode to execute work.";

/// Events. Fields of the wait events follow published captures of 2012 to 2014, 2016 and 2025. Assumed: those of
/// wait_info on 2008 R2, that wait_resource is text from 2022 on already, those of spinlock_backoff but for `type`, `backoffs` and `worker`, that wait_completed begins with
/// 2016, and the completed batches and calls with 2012.
pub(super) static EVENTS: [EventObject; 15] = [
    EventObject {
        package: "sqlos",
        name: "wait_info",
        description: WAIT_INFO,
        fields: &[
            ("wait_type", Map("wait_types")),
            ("opcode", Map("event_opcode")),
            ("duration", UINT64),
            ("max_duration", UINT64),
            ("total_duration", UINT64),
            ("signal_duration", UINT64),
            ("completed_count", UINT64),
        ],
        attributes: &[],
        no_block: true,
        versions: VersionRange::until(ServerVersion::V2008R2),
    },
    EventObject {
        package: "sqlos",
        name: "wait_info",
        description: WAIT_INFO,
        fields: &[
            ("wait_type", Map("wait_types")),
            ("opcode", Map("event_opcode")),
            ("duration", UINT64),
            ("signal_duration", UINT64),
        ],
        attributes: &[],
        no_block: true,
        versions: VersionRange::between(ServerVersion::V2012, ServerVersion::V2014),
    },
    EventObject {
        package: "sqlos",
        name: "wait_info",
        description: WAIT_INFO,
        fields: &[
            ("wait_type", Map("wait_types")),
            ("opcode", Map("event_opcode")),
            ("duration", UINT64),
            ("signal_duration", UINT64),
            ("wait_resource", Integer("ptr")),
        ],
        attributes: &[],
        no_block: true,
        versions: VersionRange::between(ServerVersion::V2016, ServerVersion::V2019),
    },
    EventObject {
        package: "sqlos",
        name: "wait_info",
        description: WAIT_INFO,
        fields: &[
            ("wait_type", Map("wait_types")),
            ("opcode", Map("event_opcode")),
            ("duration", UINT64),
            ("signal_duration", UINT64),
            ("wait_resource", Text),
        ],
        attributes: &[],
        no_block: true,
        versions: VersionRange::since(ServerVersion::V2022),
    },
    EventObject {
        package: "sqlos",
        name: "wait_info_external",
        description: WAIT_INFO_EXTERNAL,
        fields: &[("wait_type", Map("wait_types")), ("opcode", Map("event_opcode")), ("duration", UINT64)],
        attributes: &[],
        no_block: true,
        versions: VersionRange::until(ServerVersion::V2014),
    },
    EventObject {
        package: "sqlos",
        name: "wait_info_external",
        description: WAIT_INFO_EXTERNAL,
        fields: &[
            ("wait_type", Map("wait_types")),
            ("opcode", Map("event_opcode")),
            ("duration", UINT64),
            ("wait_resource", Integer("ptr")),
        ],
        attributes: &[],
        no_block: true,
        versions: VersionRange::between(ServerVersion::V2016, ServerVersion::V2019),
    },
    EventObject {
        package: "sqlos",
        name: "wait_info_external",
        description: WAIT_INFO_EXTERNAL,
        fields: &[
            ("wait_type", Map("wait_types")),
            ("opcode", Map("event_opcode")),
            ("duration", UINT64),
            ("wait_resource", Text),
        ],
        attributes: &[],
        no_block: true,
        versions: VersionRange::since(ServerVersion::V2022),
    },
    EventObject {
        package: "sqlos",
        name: "wait_completed",
        description: "Occurs when there is a wait completed on a SQLOS controlled resource.",
        fields: &[
            ("wait_type", Map("wait_types")),
            ("wait_result", UINT32),
            ("duration", UINT64),
            ("signal_duration", UINT64),
            ("wait_resource", Text),
        ],
        attributes: &[("collect_wait_resource", "boolean", "true")],
        no_block: true,
        versions: VersionRange::since(ServerVersion::V2016),
    },
    EventObject {
        package: "sqlos",
        name: "spinlock_backoff",
        description: "Occurs when a thread gives up spinning on a spinlock and sleeps.",
        fields: &[
            ("type", Map("spinlock_types")),
            ("address", Integer("ptr")),
            ("worker", Integer("ptr")),
            ("spins", UINT64),
            ("backoffs", UINT64),
            ("sleep", UINT32),
        ],
        attributes: &[],
        no_block: true,
        versions: VersionRange::ALL,
    },
    EventObject {
        package: "sqlos",
        name: "spinlock_backoff_warning",
        description: "Occurs when a spinlock could not be acquired for a long time.",
        fields: &[("type", Map("spinlock_types")), ("address", Integer("ptr")), ("duration", UINT64)],
        attributes: &[],
        no_block: true,
        versions: VersionRange::ALL,
    },
    EventObject {
        package: "sqlserver",
        name: "latch_suspend_end",
        description: "Occurs when a worker is granted a latch that it was suspended for.",
        fields: &[
            ("class", Map("latch_class")),
            ("mode", Map("latch_mode")),
            ("duration", UINT64),
            ("address", Integer("ptr")),
            ("database_id", UINT32),
            ("file_id", Integer("uint16")),
            ("page_id", UINT32),
        ],
        attributes: &[],
        no_block: true,
        versions: VersionRange::ALL,
    },
    EventObject {
        package: "sqlserver",
        name: "sql_batch_completed",
        description: "Occurs when a Transact-SQL batch has finished executing.",
        fields: &[
            ("cpu_time", UINT64),
            ("duration", UINT64),
            ("physical_reads", UINT64),
            ("logical_reads", UINT64),
            ("writes", UINT64),
            ("row_count", UINT64),
            ("batch_text", Text),
        ],
        attributes: &[("collect_batch_text", "boolean", "true")],
        no_block: false,
        versions: VersionRange::since(ServerVersion::V2012),
    },
    EventObject {
        package: "sqlserver",
        name: "rpc_completed",
        description: "Occurs when a remote procedure call has completed.",
        fields: &[
            ("cpu_time", UINT64),
            ("duration", UINT64),
            ("logical_reads", UINT64),
            ("object_name", Text),
            ("statement", Text),
        ],
        attributes: &[("collect_statement", "boolean", "true"), ("collect_data_stream", "boolean", "false")],
        no_block: false,
        versions: VersionRange::since(ServerVersion::V2012),
    },
    EventObject {
        package: "sqlserver",
        name: "sql_statement_completed",
        description: "Occurs when a Transact-SQL statement has completed.",
        fields: &[
            ("duration", Integer("int64")),
            ("cpu_time", UINT64),
            ("logical_reads", UINT64),
            ("row_count", UINT64),
            ("statement", Text),
        ],
        attributes: &[
            ("collect_statement", "boolean", "true"),
            ("collect_parameterized_plan_handle", "boolean", "false"),
        ],
        no_block: false,
        versions: VersionRange::ALL,
    },
    EventObject {
        package: "sqlserver",
        name: "error_reported",
        description: "Occurs when an error is reported.",
        fields: &[
            ("error_number", Integer("int32")),
            ("severity", Integer("int32")),
            ("state", Integer("int32")),
            ("user_defined", Integer("boolean")),
            ("message", Text),
        ],
        attributes: &[],
        no_block: false,
        versions: VersionRange::ALL,
    },
];
