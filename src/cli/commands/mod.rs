//! Owns the commands, one file each.

pub(super) mod analyze;
mod auto;
pub(super) mod capture;
pub(super) mod catalog;
pub(super) mod cleanup;
pub(super) mod demo;
pub(super) mod doctor;
pub(super) mod report;
pub(super) mod simulate;
pub(super) mod sql;
