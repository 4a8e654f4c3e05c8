//! Owns the workloads by name, one file each: what it does, and what must be found out about it.

pub mod backup_latency;
pub mod cachestore;
pub mod capped_cpu;
pub mod checkdb_only;
pub mod db_snapshot;
pub mod few_events;
pub mod high_signal_no_yield;
pub mod idle;
pub mod index_rebuild;
pub mod large_transactions;
pub mod last_page_insert;
pub mod lock_hash;
pub mod lock_manager_no_spin;
pub mod one_hot_node;
pub mod small_commits;
pub mod small_commits_delayed;
pub mod spin_burn;
pub mod spin_in_yield;
pub mod sync_replica;
pub mod tempdb_allocation;
pub mod trace_writes;
pub mod version_store;
pub mod vm_steal;
pub mod wrong_symbols;
pub mod xe_observer;
