//! Owns the actions, as data.

use super::ActionObject;
use super::FieldType::{self, CallStack, Integer, Text};
use crate::model::ServerVersion;
use crate::simulator::versions::VersionRange;

const UINT64: FieldType = Integer("uint64");
const UINT32: FieldType = Integer("uint32");

/// callstack_rva comes with 2022 (documented). Assumed: query_hash comes with 2012.
pub(super) static ACTIONS: [ActionObject; 17] = [
    action("package0", "callstack", CallStack, "Collect the current call stack"),
    ActionObject {
        versions: VersionRange::since(ServerVersion::V2022),
        ..action(
            "package0",
            "callstack_rva",
            CallStack,
            "Collect the current call stack with module relative addresses",
        )
    },
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
    ActionObject {
        versions: VersionRange::since(ServerVersion::V2012),
        ..action("sqlserver", "query_hash", UINT64, "Collect query hash")
    },
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
    ActionObject { package, name, field_type, description, versions: VersionRange::ALL }
}
