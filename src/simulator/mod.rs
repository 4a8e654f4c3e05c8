//! Owns the simulated SQL Server: a second implementation, on documented facts, of what xestack talks to.
//!
//! It shares no rule, map, figure or code with the collector (only the version names of `model`), so a wrong name on
//! one side fails instead of agreeing. `wire` speaks TDS, `sql` runs batches, `events` and its neighbours are the
//! instance. The collector reaches it only over a socket, as it reaches a real server.

pub mod clock;
pub mod collation;
pub mod databases;
pub mod dbcc;
pub mod events;
pub mod faults;
pub mod host;
pub mod instance;
pub mod language;
pub mod launch;
pub mod maps;
pub mod modules;
pub mod output;
pub mod permissions;
pub mod properties;
pub mod seeded;
pub mod server;
pub mod sql;
pub mod value;
pub mod versions;
pub mod views;
pub mod wire;
pub mod workload;
