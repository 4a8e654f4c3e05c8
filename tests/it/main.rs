//! The one integration test binary: a module an area.

mod analyze;
mod capture;
mod cli;
mod layers;
#[path = "../live/mod.rs"]
mod live;
mod parse;
mod report;
mod simulator_events;
mod simulator_sql;
mod simulator_wire;
mod statements;
mod store;
