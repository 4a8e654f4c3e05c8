//! (stub until merged)
#![allow(missing_docs)]
pub mod private_file {
    use std::io::{self, Write};
    use std::path::Path;
    pub fn ensure_private_dir(path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }
    pub fn append_synced(path: &Path, line: &str) -> io::Result<()> {
        let mut f = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(f, "{line}")?;
        f.sync_data()
    }
}
pub mod bundle {
    #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
    pub struct StatementRecord {
        pub n: u64,
        pub utc: crate::model::UtcMicros,
        pub sql: String,
        pub rows: u64,
        pub error_number: Option<u32>,
        pub ms: u64,
    }
}
