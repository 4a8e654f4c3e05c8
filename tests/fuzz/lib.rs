//! The layers that the targets fuzz, compiled from the package's own sources without the rest of it.

#[path = "../../src/model/mod.rs"]
pub mod model;
#[path = "../../src/parse/mod.rs"]
pub mod parse;
