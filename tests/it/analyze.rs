//! Tests of analyze: known evidence in, exact answers out.
#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::float_cmp,
    reason = "a test that panics or prints says what is wrong"
)]

mod auto;
mod classes;
mod corpus;
mod counters;
mod databases;
mod file_latency;
mod files;
mod intervals;
mod latch;
mod log_write;
mod merging;
mod page_latch;
mod published;
mod queries;
mod snapshot;
mod spinlock;
pub(crate) mod storage;
pub(crate) mod support;
mod symbols;
mod verdicts;
mod waits;
