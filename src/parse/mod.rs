//! (stub)
#![allow(missing_docs)]
pub mod target {
    pub fn parse_targets(_text: &str) -> Vec<crate::model::Target> {
        Vec::new()
    }
}
