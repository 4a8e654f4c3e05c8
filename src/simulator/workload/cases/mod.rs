//! Owns the workloads by name, one file each: what it does, and what must be found out about it.

pub mod cachestore;
pub mod capped_cpu;
pub mod few_events;
pub mod lock_hash;
pub mod lock_manager_no_spin;
pub mod one_hot_node;
pub mod spin_burn;
pub mod spin_in_yield;
pub mod vm_steal;
pub mod wrong_symbols;
pub mod xe_observer;
