//! What may become of a capture, and how each is told from the others.

mod live;
mod table;
