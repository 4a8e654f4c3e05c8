//! A server behind the wire that answers each statement text with steps written in the test.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};
use xestack::simulator::host::{Backend, Login, Request, Session};
use xestack::simulator::output::{Message, Output, Step};
use xestack::simulator::server::{Server, ServerOptions, TlsMode, start};
use xestack::simulator::value::{Column, Datum, SqlType};
use xestack::simulator::wire::hooks::Hooks;

/// Longer than any test.
pub(super) const FOR_EVER: Duration = Duration::from_hours(1);
pub(crate) const PASSWORD: &str = "P@ssw0rd! žluť";

/// What the sessions were asked to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Seen {
    Login(Login),
    Start(Request),
    Cancel,
    Reset,
    End(u16),
}

pub(crate) type Connection = Client<Compat<TcpStream>>;
type Script = dyn Fn(&Request) -> Vec<Step> + Send + Sync;

/// The backend: a script, and a record of what happened.
pub(super) struct Double {
    script: Arc<Script>,
    seen: Arc<Mutex<Vec<Seen>>>,
    spid: Mutex<u16>,
}

impl Double {
    /// Answers batches by their text; parameters come back as a row; what is unknown is error 208.
    pub(super) fn answering(answers: impl IntoIterator<Item = (&'static str, Vec<Step>)>) -> Arc<Self> {
        let answers: HashMap<&str, Vec<Step>> = answers.into_iter().collect();
        Self::scripted(move |request| match request {
            Request::Batch(sql) => answers
                .get(sql.as_str())
                .cloned()
                .unwrap_or_else(|| vec![message(Message::new(208, 16, format!("Invalid object name '{sql}'.")))]),
            Request::ExecuteSql { parameters, .. } => {
                let columns =
                    parameters.iter().map(|parameter| Column::new(&parameter.name, parameter.sql_type)).collect();
                let row = parameters.iter().map(|parameter| parameter.value.clone()).collect();
                vec![rows(columns, vec![row])]
            }
        })
    }

    pub(super) fn scripted(script: impl Fn(&Request) -> Vec<Step> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { script: Arc::new(script), seen: Arc::default(), spid: Mutex::new(50) })
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until what has happened is as wanted.
    pub(super) async fn until(&self, wanted: impl Fn(&[Seen]) -> bool) {
        let looking = async {
            while !wanted(&self.seen()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), looking).await.expect("it never happened");
    }

    pub(super) fn count(&self, wanted: &Seen) -> usize {
        self.seen().iter().filter(|seen| *seen == wanted).count()
    }
}

impl Backend for Double {
    fn login(&self, login: Login) -> Result<Box<dyn Session>, Message> {
        self.seen.lock().unwrap().push(Seen::Login(login.clone()));
        if login.password != PASSWORD {
            return Err(Message::new(18456, 14, format!("Login failed for user '{}'.", login.user)));
        }
        let mut spid = self.spid.lock().unwrap();
        *spid += 1;
        let database = if login.database.is_empty() { "master".to_owned() } else { login.database };
        let script = Arc::clone(&self.script);
        let seen = Arc::clone(&self.seen);
        Ok(Box::new(DoubleSession { spid: *spid, database, script, seen, steps: Vec::new().into_iter() }))
    }

    fn version_numbers(&self) -> (u8, u8, u16) {
        (16, 0, 1000)
    }

    fn server_name(&self) -> String {
        "DOUBLE".to_owned()
    }
}

struct DoubleSession {
    spid: u16,
    database: String,
    script: Arc<Script>,
    seen: Arc<Mutex<Vec<Seen>>>,
    steps: std::vec::IntoIter<Step>,
}

impl Session for DoubleSession {
    fn spid(&self) -> u16 {
        self.spid
    }

    fn database(&self) -> String {
        self.database.clone()
    }

    fn start(&mut self, _number: u64, request: Request) {
        self.steps = (self.script)(&request).into_iter();
        self.seen.lock().unwrap().push(Seen::Start(request));
    }

    fn step(&mut self) -> Option<Step> {
        self.steps.next()
    }

    fn cancel(&mut self) {
        self.steps = Vec::new().into_iter();
        self.seen.lock().unwrap().push(Seen::Cancel);
    }

    fn reset(&mut self) {
        self.seen.lock().unwrap().push(Seen::Reset);
    }
}

impl Drop for DoubleSession {
    fn drop(&mut self) {
        self.seen.lock().unwrap().push(Seen::End(self.spid));
    }
}

pub(super) fn rows(columns: Vec<Column>, rows: Vec<Vec<Datum>>) -> Step {
    Step::Output(Output::Rows { columns, rows })
}

/// One row of one int.
pub(super) fn number(value: i64) -> Step {
    rows(vec![Column::new("n", SqlType::Int)], vec![vec![Datum::Int(value)]])
}

pub(super) fn message(message: Message) -> Step {
    Step::Output(Output::Message(message))
}

pub(super) fn info(text: &str) -> Step {
    message(Message::new(0, 0, text))
}

pub(super) async fn serve(tls: TlsMode, double: &Arc<Double>) -> Server {
    serve_hooked(tls, double, Hooks::default()).await
}

pub(super) async fn serve_hooked(tls: TlsMode, double: &Arc<Double>, hooks: Hooks) -> Server {
    let options = ServerOptions { tls, hooks, ..ServerOptions::new(free_port()) };
    start(options, Arc::<Double>::clone(double)).await.unwrap()
}

pub(super) fn free_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

pub(super) fn config(server: &Server) -> Config {
    let mut config = Config::new();
    config.host("localhost");
    config.port(server.local_addr().port());
    config.authentication(AuthMethod::sql_server("sa", PASSWORD));
    config.encryption(EncryptionLevel::NotSupported);
    config.application_name("wire tests");
    config
}

pub(crate) async fn connect(config: Config) -> tiberius::Result<Connection> {
    let address = config.get_addr();
    let (_, port) = address.rsplit_once(':').unwrap();
    let tcp = TcpStream::connect(("127.0.0.1", port.parse::<u16>().unwrap())).await.unwrap();
    tcp.set_nodelay(true).unwrap();
    Box::pin(Client::connect(config, tcp.compat_write())).await
}
