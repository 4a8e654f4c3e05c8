//! Owns where row versions are written. AppendOnlyVerStoreMgr::AddRecord over the latch is published; the rest is
//! invented.

use super::{Path, changing_rows};

/// Under a new version: the row that changes.
const UPDATING_ROW: [&str; 4] = [
    "sqlmin!VersionStoreGenerator::GenerateVersion+0xa2",
    "sqlmin!PageRef::ModifyRow+0x6d1",
    "sqlmin!IndexDataSetSession::SetDataInternal+0x21f4",
    "sqlmin!DatasetSession::SetData+0x16b",
];

/// Adding a version of a row to the version store: at two return addresses, and by way of a new unit.
pub fn records() -> Vec<Path> {
    let adding = |offset: &str, weight: u64| {
        Path::new([format!("sqlmin!AppendOnlyVerStoreMgr::AddRecord+{offset}")], weight)
            .below(UPDATING_ROW)
            .below(changing_rows())
    };
    let starting = Path::new(["sqlmin!AppendOnlyVerStoreMgr::AddRecord+0x18c"], 80)
        .below(["sqlmin!AppendOnlyVerStoreMgr::StartUnit+0x95"])
        .below(UPDATING_ROW)
        .below(changing_rows());
    vec![adding("0x18c", 730), adding("0x1f9", 190), starting]
}
