//! Owns performance counters of whole databases and of the server: what they grew by.

use crate::{
    analyze::cells::{Columns, number_in, text_in},
    model::{DatabaseRow, Evidence, Mark, Snapshot, Table},
};
use std::collections::BTreeMap;

/// Log counters of `sys.dm_os_performance_counters` by database, in the order in which rows show them. All are cumulative,
/// whatever their names say; the wait time is in ms.
const LOG_COUNTERS: [&str; 5] =
    ["Transactions/sec", "Log Flushes/sec", "Log Bytes Flushed/sec", "Log Flush Waits/sec", "Log Flush Wait Time"];

/// Values by instance and counter.
type Values = BTreeMap<String, [Option<i128>; LOG_COUNTERS.len()]>;

/// Log counters of every database, at both ends of the window.
pub(super) struct LogCounters {
    before: Option<Values>,
    after: Option<Values>,
}

impl LogCounters {
    pub(super) fn of(evidence: &Evidence) -> Self {
        let of = |snapshot: &Option<Snapshot>| snapshot.as_ref()?.tables.get("log_counters").map(values);
        Self { before: of(&evidence.before), after: of(&evidence.after) }
    }

    /// Fills in what they grew by; whether one went down, which marks the row.
    pub(super) fn fill(&self, row: &mut DatabaseRow) -> bool {
        let Some(now) = self.after.as_ref().and_then(|after| after.get(&row.database)) else { return false };
        let then = self.before.as_ref().and_then(|before| before.get(&row.database));
        let from_zero = [Some(0); LOG_COUNTERS.len()];
        let then = match (then, row.mark) {
            (_, Some(Mark::Restarted | Mark::New)) => &from_zero,
            (Some(then), _) => then,
            (None, _) => return false,
        };
        let went_down = now
            .iter()
            .zip(then)
            .any(|pair| matches!(pair, (Some(now), Some(then)) if now < then || *now < 0 || *then < 0));
        if went_down {
            row.mark = row.mark.or(Some(Mark::Reset));
            return true;
        }
        let mut growth = now.iter().zip(then).map(|(now, then)| {
            let grown = now.zip(*then).map(|(now, then)| now.saturating_sub(then));
            grown.and_then(|grown| u64::try_from(grown.clamp(0, u64::MAX.into())).ok())
        });
        row.transactions = growth.next().flatten();
        row.log_flushes = growth.next().flatten();
        row.log_bytes_flushed = growth.next().flatten();
        row.log_flush_waits = growth.next().flatten();
        row.log_flush_wait_ms = growth.next().flatten();
        false
    }
}

fn values(table: &Table) -> Values {
    let columns = Columns::of(table);
    let place = |name: &str| columns.place(&[name]);
    let (counter, instance, value) = (place("counter_name"), place("instance_name"), place("cntr_value"));
    let mut values = Values::new();
    for row in &table.rows {
        let Some((name, instance)) = text_in(row, counter).zip(text_in(row, instance)) else { continue };
        let Some(index) = LOG_COUNTERS.iter().position(|known| known.eq_ignore_ascii_case(name)) else { continue };
        let counters = values.entry(instance.to_owned()).or_default();
        if let Some(known) = counters.get_mut(index) {
            *known = number_in(row, value);
        }
    }
    values
}

/// What a counter of the whole server grew by; `None` where it was not read twice, or went down.
pub(super) fn growth_of(evidence: &Evidence, counter: &str) -> Option<u64> {
    let of = |snapshot: &Option<Snapshot>| -> Option<i128> {
        let table = snapshot.as_ref()?.tables.get("dm_os_performance_counters")?;
        let columns = Columns::of(table);
        let (name, value) = (columns.place(&["counter_name"]), columns.place(&["cntr_value"]));
        let of_counter =
            |row: &&Vec<crate::model::Value>| text_in(row, name).is_some_and(|name| name.eq_ignore_ascii_case(counter));
        let mut values = table.rows.iter().filter(of_counter).filter_map(|row| number_in(row, value)).peekable();
        values.peek()?;
        Some(values.fold(0, i128::saturating_add))
    };
    let (before, after) = (of(&evidence.before)?, of(&evidence.after)?);
    (before >= 0).then(|| u64::try_from(after.saturating_sub(before)).ok()).flatten()
}
