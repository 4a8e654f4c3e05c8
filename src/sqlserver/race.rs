//! Owns reaching a host that has several addresses: each is tried, and the one whose server answers first is kept.
//!
//! The passive address of an availability group's listener may refuse a connection, swallow it, or accept it and say
//! nothing. So it is the first byte of an answer that decides, not the TCP connection. Once an address has answered, no
//! other gets as far as a login: a wrong password tried at two addresses would count twice towards a lock-out.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How long one address is tried alone before the next is tried beside it.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);
/// Idle time before TCP asks whether the other side still lives, and the time between further questions; the values that
/// [MS-TDS] 3.2.3 gives for a client.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// As much of the answer as holds a PRELOGIN.
const REMEMBERED_BYTES: usize = 256;

/// How far the attempts have come, for the words of a failure.
#[derive(Debug, Default)]
pub(super) struct Reached {
    connected: AtomicBool,
    winner: OnceLock<usize>,
    said: Mutex<Vec<u8>>,
    login_sent: AtomicBool,
}

impl Reached {
    /// Whether any address took a TCP connection.
    pub(super) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// The beginning of what the server said; empty while none has said anything.
    pub(super) fn said(&self) -> Vec<u8> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the login has been sent.
    pub(super) fn is_login_sent(&self) -> bool {
        self.login_sent.load(Ordering::Relaxed)
    }
}

/// The stream of one attempt, which listens for the first answer.
#[derive(Debug)]
pub(super) struct Attempt<S> {
    inner: S,
    number: usize,
    has_won: bool,
    reached: Arc<Reached>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Attempt<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let attempt = &mut *self;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut attempt.inner).poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        if !read.is_empty() && !attempt.has_won {
            if *attempt.reached.winner.get_or_init(|| attempt.number) != attempt.number {
                let text = "another address of the host answered first";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, text)));
            }
            attempt.has_won = true;
        }
        let mut said = attempt.reached.said.lock().unwrap_or_else(PoisonError::into_inner);
        let room = REMEMBERED_BYTES.saturating_sub(said.len());
        said.extend(read.iter().take(room));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Attempt<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        /// A LOGIN7 packet, and a TLS record of application data, which before the login there is none of.
        const LOGIN: [u8; 2] = [0x10, 0x17];
        let written = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        if self.has_won && bytes.first().is_some_and(|byte| LOGIN.contains(byte)) {
            self.reached.login_sent.store(true, Ordering::Relaxed);
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Connects to the addresses, each a little after the one before it, and shakes hands on each. What becomes of the first
/// that is answered is the result; when none is, the error of the last.
pub(super) async fn first_to_answer<T, E, F>(
    addresses: &[SocketAddr],
    reached: &Arc<Reached>,
    shake_hands: impl Fn(Attempt<TcpStream>) -> F,
) -> Result<T, E>
where
    E: From<io::Error>,
    F: Future<Output = Result<T, E>>,
{
    let attempt = async |number: usize, address: SocketAddr| {
        let result = async {
            let inner = connect(address).await?;
            reached.connected.store(true, Ordering::Relaxed);
            shake_hands(Attempt { inner, number, has_won: false, reached: Arc::clone(reached) }).await
        };
        (number, result.await)
    };
    let mut untried = addresses.iter().copied().enumerate();
    let mut attempts = FuturesUnordered::new();
    let mut last = E::from(io::Error::new(io::ErrorKind::NotFound, "the host has no address"));
    loop {
        let is_answered = reached.winner.get().is_some();
        let added = if is_answered { None } else { untried.next() };
        if let Some((number, address)) = added {
            attempts.push(attempt(number, address));
        }
        tokio::select! {
            done = attempts.next() => match done {
                Some((_, Ok(result))) => return Ok(result),
                Some((number, Err(error))) if reached.winner.get() == Some(&number) => return Err(error),
                Some((_, Err(error))) => last = error,
                None => return Err(last),
            },
            () = tokio::time::sleep(NEXT_ADDRESS_AFTER), if added.is_some() => {}
        }
    }
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_INTERVAL);
    socket2::SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::{Attempt, Reached, first_to_answer};
    use std::io;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpSocket, TcpStream};

    /// Answers what it is asked with a letter, and counts what comes after that.
    async fn live(letter: u8, second_messages: Arc<AtomicU32>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.read_u8().await.unwrap();
                stream.write_all(&[letter]).await.unwrap();
                if stream.read_u8().await.is_ok() {
                    second_messages.fetch_add(1, Ordering::SeqCst);
                    stream.write_all(b"!").await.unwrap();
                }
            }
        });
        address
    }

    /// A question, its answer, and then the message that must reach one server only.
    async fn shake_hands(mut stream: Attempt<TcpStream>) -> io::Result<u8> {
        stream.write_all(b"?").await?;
        let letter = stream.read_u8().await?;
        stream.write_all(b"login").await?;
        stream.read_u8().await?;
        Ok(letter)
    }

    async fn race(addresses: &[SocketAddr]) -> io::Result<u8> {
        first_to_answer(addresses, &Arc::default(), shake_hands).await
    }

    #[tokio::test]
    async fn addresses_that_refuse_swallow_or_keep_silent_do_not_hold_up_the_one_that_answers() {
        let refusing = {
            let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
            gone.local_addr().unwrap()
        };
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // Connections beyond a full queue are swallowed.
        let queue = TcpSocket::new_v4().unwrap();
        queue.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let queue = queue.listen(1).unwrap();
        let full = queue.local_addr().unwrap();
        let _filling = [0; 3].map(|_| tokio::spawn(TcpStream::connect(full)));
        let closing = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closing_address = closing.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                drop(closing.accept().await);
            }
        });
        let answering = live(b'A', Arc::default()).await;
        for passive in [refusing, silent.local_addr().unwrap(), full, closing_address] {
            assert_eq!(race(&[passive, answering]).await.unwrap(), b'A', "{passive}");
        }
        let all = [refusing, silent.local_addr().unwrap(), full, closing_address, answering];
        assert_eq!(race(&all).await.unwrap(), b'A');
    }

    #[tokio::test]
    async fn one_server_only_gets_as_far_as_a_login() {
        let logins = Arc::new(AtomicU32::new(0));
        let addresses = [live(b'A', Arc::clone(&logins)).await, live(b'B', Arc::clone(&logins)).await];
        for _ in 0..4 {
            let reached = Arc::new(Reached::default());
            // Both have been asked before either is read.
            let both = tokio::sync::Barrier::new(2);
            let shake_hands = |mut stream: Attempt<TcpStream>| {
                let both = &both;
                async move {
                    stream.write_all(b"?").await?;
                    both.wait().await;
                    let letter = stream.read_u8().await?;
                    stream.write_all(b"login").await?;
                    stream.read_u8().await?;
                    Ok::<u8, io::Error>(letter)
                }
            };
            let letter = first_to_answer(&addresses, &reached, shake_hands).await.unwrap();
            assert_eq!(reached.said().first(), Some(&letter));
        }
        assert_eq!(logins.load(Ordering::SeqCst), 4);
    }

    #[tokio::test]
    async fn what_the_answering_server_ends_with_is_the_result() {
        let ends = live(b'A', Arc::default()).await;
        let refuse = |mut stream: Attempt<TcpStream>| async move {
            stream.write_all(b"?").await?;
            stream.read_u8().await?;
            Err::<u8, io::Error>(io::Error::other("refused"))
        };
        let result = first_to_answer(&[ends, ends], &Arc::default(), refuse).await;
        assert_eq!(result.unwrap_err().to_string(), "refused");
        assert_eq!(race(&[]).await.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
