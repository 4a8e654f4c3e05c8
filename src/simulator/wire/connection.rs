//! Owns a connection after its login: requests in, answers out, attention at any moment.

use crate::simulator::faults::login::LoginFaults;
use crate::simulator::host::{Backend, Request, Session};
use crate::simulator::output::{Message, Output, Step};
use crate::simulator::value::{Column, Datum};
use crate::simulator::wire::answer::{Answer, Scope};
use crate::simulator::wire::attention::AttentionReply;
use crate::simulator::wire::error::ConnectionError;
use crate::simulator::wire::handshake::{LoggedIn, log_in};
use crate::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use crate::simulator::wire::packet::{ClientMessage, MessageKind, PacketError, ResponseWriter, read_message};
use crate::simulator::wire::procedure::{Plan, PreparedStatements};
use crate::simulator::wire::reader::DecodeError;
use crate::simulator::wire::request::{Call, ClientRequest, decode_batch, decode_calls, decode_transaction};
use crate::simulator::wire::row::encode_row;
use crate::simulator::wire::tls::Tls;
use crate::simulator::wire::token::{Done, DoneKind, Environment, put_done, put_environment_change};
use crate::simulator::wire::transaction::Transactions;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

/// The longest request that is read.
const REQUEST_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// What a connection is served with; all of a server's share most of it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) backend: Arc<dyn Backend>,
    /// Number of the instance, from 1.
    pub(crate) number: u32,
    pub(crate) server_name: String,
    pub(crate) tls: Tls,
    pub(crate) hooks: Hooks,
    pub(crate) attention: AttentionReply,
    /// What is wrong before a session is there.
    pub(crate) faults: LoginFaults,
    /// Logins that went well so far.
    pub(crate) logins: Arc<AtomicU64>,
    /// How long a client may take from connecting to being logged in.
    pub(crate) login_limit: Duration,
}

/// Serves one client until it or the server ends the connection. `number`: of this connection, from 1.
pub(crate) async fn serve(tcp: TcpStream, number: u64, endpoint: &Endpoint) -> Result<(), ConnectionError> {
    tcp.set_nodelay(true)?;
    let logged_in = tokio::time::timeout(endpoint.login_limit, log_in(tcp, endpoint))
        .await
        .map_err(|_| ConnectionError::LoginTimeout(endpoint.login_limit))??;
    let LoggedIn { stream, session, packet_bytes, null_bitmap } = logged_in;
    let closing = session.ended();
    let (reader, writer) = tokio::io::split(stream);
    let (sender, incoming) = mpsc::channel(1);
    let mut connection = Connection {
        endpoint,
        number,
        null_bitmap,
        incoming,
        queued: None,
        writer: ResponseWriter::new(writer, session.spid(), packet_bytes),
        database: session.database(),
        session: Some(session),
        prepared: PreparedStatements::default(),
        requests: 0,
        executed: Vec::new(),
        transactions: Transactions::default(),
        closing: closing.clone(),
        closes_in_row: false,
        bytes_per_second: None,
    };
    let run = connection.run();
    tokio::pin!(run);
    let received_and_run = async {
        tokio::select! {
            ended = &mut run => ended,
            () = receive(reader, sender) => run.await,
        }
    };
    tokio::select! {
        () = closing.cancelled() => Err(ConnectionError::EndedByServer),
        ended = received_and_run => ended,
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
pub(super) enum Flow {
    GoesOn,
    /// An attention came: the rest of the request is forgotten.
    Cancelled,
}

pub(super) struct Connection<'a, S> {
    pub(super) endpoint: &'a Endpoint,
    number: u64,
    null_bitmap: bool,
    pub(super) incoming: mpsc::Receiver<Result<ClientMessage, PacketError>>,
    /// A request that came while another one runs.
    pub(super) queued: Option<ClientMessage>,
    pub(super) writer: ResponseWriter<S>,
    database: String,
    /// Away only while one of its calls runs.
    session: Option<Box<dyn Session>>,
    prepared: PreparedStatements,
    /// Statement texts run so far.
    requests: u64,
    /// Those of the message being answered, for hooks.
    executed: Vec<(u64, Arc<str>)>,
    transactions: Transactions,
    /// Cancelled when the server ends the session.
    closing: CancellationToken,
    /// The connection is to be closed in the middle of the next row.
    closes_in_row: bool,
    /// How fast the answer is to be sent; `None`: at once.
    bytes_per_second: Option<u32>,
}

impl<'a, S: AsyncWrite + Unpin> Connection<'a, S> {
    async fn run(&mut self) -> Result<(), ConnectionError> {
        while let Some(message) = self.next_message().await? {
            match message.kind {
                MessageKind::Attention => self.acknowledge_attention().await?,
                _ if message.given_up => self.end_unfinished().await?,
                _ => self.answer(message).await?,
            }
        }
        Ok(())
    }

    async fn next_message(&mut self) -> Result<Option<ClientMessage>, ConnectionError> {
        match self.queued.take() {
            Some(message) => Ok(Some(message)),
            None => Ok(self.incoming.recv().await.transpose()?),
        }
    }

    async fn answer(&mut self, message: ClientMessage) -> Result<(), ConnectionError> {
        let ClientMessage { kind, reset, body, .. } = message;
        let decoded = match kind {
            MessageKind::Batch => decode_batch(&body).map(ClientRequest::Batch),
            MessageKind::Rpc => decode_calls(&body).map(ClientRequest::Calls),
            MessageKind::TransactionManager => decode_transaction(&body).map(ClientRequest::Transaction),
            other => return Err(ConnectionError::Unexpected(other)),
        };
        drop(body);
        let request = match decoded {
            Ok(request) => request,
            Err(source) => return Err(self.refuse(kind, source).await),
        };
        if reset {
            self.reset().await?;
            put_environment_change(self.writer.body(), Environment::Reset, "", "");
        }
        let flow = match request {
            ClientRequest::Batch(sql) => self.run_batch(sql).await?,
            ClientRequest::Calls(calls) => self.run_calls(calls).await?,
            ClientRequest::Transaction(request) => {
                self.transactions.answer(request, &self.endpoint.server_name, self.writer.body());
                let open = self.transactions.is_open();
                self.with_session(move |session| session.set_in_transaction(open)).await?;
                Flow::GoesOn
            }
        };
        if flow == Flow::Cancelled {
            self.executed.clear();
            self.closes_in_row = false;
            self.bytes_per_second = None;
            self.writer.gather(false);
            if self.endpoint.attention == AttentionReply::Apart {
                self.end_unfinished().await?;
            }
            return self.acknowledge_attention().await;
        }
        if let Some(bytes_per_second) = self.bytes_per_second.take() {
            if self.end_message_slowly(bytes_per_second).await? == Flow::Cancelled {
                self.executed.clear();
                return self.acknowledge_attention().await;
            }
        } else {
            self.writer.end_message().await?;
        }
        for (request, sql) in std::mem::take(&mut self.executed) {
            if self.ask_hook(request, &sql, Phase::Answered).await? == Flow::Cancelled {
                self.acknowledge_attention().await?;
            }
        }
        Ok(())
    }

    /// Ends the answer to a request that did not run to its end.
    async fn end_unfinished(&mut self) -> Result<(), ConnectionError> {
        put_done(self.writer.body(), DoneKind::Batch, Done { error: true, ..Done::default() });
        self.writer.end_message().await?;
        Ok(())
    }

    async fn acknowledge_attention(&mut self) -> Result<(), ConnectionError> {
        put_done(self.writer.body(), DoneKind::Batch, Done { attention: true, ..Done::default() });
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
        let flow = self.run_steps(number, request, answer).await?;
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

    async fn run_steps(
        &mut self,
        number: u64,
        request: Request,
        answer: &mut Answer<'a>,
    ) -> Result<Flow, ConnectionError> {
        let mut next = self
            .with_session(move |session| {
                session.start(number, request);
                session.step()
            })
            .await?;
        while let Some(step) = next {
            let flow = match step {
                Step::Output(output) => self.write_output(output, answer).await?,
                Step::Wait(duration) => self.wait(duration).await?,
                Step::Close => return Err(ConnectionError::EndedByServer),
                Step::CloseInRow => {
                    self.closes_in_row = true;
                    Flow::GoesOn
                }
                Step::Drip(bytes_per_second) => {
                    self.bytes_per_second = Some(bytes_per_second);
                    self.writer.gather(true);
                    Flow::GoesOn
                }
            };
            if flow == Flow::Cancelled || self.look_for_attention()? == Flow::Cancelled {
                return Ok(Flow::Cancelled);
            }
            next = self.with_session(|session| session.step()).await?;
        }
        if self.closes_in_row {
            return Err(self.close_in_answer(answer).await);
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
        let last = self.closes_in_row.then_some(rows.len() as u64 / 2);
        for row in rows {
            match encode_row(columns, &row, self.null_bitmap) {
                Ok(encoded) if last == Some(count) => {
                    let half = encoded.first_half().await?;
                    self.writer.body().extend(half);
                    return Err(self.close_unfinished().await);
                }
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

    async fn ask_hook(&mut self, request: u64, sql: &Arc<str>, phase: Phase) -> Result<Flow, ConnectionError> {
        let Some(hook) = self.endpoint.hooks.get() else {
            return Ok(Flow::GoesOn);
        };
        let (instance, connection) = (self.endpoint.number, self.number);
        let sql = Arc::clone(sql);
        let ask = move || hook(&HookPoint { instance, connection, request, sql: &sql, phase });
        match spawn_blocking(ask).await.map_err(|_| ConnectionError::SessionPanicked)? {
            HookAction::Continue => Ok(Flow::GoesOn),
            HookAction::Disconnect => Err(ConnectionError::EndedByHook),
            HookAction::Delay(duration) => self.wait(duration).await,
        }
    }

    async fn reset(&mut self) -> Result<(), ConnectionError> {
        self.transactions.reset();
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
        // Nothing is sent of what a session says when the server has ended it.
        if self.closing.is_cancelled() { Err(ConnectionError::EndedByServer) } else { Ok(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::host::Login;
    use crate::simulator::wire::tls::Certificate;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    struct NoLogins;

    impl Backend for NoLogins {
        fn login(&self, _: Login) -> Result<Box<dyn Session>, Message> {
            Err(Message::new(18456, 14, "Login failed."))
        }

        fn version_numbers(&self) -> (u8, u8, u16) {
            (15, 0, 2000)
        }

        fn server_name(&self) -> String {
            String::new()
        }
    }

    /// What becomes of a client that sends `bytes` and then nothing more.
    async fn end_of_silent_client(tls: Tls, bytes: &[u8]) -> ConnectionError {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(bytes).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let endpoint = Endpoint {
            backend: Arc::new(NoLogins),
            number: 1,
            server_name: String::new(),
            tls,
            hooks: Hooks::default(),
            attention: AttentionReply::default(),
            faults: LoginFaults::default(),
            logins: Arc::default(),
            login_limit: Duration::from_millis(50),
        };
        serve(server, 1, &endpoint).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_client_that_does_not_log_in_is_dropped() {
        let certificate = Certificate::generate(None).unwrap();
        let prelogin = [0x12, 1, 0, 9, 0, 0, 1, 0, 0xFF];
        let client_hello_begins = [0x16, 3, 1, 0, 200, 1];
        for (tls, bytes) in [
            (Tls::Off, [].as_slice()),
            (Tls::Off, &prelogin[..5]),
            (Tls::Off, &prelogin),
            (certificate.inside_tds(false).unwrap(), &prelogin),
            (certificate.before_tds().unwrap(), &[]),
            (certificate.before_tds().unwrap(), &client_hello_begins),
        ] {
            let end = end_of_silent_client(tls, bytes).await;
            assert!(matches!(end, ConnectionError::LoginTimeout(_)), "{end:?} after {bytes:?}");
        }
    }
}
