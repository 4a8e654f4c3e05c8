//! Owns starting a simulated server: an instance, the SQL engine in front of it, and the listener.

use crate::model::ServerVersion;
use crate::simulator::clock::{Clock, MachineClock};
use crate::simulator::events::histogram::Overflow;
use crate::simulator::faults::{Fault, FaultError};
use crate::simulator::host::{Backend, Host, Login, Session};
use crate::simulator::instance::Instance;
use crate::simulator::instance::options::{InstanceError, InstanceOptions};
use crate::simulator::language::Language;
use crate::simulator::output::Message;
use crate::simulator::permissions::Account;
use crate::simulator::server::{Encryption, Server, ServerOptions, TlsMode, start_encrypted};
use crate::simulator::sql::SqlSession;
use crate::simulator::versions::VersionData;
use crate::simulator::wire::browser::{Browser, Listed};
use crate::simulator::wire::hooks::Hooks;
use crate::simulator::workload::pace::Pace;
use crate::simulator::workload::{Truth, UPTIME_HOURS, UnknownWorkload};
use secrecy::SecretString;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

/// The login of every simulated server, a sysadmin.
pub const USER: &str = "sa";

/// Characters of a generated password.
const PASSWORD_LENGTH: usize = 20;

/// How a simulated server is set up.
#[derive(Clone)]
pub struct LaunchOptions {
    /// Where it listens; port 0 takes a free one. Further instances listen on the ports that follow.
    pub listen: SocketAddr,
    /// How many instances there are, each with a state of its own.
    pub instances: u16,
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
    /// Further logins; one without a password has that of [`USER`].
    pub accounts: Vec<Account>,
    /// Access token that logs in as [`USER`]; none does without it.
    pub access_token: Option<String>,
    /// Where a SQL Server Browser answers over UDP for the instances; nowhere without it.
    pub browser: Option<SocketAddr>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where tests step in.
    pub hooks: Hooks,
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            instances: 1,
            version: ServerVersion::V2019,
            workload: "lock-hash".to_owned(),
            pace: Pace::Steady,
            seed: 1,
            faults: Vec::new(),
            overflow: Overflow::default(),
            startup_flags: Vec::new(),
            tls: TlsMode::On,
            password: None,
            accounts: Vec::new(),
            access_token: None,
            browser: None,
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
    /// There is nothing to start.
    #[error("a simulated server needs at least one instance")]
    NoInstance,
    /// The ports end before the instances do.
    #[error("{instances} instances from port {first} on need ports above 65535: use a lower port, or 0 for free ones")]
    Ports {
        /// The first one's port.
        first: u16,
        /// How many there are to be.
        instances: u16,
    },
    /// No certificate can be made.
    #[error("the simulated server has no certificate")]
    Certificate(#[source] std::io::Error),
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

/// Simulated servers at work; dropping it stops them.
pub struct Simulator {
    first: Address,
    others: Vec<Address>,
    password: String,
    browser: Option<Browser>,
}

/// An instance's address.
struct Address {
    server: Server,
    /// Where its first node answers, whichever node has the address.
    first_node: Option<Server>,
}

impl Simulator {
    /// Where the first instance listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.first.server.local_addr()
    }

    /// Where each instance listens, by number.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.all().map(|address| address.server.local_addr()).collect()
    }

    /// Where the first node of an instance (from 1) that fails over always answers; `None` for one that does not.
    pub fn first_node_addr(&self, instance: usize) -> Option<SocketAddr> {
        let address = self.all().nth(instance.checked_sub(1)?)?;
        address.first_node.as_ref().map(Server::local_addr)
    }

    /// The certificate to trust, for localhost; all instances have the same.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.first.server.certificate_pem()
    }

    /// Password of [`USER`].
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Where its SQL Server Browser answers.
    pub fn browser_addr(&self) -> Option<SocketAddr> {
        self.browser.as_ref().map(Browser::local_addr)
    }

    /// Connections that the first instance has accepted so far.
    pub fn connections(&self) -> u64 {
        self.first.server.connections()
    }

    /// The instances as a Browser lists them: `SIM1` and so on.
    fn listed(&self) -> Vec<Listed> {
        let instance = |(index, address): (usize, &Address)| Listed {
            name: format!("SIM{}", index + 1),
            port: address.server.local_addr().port(),
        };
        self.all().enumerate().map(instance).collect()
    }

    /// Closes everything.
    pub async fn stop(self) {
        for address in self.all() {
            address.server.stop().await;
            if let Some(first_node) = &address.first_node {
                first_node.stop().await;
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &Address> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

/// Starts the instances in the current tokio runtime.
pub async fn launch(options: LaunchOptions) -> Result<Simulator, LaunchError> {
    let faults = options.faults.iter().map(|text| text.parse()).collect::<Result<Vec<Fault>, FaultError>>()?;
    let password = options.password.clone().unwrap_or_else(random_password);
    let browser = options.browser;
    let port = options.listen.port();
    if port != 0 && port.checked_add(options.instances.saturating_sub(1)).is_none() {
        return Err(LaunchError::Ports { first: port, instances: options.instances });
    }
    let instance_options = InstanceOptions {
        workload: options.workload.parse()?,
        pace: options.pace,
        seed: options.seed,
        faults,
        startup_flags: options.startup_flags.clone(),
        overflow: options.overflow,
        accounts: options.accounts.clone(),
        access_token: options.access_token.clone().map(SecretString::from),
        ..InstanceOptions::new(options.version, SecretString::from(password.clone()))
    };
    let launcher = Launcher {
        version: VersionData::of(options.version)
            .ok_or(InstanceError::UnsupportedVersion { version: options.version })?,
        encryption: Encryption::new(options.tls, None).map_err(LaunchError::Certificate)?,
        instance_options,
        options,
        truths: Truths::default(),
    };
    let mut addresses = Vec::new();
    for index in 0..launcher.options.instances {
        addresses.push(launcher.start(index).await?);
    }
    let mut addresses = addresses.into_iter();
    let first = addresses.next().ok_or(LaunchError::NoInstance)?;
    let mut simulator = Simulator { first, others: addresses.collect(), password, browser: None };
    if let Some(listen) = browser {
        let failed = |source| LaunchError::Listen { address: listen, source };
        simulator.browser = Some(Browser::start(listen, simulator.listed()).await.map_err(failed)?);
    }
    Ok(simulator)
}

/// What all instances are started with.
struct Launcher {
    version: &'static VersionData,
    encryption: Encryption,
    instance_options: InstanceOptions,
    options: LaunchOptions,
    truths: Truths,
}

/// What the workload does on first and on second nodes, shared by the instances.
#[derive(Default)]
struct Truths {
    first: OnceLock<Arc<Truth>>,
    second: OnceLock<Arc<Truth>>,
}

impl Launcher {
    /// The instance at this place.
    async fn start(&self, index: u16) -> Result<Address, LaunchError> {
        let number = u32::from(index) + 1;
        let options = InstanceOptions { number, ..self.instance_options.clone() };
        let truth = self.truths.first.get_or_init(|| Arc::new(self.truth(options.seed)));
        let first = self.node(options, truth);
        let port = self.options.listen.port();
        let listen = SocketAddr::new(self.options.listen.ip(), if port == 0 { 0 } else { port + index });
        let Some(name) = first.second_node() else {
            let server = self.listen(listen, number, Front { first, second: None }).await?;
            return Ok(Address { server, first_node: None });
        };
        let own = SocketAddr::new(listen.ip(), 0);
        let first_node = self.listen(own, number, Front { first: Arc::clone(&first), second: None }).await?;
        let second = Some(self.second_node(number, name));
        let server = self.listen(listen, number, Front { first, second }).await?;
        Ok(Address { server, first_node: Some(first_node) })
    }

    /// The node that answers after a failover: another machine, up for longer, that has counted more. No further moment
    /// comes on it.
    fn second_node(&self, number: u32, name: String) -> Arc<Instance> {
        let seed = self.instance_options.seed.wrapping_add(1);
        let options = InstanceOptions {
            number,
            seed,
            name: Some(name),
            uptime_hours: 2 * UPTIME_HOURS,
            faults: self.instance_options.faults.iter().filter(|fault| !fault.is_of_moment()).cloned().collect(),
            ..self.instance_options.clone()
        };
        let truth = self.truths.second.get_or_init(|| Arc::new(self.truth(seed).with_longer_past()));
        self.node(options, truth)
    }

    fn truth(&self, seed: u64) -> Truth {
        self.instance_options.workload.truth(self.version, seed)
    }

    fn node(&self, options: InstanceOptions, truth: &Arc<Truth>) -> Arc<Instance> {
        Instance::with_truth(options, self.version, Arc::clone(truth), Arc::clone(&self.options.clock))
    }

    async fn listen(&self, listen: SocketAddr, number: u32, front: Front) -> Result<Server, LaunchError> {
        let switches = front.first.switches();
        let server_options = ServerOptions {
            number,
            hooks: self.options.hooks.clone(),
            attention: switches.attention,
            faults: switches.login.clone(),
            ..ServerOptions::new(listen)
        };
        let encryption = match switches.login.tls {
            None => self.encryption.clone(),
            fault => Encryption::new(self.options.tls, fault).map_err(LaunchError::Certificate)?,
        };
        start_encrypted(server_options, encryption, Arc::new(front))
            .await
            .map_err(|source| LaunchError::Listen { address: listen, source })
    }
}

/// What the wire sees: logins of the node that has the address become sessions of the SQL engine.
struct Front {
    first: Arc<Instance>,
    /// Has the address once the first has failed over.
    second: Option<Arc<Instance>>,
}

impl Front {
    fn node(&self) -> &Arc<Instance> {
        self.second.as_ref().filter(|_| self.first.has_failed_over()).unwrap_or(&self.first)
    }
}

impl Backend for Front {
    fn login(&self, login: Login) -> Result<Box<dyn Session>, Message> {
        let node = self.node();
        let context = node.open_session(&login).map_err(|message| node.language().translated(message))?;
        let host: Arc<dyn Host> = Arc::clone(node) as Arc<dyn Host>;
        Ok(Box::new(SqlSession::new(host, context)))
    }

    fn language(&self) -> Language {
        self.node().language()
    }

    fn version_numbers(&self) -> (u8, u8, u16) {
        self.node().version_numbers()
    }

    fn server_name(&self) -> String {
        self.node().server_name()
    }
}

/// Letters and digits. Not of cryptographic strength: it guards a simulation.
fn random_password() -> String {
    std::iter::repeat_with(fastrand::alphanumeric).take(PASSWORD_LENGTH).collect()
}
