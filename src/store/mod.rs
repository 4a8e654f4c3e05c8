//! Owns what is kept on disk: bundles, and how private files are made.

pub mod bundle;
mod error;
pub mod private_file;

pub use error::StoreError;
