//! Owns what to do after a verdict on pages, and what that risks.

use super::{
    Conclusion, Open, PageCase,
    hot::{self, Hot},
};
use crate::{
    analyze::{
        facts::Facts,
        pages::TEMPDB,
        verdict::NO_RISK,
        words::{count, counted},
    },
    model::{NextStep, PageRow, ServerVersion, StackClass},
};

/// Data files of tempdb up to which more of them are the usual remedy (Microsoft's recommendation for tempdb).
const TEMPDB_FILES: u64 = 8;

/// The steps, the most useful first.
pub(super) fn next_steps(facts: &Facts<'_>, case: &PageCase<'_>, conclusion: Conclusion) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let mut add = |text: &str, risk: &str| steps.push(NextStep { text: text.to_owned(), risk: risk.to_owned() });
    match conclusion {
        Conclusion::Contention => contended(facts, case, &mut add),
        Conclusion::None => add("Capture while the problem is there.", NO_RISK),
        Conclusion::Open(Open::NoCounters | Open::CountersReset) => {
            add("Repeat the capture with the counters of waits over the same time.", NO_RISK);
        }
        Conclusion::Open(Open::NotLeading) => {
            add("Capture the waits that most of the time went into (--scenario auto picks them).", NO_RISK);
        }
    }
    steps
}

fn contended(facts: &Facts<'_>, case: &PageCase<'_>, add: &mut impl FnMut(&str, &str)) {
    let hot = hot::hot(facts, case);
    let page = hot::leading_page(facts, case).map(|(row, _)| row);
    match (hot, page) {
        (Hot::TempdbAllocation, _) => tempdb(facts, add),
        (Hot::LastPageInsert | Hot::Page, Some(page)) => {
            whose(facts, page, add);
            if hot == Hot::LastPageInsert {
                last_page(facts, add);
            }
        }
        (Hot::Spread, Some(page)) => whose(facts, page, add),
        _ => add(
            "Repeat the capture over a longer window, so that samples of the waiting tasks name the pages.",
            NO_RISK,
        ),
    }
    let mut stacks = facts.items_of(|session| PageCase::has_page_stacks(facts, session));
    if let Some(first) = stacks.find(|item| item.class == StackClass::Latch) {
        add(&format!("Read the path of stack {} down to the statement.", first.id), NO_RISK);
    }
}

fn tempdb(facts: &Facts<'_>, add: &mut impl FnMut(&str, &str)) {
    let schedulers = facts.measures.schedulers.map_or(TEMPDB_FILES, |schedulers| schedulers.min(TEMPDB_FILES));
    match tempdb_files(facts) {
        Some(files) if files >= schedulers => add(
            &format!(
                "tempdb has {} already: check that they are equal in size and growth, because allocation goes to the emptiest.",
                counted(files, "data file")
            ),
            NO_RISK,
        ),
        files => {
            let has = files.map_or_else(String::new, |files| format!("; it has {}", count(files)));
            add(
                &format!(
                    "Give tempdb {}, all equal in size and growth{has}: each has allocation pages of its own.",
                    counted(schedulers, "data file")
                ),
                "files of unequal size move the contention to the largest one; space is taken on tempdb's drive",
            );
        }
    }
    add(
        "Find what creates and drops temporary tables so often: those of procedures without named constraints or later DDL are cached and reused.",
        "none beyond that of any change of code",
    );
}

/// Data files of tempdb, where the files were read.
fn tempdb_files(facts: &Facts<'_>) -> Option<u64> {
    let snapshots = [&facts.evidence.after, &facts.evidence.before].into_iter().flatten();
    let table = snapshots.filter_map(|snapshot| snapshot.tables.get("master_files")).next()?;
    let is_data = |row: &usize| {
        let kind = table.text(*row, "type_desc").map(str::trim);
        table.integer(*row, "database_id") == Some(TEMPDB) && kind.is_some_and(|kind| kind.eq_ignore_ascii_case("ROWS"))
    };
    Some((0..table.rows.len()).filter(is_data).count() as u64).filter(|files| *files > 0)
}

/// How to find the table of a page.
fn whose(facts: &Facts<'_>, page: &PageRow, add: &mut impl FnMut(&str, &str)) {
    let (database, file, number) = (page.database_id, page.file_id, page.page_id);
    let version = facts.evidence.server.as_ref().and_then(|server| server.version);
    let text = if version.is_some_and(|version| version >= ServerVersion::V2019) {
        format!("Find the table and index of the page: sys.dm_db_page_info({database}, {file}, {number}, 'LIMITED').")
    } else {
        format!(
            "Find the table and index of the page: sys.dm_db_database_page_allocations, or DBCC PAGE ({database}, {file}, {number}, 0) with trace flag 3604 of that connection."
        )
    };
    add(&text, NO_RISK);
}

fn last_page(facts: &Facts<'_>, add: &mut impl FnMut(&str, &str)) {
    let version = facts.evidence.server.as_ref().and_then(|server| server.version);
    if version.is_none_or(|version| version >= ServerVersion::V2019) {
        add(
            "Consider OPTIMIZE_FOR_SEQUENTIAL_KEY on that index (SQL Server 2019 and later): it lets threads take turns before the page.",
            "single sessions may insert a little slower: measure it",
        );
    }
    add(
        "Insert fewer times: several rows a statement, or fewer sessions at once.",
        "none beyond that of any change of code",
    );
    add(
        "Spread the inserts over the index: a hash partition, or a leading key that does not only grow.",
        "range scans by the old order cost more, and pages split where the key no longer grows",
    );
}
