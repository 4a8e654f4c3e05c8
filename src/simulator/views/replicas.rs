//! Owns the rows about availability groups: one, of two replicas, with the workload's databases that are its primary.

use crate::simulator::databases::Shown;
use crate::simulator::seeded;
use crate::simulator::value::Datum;
use crate::simulator::views::Source;
use crate::simulator::views::schema::{Record, time};

/// The other replica's server.
const SECONDARY: &str = "XESTACK-REPLICA";

/// 2020-01-01; nothing depends on it.
const CREATED: i64 = 1_577_836_800_000_000;

fn group_id() -> Datum {
    Datum::Guid(seeded::guid(&["availability group"]))
}

/// Id of the local replica.
pub(super) fn local_id(source: Source<'_>) -> Datum {
    replica_id(&source.instance.server_name())
}

fn replica_id(server: &str) -> Datum {
    Datum::Guid(seeded::guid(&["availability replica", server]))
}

/// A database's id in the group.
pub(super) fn group_database_id(database_id: i32) -> Datum {
    Datum::Guid(seeded::guid(&["availability database", &database_id.to_string()]))
}

/// The databases of the group.
fn members(source: Source<'_>) -> impl Iterator<Item = Shown<'_>> {
    source.databases().filter(|shown| shown.database.is_synchronous_primary)
}

/// Both replicas: server, whether it is the local one. None where there is no group.
fn replicas(source: Source<'_>) -> Vec<(String, bool)> {
    if members(source).next().is_none() {
        return Vec::new();
    }
    vec![(source.instance.server_name(), true), (SECONDARY.to_owned(), false)]
}

/// sys.availability_replicas: readers are refused on a secondary. Seen with VIEW ANY DEFINITION (documented).
pub fn availability_replicas(source: Source<'_>) -> Vec<Record> {
    if source.rights().has("VIEW ANY DEFINITION") != Some(true) {
        return Vec::new();
    }
    let rows = (1..).zip(replicas(source)).map(|(number, (server, is_local))| {
        let record = Record::new()
            .with("replica_id", replica_id(&server))
            .with("group_id", group_id())
            .with("replica_metadata_id", 65_536 + number)
            .with("endpoint_url", format!("TCP://{server}:5022"))
            .with("replica_server_name", server)
            .with("availability_mode", 1)
            .with("availability_mode_desc", "SYNCHRONOUS_COMMIT")
            .with("failover_mode", 0)
            .with("failover_mode_desc", "AUTOMATIC")
            .with("session_timeout", 10)
            .with("primary_role_allow_connections", 2)
            .with("primary_role_allow_connections_desc", "ALL")
            .with("secondary_role_allow_connections", 0)
            .with("secondary_role_allow_connections_desc", "NO")
            .with("create_date", time(CREATED))
            .with("modify_date", time(CREATED))
            .with("backup_priority", 50)
            .with("seeding_mode", 1)
            .with("seeding_mode_desc", "MANUAL");
        if is_local { record.with("owner_sid", Datum::Binary(vec![1])) } else { record }
    });
    rows.collect()
}

/// sys.dm_hadr_availability_replica_states.
pub fn replica_states(source: Source<'_>) -> Vec<Record> {
    let rows = replicas(source).into_iter().map(|(server, is_local)| {
        let (role, role_desc) = if is_local { (1, "PRIMARY") } else { (2, "SECONDARY") };
        let record = Record::new()
            .with("replica_id", replica_id(&server))
            .with("group_id", group_id())
            .with("is_local", is_local)
            .with("role", role)
            .with("role_desc", role_desc)
            .with("connected_state", 1)
            .with("connected_state_desc", "CONNECTED")
            .with("synchronization_health", 2)
            .with("synchronization_health_desc", "HEALTHY");
        if is_local { record.with("operational_state", 2).with("operational_state_desc", "ONLINE") } else { record }
    });
    rows.collect()
}

/// sys.dm_hadr_database_replica_states: on the primary a row for each replica of a database (documented).
pub fn database_states(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for (server, is_local) in replicas(source) {
        for shown in members(source) {
            let id = shown.database.id;
            let record = Record::new()
                .with("database_id", id)
                .with("group_id", group_id())
                .with("replica_id", replica_id(&server))
                .with("group_database_id", group_database_id(id))
                .with("is_local", is_local)
                .with("is_primary_replica", is_local)
                .with("synchronization_state", 2)
                .with("synchronization_state_desc", "SYNCHRONIZED")
                .with("is_commit_participant", true);
            let queues = ["log_send_queue_size", "redo_queue_size", "redo_rate"];
            rows.push(if is_local { record } else { queues.iter().fold(record, |row, queue| row.with(queue, 0)) });
        }
    }
    rows
}
