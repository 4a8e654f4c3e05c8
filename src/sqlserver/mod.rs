//! Owns talking to a SQL Server: addresses, connections, running statements, error numbers, and what a server can do.
//! The only room that knows tiberius.

mod address;
mod connection;
mod decode;
mod error;
mod options;

pub use address::{AddressError, ServerAddress};
pub use connection::Connection;
pub use error::{ServerMessage, SqlServerError};
pub use options::{Authentication, ConnectOptions, Encryption};
