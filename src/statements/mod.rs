//! Owns the SQL that is sent: catalogue + version + values in, statement text out. Pure, so that the dry run prints
//! what a capture sends.

mod counters;
mod dry_run;
mod render;
mod script;

pub use counters::{CounterStatement, batch, polled};
pub use dry_run::{DryRun, DryRunError, DryStatement, dry_run};
pub use render::{Argument, Filters, RenderError, render};
pub use script::{
    NO_LOCK_TIMEOUT, RECONNECT_LIMIT_SECONDS, Scope, SessionDefinition, Statements, TRACE_FLAGS_NOT_NEEDED,
    counter_names, is_watched, latency_seconds, max_duration_seconds, sample_names, series_names, snapshot_names,
    symbol_trace_flags, trace_flags_refusal,
};
