//! Owns what a login may do: the permissions it holds as the server says, and what follows for a capture. Pure but for
//! one statement.

mod needs;

pub(crate) use needs::{Missing, Need, Readiness, Standing};

use crate::agent::CaptureError;
use crate::agent::server::Server;
use crate::model::{ServerVersion, Table};
use crate::statements::Statements;
use std::collections::BTreeMap;

/// What one login may do on one server, as `HAS_PERMS_BY_NAME` and `IS_SRVROLEMEMBER` say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rights {
    /// The server's version.
    pub version: ServerVersion,
    /// The login's own name (`SUSER_SNAME()`).
    pub login: String,
    /// In Azure SQL Database: the user that the login is in the connected database, which a GRANT names there.
    pub user: Option<String>,
    /// In Azure SQL Database: the connected database.
    pub database: Option<String>,
    /// Whether it is in the role sysadmin.
    pub sysadmin: bool,
    /// Permissions by name; `None` where the version does not know the permission.
    permissions: BTreeMap<String, Option<bool>>,
}

impl Rights {
    /// From the answer to `sessions/common/rights.sql`: each further column is named as its permission.
    pub(crate) fn from_table(table: &Table, version: ServerVersion) -> Self {
        const OTHERS: [&str; 4] = ["login", "user_name", "database_name", "sysadmin"];
        let permission = |column: &String| {
            let held = table.integer(0, column).map(|held| held == 1);
            (column.replace('_', " ").to_ascii_uppercase(), held)
        };
        let columns = table.columns.iter().filter(|column| !OTHERS.contains(&column.as_str()));
        let text = |name: &str| table.text(0, name).map(str::to_owned);
        Self {
            version,
            login: text("login").unwrap_or_default(),
            user: text("user_name"),
            database: text("database_name"),
            sysadmin: table.integer(0, "sysadmin") == Some(1),
            permissions: columns.map(permission).collect(),
        }
    }

    /// Whether a permission is held, by its name in upper case; `None` where this version does not know it.
    pub(crate) fn holds(&self, permission: &str) -> Option<bool> {
        self.permissions.get(permission).copied().flatten()
    }

    /// Every permission asked for, by name, and whether it is held; `None` where this version does not know it.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Option<bool>)> {
        self.permissions.iter().map(|(name, held)| (name.as_str(), *held))
    }
}

/// Asks what this login may do.
pub(crate) async fn read(server: &mut Server, statements: &Statements<'_>) -> Result<Rights, CaptureError> {
    let table = server.table(&statements.common("rights", &[])?).await?;
    Ok(Rights::from_table(&table, statements.version()))
}

#[cfg(test)]
mod tests;
