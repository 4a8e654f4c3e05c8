//! Owns starting a simulated server: an instance, its SQL engine and its listener.
#![allow(missing_docs)]
use crate::model::ServerVersion;
use std::net::SocketAddr;
use std::time::Duration;
pub const USER: &str = "sa";
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    Burst(Duration),
    Steady,
}
#[derive(Debug, Clone, Copy)]
pub enum Overflow {
    Fold,
    Ignore,
}
#[derive(Debug, Clone)]
pub struct LaunchOptions {
    pub listen: SocketAddr,
    pub version: ServerVersion,
    pub workload: String,
    pub pace: Pace,
    pub seed: u64,
    pub faults: Vec<String>,
    pub overflow: Overflow,
    pub startup_flags: Vec<u32>,
    pub tls: bool,
    pub password: Option<String>,
}
impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            listen: ([127, 0, 0, 1], 0).into(),
            version: ServerVersion::V2019,
            workload: "lock-hash".into(),
            pace: Pace::Steady,
            seed: 1,
            faults: vec![],
            overflow: Overflow::Fold,
            startup_flags: vec![],
            tls: true,
            password: None,
        }
    }
}
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("not yet")]
    NotYet,
}
pub struct Simulator;
impl Simulator {
    pub fn local_addr(&self) -> SocketAddr {
        ([127, 0, 0, 1], 0).into()
    }
    pub fn password(&self) -> &str {
        ""
    }
    pub fn certificate_pem(&self) -> Option<&str> {
        None
    }
    pub async fn stop(self) {}
}
pub async fn launch(_o: LaunchOptions) -> Result<Simulator, LaunchError> {
    Err(LaunchError::NotYet)
}
