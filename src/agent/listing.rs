//! Owns what a server shows of event sessions, and which of them are runs of ours.

use crate::agent::outcome::CaptureError;
use crate::agent::run::{Marker, Owner, RunId};
use crate::agent::server::Server;
use crate::model::Table;
use crate::statements::Statements;

/// An event session on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its name.
    pub name: String,
    /// Whether it runs.
    pub running: bool,
}

/// Every event session that this login can see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listing(pub Vec<Listed>);

impl Listing {
    pub(super) fn from_table(table: &Table) -> Self {
        let of_row = |row: usize| {
            let name = table.text(row, "name")?.to_owned();
            Some(Listed { name, running: table.integer(row, "running") == Some(1) })
        };
        Self((0..table.rows.len()).filter_map(of_row).collect())
    }

    /// Names are compared here and never on the server, exactly.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.0.iter().any(|listed| listed.name == name)
    }

    /// Whether a server could take one of these names for this one, though it is another.
    pub(super) fn holds_a_like(&self, name: &str) -> bool {
        self.0.iter().any(|listed| listed.name != name && folded(&listed.name) == folded(name))
    }

    /// The runs of ours.
    pub(super) fn markers(&self) -> impl Iterator<Item = Marker> {
        self.0.iter().filter_map(|listed| listed.name.parse().ok())
    }

    /// The run, other than one, that is or may be alive and may turn a flag on.
    pub(super) fn live_user_of(&self, flag: u32, not: &[RunId], here: &Owner, server_unix: i64) -> Option<Marker> {
        self.markers().find(|marker| {
            marker.flags.contains(&flag) && !not.contains(&marker.run_id) && !marker.is_dead(here, server_unix)
        })
    }
}

/// Without case, and with every i alike: the most that collations make equal in names of letters, digits and signs.
fn folded(name: &str) -> String {
    name.to_lowercase().replace('\u{307}', "").replace('ı', "i")
}

/// Asks for the event sessions.
pub(super) async fn read(server: &mut Server, statements: &Statements<'_>) -> Result<Listing, CaptureError> {
    Ok(Listing::from_table(&server.table(&statements.common("list_sessions", &[])?).await?))
}

/// The server's clock, seconds since the epoch.
pub(super) async fn server_clock(server: &mut Server, statements: &Statements<'_>) -> Result<i64, CaptureError> {
    let table = server.table(&statements.common("server_clock", &[])?).await?;
    table.integer(0, "unix_seconds").ok_or_else(|| CaptureError::Internal("the server's clock has no time".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Listed, Listing};

    #[test]
    fn names_are_exact_and_likes_are_told() {
        let listing = Listing(vec![Listed { name: "XEStack:1:a".into(), running: false }]);
        assert!(listing.holds("XEStack:1:a") && !listing.holds("xestack:1:a"));
        assert!(listing.holds_a_like("xestack:1:a") && !listing.holds_a_like("XEStack:1:a"));
        assert!(!listing.holds_a_like("xestack:1:b"));
        let turkish = Listing(vec![Listed { name: "SPİN".into(), running: false }]);
        assert!(turkish.holds_a_like("spin") && turkish.holds_a_like("spın"));
    }
}
