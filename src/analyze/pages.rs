//! Owns the hot pages: which pages in memory tasks were seen to wait for, and what kind of page each is.

use super::{
    classify::{PAGE_LATCH_WAITS, wait_types},
    files::database_names,
    sessions::is_missing,
    shares,
};
use crate::{
    catalog::ShareSettings,
    model::{Evidence, Interval, PageRow, SessionEvidence},
};
use std::{cmp::Reverse, collections::BTreeMap};

/// The event field that names the page.
const WAIT_RESOURCE: &str = "wait_resource";
/// Pages that one PFS page covers.
const PFS_EVERY: i64 = 8_088;
/// Pages that one GAM page covers (63,904 extents of 8 pages).
const GAM_EVERY: i64 = 511_232;
/// `database_id` of tempdb.
pub const TEMPDB: i64 = 2;

/// A page by its place: database, file, page.
type Place = (i64, i64, i64);

/// The pages that tasks were seen to wait for.
#[derive(Debug, Clone, PartialEq)]
pub struct Pages {
    /// The pages, most waits first.
    pub rows: Vec<PageRow>,
    /// Waits of all of them.
    pub waits: u128,
    /// Waits that may be for any page: lost events, and values that name no page.
    pub open: u128,
    /// Whether `open` bounds what is missing.
    pub bounded: bool,
    /// Waits with values that name no page, such as the address of a latch on older builds.
    pub unreadable: u128,
}

impl Pages {
    /// The interval of the share of some of the pages.
    pub fn share(&self, is_one: impl Fn(&PageRow) -> bool, settings: &ShareSettings) -> Interval {
        if !self.bounded || self.waits == 0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let waits: u128 = self.rows.iter().filter(|row| is_one(row)).map(|row| u128::from(row.waits)).sum();
        let total = self.waits.saturating_add(self.open) as f64;
        let possible = waits.saturating_add(self.open) as f64 / total;
        shares::interval(waits as f64 / total, possible, self.waits, settings)
    }
}

/// The hot pages of the evidence, descending.
pub fn pages(evidence: &Evidence, settings: &ShareSettings) -> Pages {
    let counted = by_events(evidence, settings);
    if counted.bounded && counted.waits > 0 {
        return counted;
    }
    let sampled = by_samples(evidence);
    if sampled.waits > 0 {
        // What the events held instead of pages is worth knowing beside the samples.
        return Pages { unreadable: counted.unreadable.saturating_add(sampled.unreadable), ..sampled };
    }
    counted
}

/// Pages by the events of the sessions that bucket by them.
fn by_events(evidence: &Evidence, settings: &ShareSettings) -> Pages {
    let mut waits: BTreeMap<Place, u128> = BTreeMap::new();
    let (mut unreadable, mut lost) = (0_u128, Some(0_u128));
    for session in evidence.sessions.iter().filter(|session| is_bucketed_by_page(session) && !is_missing(session)) {
        for slot in session.target.iter().flat_map(|target| &target.slots) {
            match place(&slot.value) {
                Some(place) => *waits.entry(place).or_default() += u128::from(slot.count),
                None => unreadable += u128::from(slot.count),
            }
        }
        let without_slot = shares::events_without_slot(session);
        // Once every slot is in use, waits for other pages may be among those of the last ones.
        let overfull = shares::is_at_capacity(session) && without_slot.is_none();
        let missing = shares::lost_events(session, settings).filter(|_| !overfull);
        lost = lost
            .zip(missing)
            .map(|(sum, missing)| sum.saturating_add(missing).saturating_add(without_slot.unwrap_or(0).into()));
    }
    let open = lost.unwrap_or(0).saturating_add(unreadable);
    Pages { bounded: lost.is_some(), open, unreadable, ..rows(evidence, waits, "events") }
}

/// Pages by the waiting tasks that samples saw, each time they were seen.
fn by_samples(evidence: &Evidence) -> Pages {
    let mut waits: BTreeMap<Place, u128> = BTreeMap::new();
    let mut unreadable = 0_u128;
    for table in evidence.samples.iter().filter_map(|sample| sample.tables.get("dm_os_waiting_tasks")) {
        for row in 0..table.rows.len() {
            let of_page = table.text(row, "wait_type").is_some_and(|wait| PAGE_LATCH_WAITS.contains(&wait.trim()));
            match table.text(row, "resource_description").and_then(place) {
                Some(place) if of_page => *waits.entry(place).or_default() += 1,
                None if of_page => unreadable += 1,
                _ => {}
            }
        }
    }
    Pages { bounded: true, open: unreadable, unreadable, ..rows(evidence, waits, "samples") }
}

fn is_bucketed_by_page(session: &SessionEvidence) -> bool {
    let mut types = wait_types(&session.context).peekable();
    session.bucket.as_deref().is_some_and(|bucket| bucket.eq_ignore_ascii_case(WAIT_RESOURCE))
        && types.peek().is_some()
        && types.all(|wait| PAGE_LATCH_WAITS.contains(&wait))
}

/// `2:1:1`: database, file and page. What stands after a space says more about it.
fn place(text: &str) -> Option<Place> {
    let mut numbers = text.split_whitespace().next()?.split(':').map(|number| number.parse::<i64>().ok());
    let mut next = || numbers.next().flatten().filter(|number| *number >= 0);
    let place = (next()?, next()?, next()?);
    numbers.next().is_none().then_some(place)
}

fn rows(evidence: &Evidence, waits: BTreeMap<Place, u128>, basis: &str) -> Pages {
    let total = waits.values().fold(0_u128, |sum, waits| sum.saturating_add(*waits));
    let mut rows: Vec<PageRow> = waits
        .into_iter()
        .filter(|(_, waits)| *waits > 0)
        .map(|((database_id, file_id, page_id), waits)| PageRow {
            database: database_name(evidence, database_id),
            database_id,
            file_id,
            page_id,
            page_type: page_type(file_id, page_id).to_owned(),
            waits: u64::try_from(waits).unwrap_or(u64::MAX),
            share: waits as f64 / total as f64,
            basis: basis.to_owned(),
        })
        .collect();
    rows.sort_by_key(|row| (Reverse(row.waits), row.database_id, row.file_id, row.page_id));
    Pages { rows, waits: total, open: 0, bounded: true, unreadable: 0 }
}

/// The name of a database, the later one; `database 5` where it is hidden.
fn database_name(evidence: &Evidence, database_id: i64) -> String {
    let snapshots = [&evidence.after, &evidence.before].into_iter().flatten();
    match snapshots
        .filter_map(|snapshot| snapshot.tables.get("databases"))
        .map(database_names)
        .find_map(|mut names| names.remove(&database_id))
    {
        Some(name) => name,
        None if database_id == TEMPDB => "tempdb".to_owned(),
        None => format!("database {database_id}"),
    }
}

/// What a page is by its number alone: allocation pages stand at fixed distances (SQL Server's pages and extents
/// architecture guide).
pub fn page_type(file_id: i64, page_id: i64) -> &'static str {
    match page_id {
        0 => "file header",
        9 if file_id == 1 => "boot",
        1 => "PFS",
        2 => "GAM",
        3 => "SGAM",
        6 => "DCM",
        7 => "BCM",
        page if page % PFS_EVERY == 0 => "PFS",
        page if page > GAM_EVERY - 1 => match page % GAM_EVERY {
            0 => "GAM",
            1 => "SGAM",
            6 => "DCM",
            7 => "BCM",
            _ => "data or index",
        },
        _ => "data or index",
    }
}

/// Whether pages of this type say which space is in use.
pub fn is_allocation(page_type: &str) -> bool {
    matches!(page_type, "PFS" | "GAM" | "SGAM")
}
