//! Owns the table of hot pages.

use super::{TABLE_ROWS, print_rest, print_table};
use crate::{
    model::PageRow,
    report::text::{
        columns::Columns,
        figures::{count, percent},
        layout::{shorten, visible},
        page::Page,
    },
};

/// Longest basis shown: `samples` and `events` are shorter.
const LONGEST_BASIS: usize = 10;

pub(super) fn print(page: &mut Page, pages: &[PageRow]) {
    let mut table = Columns::new("Database and page", &["waits", "share", "seen in"]);
    for hot in pages.iter().take(TABLE_ROWS) {
        let figures = vec![count(hot.waits), percent(hot.share), shorten(&visible(&hot.basis), LONGEST_BASIS)];
        table.row(&name(hot), figures);
    }
    print_table(page, "Pages that tasks waited for, database:file:page as in wait_resource", &table, pages.len());
    let rest = pages.get(TABLE_ROWS..).unwrap_or_default();
    print_rest(page, rest.len(), rest.iter().map(|page| page.waits), "waits");
}

fn name(hot: &PageRow) -> String {
    let PageRow { database, database_id, file_id, page_id, page_type, .. } = hot;
    format!("{database} {database_id}:{file_id}:{page_id} ({page_type})")
}
