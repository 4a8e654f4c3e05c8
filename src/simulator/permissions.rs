//! Owns logins and what each may do.

use crate::model::ServerVersion;
use crate::simulator::faults::places::Tier;
use crate::simulator::faults::switches::Switches;
use crate::simulator::output::Message;
use crate::simulator::versions::{VersionData, VersionRange};
use std::str::FromStr;

/// A login of the simulated server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name, compared without regard to case.
    pub name: String,
    /// Its password; empty: that of `sa`.
    pub password: String,
    /// Whether it is in the role sysadmin; on Azure SQL Database, whether it is the server's administrator.
    pub sysadmin: bool,
    /// Permissions granted to it, on the server and in every database, and roles that it is in.
    pub permissions: Vec<String>,
}

/// Text that is no login.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// Nothing stands before `=`.
    #[error("a login is NAME[=RIGHT[,RIGHT]...], not `{text}`")]
    NameMissing {
        /// What was given.
        text: String,
    },
    /// No version has the permission or role.
    #[error("login `{name}` cannot have `{right}`: use sysadmin, the name of a permission, or one of {}", ROLES.join(", "))]
    UnknownRight {
        /// The login.
        name: String,
        /// What was given.
        right: String,
    },
}

impl FromStr for Account {
    type Err = AccountError;

    /// Reads `NAME[=RIGHT[,RIGHT]...]`; its password is that of `sa`.
    fn from_str(text: &str) -> Result<Self, AccountError> {
        let (name, rights) = text.split_once('=').unwrap_or((text, ""));
        let name = name.trim().to_owned();
        if name.is_empty() {
            return Err(AccountError::NameMissing { text: text.to_owned() });
        }
        let mut account = Self { name, password: String::new(), sysadmin: false, permissions: Vec::new() };
        for right in rights.split(',').map(str::trim).filter(|right| !right.is_empty()) {
            let is_known = |known: &str| known.eq_ignore_ascii_case(right);
            if is_known("sysadmin") {
                account.sysadmin = true;
            } else if PERMISSIONS.iter().chain(&DATABASE_PERMISSIONS).any(|(name, ..)| is_known(name))
                || ROLES.into_iter().any(is_known)
            {
                account.permissions.push(right.to_owned());
            } else {
                return Err(AccountError::UnknownRight { name: account.name, right: right.to_owned() });
            }
        }
        Ok(account)
    }
}

/// Every version.
const ALL: VersionRange = VersionRange::ALL;
/// What Azure SQL Database does not have: its logins have no permissions that change a server.
const NOT_AZURE_DB: VersionRange = VersionRange::until(ServerVersion::AzureMi);
/// Permissions on event sessions are documented from 2012 on; on 2008 R2 CONTROL SERVER is what counts (assumed).
const EVENT_SESSIONS: VersionRange = VersionRange::between(ServerVersion::V2012, ServerVersion::AzureMi);
/// The finer permissions of 2022 (documented).
const FINE: VersionRange = VersionRange::between(ServerVersion::V2022, ServerVersion::AzureMi);
/// What came with 2022 and is on Azure SQL Database too.
const SINCE_2022: VersionRange = VersionRange::since(ServerVersion::V2022);
/// ALTER ANY DATABASE EVENT SESSION came with 2014 (its number in sys.database_permissions; since when is assumed).
const SINCE_2014: VersionRange = VersionRange::since(ServerVersion::V2014);

/// A permission: its name, the versions that know it, those that cover it beside the one that covers all.
type Permission = (&'static str, VersionRange, &'static [&'static str]);

/// Server permissions; CONTROL SERVER covers all.
const PERMISSIONS: [Permission; 22] = [
    ("ADMINISTER BULK OPERATIONS", NOT_AZURE_DB, &[]),
    ("ALTER ANY EVENT SESSION", EVENT_SESSIONS, &[]),
    ("ALTER ANY EVENT SESSION ADD EVENT", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION ADD TARGET", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION DISABLE", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION DROP EVENT", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION DROP TARGET", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION ENABLE", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY EVENT SESSION OPTION", FINE, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY LOGIN", NOT_AZURE_DB, &[]),
    ("ALTER SERVER STATE", NOT_AZURE_DB, &[]),
    ("ALTER SETTINGS", NOT_AZURE_DB, &[]),
    ("ALTER TRACE", NOT_AZURE_DB, &[]),
    ("CONNECT SQL", NOT_AZURE_DB, &[]),
    (CONTROL_SERVER, NOT_AZURE_DB, &[]),
    ("CREATE ANY EVENT SESSION", FINE, &["ALTER ANY EVENT SESSION"]),
    ("DROP ANY EVENT SESSION", FINE, &["ALTER ANY EVENT SESSION"]),
    ("VIEW ANY DATABASE", ALL, &[]),
    ("VIEW ANY DEFINITION", ALL, &[]),
    ("VIEW SERVER PERFORMANCE STATE", SINCE_2022, &["VIEW SERVER STATE", "ALTER SERVER STATE"]),
    ("VIEW SERVER SECURITY STATE", SINCE_2022, &["VIEW SERVER STATE", "ALTER SERVER STATE"]),
    ("VIEW SERVER STATE", ALL, &["ALTER SERVER STATE"]),
];

const CONTROL_SERVER: &str = "CONTROL SERVER";

/// Of a database's finer permissions on event sessions.
const OF_SESSIONS: &[&str] = &["ALTER ANY DATABASE EVENT SESSION", "ALTER ANY EVENT SESSION"];

/// Database permissions; CONTROL and CONTROL SERVER cover all. A server permission covers what it is about in every
/// database (documented).
const DATABASE_PERMISSIONS: [Permission; 16] = [
    ("ALTER ANY DATABASE EVENT SESSION", SINCE_2014, &["ALTER ANY EVENT SESSION"]),
    ("ALTER ANY DATABASE EVENT SESSION ADD EVENT", SINCE_2022, OF_SESSIONS),
    ("ALTER ANY DATABASE EVENT SESSION ADD TARGET", SINCE_2022, OF_SESSIONS),
    ("ALTER ANY DATABASE EVENT SESSION DISABLE", SINCE_2022, OF_SESSIONS),
    ("ALTER ANY DATABASE EVENT SESSION DROP EVENT", SINCE_2022, OF_SESSIONS),
    ("ALTER ANY DATABASE EVENT SESSION DROP TARGET", SINCE_2022, OF_SESSIONS),
    ("ALTER ANY DATABASE EVENT SESSION ENABLE", SINCE_2022, OF_SESSIONS),
    ("ALTER ANY DATABASE EVENT SESSION OPTION", SINCE_2022, OF_SESSIONS),
    ("CONNECT", ALL, &[]),
    (CONTROL, ALL, &[]),
    ("CREATE ANY DATABASE EVENT SESSION", SINCE_2022, OF_SESSIONS),
    ("DROP ANY DATABASE EVENT SESSION", SINCE_2022, OF_SESSIONS),
    (
        "VIEW DATABASE PERFORMANCE STATE",
        SINCE_2022,
        &["VIEW DATABASE STATE", "VIEW SERVER PERFORMANCE STATE", "VIEW SERVER STATE", "ALTER SERVER STATE"],
    ),
    (
        "VIEW DATABASE SECURITY STATE",
        SINCE_2022,
        &["VIEW DATABASE STATE", "VIEW SERVER SECURITY STATE", "VIEW SERVER STATE", "ALTER SERVER STATE"],
    ),
    ("VIEW DATABASE STATE", ALL, &["VIEW SERVER STATE", "ALTER SERVER STATE"]),
    ("VIEW DEFINITION", ALL, &["VIEW ANY DEFINITION"]),
];

const CONTROL: &str = "CONTROL";

/// What shows a database's state from 2022 on; VIEW DATABASE STATE covers it.
const DATABASE_STATE: &str = "VIEW DATABASE PERFORMANCE STATE";

/// What the master user of Amazon RDS has in place of sysadmin (documented), and in its databases.
const OF_RDS_MASTER: [&str; 12] = [
    "ADMINISTER BULK OPERATIONS",
    "ALTER ANY EVENT SESSION",
    "ALTER ANY LOGIN",
    "ALTER SERVER STATE",
    "ALTER TRACE",
    "CONNECT SQL",
    "VIEW ANY DATABASE",
    "VIEW ANY DEFINITION",
    "VIEW SERVER STATE",
    "VIEW SERVER PERFORMANCE STATE",
    "VIEW DATABASE STATE",
    "VIEW DEFINITION",
];

/// Every login has these on the server, and this in a database.
const PUBLIC: [&str; 2] = ["CONNECT SQL", "VIEW ANY DATABASE"];
const PUBLIC_OF_DATABASE: &str = "CONNECT";

/// Reads all state of the server and of its databases (documented, from 2022 on and on Azure SQL Database).
pub const STATE_READER: &str = "##MS_ServerStateReader##";

/// Reads the state that performance is about.
const PERFORMANCE_STATE_READER: &str = "##MS_ServerPerformanceStateReader##";

/// Fixed server roles.
const ROLES: [&str; 11] = [
    "sysadmin",
    "serveradmin",
    "securityadmin",
    "processadmin",
    "setupadmin",
    "diskadmin",
    "dbcreator",
    "bulkadmin",
    "public",
    STATE_READER,
    PERFORMANCE_STATE_READER,
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

    /// In the role sysadmin. The fault `deny=sysadmin` takes it away and leaves all permissions; with `host=rds` nobody
    /// is.
    pub fn is_sysadmin(&self) -> bool {
        self.account.is_some_and(|account| account.sysadmin) && !self.switches.places.rds && !self.is_denied("SYSADMIN")
    }

    /// Whether it has a permission on the server; `None` for one this version does not know. A denied permission takes
    /// what it covers with it (the fault's rule; the product does not deny to sysadmin at all).
    pub fn has(&self, permission: &str) -> Option<bool> {
        self.has_of(&PERMISSIONS, &[CONTROL_SERVER], &PUBLIC, permission)
    }

    /// Whether it has a permission in a database, which is the same in every one.
    pub fn has_in_database(&self, permission: &str) -> Option<bool> {
        self.has_of(&DATABASE_PERMISSIONS, &[CONTROL, CONTROL_SERVER], &[PUBLIC_OF_DATABASE], permission)
    }

    fn has_of(&self, known: &[Permission], owning: &[&str], public: &[&str], permission: &str) -> Option<bool> {
        let wanted = permission.trim().to_uppercase();
        let (name, _, covering) =
            *known.iter().find(|(name, versions, _)| *name == wanted && versions.contains(self.version.version))?;
        let Some(account) = self.account else { return Some(false) };
        let mut ways = [name].into_iter().chain(owning.iter().copied()).chain(covering.iter().copied());
        if ways.clone().any(|way| self.is_denied(way)) {
            return Some(false);
        }
        let granted = |way: &str| {
            let of_master = account.sysadmin && self.switches.places.rds && OF_RDS_MASTER.contains(&way);
            of_master || account.permissions.iter().any(|granted| granted.eq_ignore_ascii_case(way))
        };
        let by_role = |way: &str| {
            self.version.has_fine_permissions()
                && (way == "VIEW SERVER STATE" && granted(STATE_READER)
                    || way == "VIEW SERVER PERFORMANCE STATE" && granted(PERFORMANCE_STATE_READER))
        };
        let owns = account.sysadmin && !self.switches.places.rds;
        Some(owns || public.contains(&name) || ways.any(|way| granted(way) || by_role(way)))
    }

    /// Whether it may do to event sessions what this permission of 2022 is for: before 2022 ALTER ANY EVENT SESSION
    /// is, before 2012 CONTROL SERVER.
    pub fn may_on_event_sessions(&self, fine: &str) -> bool {
        let ways = [fine, "ALTER ANY EVENT SESSION", "CONTROL SERVER"];
        ways.into_iter().find_map(|way| self.has(way)).unwrap_or(false)
    }

    /// Whether it may do that to the event sessions of a database.
    pub fn may_on_sessions_of_database(&self, fine: &str) -> bool {
        self.has_in_database(&fine.replace("ANY EVENT", "ANY DATABASE EVENT")) == Some(true)
    }

    /// Member of a fixed server role; `None` for another name.
    pub fn is_role_member(&self, role: &str) -> Option<bool> {
        let role = ROLES.into_iter().find(|known| known.eq_ignore_ascii_case(role.trim()))?;
        if role.starts_with("##") && !self.version.has_fine_permissions() {
            return None;
        }
        let account = self.account?;
        let is_given = account.permissions.iter().any(|given| given.eq_ignore_ascii_case(role));
        Some(role == "public" || role == "sysadmin" && self.is_sysadmin() || is_given)
    }

    /// Whether it sees the server's state. On Azure SQL Database a database's right is enough, but for the smallest
    /// service objectives and in pools (documented).
    pub fn sees_state(&self) -> bool {
        if self.version.is_azure_database() && self.switches.places.tier == Tier::Single {
            return self.has_in_database(DATABASE_STATE) == Some(true);
        }
        self.has(self.state_permission()) == Some(true)
    }

    /// Whether it sees the state of a database.
    pub fn sees_database_state(&self) -> bool {
        self.has_in_database(DATABASE_STATE) == Some(true)
    }

    /// What a view of state says to who does not see it: 300 about the server, 262 about a database, each with 297.
    pub fn state_denied(&self, of_database: Option<&str>) -> Vec<Message> {
        let first = if let Some(database) = of_database {
            Message::new(262, 14, format!("{DATABASE_STATE} permission denied in database '{database}'."))
        } else {
            let permission = self.state_permission();
            let text = format!("{permission} permission was denied on object 'server', database 'master'.");
            Message::new(300, 14, text)
        };
        vec![first, Message::new(297, 16, "The user does not have permission to perform this action.")]
    }

    /// The permission that shows server state in this version.
    pub fn state_permission(&self) -> &'static str {
        if self.version.has_fine_permissions() { "VIEW SERVER PERFORMANCE STATE" } else { "VIEW SERVER STATE" }
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, AccountError, Rights};
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

    #[test]
    fn a_login_is_read_with_its_rights() {
        let account: Account =
            "monitor=VIEW SERVER STATE, view database state ,##MS_ServerStateReader##".parse().unwrap();
        assert_eq!((account.name.as_str(), account.sysadmin, account.password.as_str()), ("monitor", false, ""));
        assert_eq!(account.permissions, ["VIEW SERVER STATE", "view database state", "##MS_ServerStateReader##"]);
        assert!("boss=sysadmin".parse::<Account>().unwrap().sysadmin);
        assert_eq!("nobody".parse::<Account>().unwrap().permissions.len(), 0);
        assert_eq!("=FLY".parse::<Account>(), Err(AccountError::NameMissing { text: "=FLY".into() }));
        let unknown = "bird=FLY".parse::<Account>().unwrap_err();
        assert!(unknown.to_string().starts_with("login `bird` cannot have `FLY`: use sysadmin, the name"), "{unknown}");
    }

    #[test]
    fn permissions_in_databases_follow_those_on_the_server() {
        let open = Switches::default();
        let has = |version: ServerVersion, rights: &str, permission: &str| {
            let account: Account = format!("monitor={rights}").parse().unwrap();
            let version = VersionData::of(version).unwrap();
            Rights { account: Some(&account), switches: &open, version }.has_in_database(permission)
        };
        let (old, new) = (ServerVersion::V2019, ServerVersion::V2022);
        assert_eq!(has(new, "", "CONNECT"), Some(true));
        assert_eq!(has(new, "VIEW SERVER STATE", "VIEW DATABASE PERFORMANCE STATE"), Some(true));
        assert_eq!(has(new, "##MS_ServerStateReader##", "VIEW DATABASE STATE"), Some(true));
        assert_eq!(has(old, "VIEW SERVER STATE", "VIEW DATABASE PERFORMANCE STATE"), None);
        assert_eq!(has(old, "VIEW DATABASE STATE", "VIEW DATABASE STATE"), Some(true));
        assert_eq!(has(new, "VIEW DATABASE STATE", "ALTER ANY DATABASE EVENT SESSION"), Some(false));
        assert_eq!(has(new, "CONTROL", "DROP ANY DATABASE EVENT SESSION"), Some(true));
        assert_eq!(has(new, "ALTER ANY EVENT SESSION", "CREATE ANY DATABASE EVENT SESSION"), Some(true));
    }
}
