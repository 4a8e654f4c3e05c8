//! Owns talking to a SQL Server: addresses, connections, running statements, error numbers, and what a server can do.
//! The only room that knows tiberius.

mod address;
mod authority;
mod browser;
mod connection;
mod decode;
mod dial;
mod error;
mod failure;
mod hints;
mod options;
mod prelogin;
mod race;

pub use address::{AddressError, ServerAddress};
pub use authority::{AuthorityError, read_authorities};
pub use connection::Connection;
pub use error::{ServerMessage, SqlServerError};
pub use options::{Authentication, ConnectOptions, Encryption, SPEAKS_INTEGRATED};
