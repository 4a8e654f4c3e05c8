//! What happens to the server itself: restart, failover, sessions that vanish, clocks and statistics.

use super::{CREATE, Client, Lab, START};
use xestack::simulator::workload::pace::Pace;

const START_TIMES: &str = "SELECT CONVERT(nvarchar(40), sqlserver_start_time, 121) FROM sys.dm_os_sys_info";
const NAME: &str = "SELECT @@SERVERNAME";

#[tokio::test]
async fn a_restart_ends_everything_that_does_not_survive_one() {
    for fault in ["restart@sys.dm_os_schedulers", "restart@20"] {
        let lab = Lab::with(&[fault], |launch| launch.startup_flags = vec![1_118]).await;
        let (mut client, mut idle) = (lab.client().await, lab.client().await);
        client.run(CREATE).await;
        client.run(START).await;
        client
            .run(&CREATE.replace("ours", "kept").replace("event_counter", "event_counter WITH (STARTUP_STATE = ON)"))
            .await;
        client.run("DBCC TRACEON (3656, -1) WITH NO_INFOMSGS").await;
        client.run("DBCC TRACEOFF (1118, -1) WITH NO_INFOMSGS").await;
        assert!(client.locks("held").await);
        let started = client.text(START_TIMES).await;
        let ticks = "SELECT ms_ticks FROM sys.dm_os_sys_info";
        let at_start = "SELECT sqlserver_start_time_ms_ticks FROM sys.dm_os_sys_info";
        let (ticks_before, start_before) = (client.integer(ticks).await, client.integer(at_start).await);
        lab.pass(20);
        assert!(client.collisions().await > 1_000);
        for _ in 11..20 {
            client.run("SELECT 1").await;
        }
        client.breaks("SELECT yield_count FROM sys.dm_os_schedulers").await;
        idle.try_run("SELECT 1").await.unwrap_err();

        let mut client = lab.client().await;
        assert_eq!(client.ours().await, (true, false), "{fault}");
        let running = "SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name IN (N'kept', N'system_health')";
        assert_eq!(client.integer(running).await, 2, "{fault}");
        assert!(client.is_on(1_118).await && !client.is_on(3_656).await, "{fault}");
        assert!(client.locks("held").await, "{fault}");
        assert_eq!(client.collisions().await, 0, "{fault}");
        for sql in [
            "SELECT SUM(waiting_tasks_count) FROM sys.dm_os_wait_stats",
            "SELECT SUM(waiting_requests_count) FROM sys.dm_os_latch_stats",
            "SELECT SUM(cntr_value) FROM sys.dm_os_performance_counters WHERE counter_name = N'Batch Requests/sec'",
            "SELECT SUM(num_of_writes) FROM sys.dm_io_virtual_file_stats(NULL, NULL)",
            "SELECT SUM(total_cpu_usage_ms) FROM sys.dm_os_schedulers",
        ] {
            assert_eq!(client.integer(sql).await, 0, "{fault}: {sql}");
        }
        assert_ne!(client.text(START_TIMES).await, started, "{fault}");
        // The machine stayed up.
        assert_eq!(client.integer(ticks).await, ticks_before + 20_000, "{fault}");
        let start = client.integer(at_start).await;
        assert_eq!(start, client.integer(ticks).await, "{fault}");
        assert!(start > start_before, "{fault}");
        assert_eq!(client.text(NAME).await, "XESTACK-SIM", "{fault}");
        for _ in 0..30 {
            client.run("SELECT COUNT(*) FROM sys.dm_os_schedulers").await;
        }
    }
}

#[tokio::test]
async fn counters_rise_again_from_zero() {
    let lab = Lab::with(&["restart@sys.dm_os_nodes"], |launch| launch.pace = Pace::Steady).await;
    let mut client = lab.client().await;
    let before = client.collisions().await;
    lab.pass(10);
    let in_ten_seconds = client.collisions().await - before;
    client.breaks("SELECT node_id FROM sys.dm_os_nodes").await;
    let mut client = lab.client().await;
    assert_eq!(client.collisions().await, 0);
    lab.pass(30);
    assert_eq!(client.collisions().await, 3 * in_ten_seconds);
}

#[tokio::test]
async fn a_burst_that_a_restart_meets_goes_on_from_zero() {
    let whole = {
        let lab = Lab::new(&[]).await;
        let mut client = lab.client().await;
        let before = client.collisions().await;
        client.run(CREATE).await;
        client.run(START).await;
        lab.pass(10);
        client.collisions().await - before
    };
    let lab = Lab::new(&["restart@sys.dm_os_nodes"]).await;
    let mut client = lab.client().await;
    let before = client.collisions().await;
    client.run(CREATE).await;
    client.run(START).await;
    lab.pass(4);
    let counted = client.collisions().await - before;
    assert!(counted > 0 && counted < whole);
    client.breaks("SELECT node_id FROM sys.dm_os_nodes").await;
    lab.pass(20);
    assert_eq!(lab.client().await.collisions().await, whole - counted);
}

#[tokio::test]
async fn a_failover_answers_from_another_node_and_the_first_goes_on() {
    for (fault, name) in [
        ("failover@sys.dm_os_nodes", "XESTACK-SIM-B"),
        ("failover=OTHER@sys.dm_os_nodes", "OTHER"),
        ("failover=XESTACK-SIM@8", "XESTACK-SIM"),
    ] {
        let lab = Lab::new(&[fault]).await;
        let computer = "SELECT CAST(SERVERPROPERTY('ComputerNamePhysicalNetBIOS') AS nvarchar(128))";
        let (mut client, mut idle) = (lab.client().await, lab.client().await);
        client.run(CREATE).await;
        client.run(START).await;
        client.run("DBCC TRACEON (3656, -1) WITH NO_INFOMSGS").await;
        let (collisions, started) = (client.collisions().await, client.text(START_TIMES).await);
        let first_computer = client.text(computer).await;
        client.run("SELECT 1").await;
        client.breaks("SELECT node_id FROM sys.dm_os_nodes").await;
        idle.try_run("SELECT 1").await.unwrap_err();

        let mut second = lab.client().await;
        assert_eq!(second.text(NAME).await, name, "{fault}");
        assert_eq!(second.text("SELECT CAST(SERVERPROPERTY('ServerName') AS nvarchar(128))").await, name, "{fault}");
        assert_ne!(second.text(computer).await, first_computer, "{fault}");
        assert_eq!(second.ours().await, (false, false), "{fault}");
        assert!(!second.is_on(3_656).await, "{fault}");
        assert!(second.collisions().await > collisions, "{fault}");
        assert_ne!(second.text(START_TIMES).await, started, "{fault}");
        second.run("SELECT node_id FROM sys.dm_os_nodes").await;

        let mut first = Client::at(lab.simulator.first_node_addr(1).unwrap()).await;
        assert_eq!(first.text(NAME).await, "XESTACK-SIM", "{fault}");
        assert_eq!(first.ours().await, (true, true), "{fault}");
        assert!(first.is_on(3_656).await, "{fault}");
    }
}

#[tokio::test]
async fn messages_of_the_second_node_bear_its_name() {
    let lab = Lab::new(&["failover=OTHER@1"]).await;
    lab.client().await.breaks("SELECT 1").await;
    let mut tcp = crate::simulator_wire::raw::logged_in_at(lab.simulator.local_addr()).await;
    let sql = crate::simulator_wire::raw::batch("SELECT nothing", 1);
    tokio::io::AsyncWriteExt::write_all(&mut tcp, &sql).await.unwrap();
    let answer = crate::simulator_wire::raw::read_message(&mut tcp).await;
    let other: Vec<u8> = "OTHER".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(answer.windows(other.len()).any(|window| window == other));
}

#[tokio::test]
async fn without_the_fault_there_is_no_second_node() {
    let lab = Lab::new(&["restart@1#2"]).await;
    assert_eq!(lab.simulator.first_node_addr(1), None);
    assert_eq!((lab.simulator.first_node_addr(0), lab.simulator.first_node_addr(2)), (None, None));
}

#[tokio::test]
async fn sessions_of_clients_vanish_and_others_stay() {
    for (fault, expected) in [
        ("vanish@sys.dm_os_nodes", (false, false)),
        ("vanish=dropped@4", (false, false)),
        ("vanish=stopped@sys.dm_os_nodes", (true, false)),
        ("vanish=stopped@4", (true, false)),
    ] {
        let lab = Lab::with(&[fault], |launch| launch.workload = "xe-observer".to_owned()).await;
        let mut client = lab.client().await;
        let others = "SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name <> N'ours'";
        let before = client.integer(others).await;
        client.run(CREATE).await;
        client.run(START).await;
        client.run("SELECT node_id FROM sys.dm_os_nodes").await;
        assert_eq!(client.ours().await, expected, "{fault}");
        assert!(before >= 3);
        assert_eq!(client.integer(others).await, before, "{fault}");
        if !expected.0 {
            client.run(CREATE).await;
        }
        client.run(START).await;
        client.run("SELECT node_id FROM sys.dm_os_nodes").await;
        assert_eq!(client.ours().await, (true, true), "{fault} comes once");
    }
}

#[tokio::test]
async fn a_session_is_gone_just_before_the_statement() {
    let lab = Lab::new(&["vanish@stop", "vanish=stopped@drop"]).await;
    let mut client = lab.client().await;
    client.run(CREATE).await;
    client.run(START).await;
    assert_eq!(client.error("ALTER EVENT SESSION [ours] ON SERVER STATE = STOP").await, 15151);
    client.run(CREATE).await;
    client.run(START).await;
    client.run("DROP EVENT SESSION [ours] ON SERVER").await;
}

#[tokio::test]
async fn the_utc_clock_jumps_and_counters_do_not() {
    for (fault, seconds) in [("clock-jump=-3600@sys.dm_os_nodes", -3_600), ("clock-jump=+90@2", 90)] {
        let lab = Lab::with(&[fault], |launch| launch.pace = Pace::Steady).await;
        let mut client = lab.client().await;
        let values =
            "SELECT DATEDIFF(second, CAST('20200101' AS datetime), GETUTCDATE()), ms_ticks FROM sys.dm_os_sys_info";
        let read = |table: &xestack::model::Table| {
            (table.rows[0][0].as_integer().unwrap(), table.rows[0][1].as_integer().unwrap())
        };
        let (utc, ticks) = read(&client.run(values).await[0]);
        client.run("SELECT node_id FROM sys.dm_os_nodes").await;
        let collisions = client.collisions().await;
        lab.pass(10);
        let (utc_after, ticks_after) = read(&client.run(values).await[0]);
        assert_eq!((utc_after - utc, ticks_after - ticks), (seconds + 10, 10_000), "{fault}");
        assert!(client.collisions().await > collisions, "{fault}");
    }
}

#[tokio::test]
async fn statistics_are_cleared_by_somebody_else() {
    for fault in ["stats-cleared@sys.dm_os_nodes", "stats-cleared@3"] {
        let lab = Lab::with(&[fault], |launch| launch.pace = Pace::Steady).await;
        let mut client = lab.client().await;
        let batches =
            "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = N'Batch Requests/sec'";
        let before = client.integer(batches).await;
        assert!(client.collisions().await > 0);
        client.run("SELECT node_id FROM sys.dm_os_nodes").await;
        assert_eq!(client.collisions().await, 0, "{fault}");
        for view in
            ["waiting_tasks_count) FROM sys.dm_os_wait_stats", "waiting_requests_count) FROM sys.dm_os_latch_stats"]
        {
            assert_eq!(client.integer(&format!("SELECT SUM({view}")).await, 0, "{fault}");
        }
        assert_eq!(client.integer(batches).await, before, "{fault}");
        lab.pass(10);
        assert!(client.collisions().await > 0, "{fault}");
        client.run("SELECT node_id FROM sys.dm_os_nodes").await;
        assert!(client.collisions().await > 0, "{fault} comes once");
    }
}
