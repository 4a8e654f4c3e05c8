//! Owns logins and what each may do.

use crate::model::ServerVersion;
use crate::simulator::faults::switches::Switches;
use crate::simulator::versions::{VersionData, VersionRange};

/// A login of the simulated server.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its name, compared without regard to case.
    pub name: String,
    /// Its password.
    pub password: String,
    /// Whether it is in the role sysadmin.
    pub sysadmin: bool,
    /// Server permissions granted to it, in upper case.
    pub permissions: Vec<String>,
}

/// Every version.
const ALL: VersionRange = VersionRange::ALL;
/// Permissions on event sessions are documented from 2012 on; on 2008 R2 CONTROL SERVER is what counts (assumed).
const EVENT_SESSIONS: VersionRange = VersionRange::since(ServerVersion::V2012);
/// The finer permissions of 2022 (documented).
const FINE: VersionRange = VersionRange::since(ServerVersion::V2022);

/// Name, versions that know it, the permissions that cover it (beside CONTROL SERVER).
const PERMISSIONS: [(&str, VersionRange, &[&str]); 22] = [
    ("ADMINISTER BULK OPERATIONS", ALL, &[]),
    ("ALTER ANY EVENT SESSION", EVENT_SESSIONS, &[]),
    ("ALTER ANY EVENT SESSION ADD EVENT", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION ADD TARGET", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION DISABLE", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION DROP EVENT", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION DROP TARGET", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION ENABLE", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION OPTION", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY LOGIN", ALL, &[]),
    ("ALTER SERVER STATE", ALL, &[]),
    ("ALTER SETTINGS", ALL, &[]),
    ("ALTER TRACE", ALL, &[]),
    ("CONNECT SQL", ALL, &[]),
    ("CONTROL SERVER", ALL, &[]),
    ("CREATE ANY EVENT SESSION", FINE, &["ALTER ANY EVENT SESSION"]),
    ("DROP ANY EVENT SESSION", FINE, &["ALTER ANY EVENT SESSION"]),
    ("VIEW ANY DATABASE", ALL, &[]),
    ("VIEW ANY DEFINITION", ALL, &[]),
    ("VIEW SERVER PERFORMANCE STATE", FINE, &["VIEW SERVER STATE", "ALTER SERVER STATE"]),
    ("VIEW SERVER SECURITY STATE", FINE, &["VIEW SERVER STATE", "ALTER SERVER STATE"]),
    ("VIEW SERVER STATE", ALL, &["ALTER SERVER STATE"]),
];

/// Every login has these.
const PUBLIC: [&str; 2] = ["CONNECT SQL", "VIEW ANY DATABASE"];

/// Fixed server roles.
const ROLES: [&str; 9] = [
    "sysadmin",
    "serveradmin",
    "securityadmin",
    "processadmin",
    "setupadmin",
    "diskadmin",
    "dbcreator",
    "bulkadmin",
    "public",
];

/// What one login may do on one instance.
#[derive(Debug, Clone, Copy)]
pub struct Rights<'a> {
    /// The login; `None` may do nothing.
    pub account: Option<&'a Account>,
    /// The instance's faults.
    pub switches: &'a Switches,
    /// The instance's version.
    pub version: &'static VersionData,
}

impl Rights<'_> {
    fn is_denied(&self, permission: &str) -> bool {
        self.switches.denied.iter().any(|denied| denied == permission)
    }

    /// In the role sysadmin. The fault `deny=sysadmin` takes it away and leaves all permissions.
    pub fn is_sysadmin(&self) -> bool {
        self.account.is_some_and(|account| account.sysadmin) && !self.is_denied("SYSADMIN")
    }

    /// Whether it has a permission; `None` for one this version does not know. A denied permission takes what it covers
    /// with it (the fault's rule; the product does not deny to sysadmin at all).
    pub fn has(&self, permission: &str) -> Option<bool> {
        let wanted = permission.trim().to_uppercase();
        let (name, _, covering) = PERMISSIONS
            .into_iter()
            .find(|(name, versions, _)| *name == wanted && versions.contains(self.version.version))?;
        let Some(account) = self.account else { return Some(false) };
        let mut ways = [name, "CONTROL SERVER"].into_iter().chain(covering.iter().copied());
        if ways.clone().any(|way| self.is_denied(way)) {
            return Some(false);
        }
        let granted = |way: &str| account.permissions.iter().any(|granted| granted.eq_ignore_ascii_case(way));
        Some(account.sysadmin || PUBLIC.contains(&name) || ways.any(granted))
    }

    /// Whether it may do to event sessions what this permission of 2022 is for: before 2022 ALTER ANY EVENT SESSION
    /// is, before 2012 CONTROL SERVER.
    pub fn may_on_event_sessions(&self, fine: &str) -> bool {
        let ways = [fine, "ALTER ANY EVENT SESSION", "CONTROL SERVER"];
        ways.into_iter().find_map(|way| self.has(way)).unwrap_or(false)
    }

    /// Member of a fixed server role; `None` for another name.
    pub fn is_role_member(&self, role: &str) -> Option<bool> {
        let role = ROLES.into_iter().find(|known| known.eq_ignore_ascii_case(role.trim()))?;
        Some(role == "public" && self.account.is_some() || role == "sysadmin" && self.is_sysadmin())
    }

    /// The permission that shows server state in this version.
    pub fn state_permission(&self) -> &'static str {
        if self.version.has_fine_permissions() { "VIEW SERVER PERFORMANCE STATE" } else { "VIEW SERVER STATE" }
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Rights};
    use crate::model::ServerVersion;
    use crate::simulator::faults::switches::Switches;
    use crate::simulator::versions::VersionData;

    #[test]
    fn permissions_are_covered_by_others_and_denied_with_them() {
        let account = Account {
            name: "monitor".into(),
            password: String::new(),
            sysadmin: false,
            permissions: vec!["VIEW SERVER STATE".into()],
        };
        let version = VersionData::of(ServerVersion::V2022).unwrap();
        let open = Switches::default();
        let rights = Rights { account: Some(&account), switches: &open, version };
        assert_eq!(rights.has("view server performance state"), Some(true));
        assert_eq!(rights.has("ALTER ANY EVENT SESSION ENABLE"), Some(false));
        assert_eq!(rights.has("FLY"), None);
        let denied = Switches { denied: vec!["VIEW SERVER STATE".into()], ..Switches::default() };
        let rights = Rights { account: Some(&account), switches: &denied, version };
        assert_eq!(rights.has("VIEW SERVER PERFORMANCE STATE"), Some(false));
        let old = VersionData::of(ServerVersion::V2019).unwrap();
        let rights = Rights { account: Some(&account), switches: &open, version: old };
        assert_eq!(rights.has("VIEW SERVER PERFORMANCE STATE"), None);
        assert!(!rights.may_on_event_sessions("CREATE ANY EVENT SESSION"));
        let before = VersionData::of(ServerVersion::V2008R2).unwrap();
        let rights = Rights { account: Some(&account), switches: &open, version: before };
        assert_eq!(rights.has("ALTER ANY EVENT SESSION"), None);
        assert!(!rights.may_on_event_sessions("CREATE ANY EVENT SESSION"));
        let control = Account { permissions: vec!["CONTROL SERVER".into()], ..account.clone() };
        let rights = Rights { account: Some(&control), switches: &open, version: before };
        assert!(rights.may_on_event_sessions("CREATE ANY EVENT SESSION"));
    }
}
