//! xestack: bounded Extended Events and call-stack captures for SQL Server.
//!
//! The library behind the `xestack` command. Its folders are layers that only look down;
//! `ARCHITECTURE.md` draws them, and a test holds them.

pub mod agent;
pub mod analyze;
pub mod catalog;
pub mod cli;
pub mod model;
pub mod parse;
pub mod report;
pub mod simulator;
pub mod sqlserver;
pub mod statements;
pub mod store;
