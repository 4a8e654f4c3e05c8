//! The one integration test binary: a module an area.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::format_push_string,
    clippy::duration_suboptimal_units,
    clippy::large_futures,
    clippy::print_stdout,
    clippy::assigning_clones,
    reason = "a test that fails is meant to panic and to say why"
)]

mod analyze;
mod capture;
mod cleanup;
mod cli;
mod connecting;
mod demo;
mod doctor;
mod documents;
mod fleet;
mod golden;
mod hostile;
mod kill_points;
mod layers;
#[path = "../live/mod.rs"]
mod live;
mod outcomes;
mod parse;
mod places;
mod places_table;
mod report;
mod right_answers;
mod rights;
mod rows;
mod scenarios;
mod simulator_events;
mod simulator_faults;
mod simulator_places;
mod simulator_sql;
mod simulator_storage;
mod simulator_wire;
mod site_catalog;
mod statements;
mod store;
