//! Owns workload `xe-observer`: somebody else's event session looks at every statement, and LOCK_HASH is contended.
//!
//! The figures are those of `lock-hash`. Beside the server's own sessions `statement_tracker` runs: it collects every
//! completed statement whose text contains a word, 3,200,000 in ten seconds. Of the stacks that back off on LOCK_HASH,
//! two in five lead through its event. Whether a session like this causes the contention or only meets it cannot be
//! seen from the counters.
//!
//! True of it: LOCK_HASH is contended, and a running session that can cause it is there to be named.

use crate::simulator::versions::VersionData;
use crate::simulator::workload::cases::lock_hash;
use crate::simulator::workload::paths::backoffs;
use crate::simulator::workload::recipe::Recipe;

/// The other session, as the DDL it was made by.
const STATEMENT_TRACKER: &str = "CREATE EVENT SESSION [statement_tracker] ON SERVER
    ADD EVENT sqlserver.sql_statement_completed(
        ACTION(sqlserver.sql_text, sqlserver.query_hash, sqlserver.session_id)
        WHERE (sqlserver.like_i_sql_unicode_string(sqlserver.sql_text, N'%OneRow%')))
    ADD TARGET package0.histogram(SET filtering_event_name = N'sqlserver.sql_statement_completed',
        source_type = 1, source = N'sqlserver.query_hash')
    WITH (MAX_MEMORY = 4096 KB, EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS, MAX_DISPATCH_LATENCY = 5 SECONDS,
        STARTUP_STATE = ON)";

/// What the workload is made of.
pub fn recipe(version: &VersionData) -> Recipe {
    Recipe {
        special_backoffs: Some(("LOCK_HASH", backoffs::through_statement_events(version))),
        observer: Some((3_200_000, STATEMENT_TRACKER)),
        ..lock_hash::recipe()
    }
}
