//! Owns finding the port of a named instance: the SQL Server Browser's protocol over UDP ([MC-SQLR]).
//!
//! Anyone on the way can answer in the Browser's place. So an answer is bounds-checked, and only from the address that was
//! asked; one that cannot be read is passed over, as the protocol says, and what follows validates the server.
//!
//! [MC-SQLR]: https://learn.microsoft.com/openspecs/windows_protocols/mc-sqlr/

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::Instant;

/// Where a Browser listens.
pub(crate) const BROWSER_PORT: u16 = 1434;
/// How often it is asked; a datagram can be lost.
const TRIES: u32 = 3;
/// How long one try waits ([MC-SQLR] 3.2.2).
const TRY_LASTS: Duration = Duration::from_secs(1);
/// The longest answer: its header and RESP_DATA ([MC-SQLR] 2.2.5).
const LONGEST_ANSWER: usize = 3 + 65_535;
/// The longest name that a request may hold, in bytes ([MC-SQLR] 2.2.3).
const LONGEST_NAME: usize = 32;
/// Names that a message lists before it says "and more".
const MOST_LISTED: usize = 10;

/// Why the Browser names no port.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// Nothing came back.
    #[error("the SQL Server Browser on {host} does not answer")]
    NoAnswer {
        /// The host.
        host: String,
    },
    /// Something came back that is no answer.
    #[error("the SQL Server Browser on {host} gives answers that cannot be read")]
    Unreadable {
        /// The host.
        host: String,
    },
    /// The Browser knows other instances.
    #[error("the SQL Server Browser on {host} does not know instance {instance}; it lists {}", listed(names))]
    NotListed {
        /// The host.
        host: String,
        /// The instance asked for.
        instance: String,
        /// Those it knows.
        names: Vec<String>,
    },
    /// The instance is there, without TCP.
    #[error("instance {instance} on {host} does not listen on TCP")]
    NoTcp {
        /// The host.
        host: String,
        /// The instance.
        instance: String,
    },
    /// The instance is there, without a port for the dedicated administrator connection.
    #[error("the SQL Server Browser on {host} names no port for the dedicated administrator connection of {instance}")]
    NoAdminPort {
        /// The host.
        host: String,
        /// The instance.
        instance: String,
    },
    /// No request can hold the name.
    #[error("`{0}` is no name of an instance: it is longer than {LONGEST_NAME} bytes")]
    Name(String),
    /// It could not be asked.
    #[error("could not ask the SQL Server Browser on {host}")]
    Network {
        /// The host.
        host: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

fn listed(names: &[String]) -> String {
    let more = if names.len() > MOST_LISTED { ", and more" } else { "" };
    match names {
        [] => "none".to_owned(),
        names => names.iter().take(MOST_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ") + more,
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    /// The host, for messages.
    pub(super) host: &'a str,
    /// The instance.
    pub(super) instance: &'a str,
    /// Whether its port for the dedicated administrator connection is asked for.
    pub(super) dedicated_admin: bool,
}

/// Asks at every address of the host at once. Gives the port, and the address whose Browser named it.
pub(super) async fn find_port(addresses: &[SocketAddr], question: Question<'_>) -> Result<(IpAddr, u16), BrowserError> {
    if question.instance.len() > LONGEST_NAME {
        return Err(BrowserError::Name(question.instance.to_owned()));
    }
    let mut asked: FuturesUnordered<_> =
        addresses.iter().map(async |address| (address.ip(), ask(*address, question).await)).collect();
    let mut worst = BrowserError::NoAnswer { host: question.host.to_owned() };
    while let Some((address, result)) = asked.next().await {
        match result {
            Ok(port) => return Ok((address, port)),
            // Of several addresses' errors the one that says most is told.
            Err(error) if told_before(&worst) <= told_before(&error) => worst = error,
            Err(_) => {}
        }
    }
    Err(worst)
}

fn told_before(error: &BrowserError) -> u8 {
    match error {
        BrowserError::NoAnswer { .. } => 0,
        BrowserError::Network { .. } => 1,
        BrowserError::Unreadable { .. } => 2,
        _ => 3,
    }
}

/// Asks one Browser. One that does not know the instance keeps silent, so from the second try on it is asked for all it
/// knows as well.
async fn ask(browser: SocketAddr, question: Question<'_>) -> Result<u16, BrowserError> {
    const ALL_INSTANCES: &[u8] = &[0x03];
    let Question { instance, dedicated_admin, .. } = question;
    let host = || question.host.to_owned();
    let network = |source| BrowserError::Network { host: host(), source };
    let mut request: Vec<u8> = if dedicated_admin { vec![0x0F, 0x01] } else { vec![0x04] };
    request.extend_from_slice(instance.as_bytes());
    request.push(0);
    let any: IpAddr = if browser.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await.map_err(network)?;
    // Datagrams from elsewhere are not received on a connected socket.
    socket.connect(browser).await.map_err(network)?;

    let mut buffer = vec![0; LONGEST_ANSWER];
    let mut end = BrowserError::NoAnswer { host: host() };
    for n in 1..=TRIES {
        socket.send(&request).await.map_err(network)?;
        if n > 1 {
            socket.send(ALL_INSTANCES).await.map_err(network)?;
        }
        let over = Instant::now() + TRY_LASTS;
        while let Ok(received) = tokio::time::timeout_at(over, socket.recv(&mut buffer)).await {
            let datagram = match received {
                Ok(length) => buffer.get(..length).unwrap_or_default(),
                // The host says that nobody listens there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Err(end),
                Err(error) => return Err(network(error)),
            };
            if dedicated_admin && let Some(port) = admin_port(datagram) {
                return Ok(port);
            }
            let Some(instances) = instances(datagram) else {
                if matches!(end, BrowserError::NoAnswer { .. }) {
                    end = BrowserError::Unreadable { host: host() };
                }
                continue;
            };
            match instances.iter().find(|listed| listed.name.eq_ignore_ascii_case(instance)) {
                Some(_) if dedicated_admin => {
                    end = BrowserError::NoAdminPort { host: host(), instance: instance.to_owned() };
                }
                Some(Listed { tcp_port: Some(port), .. }) => return Ok(*port),
                Some(_) => return Err(BrowserError::NoTcp { host: host(), instance: instance.to_owned() }),
                // Only the answer to the question for all of them says that one is not among them.
                None if n > 1 => {
                    let names = instances.into_iter().map(|listed| listed.name).collect();
                    return Err(BrowserError::NotListed { host: host(), instance: instance.to_owned(), names });
                }
                None => {}
            }
        }
    }
    Err(end)
}

/// An instance that a Browser knows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    name: String,
    tcp_port: Option<u16>,
}

/// The instances of an SVR_RESP: `ServerName;...;InstanceName;...;IsClustered;...;Version;...;tcp;1433;;` each.
fn instances(datagram: &[u8]) -> Option<Vec<Listed>> {
    const RESPONSE: u8 = 0x05;
    let [RESPONSE, low, high, data @ ..] = datagram else { return None };
    let data = data.get(..usize::from(u16::from_le_bytes([*low, *high])))?;
    let text = String::from_utf8_lossy(data);
    let instances: Vec<Listed> = text.split(";;").filter_map(instance).collect();
    (!instances.is_empty()).then_some(instances)
}

fn instance(text: &str) -> Option<Listed> {
    let parts: Vec<&str> = text.split(';').collect();
    let value_of = |key: &str| {
        parts.chunks_exact(2).find_map(|pair| match pair {
            [name, value] if name.eq_ignore_ascii_case(key) => Some(*value),
            _ => None,
        })
    };
    let name: String = value_of("InstanceName")?.chars().filter(|c| !c.is_control()).take(255).collect();
    if name.is_empty() {
        return None;
    }
    Some(Listed { name, tcp_port: value_of("tcp").and_then(|port| port.parse().ok()).filter(|port| *port != 0) })
}

/// The port of an SVR_RESP (DAC).
fn admin_port(datagram: &[u8]) -> Option<u16> {
    match datagram {
        [0x05, 0x06, 0x00, 0x01, low, high] => Some(u16::from_le_bytes([*low, *high])).filter(|port| *port != 0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{BrowserError, Listed, Question, admin_port, find_port, instances};
    use proptest::prelude::{any, prop_assert};
    use std::net::SocketAddr;
    use tokio::net::UdpSocket;

    fn response(text: &str) -> Vec<u8> {
        let mut datagram = vec![0x05];
        datagram.extend_from_slice(&(text.len() as u16).to_le_bytes());
        datagram.extend_from_slice(text.as_bytes());
        datagram
    }

    const SALES: &str = "ServerName;DB1;InstanceName;SALES;IsClustered;No;Version;15.0.2000.5;tcp;51433;;";
    const PIPES: &str =
        r"ServerName;DB1;InstanceName;PIPES;IsClustered;No;Version;15.0.2000.5;np;\\DB1\pipe\MSSQL$PIPES\sql\query;;";

    /// A Browser that answers each request as the function says.
    async fn browser(answer: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        tokio::spawn(async move {
            let mut buffer = [0; 64];
            loop {
                let (length, client) = socket.recv_from(&mut buffer).await.unwrap();
                for datagram in answer(&buffer[..length]) {
                    socket.send_to(&datagram, client).await.unwrap();
                }
            }
        });
        address
    }

    fn sales() -> Question<'static> {
        Question { host: "db1", instance: "sales", dedicated_admin: false }
    }

    #[test]
    fn the_documented_answers_are_read() {
        let listed = |name: &str, tcp_port| Listed { name: name.to_owned(), tcp_port };
        assert_eq!(instances(&response(SALES)), Some(vec![listed("SALES", Some(51_433))]));
        let both = instances(&response(&format!("{PIPES}{SALES}")));
        assert_eq!(both, Some(vec![listed("PIPES", None), listed("SALES", Some(51_433))]));
        assert_eq!(admin_port(&[0x05, 0x06, 0x00, 0x01, 0x32, 0xDF]), Some(57_138));
    }

    #[test]
    fn what_is_no_answer_is_none() {
        let whole = response(SALES);
        for length in 0..whole.len() {
            assert_eq!(instances(&whole[..length]), None, "{length}");
        }
        for text in ["", ";", ";;", "tcp;1433;;", "InstanceName;;;", "InstanceName"] {
            assert_eq!(instances(&response(text)), None, "{text}");
        }
        for port in ["0", "65536", "-1", "x", ""] {
            let listed = instances(&response(&format!("InstanceName;A;tcp;{port};;"))).unwrap();
            assert_eq!(listed[0].tcp_port, None, "{port}");
        }
        let hostile = instances(&response("InstanceName;A\u{1b}[2J;tcp;1;;")).unwrap();
        assert_eq!(hostile[0].name, "A[2J");
        for datagram in [&[0x05, 0x06, 0x00, 0x01, 0, 0][..], &[0x05, 0x06, 0, 1, 1], &[0x05, 0x06, 0, 2, 1, 1]] {
            assert_eq!(admin_port(datagram), None);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_datagram_panics(datagram in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut response = vec![0x05, 180, 0];
            response.extend_from_slice(&datagram);
            for datagram in [&datagram, &response] {
                let listed = instances(datagram).unwrap_or_default();
                prop_assert!(listed.iter().all(|listed| listed.tcp_port != Some(0) && !listed.name.is_empty()));
                let _ignored = admin_port(datagram);
            }
        }
    }

    #[tokio::test]
    async fn the_browser_that_answers_is_found_among_silent_and_hostile_ones() {
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let hostile = browser(|_| vec![vec![], vec![0x05], vec![0x05, 0xFF, 0xFF, b'x'], vec![0x77; 500]]).await;
        let answering = browser(|request| {
            assert_eq!(request, b"\x04sales\0");
            vec![b"noise".to_vec(), response(PIPES), response(SALES)]
        })
        .await;
        let addresses = [silent.local_addr().unwrap(), hostile, answering];
        let (address, port) = find_port(&addresses, sales()).await.unwrap();
        assert_eq!((address, port), (answering.ip(), 51_433));
    }

    #[tokio::test]
    async fn a_lost_datagram_is_asked_for_again() {
        let asked = std::sync::atomic::AtomicU32::new(0);
        let forgetful = browser(move |request| {
            let again = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0;
            if again && request.first() == Some(&4) { vec![response(SALES)] } else { vec![] }
        });
        let forgetful = forgetful.await;
        assert_eq!(find_port(&[forgetful], sales()).await.unwrap().1, 51_433);
    }

    #[tokio::test]
    async fn each_way_to_find_no_port_is_told_apart() {
        let knows =
            |text: &'static str| browser(move |request| if request == [3] { vec![response(text)] } else { vec![] });
        let other = knows("ServerName;DB1;InstanceName;HR;IsClustered;No;Version;15.0.2000.5;tcp;1500;;").await;
        let error = find_port(&[other], sales()).await.unwrap_err();
        let told = "the SQL Server Browser on db1 does not know instance sales; it lists HR";
        assert_eq!(error.to_string(), told);

        let pipes = Question { instance: "PIPES", ..sales() };
        let error = find_port(&[knows(PIPES).await], pipes).await.unwrap_err();
        assert!(matches!(error, BrowserError::NoTcp { .. }), "{error}");

        let admin = Question { dedicated_admin: true, ..sales() };
        let error = find_port(&[knows(SALES).await], admin).await.unwrap_err();
        assert!(matches!(error, BrowserError::NoAdminPort { .. }), "{error}");

        let hostile = browser(|_| vec![vec![0x05, 0xFF, 0xFF, b'x']]).await;
        let error = find_port(&[hostile], sales()).await.unwrap_err();
        assert!(matches!(error, BrowserError::Unreadable { .. }), "{error}");

        let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let error = find_port(&[gone], sales()).await.unwrap_err();
        assert!(matches!(error, BrowserError::NoAnswer { .. }), "{error}");

        let long = "x".repeat(33);
        let error = find_port(&[gone], Question { instance: &long, ..sales() }).await.unwrap_err();
        assert!(matches!(error, BrowserError::Name(_)), "{error}");
    }

    #[tokio::test]
    async fn the_port_of_the_dedicated_administrator_connection_is_asked_for_by_its_own_request() {
        let admin = browser(|request| {
            assert_eq!(request, b"\x0F\x01sales\0");
            vec![vec![0x05, 0x06, 0x00, 0x01, 0x32, 0xDF]]
        })
        .await;
        let question = Question { dedicated_admin: true, ..sales() };
        assert_eq!(find_port(&[admin], question).await.unwrap().1, 57_138);
    }
}
