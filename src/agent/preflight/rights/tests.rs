//! Versions and permissions in, readiness and the exact GRANT out.

use super::{Need, Readiness, Rights, Standing};
use crate::catalog::sessions::{EMBEDDED, Sessions};
use crate::model::{ServerVersion, Table, Value};
use crate::statements::Statements;
use ServerVersion::{AzureDb, AzureMi, V2008R2, V2012, V2014, V2016, V2017, V2019, V2022, V2025};

/// The parts of ALTER ANY EVENT SESSION that a capture needs.
const PARTS: [&str; 5] = [
    "CREATE ANY EVENT SESSION",
    "ALTER ANY EVENT SESSION ENABLE",
    "ALTER ANY EVENT SESSION DISABLE",
    "ALTER ANY EVENT SESSION DROP EVENT",
    "DROP ANY EVENT SESSION",
];
const PARTS_OF_DATABASE: [&str; 5] = [
    "CREATE ANY DATABASE EVENT SESSION",
    "ALTER ANY DATABASE EVENT SESSION ENABLE",
    "ALTER ANY DATABASE EVENT SESSION DISABLE",
    "ALTER ANY DATABASE EVENT SESSION DROP EVENT",
    "DROP ANY DATABASE EVENT SESSION",
];
const WHOLE: &str = "ALTER ANY EVENT SESSION";
const STATE: &str = "VIEW SERVER STATE";
const PERFORMANCE: &str = "VIEW SERVER PERFORMANCE STATE";
const PERFORMANCE_OF_DATABASE: &str = "VIEW DATABASE PERFORMANCE STATE";

/// The permissions that the statement of a version asks for, with the columns they are answered in.
fn asked(version: ServerVersion) -> Vec<(String, String)> {
    let sessions = Sessions::from_texts(EMBEDDED).unwrap();
    let sql = Statements::new(&sessions, version).common("rights", &[]).unwrap();
    let of_line = |line: &str| {
        let (call, column) = line.rsplit_once(") AS ").unwrap();
        let permission = call.trim_end_matches('\'').rsplit('\'').next().unwrap();
        (permission.to_owned(), column.trim_end_matches(',').to_owned())
    };
    sql.lines().filter(|line| line.contains("HAS_PERMS_BY_NAME")).map(of_line).collect()
}

/// The version from which on a server knows a permission.
fn since(permission: &str) -> ServerVersion {
    if permission.contains("DATABASE") {
        return AzureDb;
    }
    match permission {
        WHOLE => V2012,
        _ if permission.contains("EVENT SESSION") || permission == PERFORMANCE => V2022,
        _ => V2008R2,
    }
}

/// The answer of a server of one version, which knows what a server `knows_as` does, to a login that holds `held`.
fn answer(version: ServerVersion, knows_as: ServerVersion, held: &[&str]) -> Rights {
    let mut columns = vec!["login".to_owned(), "sysadmin".to_owned()];
    let mut row = vec![Value::Text("corp\\o'neil]".to_owned()), Value::Integer(i64::from(held.contains(&"sysadmin")))];
    if version == AzureDb {
        columns.extend(["user_name".to_owned(), "database_name".to_owned()]);
        row.extend([Value::Text("ops".to_owned()), Value::Text("a]b".to_owned())]);
    }
    for (permission, column) in asked(version) {
        columns.push(column);
        row.push(if knows_as >= since(&permission) {
            Value::Integer(i64::from(held.contains(&permission.as_str())))
        } else {
            Value::Null
        });
    }
    Rights::from_table(&Table { columns, rows: vec![row] }, version)
}

fn rights(version: ServerVersion, held: &[&str]) -> Rights {
    answer(version, version, held)
}

/// `ready`, or the word and the GRANT's list.
fn outcome(rights: &Rights) -> (&'static str, String) {
    match rights.readiness() {
        Readiness::Ready => ("ready", String::new()),
        Readiness::CountersOnly { missing } => ("counters only", missing.hint()),
        Readiness::Impossible { missing } => ("impossible", missing.hint()),
    }
}

fn in_master(list: &[&str]) -> String {
    format!("in master: GRANT {} TO [corp\\o'neil]]];", list.join(", "))
}

#[test]
fn each_column_is_named_as_its_permission_and_every_needed_one_is_asked_for() {
    for version in [V2008R2, V2019, V2022, AzureMi, AzureDb] {
        let asked = asked(version);
        for (permission, column) in &asked {
            assert_eq!(*column, permission.replace(' ', "_").to_ascii_lowercase());
        }
        for (_, way) in Need::ALL.into_iter().flat_map(|need| need.ways(version)) {
            assert!(asked.iter().any(|(permission, _)| permission == way), "{version}: {way}");
        }
    }
}

#[test]
fn before_2022_one_right_is_for_event_sessions_and_one_for_counters() {
    for version in [V2008R2, V2012, V2014, V2016, V2017, V2019] {
        let sessions = if version == V2008R2 { "CONTROL SERVER" } else { WHOLE };
        for (held, word, list) in [
            (&[STATE, sessions][..], "ready", &[][..]),
            (&[STATE], "counters only", &[sessions]),
            (&[sessions], "impossible", &[STATE]),
            (&[], "impossible", &[STATE, sessions]),
        ] {
            let expected = if list.is_empty() { String::new() } else { in_master(list) };
            assert_eq!(outcome(&rights(version, held)), (word, expected), "{version} {held:?}");
        }
    }
}

#[test]
fn from_2022_on_the_parts_are_enough_and_each_is_needed() {
    for version in [V2022, V2025, AzureMi] {
        let all: Vec<&str> = PARTS.into_iter().chain([PERFORMANCE]).collect();
        assert_eq!(outcome(&rights(version, &all)), ("ready", String::new()));
        assert_eq!(outcome(&rights(version, &[PERFORMANCE])), ("counters only", in_master(&PARTS)), "{version}");
        assert_eq!(outcome(&rights(version, &PARTS)), ("impossible", in_master(&[PERFORMANCE])), "{version}");
        for part in PARTS {
            // The whole right beside a part that is denied does not help: what cannot be dropped is not created.
            let held: Vec<&str> = all.iter().copied().filter(|held| *held != part).chain([WHOLE, STATE]).collect();
            assert_eq!(outcome(&rights(version, &held)), ("counters only", in_master(&[part])), "{version} {part}");
        }
        let nothing: Vec<&str> = [PERFORMANCE].into_iter().chain(PARTS).collect();
        assert_eq!(outcome(&rights(version, &[])), ("impossible", in_master(&nothing)), "{version}");
    }
}

#[test]
fn a_managed_instance_that_knows_no_parts_is_asked_for_the_whole() {
    assert_eq!(outcome(&answer(AzureMi, V2019, &[STATE, WHOLE])), ("ready", String::new()));
    assert_eq!(outcome(&answer(AzureMi, V2019, &[STATE])), ("counters only", in_master(&[WHOLE])));
    assert_eq!(outcome(&answer(AzureMi, V2019, &[WHOLE])), ("impossible", in_master(&[STATE])));
}

#[test]
fn in_a_database_its_own_rights_are_granted_to_its_user() {
    let grant = |list: &[&str]| format!("in database [a]]b]: GRANT {} TO [ops];", list.join(", "));
    let all: Vec<&str> = PARTS_OF_DATABASE.into_iter().chain([PERFORMANCE_OF_DATABASE]).collect();
    assert_eq!(outcome(&rights(AzureDb, &all)), ("ready", String::new()));
    let counters = rights(AzureDb, &[PERFORMANCE_OF_DATABASE]);
    assert_eq!(outcome(&counters), ("counters only", grant(&PARTS_OF_DATABASE)));
    assert_eq!(outcome(&rights(AzureDb, &PARTS_OF_DATABASE)), ("impossible", grant(&[PERFORMANCE_OF_DATABASE])));
}

#[test]
fn trace_flags_are_for_sysadmins_and_not_for_azure() {
    let standing = |version, held: &[&str]| rights(version, held).standing(Need::TraceFlags);
    assert_eq!(standing(V2019, &["sysadmin"]), Standing::Held);
    for (version, grant) in [
        (V2008R2, "EXEC sys.sp_addsrvrolemember @loginame = N'corp\\o''neil]', @rolename = N'sysadmin';"),
        (V2012, "ALTER SERVER ROLE [sysadmin] ADD MEMBER [corp\\o'neil]]];"),
        (V2025, "ALTER SERVER ROLE [sysadmin] ADD MEMBER [corp\\o'neil]]];"),
    ] {
        let Standing::Missing(missing) = standing(version, &[STATE]) else { panic!("{version}") };
        assert_eq!((missing.rights, missing.grant.as_str()), (vec!["sysadmin"], grant));
    }
    assert_eq!(standing(AzureMi, &["sysadmin"]), Standing::NotOffered);
    assert_eq!(standing(AzureDb, &[]), Standing::NotOffered);
}

#[test]
fn file_names_have_a_right_of_their_own() {
    assert_eq!(rights(V2019, &["VIEW ANY DEFINITION"]).standing(Need::FileNames), Standing::Held);
    let Standing::Missing(missing) = rights(V2019, &[]).standing(Need::FileNames) else { panic!() };
    assert_eq!(missing.hint(), in_master(&["VIEW ANY DEFINITION"]));
    assert_eq!(rights(AzureDb, &[]).standing(Need::FileNames), Standing::Held);
}

#[test]
fn a_view_refused_in_spite_of_the_right_is_a_matter_of_the_service_objective() {
    let held = rights(AzureDb, &[PERFORMANCE_OF_DATABASE]);
    for number in [300, 297] {
        let hint = held.view_refused_hint(number).unwrap();
        let grant = "in master: ALTER SERVER ROLE [##MS_ServerStateReader##] ADD MEMBER [corp\\o'neil]]];";
        assert!(hint.ends_with(grant), "{hint}");
    }
    assert_eq!(held.view_refused_hint(1222), None);
    assert_eq!(rights(V2019, &[STATE]).view_refused_hint(300), None);
    let missing = rights(AzureDb, &[]).view_refused_hint(300).unwrap();
    assert!(missing.starts_with("in database [a]]b]: GRANT VIEW DATABASE PERFORMANCE STATE TO"), "{missing}");
}

#[test]
fn a_server_that_knows_no_permission_allows_nothing() {
    let rights = Rights::from_table(&Table::default(), V2019);
    assert_eq!(outcome(&rights).0, "impossible");
    assert_eq!(rights.all().count(), 0);
}
