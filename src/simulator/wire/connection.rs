//! Owns a connection after its login: requests in, answers out, attention at any moment.

use crate::simulator::host::{Backend, Request, Session};
use crate::simulator::output::{Message, Output, Step};
use crate::simulator::value::{Column, Datum};
use crate::simulator::wire::answer::{Answer, Scope, put_attention_acknowledgement};
use crate::simulator::wire::error::ConnectionError;
use crate::simulator::wire::handshake::{LoggedIn, log_in};
use crate::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use crate::simulator::wire::packet::{ClientMessage, MessageKind, PacketError, ResponseWriter, read_message};
use crate::simulator::wire::procedure::{Plan, PreparedStatements};
use crate::simulator::wire::reader::DecodeError;
use crate::simulator::wire::request::{Call, TransactionRequest, decode_batch, decode_calls, decode_transaction};
use crate::simulator::wire::row::encode_row;
use crate::simulator::wire::tls::Tls;
use crate::simulator::wire::token::{Environment, TransactionChange, put_environment_change, put_transaction_change};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::task::spawn_blocking;

/// The longest request that is read.
const REQUEST_LIMIT_BYTES: usize = 64 * 1024 * 1024;
/// How long a client may take from connecting to being logged in.
const LOGIN_LIMIT: Duration = Duration::from_secs(30);

/// What all connections of a server share.
pub(crate) struct Endpoint {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) server_name: String,
    pub(crate) tls: Tls,
    pub(crate) hooks: Hooks,
}

/// Serves one client until it or the server ends the connection. `number`: of this connection, from 1.
pub(crate) async fn serve(tcp: TcpStream, number: u64, endpoint: &Endpoint) -> Result<(), ConnectionError> {
    tcp.set_nodelay(true)?;
    let logged_in = tokio::time::timeout(LOGIN_LIMIT, log_in(tcp, endpoint))
        .await
        .map_err(|_| ConnectionError::LoginTimeout(LOGIN_LIMIT))??;
    let LoggedIn { stream, session, packet_bytes, null_bitmap } = logged_in;
    let (reader, writer) = tokio::io::split(stream);
    let (sender, incoming) = mpsc::channel(1);
    let mut connection = Connection {
        endpoint,
        number,
        null_bitmap,
        incoming,
        writer: ResponseWriter::new(writer, session.spid(), packet_bytes),
        database: session.database(),
        session: Some(session),
        prepared: PreparedStatements::default(),
        requests: 0,
        executed: Vec::new(),
        transaction: None,
        last_transaction: 0,
    };
    let run = connection.run();
    tokio::pin!(run);
    tokio::select! {
        ended = &mut run => ended,
        () = receive(reader, sender) => run.await,
    }
}

/// Reads messages all the time, so that an attention is seen while a request runs.
async fn receive<S: AsyncRead + Unpin>(mut stream: S, sender: mpsc::Sender<Result<ClientMessage, PacketError>>) {
    while let Some(message) = read_message(&mut stream, REQUEST_LIMIT_BYTES).await.transpose() {
        let failed = message.is_err();
        if sender.send(message).await.is_err() || failed {
            return;
        }
    }
}

/// Whether a request goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
enum Flow {
    GoesOn,
    /// An attention came: the rest of the request is forgotten.
    Cancelled,
}

struct Connection<'a, S> {
    endpoint: &'a Endpoint,
    number: u64,
    null_bitmap: bool,
    incoming: mpsc::Receiver<Result<ClientMessage, PacketError>>,
    writer: ResponseWriter<S>,
    database: String,
    /// Away only while one of its calls runs.
    session: Option<Box<dyn Session>>,
    prepared: PreparedStatements,
    /// Statement texts run so far.
    requests: u64,
    /// Those of the message being answered, for hooks.
    executed: Vec<(u64, Arc<str>)>,
    /// Descriptor of the open transaction.
    transaction: Option<u64>,
    last_transaction: u64,
}

impl<'a, S: AsyncWrite + Unpin> Connection<'a, S> {
    async fn run(&mut self) -> Result<(), ConnectionError> {
        while let Some(message) = self.incoming.recv().await {
            let message = message?;
            match message.kind {
                MessageKind::Attention => self.acknowledge_attention().await?,
                MessageKind::Batch | MessageKind::Rpc | MessageKind::TransactionManager => {
                    self.answer(message).await?;
                }
                other => return Err(ConnectionError::Unexpected(other)),
            }
        }
        Ok(())
    }

    async fn answer(&mut self, message: ClientMessage) -> Result<(), ConnectionError> {
        if message.reset {
            self.reset().await?;
            put_environment_change(self.writer.body(), Environment::Reset, "", "");
        }
        let kind = message.kind;
        let run = match kind {
            MessageKind::Batch => match decode_batch(&message.body) {
                Ok(sql) => {
                    drop(message);
                    self.run_batch(sql).await
                }
                Err(source) => return Err(self.refuse(kind, source).await),
            },
            MessageKind::Rpc => match decode_calls(&message.body) {
                Ok(calls) => {
                    drop(message);
                    self.run_calls(calls).await
                }
                Err(source) => return Err(self.refuse(kind, source).await),
            },
            _ => match decode_transaction(&message.body) {
                Ok(request) => {
                    self.change_transaction(request);
                    Ok(Flow::GoesOn)
                }
                Err(source) => return Err(self.refuse(kind, source).await),
            },
        };
        if run? == Flow::Cancelled {
            self.executed.clear();
            return self.acknowledge_attention().await;
        }
        self.writer.end_message().await?;
        for (request, sql) in std::mem::take(&mut self.executed) {
            if self.ask_hook(request, &sql, Phase::Answered).await? == Flow::Cancelled {
                self.acknowledge_attention().await?;
            }
        }
        Ok(())
    }

    async fn acknowledge_attention(&mut self) -> Result<(), ConnectionError> {
        put_attention_acknowledgement(self.writer.body());
        self.writer.end_message().await?;
        Ok(())
    }

    /// A request that cannot be read: the client is told, and the connection ends.
    async fn refuse(&mut self, kind: MessageKind, source: DecodeError) -> ConnectionError {
        let text = format!("The incoming tabular data stream (TDS) protocol stream is incorrect: {source}.");
        let mut answer = Answer::new(Scope::Batch, &self.endpoint.server_name);
        answer.message(self.writer.body(), &Message::new(4002, 20, text));
        answer.end(self.writer.body(), None, false);
        let sent = async {
            self.writer.end_message().await?;
            self.writer.shut_down().await
        };
        match sent.await {
            Ok(()) => ConnectionError::Decode { kind, source },
            Err(error) => error.into(),
        }
    }

    async fn run_batch(&mut self, sql: String) -> Result<Flow, ConnectionError> {
        let mut answer = Answer::new(Scope::Batch, &self.endpoint.server_name);
        let flow = self.execute(Request::Batch(sql), &mut answer).await?;
        if flow == Flow::GoesOn {
            answer.end(self.writer.body(), None, false);
        }
        Ok(flow)
    }

    async fn run_calls(&mut self, calls: Vec<Call>) -> Result<Flow, ConnectionError> {
        let mut left = calls.len();
        for call in calls {
            left -= 1;
            let mut answer = Answer::new(Scope::Call, &self.endpoint.server_name);
            let mut handle_to_return = None;
            match self.prepared.plan(call) {
                Err(message) => answer.message(self.writer.body(), &message),
                Ok(Plan { run, handle, reset }) => {
                    if reset {
                        self.reset().await?;
                    }
                    if let Some(statement) = run {
                        let request = Request::ExecuteSql { sql: statement.sql, parameters: statement.parameters };
                        if self.execute(request, &mut answer).await? == Flow::Cancelled {
                            return Ok(Flow::Cancelled);
                        }
                    }
                    handle_to_return = handle;
                }
            }
            answer.end(self.writer.body(), handle_to_return.as_ref(), left > 0);
        }
        Ok(Flow::GoesOn)
    }

    /// Runs a request to its end or its cancellation, writing what it gives back.
    async fn execute(&mut self, request: Request, answer: &mut Answer<'a>) -> Result<Flow, ConnectionError> {
        self.requests += 1;
        let number = self.requests;
        let hooked = self.endpoint.hooks.get().is_some();
        let sql: Arc<str> = match &request {
            Request::Batch(sql) | Request::ExecuteSql { sql, .. } if hooked => sql.as_str().into(),
            _ => "".into(),
        };
        if self.ask_hook(number, &sql, Phase::BeforeExecute).await? == Flow::Cancelled {
            return Ok(Flow::Cancelled);
        }
        let flow = self.run_steps(request, answer).await?;
        if flow == Flow::Cancelled {
            self.with_session(|session| session.cancel()).await?;
            return Ok(Flow::Cancelled);
        }
        let flow = self.ask_hook(number, &sql, Phase::ExecutedNotAnswered).await?;
        if hooked {
            self.executed.push((number, sql));
        }
        Ok(flow)
    }

    async fn run_steps(&mut self, request: Request, answer: &mut Answer<'a>) -> Result<Flow, ConnectionError> {
        let mut next = self
            .with_session(|session| {
                session.start(request);
                session.step()
            })
            .await?;
        while let Some(step) = next {
            let flow = match step {
                Step::Output(output) => self.write_output(output, answer).await?,
                Step::Wait(duration) => self.wait(duration).await?,
            };
            if flow == Flow::Cancelled || self.look_for_attention()? == Flow::Cancelled {
                return Ok(Flow::Cancelled);
            }
            next = self.with_session(|session| session.step()).await?;
        }
        self.look_for_attention()
    }

    async fn write_output(&mut self, output: Output, answer: &mut Answer<'a>) -> Result<Flow, ConnectionError> {
        let body = self.writer.body();
        match output {
            Output::Rows { columns, rows } => return self.write_rows(&columns, rows, answer).await,
            Output::Message(message) => answer.message(body, &message),
            Output::Done => answer.statement_done(body),
            Output::Database(new) => {
                answer.database(body, &new, &self.database);
                self.database = new;
            }
            Output::ReturnStatus(status) => answer.return_status(body, status),
        }
        self.writer.write_full_packets().await?;
        Ok(Flow::GoesOn)
    }

    /// An attention is seen between rows: a client reads whole tokens while it looks for the acknowledgement.
    async fn write_rows(
        &mut self,
        columns: &[Column],
        rows: Vec<Vec<Datum>>,
        answer: &mut Answer<'a>,
    ) -> Result<Flow, ConnectionError> {
        if !answer.begin_rows(self.writer.body(), columns) {
            return Ok(Flow::GoesOn);
        }
        let mut count = 0;
        for row in rows {
            match encode_row(columns, &row, self.null_bitmap) {
                Ok(encoded) => encoded.write(&mut self.writer).await?,
                Err(message) => {
                    answer.message(self.writer.body(), &message);
                    break;
                }
            }
            count += 1;
            if self.look_for_attention()? == Flow::Cancelled {
                return Ok(Flow::Cancelled);
            }
        }
        answer.end_rows(self.writer.body(), count);
        Ok(Flow::GoesOn)
    }

    async fn wait(&mut self, duration: Duration) -> Result<Flow, ConnectionError> {
        tokio::select! {
            () = tokio::time::sleep(duration) => Ok(Flow::GoesOn),
            message = self.incoming.recv() => interruption(message),
        }
    }

    fn look_for_attention(&mut self) -> Result<Flow, ConnectionError> {
        match self.incoming.try_recv() {
            Ok(message) => interruption(Some(message)),
            Err(TryRecvError::Empty) => Ok(Flow::GoesOn),
            Err(TryRecvError::Disconnected) => interruption(None),
        }
    }

    async fn ask_hook(&mut self, request: u64, sql: &Arc<str>, phase: Phase) -> Result<Flow, ConnectionError> {
        let Some(hook) = self.endpoint.hooks.get() else {
            return Ok(Flow::GoesOn);
        };
        let connection = self.number;
        let sql = Arc::clone(sql);
        let ask = move || hook(&HookPoint { connection, request, sql: &sql, phase });
        match spawn_blocking(ask).await.map_err(|_| ConnectionError::SessionPanicked)? {
            HookAction::Continue => Ok(Flow::GoesOn),
            HookAction::Disconnect => Err(ConnectionError::EndedByHook),
            HookAction::Delay(duration) => self.wait(duration).await,
        }
    }

    async fn reset(&mut self) -> Result<(), ConnectionError> {
        self.transaction = None;
        self.database = self
            .with_session(|session| {
                session.reset();
                session.database()
            })
            .await?;
        Ok(())
    }

    /// Calls the session off the threads that serve connections, for a call may keep a processor busy.
    async fn with_session<T: Send + 'static>(
        &mut self,
        call: impl FnOnce(&mut dyn Session) -> T + Send + 'static,
    ) -> Result<T, ConnectionError> {
        let mut session = self.session.take().ok_or(ConnectionError::SessionPanicked)?;
        let called = spawn_blocking(move || {
            let value = call(session.as_mut());
            (session, value)
        });
        let (session, value) = called.await.map_err(|_| ConnectionError::SessionPanicked)?;
        self.session = Some(session);
        Ok(value)
    }

    /// Transactions that clients begin outside of T-SQL (drivers with autocommit off).
    fn change_transaction(&mut self, request: TransactionRequest) {
        let mut answer = Answer::new(Scope::Batch, &self.endpoint.server_name);
        let (ending, and_begin) = match request {
            TransactionRequest::Begin => (None, true),
            TransactionRequest::Commit { and_begin } => (Some(TransactionChange::Committed), and_begin),
            TransactionRequest::RollBack { and_begin } => (Some(TransactionChange::RolledBack), and_begin),
            TransactionRequest::Save => (None, false),
            TransactionRequest::Other(_) => {
                let text = format!("MSDTC on server '{}' is unavailable.", self.endpoint.server_name);
                answer.message(self.writer.body(), &Message::new(8501, 16, text));
                (None, false)
            }
        };
        if let Some(change) = ending {
            match self.transaction.take() {
                Some(descriptor) => put_transaction_change(self.writer.body(), change, descriptor),
                None => answer.message(self.writer.body(), &no_transaction(change)),
            }
        }
        if and_begin {
            self.last_transaction += 1;
            self.transaction = Some(self.last_transaction);
            put_transaction_change(self.writer.body(), TransactionChange::Begun, self.last_transaction);
        }
        answer.end(self.writer.body(), None, false);
    }
}

/// What arrives while a request runs: an attention, or the end of the connection.
fn interruption(message: Option<Result<ClientMessage, PacketError>>) -> Result<Flow, ConnectionError> {
    let message = message.ok_or(ConnectionError::ClosedByClient)??;
    match message.kind {
        MessageKind::Attention => Ok(Flow::Cancelled),
        other => Err(ConnectionError::Unexpected(other)),
    }
}

fn no_transaction(change: TransactionChange) -> Message {
    let (number, statement) = match change {
        TransactionChange::RolledBack => (3903, "ROLLBACK"),
        _ => (3902, "COMMIT"),
    };
    let text = format!("The {statement} TRANSACTION request has no corresponding BEGIN TRANSACTION.");
    Message::new(number, 16, text)
}
