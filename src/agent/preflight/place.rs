//! Owns what the place that a server runs in rules out, said before anything is asked of it.

use crate::agent::{CaptureError, CaptureOptions, Refusal};
use crate::catalog::sessions::Scenario;
use crate::model::{ServerIdentity, ServerVersion};
use crate::statements::trace_flags_refusal;

/// The version that answered, where it is one that statements exist for.
pub(in crate::agent) fn known_version(identity: &ServerIdentity) -> Result<ServerVersion, CaptureError> {
    identity.version.ok_or_else(|| {
        let text = format!("version {} of the server is not known", identity.product_version);
        CaptureError::refused(Refusal::Version, text, None)
    })
}

/// The version for statements. Refuses an unknown or too old one, Azure SQL Database without a database of the user's, and
/// trace flags where there are none.
pub(super) fn supported_version(
    identity: &ServerIdentity,
    scenarios: &[Scenario],
    options: &CaptureOptions,
) -> Result<ServerVersion, CaptureError> {
    let version = known_version(identity)?;
    if let Some(scenario) = scenarios.iter().find(|scenario| version < scenario.minimum_version) {
        let text = format!("scenario {} needs SQL Server {} or newer", scenario.name, scenario.minimum_version);
        return Err(CaptureError::refused(Refusal::Version, text, None));
    }
    // Case tells nothing apart among the names of system databases.
    let in_master = identity.database.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("master"));
    if version == ServerVersion::AzureDb && in_master {
        return Err(CaptureError::refused(
            Refusal::Version,
            "event sessions of Azure SQL Database belong to one database, and this connection is in master",
            Some("name the database with -d DATABASE".to_owned()),
        ));
    }
    if options.trace_flags.enable
        && let Some(reason) = trace_flags_refusal(version)
    {
        return Err(CaptureError::refused(
            Refusal::Policy,
            reason,
            Some("leave out --enable-trace-flags: callstack_rva needs none".to_owned()),
        ));
    }
    Ok(version)
}

/// What events are limited to by the place alone, in words for people.
pub(in crate::agent) fn limited_to(identity: &ServerIdentity) -> Option<String> {
    let database = identity.database.as_deref().filter(|_| identity.version == Some(ServerVersion::AzureDb));
    database.map(|name| format!("database {name}"))
}

#[cfg(test)]
mod tests {
    use super::{limited_to, supported_version};
    use crate::agent::{CaptureError, CaptureOptions, Refusal};
    use crate::catalog::sessions::{EMBEDDED, Sessions};
    use crate::model::{ServerIdentity, ServerVersion};
    use std::time::Duration;

    #[test]
    fn each_place_refuses_what_it_does_not_have() {
        let sessions = Sessions::from_texts(EMBEDDED).unwrap();
        let scenarios = [sessions.scenario("sos-yield").unwrap().clone()];
        let at = |version: Option<ServerVersion>, database: &str, flags: bool| {
            let mut options = CaptureOptions::new("sos-yield", Duration::from_secs(1), "state".into());
            options.trace_flags.enable = flags;
            options.trace_flags.force = flags;
            let database = Some(database.to_owned());
            let identity = ServerIdentity { version, database, ..ServerIdentity::default() };
            (supported_version(&identity, &scenarios, &options), limited_to(&identity))
        };
        for version in [ServerVersion::V2008R2, ServerVersion::V2025] {
            assert!(matches!(at(Some(version), "master", true), (Ok(answer), None) if answer == version));
        }
        let (mi, db) = (Some(ServerVersion::AzureMi), Some(ServerVersion::AzureDb));
        assert!(matches!(at(mi, "master", false), (Ok(ServerVersion::AzureMi), None)));
        let (accepted, limit) = at(db, "sales", false);
        assert_eq!((accepted.unwrap(), limit.as_deref()), (ServerVersion::AzureDb, Some("database sales")));
        for (version, database, flags, wanted, word) in [
            (None, "master", false, Refusal::Version, "not known"),
            (db, "Master", false, Refusal::Version, "belong to one database"),
            (db, "sales", true, Refusal::Policy, "Azure SQL Database has no trace flags"),
            (mi, "sales", true, Refusal::Policy, "Azure SQL Managed Instance has no trace flags"),
        ] {
            let (Err(CaptureError::Refused { reason, text, .. }), _) = at(version, database, flags) else {
                panic!("{version:?} {database} {flags}");
            };
            assert!(reason == wanted && text.contains(word), "{text}");
        }
    }
}
