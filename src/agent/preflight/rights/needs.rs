//! Owns what a capture needs to be allowed, which permission of a version allows it, and the statement that grants it.

use super::Rights;
use crate::model::ServerVersion;

/// Something a capture needs to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Read the counters, and the targets of event sessions.
    Counters,
    /// CREATE EVENT SESSION.
    CreateSession,
    /// ALTER EVENT SESSION … STATE = START.
    StartSession,
    /// ALTER EVENT SESSION … STATE = STOP.
    StopSession,
    /// ALTER EVENT SESSION … DROP EVENT.
    AlterSession,
    /// DROP EVENT SESSION.
    DropSession,
    /// DBCC TRACEON and TRACEOFF. Never needed without the opt-in.
    TraceFlags,
    /// The names of database files. Never needed: ids stand for them.
    FileNames,
}

/// A permission and the version from which on it exists.
pub(super) type Way = (ServerVersion, &'static str);

const FILE_NAMES: &[Way] = &[(ServerVersion::V2008R2, "VIEW ANY DEFINITION")];
/// From 2022 on the dynamic management views ask for the smaller part of VIEW SERVER STATE (DMV documentation).
const COUNTERS: &[Way] =
    &[(ServerVersion::V2022, "VIEW SERVER PERFORMANCE STATE"), (ServerVersion::V2008R2, "VIEW SERVER STATE")];
const COUNTERS_OF_DATABASE: &[Way] =
    &[(ServerVersion::AzureDb, "VIEW DATABASE PERFORMANCE STATE"), (ServerVersion::AzureDb, "VIEW DATABASE STATE")];

impl Need {
    /// All.
    pub(crate) const ALL: [Self; 8] = [
        Self::Counters,
        Self::CreateSession,
        Self::StartSession,
        Self::StopSession,
        Self::AlterSession,
        Self::DropSession,
        Self::TraceFlags,
        Self::FileNames,
    ];

    /// What an event session needs before it is created: nothing is created that could not be stopped and dropped.
    pub(crate) const EVENT_SESSION: [Self; 5] =
        [Self::CreateSession, Self::StartSession, Self::StopSession, Self::AlterSession, Self::DropSession];

    /// In words, for people.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Counters => "read counters and targets",
            Self::CreateSession => "create an event session",
            Self::StartSession => "start an event session",
            Self::StopSession => "stop an event session",
            Self::AlterSession => "end the events of an event session",
            Self::DropSession => "drop an event session",
            Self::TraceFlags => "turn trace flags on and off",
            Self::FileNames => "see names of database files",
        }
    }

    /// The permissions that allow it, the smallest first; the first one that a version knows decides.
    pub(super) fn ways(self, version: ServerVersion) -> Vec<Way> {
        let of_database = version == ServerVersion::AzureDb;
        // The parts of ALTER ANY EVENT SESSION came with 2022, itself with 2012 (documentation of the permissions).
        let event_session = |part: &'static str, part_of_database: &'static str| {
            if of_database {
                return vec![
                    (ServerVersion::AzureDb, part_of_database),
                    (ServerVersion::AzureDb, "ALTER ANY DATABASE EVENT SESSION"),
                ];
            }
            vec![
                (ServerVersion::V2022, part),
                (ServerVersion::V2012, "ALTER ANY EVENT SESSION"),
                (ServerVersion::V2008R2, "CONTROL SERVER"),
            ]
        };
        match self {
            Self::Counters if of_database => COUNTERS_OF_DATABASE.to_vec(),
            Self::Counters => COUNTERS.to_vec(),
            Self::CreateSession => event_session("CREATE ANY EVENT SESSION", "CREATE ANY DATABASE EVENT SESSION"),
            Self::StartSession => {
                event_session("ALTER ANY EVENT SESSION ENABLE", "ALTER ANY DATABASE EVENT SESSION ENABLE")
            }
            Self::StopSession => {
                event_session("ALTER ANY EVENT SESSION DISABLE", "ALTER ANY DATABASE EVENT SESSION DISABLE")
            }
            Self::AlterSession => {
                event_session("ALTER ANY EVENT SESSION DROP EVENT", "ALTER ANY DATABASE EVENT SESSION DROP EVENT")
            }
            Self::DropSession => event_session("DROP ANY EVENT SESSION", "DROP ANY DATABASE EVENT SESSION"),
            // sys.database_files is open to everybody in its database.
            Self::FileNames if of_database => Vec::new(),
            Self::FileNames => FILE_NAMES.to_vec(),
            Self::TraceFlags => Vec::new(),
        }
    }
}

/// How a need stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Allowed.
    Held,
    /// Not allowed.
    Missing(Missing),
    /// No login may do it in this place.
    NotOffered,
}

/// What is missing, and how to get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Permissions, and roles, by name.
    pub rights: Vec<&'static str>,
    /// The database in which to run `grant`.
    pub database: String,
    /// The statement that an administrator runs.
    pub grant: String,
}

impl Missing {
    /// Where to run what.
    pub(crate) fn hint(&self) -> String {
        format!("in {}: {}", self.database, self.grant)
    }
}

/// What a login's rights allow of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// All of it.
    Ready,
    /// Counters without call stacks.
    CountersOnly {
        /// For the call stacks.
        missing: Missing,
    },
    /// Nothing.
    Impossible {
        /// For all of it.
        missing: Missing,
    },
}

/// The role whose members may use DBCC TRACEON (trace flag documentation).
const SYSADMIN: &str = "sysadmin";
/// The role that some service objectives of Azure SQL Database ask for (DMV documentation).
const STATE_READER: &str = "##MS_ServerStateReader##";
/// `… permission was denied on object 'server', database 'master'.` and `The user does not have permission to perform
/// this action.`: what a view answers to a login without the right for it.
const VIEW_REFUSED: [u32; 2] = [300, 297];

impl Rights {
    /// How a need stands.
    pub(crate) fn standing(&self, need: Need) -> Standing {
        if need == Need::TraceFlags && matches!(self.version, ServerVersion::AzureDb | ServerVersion::AzureMi) {
            return Standing::NotOffered;
        }
        self.missing(&[need]).map_or(Standing::Held, Standing::Missing)
    }

    /// What is missing for some needs together; `None` where all are allowed.
    pub(crate) fn missing(&self, needs: &[Need]) -> Option<Missing> {
        let missing = needs.iter().filter_map(|need| self.deciding(*need)).filter(|(_, held)| !held);
        let rights = each_once(missing.map(|(right, _)| right));
        (!rights.is_empty()).then(|| self.grant(rights))
    }

    /// All that some needs ask for, whatever this login says it has.
    pub(crate) fn granting(&self, needs: &[Need]) -> Missing {
        self.grant(each_once(needs.iter().filter_map(|need| self.deciding(*need)).map(|(right, _)| right)))
    }

    fn grant(&self, rights: Vec<&'static str>) -> Missing {
        let permissions: Vec<&str> = rights.iter().copied().filter(|right| *right != SYSADMIN).collect();
        let mut statements = Vec::new();
        if !permissions.is_empty() {
            statements.push(format!("GRANT {} TO {};", permissions.join(", "), bracketed(self.grantee())));
        }
        if rights.contains(&SYSADMIN) {
            statements.push(self.add_to_role(SYSADMIN));
        }
        let database = match (&self.database, self.version) {
            (Some(database), ServerVersion::AzureDb) => format!("database {}", bracketed(database)),
            _ => "master".to_owned(),
        };
        Missing { rights, database, grant: statements.join(" ") }
    }

    /// What these rights allow of a capture, whatever its scenario.
    pub(crate) fn readiness(&self) -> Readiness {
        let counters = self.missing(&[Need::Counters]);
        let everything: Vec<Need> = [Need::Counters].into_iter().chain(Need::EVENT_SESSION).collect();
        match self.missing(&everything) {
            None => Readiness::Ready,
            Some(missing) if counters.is_some() => Readiness::Impossible { missing },
            Some(missing) => Readiness::CountersOnly { missing },
        }
    }

    /// What to do about a view that was refused with this number although the right for it is held: on some service
    /// objectives of Azure SQL Database only a server role shows the counters of the server.
    pub(crate) fn view_refused_hint(&self, number: u32) -> Option<String> {
        if !VIEW_REFUSED.contains(&number) {
            return None;
        }
        match self.missing(&[Need::Counters]) {
            Some(missing) => Some(missing.hint()),
            None if self.version == ServerVersion::AzureDb => Some(format!(
                "this service objective shows them to a server role only; in master: {}",
                self.add_to_role(STATE_READER)
            )),
            None => None,
        }
    }

    /// The right that decides over a need, and whether it is held; `None` where everybody may.
    fn deciding(&self, need: Need) -> Option<(&'static str, bool)> {
        if need == Need::TraceFlags {
            return Some((SYSADMIN, self.sysadmin));
        }
        let ways: Vec<Way> = need.ways(self.version).into_iter().filter(|(since, _)| *since <= self.version).collect();
        let known = ways.iter().find_map(|(_, right)| Some((*right, self.holds(right)?)));
        // A server that knows none of them allows nothing that we could prove.
        known.or_else(|| ways.first().map(|(_, right)| (*right, false)))
    }

    fn grantee(&self) -> &str {
        match (&self.user, self.version) {
            (Some(user), ServerVersion::AzureDb) => user,
            _ => &self.login,
        }
    }

    /// ALTER SERVER ROLE came with 2012.
    fn add_to_role(&self, role: &str) -> String {
        if self.version < ServerVersion::V2012 {
            let login = self.login.replace('\'', "''");
            return format!("EXEC sys.sp_addsrvrolemember @loginame = N'{login}', @rolename = N'{role}';");
        }
        format!("ALTER SERVER ROLE {} ADD MEMBER {};", bracketed(role), bracketed(&self.login))
    }
}

fn each_once(rights: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut once = Vec::new();
    for right in rights {
        if !once.contains(&right) {
            once.push(right);
        }
    }
    once
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}
