//! A server trigger that looks on, or forbids.

use super::{CREATE, Client, DROP, Lab, START};

const TRIGGERS: &str = "SELECT t.name, t.is_disabled, e.type_desc FROM sys.server_triggers AS t \
    JOIN sys.server_trigger_events AS e ON e.object_id = t.object_id ORDER BY e.type_desc";

async fn seen(client: &mut Client) -> (Vec<String>, usize, usize) {
    let events = client.run(TRIGGERS).await.remove(0);
    for row in 0..events.rows.len() {
        assert_eq!(events.integer(row, "is_disabled"), Some(0));
    }
    let events = (0..events.rows.len()).map(|row| events.text(row, "type_desc").unwrap().to_owned()).collect();
    let enabled = async |client: &mut Client, view: &str| {
        client.integer(&format!("SELECT COUNT(*) FROM sys.{view} WHERE is_state_enabled = 1")).await as usize
    };
    (events, enabled(client, "server_audits").await, enabled(client, "server_audit_specifications").await)
}

const EVENTS: [&str; 3] = ["ALTER_EVENT_SESSION", "CREATE_EVENT_SESSION", "DROP_EVENT_SESSION"];

#[tokio::test]
async fn a_trigger_rolls_every_statement_back() {
    let lab = Lab::new(&["ddl-trigger=rollback"]).await;
    let mut client = lab.client().await;
    assert_eq!(client.error(CREATE).await, 3609);
    assert_eq!(client.ours().await, (false, false));
    assert_eq!(client.error("ALTER EVENT SESSION [system_health] ON SERVER STATE = STOP").await, 3609);
    assert_eq!(client.error("DROP EVENT SESSION [system_health] ON SERVER").await, 3609);
    let running = "SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name = N'system_health'";
    assert_eq!(client.integer(running).await, 1);
    // A statement that fails by itself does not come to the trigger.
    assert_eq!(client.error(START).await, 15151);
    // The batch ends.
    let tables =
        client.try_run(&format!("DBCC TRACEON (3656, -1) WITH NO_INFOMSGS; {CREATE}; DBCC TRACEON (2592, -1)")).await;
    assert_eq!(tables.unwrap_err().number(), Some(3609));
    assert!(client.is_on(3656).await && !client.is_on(2592).await);
    let caught = format!("BEGIN TRY {CREATE} END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH");
    assert_eq!(client.integer(&caught).await, 3609);
    assert_eq!(seen(&mut client).await, (EVENTS.map(str::to_owned).to_vec(), 0, 0));
}

#[tokio::test]
async fn a_trigger_and_an_audit_that_only_note_change_nothing() {
    let lab = Lab::new(&["ddl-trigger=audit"]).await;
    let mut client = lab.client().await;
    for sql in [CREATE, START, DROP] {
        client.run(sql).await;
    }
    assert_eq!(seen(&mut client).await, (EVENTS.map(str::to_owned).to_vec(), 1, 1));
}

#[tokio::test]
async fn without_the_fault_or_the_right_nothing_is_seen() {
    for faults in [&[][..], &["ddl-trigger=audit", "deny=VIEW ANY DEFINITION"]] {
        let lab = Lab::new(faults).await;
        assert_eq!(seen(&mut lab.client().await).await, (vec![], 0, 0), "{faults:?}");
    }
}
