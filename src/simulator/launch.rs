//! Owns starting a simulated server: an instance, the SQL engine in front of it, and the listener.

use crate::model::ServerVersion;
use crate::simulator::clock::{Clock, MachineClock};
use crate::simulator::events::histogram::Overflow;
use crate::simulator::faults::{Fault, FaultError};
use crate::simulator::host::{Backend, Host, Login, Session};
use crate::simulator::instance::Instance;
use crate::simulator::instance::options::{InstanceError, InstanceOptions};
use crate::simulator::output::Message;
use crate::simulator::server::{Server, ServerOptions, TlsMode, start};
use crate::simulator::sql::SqlSession;
use crate::simulator::wire::hooks::Hooks;
use crate::simulator::workload::UnknownWorkload;
use crate::simulator::workload::pace::Pace;
use secrecy::SecretString;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The login of every simulated server, a sysadmin.
pub const USER: &str = "sa";

/// Characters of a generated password.
const PASSWORD_LENGTH: usize = 20;

/// How a simulated server is set up.
#[derive(Clone)]
pub struct LaunchOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Its version.
    pub version: ServerVersion,
    /// What it does.
    pub workload: String,
    /// When.
    pub pace: Pace,
    /// Same seed, same server.
    pub seed: u64,
    /// What it does otherwise, `NAME[=VALUE][@STATEMENT][#INSTANCE]`.
    pub faults: Vec<String>,
    /// What full histograms do.
    pub overflow: Overflow,
    /// Trace flags on from the start (-T).
    pub startup_flags: Vec<u32>,
    /// Encryption that it offers.
    pub tls: TlsMode,
    /// Password of [`USER`]; a random one without it.
    pub password: Option<String>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where tests step in.
    pub hooks: Hooks,
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            version: ServerVersion::V2019,
            workload: "lock-hash".to_owned(),
            pace: Pace::Steady,
            seed: 1,
            faults: Vec::new(),
            overflow: Overflow::default(),
            startup_flags: Vec::new(),
            tls: TlsMode::On,
            password: None,
            clock: Arc::new(MachineClock::default()),
            hooks: Hooks::default(),
        }
    }
}

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No such workload.
    #[error(transparent)]
    Workload(#[from] UnknownWorkload),
    /// No such fault.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// No such version.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The address cannot be bound.
    #[error("the simulated server cannot listen on {address}")]
    Listen {
        /// Address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// A simulated server at work; dropping it stops it.
pub struct Simulator {
    server: Server,
    password: String,
}

impl Simulator {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// The certificate to trust, for localhost.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.server.certificate_pem()
    }

    /// Password of [`USER`].
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Closes everything.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

/// Starts a server in the current tokio runtime.
pub async fn launch(options: LaunchOptions) -> Result<Simulator, LaunchError> {
    let faults = options.faults.iter().map(|text| text.parse()).collect::<Result<Vec<Fault>, FaultError>>()?;
    let password = options.password.unwrap_or_else(random_password);
    let instance = Instance::new(
        InstanceOptions {
            workload: options.workload.parse()?,
            pace: options.pace,
            seed: options.seed,
            faults,
            startup_flags: options.startup_flags,
            overflow: options.overflow,
            ..InstanceOptions::new(options.version, SecretString::from(password.clone()))
        },
        options.clock,
    )?;
    let server_options = ServerOptions {
        tls: options.tls,
        hooks: options.hooks,
        attention: instance.switches().attention,
        faults: instance.switches().login.clone(),
        ..ServerOptions::new(options.listen)
    };
    let server = start(server_options, Arc::new(Front { instance }))
        .await
        .map_err(|source| LaunchError::Listen { address: options.listen, source })?;
    Ok(Simulator { server, password })
}

/// What the wire sees: logins of the instance become sessions of the SQL engine.
struct Front {
    instance: Arc<Instance>,
}

impl Backend for Front {
    fn login(&self, login: Login) -> Result<Box<dyn Session>, Message> {
        let context = self.instance.open_session(&login)?;
        let host: Arc<dyn Host> = Arc::clone(&self.instance) as Arc<dyn Host>;
        Ok(Box::new(SqlSession::new(host, context)))
    }

    fn version_numbers(&self) -> (u8, u8, u16) {
        self.instance.version_numbers()
    }

    fn server_name(&self) -> String {
        self.instance.server_name()
    }
}

/// Letters and digits. Not of cryptographic strength: it guards a simulation.
fn random_password() -> String {
    std::iter::repeat_with(fastrand::alphanumeric).take(PASSWORD_LENGTH).collect()
}
