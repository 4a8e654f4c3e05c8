//! Many instances in one process.

use super::{CREATE, Client, Lab};
use crate::cli::xestack;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use xestack::simulator::launch::{self, LaunchError, LaunchOptions};
use xestack::simulator::wire::hooks::{HookAction, Hooks, Phase};

#[tokio::test]
async fn each_instance_has_a_name_a_state_and_an_address_of_its_own() {
    let lab = Lab::with(&[], |launch| launch.instances = 3).await;
    let addresses = lab.simulator.addresses();
    assert_eq!(addresses[0], lab.simulator.local_addr());
    assert_eq!(addresses.iter().collect::<BTreeSet<_>>().len(), 3);
    let mut second = Client::at(addresses[1]).await;
    second.run(CREATE).await;
    second.run("DBCC TRACEON (3656, -1) WITH NO_INFOMSGS").await;
    assert!(second.locks("name").await);
    for (address, name) in addresses.iter().zip(["XESTACK-SIM", "XESTACK-SIM2", "XESTACK-SIM3"]) {
        let mut client = Client::at(*address).await;
        let is_second = *address == addresses[1];
        assert_eq!(client.text("SELECT @@SERVERNAME").await, name);
        assert_eq!(client.ours().await.0, is_second, "{name}");
        assert_eq!(client.is_on(3_656).await, is_second, "{name}");
        assert_eq!(client.locks("name").await, !is_second, "{name}");
    }
}

#[tokio::test]
async fn a_fault_is_one_of_its_instance_or_of_each() {
    let faults = ["cut=before@create#2", "restart@sys.dm_os_nodes", "failover@3#3", "error=1205@sys.databases#2"];
    let lab = Lab::with(&faults, |launch| launch.instances = 3).await;
    for (number, address) in (1..).zip(lab.simulator.addresses()) {
        let tried = Client::at(address).await.try_run(CREATE).await;
        assert_eq!(tried.is_err(), number == 2, "instance {number}");
        let tried = Client::at(address).await.try_run("SELECT name FROM sys.databases").await;
        assert_eq!(tried.err().and_then(|error| error.number()), (number == 2).then_some(1205), "instance {number}");
        Client::at(address).await.breaks("SELECT node_id FROM sys.dm_os_nodes").await;
        Client::at(address).await.run("SELECT node_id FROM sys.dm_os_nodes").await;
        assert_eq!(lab.simulator.first_node_addr(number).is_some(), number == 3);
        let mut client = Client::at(address).await;
        client.run("SELECT 1").await;
        client.run("SELECT 1").await;
        let tried = client.try_run("SELECT 1").await;
        assert_eq!(tried.is_err(), number == 3, "instance {number}");
    }
    let mut second_node = Client::at(lab.simulator.addresses()[2]).await;
    assert_eq!(second_node.text("SELECT @@SERVERNAME").await, "XESTACK-SIM3-B");
}

#[tokio::test]
async fn hooks_are_told_the_instance() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let lab = Lab::with(&[], |launch| {
        launch.instances = 2;
        launch.hooks = Hooks::new(move |point| {
            if point.phase == Phase::BeforeExecute {
                seen.lock().unwrap().push((point.instance, point.connection, point.request));
            }
            HookAction::Continue
        });
    })
    .await;
    for address in lab.simulator.addresses() {
        Client::at(address).await.run("SELECT 1").await;
    }
    assert_eq!(*told.lock().unwrap(), [(1, 1, 1), (2, 1, 1)]);
}

#[tokio::test]
async fn ports_follow_each_other() {
    // Three ports in a row that are free: the middle ones may be taken by others, so more than one place is tried.
    for _ in 0..50 {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let options = LaunchOptions { listen: free, instances: 3, ..LaunchOptions::default() };
        if let Ok(simulator) = launch::launch(options).await {
            let ports: Vec<u16> = simulator.addresses().iter().map(std::net::SocketAddr::port).collect();
            assert_eq!(ports, [free.port(), free.port() + 1, free.port() + 2]);
            return;
        }
    }
    panic!("no three ports in a row are free");
}

#[tokio::test]
async fn ports_and_instances_have_limits() {
    let launched = |port: u16, instances: u16| {
        launch::launch(LaunchOptions { listen: ([127, 0, 0, 1], port).into(), instances, ..LaunchOptions::default() })
    };
    assert!(matches!(launched(65_534, 3).await, Err(LaunchError::Ports { .. })));
    assert!(matches!(launched(0, 0).await, Err(LaunchError::NoInstance)));
}

#[tokio::test]
async fn all_instances_have_one_certificate() {
    let options = LaunchOptions { instances: 2, ..LaunchOptions::default() };
    let simulator = launch::launch(options).await.unwrap();
    for address in simulator.addresses() {
        let options = xestack::sqlserver::ConnectOptions {
            address: format!("127.0.0.1,{}", address.port()).parse().unwrap(),
            ..crate::capture::connect_options(&simulator)
        };
        xestack::sqlserver::Connection::open(&options).await.unwrap().close().await;
    }
}

#[test]
fn the_command_prints_two_lines_whatever_their_number() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_xestack"))
        .args(["simulate", "--listen", "127.0.0.1:0", "--instances", "3", "--fault", "failover@start#2"])
        .env("XESTACK_SIM_PASSWORD", "Look-0n!only")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let (first, second) = (lines.next().unwrap().unwrap(), lines.next().unwrap().unwrap());
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(lines.next().is_none());
    assert!(second.starts_with("login sa, password"), "{second}");
    let (_, ports) = first.split_once("127.0.0.1:").unwrap();
    assert!(ports.split(", ").count() == 3 || ports.contains(" to "), "{first}");
    let wrong = xestack(&["simulate", "--instances", "0"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}
