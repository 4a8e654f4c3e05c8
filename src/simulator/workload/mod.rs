//! Owns what the simulated server does: its counters and events as functions of time.
//!
//! Nothing here keeps a running total: each counter and each kind of event is a function of the load's progress and of
//! the uptime, so a value is exact at any moment, whatever was read before.

pub mod background;
pub mod counters;
pub mod kinds;
pub mod lock_hash;
pub mod pace;
pub mod spinlocks;
pub mod stacks;
pub mod wait_types;

use crate::simulator::versions::VersionData;
use counters::{Counters, Throughput};
use kinds::EventKind;
use stacks::StackTable;
use std::str::FromStr;

/// What the simulated server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Workload {
    /// 50 connections on one row of one index, 8 schedulers saturated: yields, and collisions on LOCK_HASH.
    #[default]
    LockHash,
}

/// Text that names no workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown workload `{name}`: use one of {}", Workload::names())]
pub struct UnknownWorkload {
    /// What was given.
    pub name: String,
}

impl Workload {
    const ALL: [(Self, &'static str); 1] = [(Self::LockHash, "lock-hash")];

    /// All names, separated by commas.
    pub fn names() -> String {
        Self::ALL.map(|(_, name)| name).join(", ")
    }

    /// What it does on this version, by this seed.
    pub fn truth(self, version: &'static VersionData, seed: u64) -> Truth {
        match self {
            Self::LockHash => lock_hash::truth(version, seed),
        }
    }
}

impl FromStr for Workload {
    type Err = UnknownWorkload;

    fn from_str(text: &str) -> Result<Self, UnknownWorkload> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text.trim())
            .map(|(workload, _)| *workload)
            .ok_or_else(|| UnknownWorkload { name: text.to_owned() })
    }
}

/// Everything a workload does: the truth that captures are checked against.
#[derive(Debug)]
pub struct Truth {
    /// Wait, latch and spinlock statistics.
    pub counters: Counters,
    /// What performance counters tell of the work done.
    pub throughput: Throughput,
    /// The events that fire.
    pub kinds: Vec<EventKind>,
    /// The call stacks of those events.
    pub stacks: StackTable,
    /// Visible online schedulers.
    pub schedulers: u32,
    /// Client sessions of the workload; their ids run from [`FIRST_WORKLOAD_SESSION`].
    pub connections: u16,
    /// CPU use while loaded, in percent of all schedulers.
    pub loaded_cpu_percent: u32,
    /// CPU use otherwise.
    pub idle_cpu_percent: u32,
}

/// Session id of a workload's first connection.
pub const FIRST_WORKLOAD_SESSION: u16 = 52;

/// The database the workload runs in.
pub const WORKLOAD_DATABASE_ID: i32 = 5;

/// Hours the server has been up when the simulated time begins.
pub const UPTIME_HOURS: u64 = 75;
