//! Owns finding `hot_pages`: what the pages are that tasks wait for, and in which code.

use super::PageCase;
use crate::{
    analyze::{
        facts::Facts,
        findings::gate,
        frames::symbol,
        pages::{TEMPDB, is_allocation},
        shares,
        words::{count, counted, percent_range},
    },
    model::{Finding, Interval, PageRow, StackClass},
};
use std::collections::{BTreeMap, BTreeSet};

/// What is hot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hot {
    /// Pages of tempdb that say which space is in use.
    TempdbAllocation,
    /// One page of a table or index, by inserts.
    LastPageInsert,
    /// One page.
    Page,
    /// No page leads.
    Spread,
    /// Pages are not known.
    Unknown,
}

impl Hot {
    /// The state of the finding.
    pub fn name(self) -> &'static str {
        match self {
            Self::TempdbAllocation => "tempdb_allocation",
            Self::LastPageInsert => "last_page_insert",
            Self::Page => "hot_page",
            Self::Spread => "spread",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether a page is one of tempdb's allocation pages.
pub(super) fn is_tempdb_allocation(row: &PageRow) -> bool {
    row.database_id == TEMPDB && is_allocation(&row.page_type)
}

/// The share of tempdb's allocation pages.
pub(super) fn allocation_share(facts: &Facts<'_>, case: &PageCase<'_>) -> Interval {
    case.pages.share(is_tempdb_allocation, &facts.settings().shares)
}

/// The page with most waits, and its share.
pub(super) fn leading_page<'c>(facts: &Facts<'_>, case: &'c PageCase<'_>) -> Option<(&'c PageRow, Interval)> {
    let first = case.pages.rows.first()?;
    let place = |row: &PageRow| (row.database_id, row.file_id, row.page_id);
    Some((first, case.pages.share(|row| place(row) == place(first), &facts.settings().shares)))
}

/// The database with most waits for its pages, and its share.
pub(super) fn leading_database(facts: &Facts<'_>, case: &PageCase<'_>) -> Option<(String, Interval)> {
    let mut waits: BTreeMap<i64, u128> = BTreeMap::new();
    for row in &case.pages.rows {
        let sum = waits.entry(row.database_id).or_default();
        *sum = sum.saturating_add(row.waits.into());
    }
    let (id, _) = waits.into_iter().max_by_key(|(_, waits)| *waits)?;
    let name = case.pages.rows.iter().find(|row| row.database_id == id)?.database.clone();
    Some((name, case.pages.share(|row| row.database_id == id, &facts.settings().shares)))
}

/// The share of the stacks in which a row is put into an index.
pub(super) fn insert_share(facts: &Facts<'_>, case: &PageCase<'_>) -> Option<Interval> {
    let tally = &case.seen.tally;
    let with_stack = tally.with_stack();
    if with_stack == 0 || !tally.bounded || tally.unplaced > 0 {
        return None;
    }
    let inserts = &facts.catalog.page_latch.inserts;
    let is_insert = |name: &str| inserts.is_insert(name);
    let items = facts.items_of(|session| PageCase::has_page_stacks(facts, session));
    let proven = items
        .filter(|item| item.class == StackClass::Latch)
        .filter(|item| item.frames.iter().any(|frame| symbol(frame).is_some_and(is_insert)))
        .fold(0_u128, |sum, item| sum.saturating_add(item.events.into()));
    let missing = tally.without_slot.saturating_add(tally.lost);
    let total = with_stack.saturating_add(missing) as f64;
    let open = missing.saturating_add(case.seen.placed(StackClass::Unresolved));
    let possible = proven.saturating_add(open) as f64 / total;
    Some(shares::interval(proven as f64 / total, possible, with_stack, &facts.settings().shares))
}

/// What is hot, over the whole of the intervals.
pub(super) fn hot(facts: &Facts<'_>, case: &PageCase<'_>) -> Hot {
    let settings = &facts.catalog.page_latch.gates;
    let Some((page, share)) = leading_page(facts, case).filter(|_| case.pages.bounded) else { return Hot::Unknown };
    let leads = share.low >= settings.page_share_low;
    let inserts = || insert_share(facts, case).is_some_and(|share| share.low >= settings.insert_share_low);
    if allocation_share(facts, case).low >= settings.page_share_low {
        Hot::TempdbAllocation
    } else if leads && page.page_type == "data or index" && inserts() {
        Hot::LastPageInsert
    } else if leads {
        Hot::Page
    } else {
        Hot::Spread
    }
}

/// The finding.
pub(super) fn finding(facts: &Facts<'_>, case: &PageCase<'_>) -> Finding {
    let settings = &facts.catalog.page_latch.gates;
    let hot = hot(facts, case);
    let page = leading_page(facts, case);
    let share = match hot {
        Hot::TempdbAllocation => Some(allocation_share(facts, case)),
        _ => page.as_ref().map(|(_, share)| *share),
    };
    let inserts = insert_share(facts, case);
    let (pages, inserted) = (settings.page_share_low, settings.insert_share_low);
    Finding {
        name: "hot_pages".to_owned(),
        state: hot.name().to_owned(),
        value: page.as_ref().map(|(row, _)| row.share),
        low: share.map(|share| share.low),
        high: share.map(|share| share.high),
        gates: vec![
            gate("page_share_low", share.map(|share| share.low), format!(">= {pages}"), |low| low >= pages),
            gate("insert_share_low", inserts.map(|share| share.low), format!(">= {inserted}"), |low| low >= inserted),
        ],
        text: text(facts, case, hot),
    }
}

fn text(facts: &Facts<'_>, case: &PageCase<'_>, hot: Hot) -> String {
    let mut sentences = Vec::new();
    match (hot, leading_page(facts, case)) {
        (Hot::TempdbAllocation, Some((page, _))) => {
            let share = allocation_share(facts, case);
            let allocation = || case.pages.rows.iter().filter(|row| is_tempdb_allocation(row));
            let files: BTreeSet<i64> = allocation().map(|row| row.file_id).collect();
            sentences.push(format!(
                "{} of the waits are for allocation pages of tempdb in {}, most for {} ({}).",
                percent_range(share.low, share.high),
                counted(files.len() as u64, "file"),
                in_words(page),
                page.page_type
            ));
        }
        (Hot::Spread, Some((page, share))) => sentences.push(format!(
            "No page leads among {}: {} has {} of the waits.",
            counted(case.pages.rows.len() as u64, "page"),
            in_words(page),
            percent_range(share.low, share.high)
        )),
        (_, Some((page, share))) => sentences.push(format!(
            "{} of the waits are for page {} ({}).",
            percent_range(share.low, share.high),
            in_words(page),
            page.page_type
        )),
        (_, None) => sentences.push("Which pages tasks waited for is not known.".to_owned()),
    }
    if let (Hot::LastPageInsert | Hot::Page, Some(share)) = (hot, insert_share(facts, case)) {
        sentences.push(format!("{} of the stacks put a row into an index.", percent_range(share.low, share.high)));
    }
    if case.pages.unreadable > 0 {
        sentences.push(format!(
            "{} did not name the page, as on builds whose events hold the latch's address instead.",
            counted(case.pages.unreadable, "wait")
        ));
    }
    if let Some(row) = case.pages.rows.first() {
        let waits = count(case.pages.waits);
        sentences.push(match row.basis.as_str() {
            "samples" => format!("By {waits} waiting tasks seen in samples."),
            _ => format!("By {waits} events."),
        });
    }
    sentences.join(" ")
}

/// `2:1:1 in tempdb`.
pub(super) fn in_words(row: &PageRow) -> String {
    format!("{}:{}:{} in {}", row.database_id, row.file_id, row.page_id, row.database)
}
