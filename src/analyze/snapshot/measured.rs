//! Owns what the snapshot question rests on: snapshots and their sparse files, the functions in the stacks, who else writes.

use crate::{
    analyze::{
        cells::{Columns, flag_in, number_in},
        classify::wait_types,
        facts::Facts,
        frames::symbol,
        maintenance::{Request, maintenance},
        target_waits::TargetWaits,
        wrong_symbols::Trust,
    },
    model::{Mark, SessionEvidence, StackItem},
};
use std::{cmp::Reverse, collections::BTreeMap};

/// A file is written outside of the scheduler: a page for a snapshot, or a trace.
pub(super) const PREEMPTIVE_OS_WRITEFILE: &str = "PREEMPTIVE_OS_WRITEFILE";
/// A write is waited for.
pub(super) const WRITE_COMPLETION: &str = "WRITE_COMPLETION";
/// A page is written into a sparse file.
pub(super) const FCB_REPLICA_WRITE: &str = "FCB_REPLICA_WRITE";
/// The waits of the question.
pub const WAITS: [&str; 3] = [PREEMPTIVE_OS_WRITEFILE, WRITE_COMPLETION, FCB_REPLICA_WRITE];

/// One database snapshot, and what it cost in the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SnapshotCost {
    pub(super) name: String,
    pub(super) source: String,
    pub(super) writes: u64,
    pub(super) stall_ms: u64,
    pub(super) growth_bytes: i64,
    /// Rows of its files, such as `files:Sales_0600.Sales`.
    pub(super) evidence: Vec<String>,
}

impl SnapshotCost {
    /// Whether pages were copied into it: its files grew, with writes.
    pub(super) fn is_growing(&self) -> bool {
        self.writes > 0 && self.growth_bytes > 0
    }
}

/// Events of the question whose stacks hold functions of one writer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Shown {
    pub(super) events: u128,
    /// The most frequent of the stacks.
    pub(super) stacks: Vec<String>,
}

/// The figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    pub(super) waits: Option<TargetWaits>,
    /// The snapshots, the costliest first; `None` where the list of databases was not read.
    pub(super) snapshots: Option<Vec<SnapshotCost>>,
    /// Events of the question with a stack.
    pub(super) events: u128,
    pub(super) copy_on_write: Shown,
    pub(super) trace_frames: Shown,
    /// Traces that run and write a file; `None` where nobody looked.
    pub(super) traces: Option<u64>,
    /// Checks of pages seen running.
    pub(super) checks: Vec<Request>,
}

impl Measured {
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        let waits = TargetWaits::of(facts, |wait| WAITS.contains(&wait));
        let items: Vec<&StackItem> = facts.items_of(is_of_question).collect();
        let frames = &facts.catalog.snapshot.frames;
        let shown = |is: &dyn Fn(&str) -> bool| {
            // Nearest exports prove nothing.
            let trusted = !matches!(facts.trust, Trust::Wrong(_));
            let holds = |item: &&&StackItem| trusted && item.frames.iter().filter_map(|f| symbol(f)).any(is);
            let holding: Vec<&&StackItem> = items.iter().filter(holds).collect();
            Shown {
                events: holding.iter().fold(0_u128, |sum, item| sum.saturating_add(item.events.into())),
                stacks: holding.iter().take(3).map(|item| item.id.clone()).collect(),
            }
        };
        let checks = maintenance(facts).unwrap_or_default().into_iter().map(|(request, _)| request);
        Self {
            copy_on_write: shown(&|symbol| frames.is_copy_on_write(symbol)),
            trace_frames: shown(&|symbol| frames.is_trace(symbol)),
            events: facts.tally_of(is_of_question).with_stack(),
            snapshots: snapshots(facts),
            traces: traces(facts),
            checks: checks.filter(Request::is_check).collect(),
            waits,
        }
    }

    /// Whether there is a snapshot; `None` where that is not known.
    pub(super) fn is_present(&self) -> Option<bool> {
        self.snapshots.as_ref().map(|snapshots| !snapshots.is_empty())
    }

    /// The proven share of the events with copy-on-write frames.
    pub(super) fn copy_on_write_share(&self) -> Option<f64> {
        (self.events > 0).then(|| self.copy_on_write.events as f64 / self.events as f64)
    }

    /// Snapshots into which pages were copied.
    pub(super) fn growing(&self) -> impl Iterator<Item = &SnapshotCost> {
        self.snapshots.iter().flatten().filter(|snapshot| snapshot.is_growing())
    }

    /// The source of the costliest snapshot.
    pub(super) fn source(&self) -> Option<&str> {
        let first = self.growing().next().or_else(|| self.snapshots.iter().flatten().next());
        first.map(|snapshot| snapshot.source.as_str())
    }

    /// Time of one of the waits, ms.
    pub(super) fn wait_ms(&self, wait_type: &str) -> Option<u64> {
        let waits = self.waits.as_ref()?;
        Some(waits.rows.iter().find(|row| row.wait_type == wait_type).map_or(0, |row| row.wait_ms))
    }
}

/// Whether a session's events are waits of the question.
pub(super) fn is_of_question(session: &SessionEvidence) -> bool {
    wait_types(&session.context).any(|wait| WAITS.contains(&wait))
}

fn snapshots(facts: &Facts<'_>) -> Option<Vec<SnapshotCost>> {
    let rows = facts.databases.rows.as_deref()?.iter().filter(|row| row.mark != Some(Mark::Missing));
    let mut by_id: BTreeMap<i64, SnapshotCost> = rows
        .filter_map(|row| {
            let cost = SnapshotCost {
                name: row.database.clone(),
                source: row.snapshot_of.clone()?,
                writes: 0,
                stall_ms: 0,
                growth_bytes: 0,
                evidence: Vec::new(),
            };
            Some((row.database_id, cost))
        })
        .collect();
    for file in facts.files.rows.iter().flatten().filter(|row| matches!(row.mark, None | Some(Mark::New))) {
        let Some(cost) = by_id.get_mut(&file.database_id) else { continue };
        cost.writes = cost.writes.saturating_add(file.writes);
        cost.stall_ms = cost.stall_ms.saturating_add(file.write_stall_ms);
        // All of a file that came inside the window is growth.
        let all = || file.size_bytes.filter(|_| file.mark == Some(Mark::New)).and_then(|size| i64::try_from(size).ok());
        cost.growth_bytes = cost.growth_bytes.saturating_add(file.growth_bytes.or_else(all).unwrap_or(0));
        cost.evidence.push(format!("files:{}.{}", file.database, file.file));
    }
    let mut costs: Vec<SnapshotCost> = by_id.into_values().collect();
    costs.sort_by_cached_key(|cost| (Reverse(cost.stall_ms), Reverse(cost.writes), cost.name.clone()));
    Some(costs)
}

/// Rows of `sys.traces` that run and write a file; the server's own default trace is one of them, and writes little.
fn traces(facts: &Facts<'_>) -> Option<u64> {
    let snapshots = facts.evidence.before.iter().chain(&facts.evidence.samples).chain(&facts.evidence.after);
    let tables = snapshots.filter_map(|snapshot| snapshot.tables.get("traces"));
    tables
        .map(|table| {
            let columns = Columns::of(table);
            let place = |name: &str| columns.place(&[name]);
            let (status, default, rowset) = (place("status"), place("is_default"), place("is_rowset"));
            let running = table.rows.iter().filter(|row| {
                number_in(row, status).is_none_or(|status| status == 1)
                    && flag_in(row, default) != Some(true)
                    && flag_in(row, rowset) != Some(true)
            });
            running.count() as u64
        })
        .max()
}
