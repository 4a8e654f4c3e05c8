//! Owns where tasks wait for a latch on a page in memory: under the latch's own frames. Published are the page's
//! (BUF::AcquireLatch, BPool::Get) and those of finding a place to insert; those of allocation and all offsets are
//! invented.

use super::{INDEX_SEEK, Path, STATEMENTS, changing_rows};

const PAGE: [&str; 2] = ["sqlmin!BUF::AcquireLatch+0x62", "sqlmin!BPool::Get+0x2d3"];

/// A temporary table is made.
const CREATING: [&str; 5] = [
    "sqlmin!HeapDataSetSession::InsertRowInternal+0x2a91",
    "sqlmin!DatasetSession::InsertRow+0x163",
    "sqlmin!RowsetNewSS::InsertRow+0x26",
    "sqlmin!CQScanUpdateNew::GetRow+0x43d",
    "sqllang!CXStmtQuery::ErsqExecuteQuery+0x36d",
];

/// It goes.
const DROPPING: [&str; 5] = [
    "sqlmin!SEDropRowsetInternal+0x2f7",
    "sqlmin!DDLAgent::SEDropRowsets+0x12c",
    "sqllang!CIndexDDL::DropRowset+0x1b3",
    "sqllang!DropObject+0x57a",
    "sqllang!FDropTempWithNolog+0x1e9",
];

/// Reading a page of an index.
pub fn of_index() -> Path {
    Path::new(PAGE, 1).below(INDEX_SEEK)
}

/// Marking pages as taken and free, in a PFS page.
pub fn free_space() -> Vec<Path> {
    let marking = |offset: &str, weight: u64| {
        Path::new(PAGE, weight)
            .below([format!("sqlmin!PageRef::AcquirePFS+{offset}")])
            .below(["sqlmin!AllocPageFromExtent+0x21d", "sqlmin!AllocationReq::AllocatePage+0x3f4"])
            .below(CREATING)
            .below(STATEMENTS)
    };
    let freeing = Path::new(PAGE, 280)
        .below(["sqlmin!PageRef::AcquirePFS+0x9a", "sqlmin!DeallocPage+0x1ac"])
        .below(DROPPING)
        .below(STATEMENTS);
    vec![marking("0x9a", 560), marking("0xc7", 160), freeing]
}

/// Finding a mixed extent, in an SGAM page.
pub fn mixed_extents() -> Vec<Path> {
    let finding = |offset: &str, weight: u64| {
        Path::new(PAGE, weight)
            .below([format!("sqlmin!SGAMPageRef::FindMixedExtent+{offset}")])
            .below(["sqlmin!AllocExtentFromSGAM+0x8e", "sqlmin!AllocationReq::AllocatePage+0x2b0"])
            .below(CREATING)
            .below(STATEMENTS)
    };
    vec![finding("0x7d", 800), finding("0xb4", 200)]
}

/// Inserting at the end of an index.
pub fn last_page() -> Vec<Path> {
    let inserts = |offset: &str, weight: u64| {
        Path::new(PAGE, weight)
            .below(["sqlmin!IndexPageManager::GetPageWithKey+0xef".to_owned()])
            .below([format!("sqlmin!IndexDataSetSession::LocatePageForInsert+{offset}")])
            .below(["sqlmin!IndexDataSetSession::InsertSmallRecord+0x4b3"])
            .below(INSERTING_ROW)
            .below(changing_rows())
    };
    let again = Path::new([PAGE[0], "sqlmin!IndexPageManager::ReacquireAccess+0x71"], 120)
        .below(["sqlmin!PageContext::ReacquireAccess+0x2c", "sqlmin!IndexDataSetSession::InsertSmallRecord+0x7f6"])
        .below(INSERTING_ROW)
        .below(changing_rows());
    vec![inserts("0x1d8", 690), inserts("0x24a", 190), again]
}

const INSERTING_ROW: [&str; 3] = [
    "sqlmin!IndexDataSetSession::InsertRowInternal+0x1e64",
    "sqlmin!DatasetSession::InsertRow+0x163",
    "sqlmin!RowsetNewSS::InsertRow+0x26",
];
