//! What may become of a capture, and how each is told from the others.

mod accounts;
mod clock;
mod guards;
mod live;
mod outage;
mod table;
