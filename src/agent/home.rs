//! Owns the way back to the server that a run began on: behind its name another one may answer after a failover (field
//! report L-19), and nothing of the run is there.

use crate::agent::counters;
use crate::agent::server::Server;
use crate::model::ServerIdentity;
use crate::sqlserver::{ConnectOptions, ServerAddress};
use crate::statements::Statements;

/// Makes sure of a connection to the server that a run began on, over its own name where another one answers under the
/// name that was given.
///
/// # Errors
/// Why it cannot be reached, in words. Nothing but questions has been sent to any other server then.
pub(super) async fn reach(
    server: &mut Server,
    statements: &Statements<'_>,
    home: &ServerIdentity,
) -> Result<(), String> {
    for is_own_name in [false, true] {
        server.reconnect().await.map_err(|error| counters::chain(&error))?;
        if server.is_home() {
            return Ok(());
        }
        let sql = statements.common("identity", &[]).map_err(|error| error.to_string())?;
        let table = server.table(&sql).await.map_err(|error| counters::chain(&error))?;
        let answering = table.text(0, "server_name").unwrap_or_default().trim().to_owned();
        if answering == home.name || answering.is_empty() || home.name.is_empty() {
            server.is_known_home();
            return Ok(());
        }
        match own_address(&home.name, server.options()) {
            Some(options) if !is_own_name => server.turn_to(options),
            _ => return Err(format!("{answering} answers there now instead of {}", home.name)),
        }
    }
    Err(format!("{} was not found", home.name))
}

/// The settings with the server's own name for its address.
fn own_address(name: &str, options: &ConnectOptions) -> Option<ConnectOptions> {
    let mut address: ServerAddress = name.parse().ok()?;
    address.dedicated_admin = options.address.dedicated_admin;
    if address.instance.is_none() {
        address.port = options.address.port;
    }
    Some(ConnectOptions { address, ..options.clone() })
}
