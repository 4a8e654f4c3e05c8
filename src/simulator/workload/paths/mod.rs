//! Owns the call paths of the workloads. Names follow published stacks; names and offsets that none gives are invented.

pub mod backoffs;
pub mod files;
pub mod log;
pub mod pages;
pub mod snapshots;
pub mod tracing;
pub mod versions;
pub mod waits;
pub mod yields;

/// A call path, leaf first and without the frames of request processing, and how often it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    frames: Vec<String>,
    /// Share among its kind, before the seed's say.
    pub weight: u64,
}

impl Path {
    /// A path of these `module!function+0xhex` frames.
    pub fn new<T: AsRef<str>>(frames: impl IntoIterator<Item = T>, weight: u64) -> Self {
        Self { frames: frames.into_iter().map(|frame| frame.as_ref().to_owned()).collect(), weight }
    }

    /// With callers below.
    #[must_use]
    pub fn below<T: AsRef<str>>(mut self, callers: impl IntoIterator<Item = T>) -> Self {
        self.frames.extend(callers.into_iter().map(|frame| frame.as_ref().to_owned()));
        self
    }

    /// Its frames, leaf first.
    pub fn frames(&self) -> impl Iterator<Item = &str> {
        self.frames.iter().map(String::as_str)
    }
}

/// The published path of the index seek, leaf first, down to CSQLSource::Execute.
pub const INDEX_SEEK: [&str; 14] = [
    "sqlmin!IndexPageManager::GetPageWithKey+0xef",
    "sqlmin!GetRowForKeyValue+0x146",
    "sqlmin!IndexRowScanner::EstablishInitialKeyOrderPosition+0x10a",
    "sqlmin!IndexDataSetSession::GetNextRowValuesInternal+0x7d7",
    "sqlmin!RowsetNewSS::FetchNextRow+0x12a",
    "sqlmin!CQScanRangeNew::GetRow+0x6a1",
    "sqlmin!CQScanCountStarNew::GetRowHelper+0x44",
    "sqlmin!CQScanStreamAggregateNew::Open+0x70",
    "sqlmin!CQueryScan::Uncache+0x32f",
    "sqllang!CXStmtQuery::SetupQueryScanAndExpression+0x2a2",
    "sqllang!CXStmtQuery::ErsqExecuteQuery+0x2f8",
    "sqllang!CMsqlExecContext::ExecuteStmts<1,1>+0xcca",
    "sqllang!CMsqlExecContext::FExecute+0x58b",
    "sqllang!CSQLSource::Execute+0x319",
];

/// [`INDEX_SEEK`] from a frame on.
pub fn seek_from(frame: usize) -> &'static [&'static str] {
    INDEX_SEEK.get(frame..).unwrap_or_default()
}

/// Under whatever a statement does.
pub const STATEMENTS: [&str; 3] = [
    "sqllang!CMsqlExecContext::ExecuteStmts<1,1>+0xcca",
    "sqllang!CMsqlExecContext::FExecute+0x58b",
    "sqllang!CSQLSource::Execute+0x319",
];

/// A statement that changes rows, from its update operator on: published for inserts.
const CHANGING_ROWS: [&str; 5] = [
    "sqlmin!CQScanUpdateNew::GetRow+0x43d",
    "sqlmin!CQueryScan::GetRow+0x81",
    "sqllang!CXStmtQuery::ErsqExecuteQuery+0x36d",
    "sqllang!CXStmtDML::XretDMLExecute+0x31c",
    "sqllang!CXStmtDML::XretExecute+0xad",
];

/// Under whatever a statement that changes rows does.
pub fn changing_rows() -> impl Iterator<Item = &'static str> {
    CHANGING_ROWS.into_iter().chain(STATEMENTS)
}

/// Looking up a login's groups by their identifiers in a security cache: published for 2008 R2, offsets invented.
pub const OWNER_LOOKUP: [&str; 10] = [
    "sqllang!CMEDScanBase::Rowset+0x5d",
    "sqllang!CMEDScan::StartSearch+0x8a",
    "sqllang!CMEDCatalogOwner::GetOwnerAliasIdFromSid+0x13e",
    "sqllang!CMEDCatalogOwner::LookupPrimaryIdInCatalog+0x71",
    "sqllang!CMEDCacheEntryFactory::GetProxiedCacheEntryByAltKey+0xb4",
    "sqllang!CMEDCatalogOwner::GetProxyOwnerBySID+0x4c",
    "sqllang!CMEDProxyDatabase::GetOwnerBySID+0x62",
    "sqllang!ISECTmpEntryStore::Get+0x119",
    "sqllang!ISECTmpEntryStore::Get+0x119",
    "sqllang!NTGroupInfo::`vector deleting destructor'+0x2b3",
];

/// Taking a row lock, under the lock manager's own frames.
pub const ROW_LOCK: [&str; 3] =
    ["sqlmin!GetLock+0x1ea", "sqlmin!BTreeRow::AcquireLock+0x2d1", "sqlmin!IndexRowScanner::AcquireNextRowLock+0x1e8"];

/// A completed statement's event.
pub const STATEMENT_COMPLETED: [&str; 2] =
    ["sqllang!XeSqlPkg::sql_statement_completed::Publish+0x1c4", "sqllang!CStmtTracker::Completed+0x93"];
