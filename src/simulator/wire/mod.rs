//! Owns TDS, the server's side: packets, pre-login, TLS, login, requests and tokens ([MS-TDS], version 7.4).
//!
//! Clients of TDS 7.3A (SQL Server 2008) and newer are served. Everything that decodes is bounds-checked and total.
//!
//! [MS-TDS]: https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/

mod answer;
mod argument;
pub mod attention;
pub mod browser;
pub(crate) mod connection;
mod encode;
mod error;
mod handshake;
pub mod hooks;
mod interruption;
mod login;
mod packet;
mod prelogin;
mod procedure;
mod reader;
mod request;
mod row;
mod scalar;
mod text;
mod time;
pub(crate) mod tls;
mod token;
mod transaction;
mod type_info;
mod variant;

#[cfg(test)]
mod hostile;
