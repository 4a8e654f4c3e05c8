//! Tests of the simulated server's SQL engine: SQL in, columns and rows or error numbers out.

mod batches;
mod errors;
mod host;
mod properties;
mod queries;
mod relations;
