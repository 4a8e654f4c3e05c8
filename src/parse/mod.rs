//! Owns reading: bytes in, records out. Target documents, call-stack text, event documents, module lists and saved
//! rows of views.
//!
//! Everything here is total: any input gives an answer, what was odd is said beside it, and what was not understood keeps
//! its text. The work is linear in the input, and no entity is expanded beyond XML's five and numeric references.

mod entities;
mod event;
mod frame;
pub mod input;
mod markup;
pub mod modules;
pub mod rows;
pub mod stack;
pub mod target;
pub mod text;
