//! What may become of a capture, and how each is told from the others.

mod clock;
mod guards;
mod live;
mod table;
