//! Owns how an instance is set up.

use crate::model::ServerVersion;
use crate::simulator::events::histogram::Overflow;
use crate::simulator::faults::Fault;
use crate::simulator::permissions::Account;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::pace::Pace;
use crate::simulator::workload::{UPTIME_HOURS, Workload};
use secrecy::SecretString;

/// How an instance is set up.
#[derive(Debug, Clone)]
pub struct InstanceOptions {
    /// Which version.
    pub version: ServerVersion,
    /// What it does.
    pub workload: Workload,
    /// How it runs.
    pub pace: Pace,
    /// Same seed, same server.
    pub seed: u64,
    /// What it does otherwise.
    pub faults: Vec<Fault>,
    /// Password of `sa`.
    pub password: SecretString,
    /// Access token that logs in as `sa`.
    pub access_token: Option<SecretString>,
    /// Further logins; one without a password has that of `sa`.
    pub accounts: Vec<Account>,
    /// Trace flags of `-T`.
    pub startup_flags: Vec<u32>,
    /// What full histograms do.
    pub overflow: Overflow,
    /// Number of the instance, from 1; faults can be for one of several.
    pub number: u32,
    /// `@@SERVERNAME` of a second node, which runs on a computer of its own; `None`: the first one, named by its number.
    pub name: Option<String>,
    /// Hours the server has been up when the simulated time begins.
    pub uptime_hours: u64,
}

impl InstanceOptions {
    /// Workload `lock-hash`, a burst of ten seconds, no faults.
    pub fn new(version: ServerVersion, password: SecretString) -> Self {
        Self {
            version,
            workload: Workload::default(),
            pace: Pace::Burst(std::time::Duration::from_secs(10)),
            seed: 1,
            faults: Vec::new(),
            password,
            access_token: None,
            accounts: Vec::new(),
            startup_flags: Vec::new(),
            overflow: Overflow::default(),
            number: 1,
            name: None,
            uptime_hours: UPTIME_HOURS,
        }
    }
}

/// Why there is no such instance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstanceError {
    /// No data for the version.
    #[error("the simulated server has no version {version}: use one of {}", VersionData::known())]
    UnsupportedVersion {
        /// What was asked for.
        version: ServerVersion,
    },
}
