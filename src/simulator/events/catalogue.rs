//! Owns the objects of the Extended Events packages: events with their fields, actions, targets, as data.

use crate::simulator::versions::VersionData;

/// Type of a field or action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// An integer of this type name.
    Integer(&'static str),
    /// A key of this map.
    Map(&'static str),
    /// `unicode_string`.
    Text,
    /// `callstack`: no predicate compares it.
    CallStack,
}

impl FieldType {
    /// The type's name in sys.dm_xe_object_columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer(name) | Self::Map(name) => name,
            Self::Text => "unicode_string",
            Self::CallStack => "callstack",
        }
    }
}

/// A field.
pub type Field = (&'static str, FieldType);

/// An event.
#[derive(Debug, PartialEq, Eq)]
pub struct EventObject {
    /// Its package.
    pub package: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it tells.
    pub description: &'static str,
    /// Its data fields, in order.
    pub fields: &'static [Field],
    /// Attributes that SET takes: name, type name, default.
    pub attributes: &'static [(&'static str, &'static str, &'static str)],
    /// Whether it may not block, so that a session without event loss cannot have it (assumed for these events).
    pub no_block: bool,
}

/// An action; those that are also predicate sources are compared by their type.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ActionObject {
    pub package: &'static str,
    pub name: &'static str,
    pub field_type: FieldType,
    pub description: &'static str,
}

/// A target.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TargetObject {
    pub kind: TargetKind,
    pub name: &'static str,
    /// Older names under which it is still taken.
    pub aliases: &'static [&'static str],
    /// Name, type name, whether it is mandatory.
    pub parameters: &'static [(&'static str, &'static str, bool)],
    pub description: &'static str,
}

/// Which target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TargetKind {
    Histogram,
    RingBuffer,
    EventCounter,
    EventFile,
}

use FieldType::{CallStack, Integer, Map, Text};

const UINT64: FieldType = Integer("uint64");
const UINT32: FieldType = Integer("uint32");

/// Events. Fields of the wait events follow published captures; those of spinlock_backoff are assumed but for `type`,
/// `backoffs` and `worker`.
pub static EVENTS: [EventObject; 10] = [
    EventObject {
        package: "sqlos",
        name: "wait_info",
        description: "Occurs when there is a wait on a SQLOS controlled resource.",
        fields: &[
            ("wait_type", Map("wait_types")),
            ("opcode", Map("event_opcode")),
            ("duration", UINT64),
            ("signal_duration", UINT64),
            ("wait_resource", Integer("ptr")),
        ],
        attributes: &[],
        no_block: true,
    },
    EventObject {
        package: "sqlos",
        name: "wait_info_external",
        description: "Occurs when a SQLOS task switches to preemptive mode to execute work.",
        fields: &[
            ("wait_type", Map("wait_types")),
            ("opcode", Map("event_opcode")),
            ("duration", UINT64),
            ("wait_resource", Integer("ptr")),
        ],
        attributes: &[],
        no_block: true,
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
    },
    EventObject {
        package: "sqlos",
        name: "spinlock_backoff_warning",
        description: "Occurs when a spinlock could not be acquired for a long time.",
        fields: &[("type", Map("spinlock_types")), ("address", Integer("ptr")), ("duration", UINT64)],
        attributes: &[],
        no_block: true,
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
    },
];

const CALLSTACK_RVA: &str = "callstack_rva";

static ACTIONS: [ActionObject; 17] = [
    action("package0", "callstack", CallStack, "Collect the current call stack"),
    action("package0", CALLSTACK_RVA, CallStack, "Collect the current call stack with module relative addresses"),
    action("package0", "collect_system_time", UINT64, "Collect the current system time with 100 microsecond precision"),
    action("package0", "event_sequence", UINT64, "Collect event sequence number"),
    action("sqlos", "cpu_id", UINT32, "Collect current CPU ID"),
    action("sqlos", "numa_node_id", UINT32, "Collect current NUMA node ID"),
    action("sqlos", "scheduler_id", UINT32, "Collect current scheduler ID"),
    action("sqlos", "system_thread_id", UINT32, "Collect current system thread ID"),
    action("sqlos", "worker_address", Integer("ptr"), "Collect current worker address"),
    action("sqlserver", "client_app_name", Text, "Collect client application name"),
    action("sqlserver", "client_hostname", Text, "Collect client hostname"),
    action("sqlserver", "database_id", Integer("uint16"), "Collect database ID"),
    action("sqlserver", "is_system", Integer("boolean"), "Collect whether current session is system"),
    action("sqlserver", "query_hash", UINT64, "Collect query hash"),
    action("sqlserver", "session_id", Integer("uint16"), "Collect session ID"),
    action("sqlserver", "sql_text", Text, "Collect SQL text"),
    action("sqlserver", "username", Text, "Collect username"),
];

const fn action(
    package: &'static str,
    name: &'static str,
    field_type: FieldType,
    description: &'static str,
) -> ActionObject {
    ActionObject { package, name, field_type, description }
}

/// Sources that only predicates know.
pub const COUNTER: &str = "package0.counter";

/// Targets.
pub static TARGETS: [TargetObject; 4] = [
    TargetObject {
        kind: TargetKind::Histogram,
        name: "histogram",
        aliases: &["asynchronous_bucketizer", "synchronous_bucketizer"],
        parameters: &[
            ("filtering_event_name", "unicode_string_ptr", false),
            ("slots", "uint32", false),
            ("source_type", "uint8", false),
            ("source", "unicode_string_ptr", true),
        ],
        description: "Use the histogram target to aggregate event data based on a specific event data field or action.",
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
    },
    TargetObject {
        kind: TargetKind::EventCounter,
        name: "event_counter",
        aliases: &["synchronous_event_counter"],
        parameters: &[],
        description: "Use the event_counter target to count the number of occurrences of each event.",
    },
    TargetObject {
        kind: TargetKind::EventFile,
        name: "event_file",
        aliases: &["asynchronous_file_target"],
        parameters: &[
            ("filename", "unicode_string_ptr", true),
            ("max_file_size", "uint64", false),
            ("max_rollover_files", "uint32", false),
            ("increment", "uint64", false),
            ("metadatafile", "unicode_string_ptr", false),
        ],
        description: "Use the event_file target to save the event data to an XEL file.",
    },
];

/// Packages of the objects above: name, description.
pub const PACKAGES: [(&str, &str); 3] = [
    ("package0", "Default package. Contains all standard types, maps, compare operators, actions and targets"),
    ("sqlos", "Extended events for SQL Operating System"),
    ("sqlserver", "Extended events for Microsoft SQL Server"),
];

/// An event by its package and name, without regard to case.
pub fn event(package: &str, name: &str) -> Option<&'static EventObject> {
    EVENTS.iter().find(|event| event.package.eq_ignore_ascii_case(package) && event.name.eq_ignore_ascii_case(name))
}

/// The actions of a version.
pub fn actions(version: &VersionData) -> impl Iterator<Item = &'static ActionObject> {
    let with_rva = version.has_callstack_rva;
    ACTIONS.iter().filter(move |action| with_rva || action.name != CALLSTACK_RVA)
}

/// An action by its package and name.
pub fn action_named(version: &VersionData, package: &str, name: &str) -> Option<&'static ActionObject> {
    actions(version)
        .find(|action| action.package.eq_ignore_ascii_case(package) && action.name.eq_ignore_ascii_case(name))
}

/// A target by its name or an older one; all are in package0.
pub fn target(package: &str, name: &str) -> Option<&'static TargetObject> {
    if !package.eq_ignore_ascii_case("package0") {
        return None;
    }
    TARGETS.iter().find(|target| {
        target.name.eq_ignore_ascii_case(name) || target.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    })
}

impl EventObject {
    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// `package.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }
}

impl ActionObject {
    /// `package.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }
}
