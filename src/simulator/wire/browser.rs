//! Owns the SQL Server Browser of simulated instances: who listens where, told over UDP ([MC-SQLR]).
//!
//! [MC-SQLR]: https://learn.microsoft.com/openspecs/windows_protocols/mc-sqlr/

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::UdpSocket;
use tokio_util::sync::{CancellationToken, DropGuard};

/// An instance that a Browser tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its TCP port, also for the dedicated administrator connection.
    pub port: u16,
}

/// A Browser at work; dropping it stops it.
#[derive(Debug)]
pub struct Browser {
    local_addr: SocketAddr,
    _stop: DropGuard,
}

impl Browser {
    /// Starts one in the current tokio runtime. Errors: the address cannot be bound.
    pub async fn start(listen: SocketAddr, instances: Vec<Listed>) -> io::Result<Self> {
        let socket = Arc::new(UdpSocket::bind(listen).await?);
        let local_addr = socket.local_addr()?;
        let stopping = CancellationToken::new();
        let stopped = stopping.clone();
        tokio::spawn(async move {
            stopped.run_until_cancelled(serve(&socket, &instances)).await;
        });
        Ok(Self { local_addr, _stop: stopping.drop_guard() })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }
}

async fn serve(socket: &UdpSocket, instances: &[Listed]) {
    let mut request = [0; 64];
    loop {
        // A client that has gone away may show as an error of the socket.
        let Ok((length, client)) = socket.recv_from(&mut request).await else { continue };
        if let Some(answer) = answer(request.get(..length).unwrap_or_default(), instances)
            && let Err(error) = socket.send_to(&answer, client).await
        {
            tracing::debug!(error = &error as &dyn std::error::Error, "failed to answer for the browser");
        }
    }
}

/// SVR_RESP to a request; none to one that is malformed or asks for an instance that is not there.
fn answer(request: &[u8], instances: &[Listed]) -> Option<Vec<u8>> {
    const RESPONSE: u8 = 0x05;
    let find = |name: &[u8]| {
        let name = str::from_utf8(name.strip_suffix(&[0]).unwrap_or(name)).ok()?;
        instances.iter().find(|instance| instance.name.eq_ignore_ascii_case(name))
    };
    let text = match request {
        // Of all instances, asked by broadcast or at this host.
        [0x02 | 0x03] => instances.iter().map(tell).collect(),
        [0x04, name @ ..] => tell(find(name)?),
        [0x0F, 0x01, name @ ..] => {
            let [low, high] = find(name)?.port.to_le_bytes();
            return Some(vec![RESPONSE, 6, 0, 0x01, low, high]);
        }
        _ => return None,
    };
    let mut response = vec![RESPONSE];
    response.extend_from_slice(&u16::try_from(text.len()).ok()?.to_le_bytes());
    response.extend_from_slice(text.as_bytes());
    Some(response)
}

fn tell(instance: &Listed) -> String {
    let Listed { name, port } = instance;
    format!("ServerName;XESTACK-SIM;InstanceName;{name};IsClustered;No;Version;15.0.2000.5;tcp;{port};;")
}

#[cfg(test)]
mod tests {
    use super::{Listed, answer};

    #[test]
    fn requests_are_answered_as_documented() {
        let instances = [Listed { name: "SIM1".into(), port: 0xDF32 }, Listed { name: "SIM2".into(), port: 1500 }];
        let one = answer(b"\x04sim2\0", &instances).unwrap();
        let text = "ServerName;XESTACK-SIM;InstanceName;SIM2;IsClustered;No;Version;15.0.2000.5;tcp;1500;;";
        assert_eq!(one, [&[5, text.len() as u8, 0], text.as_bytes()].concat());
        let all = answer(&[3], &instances).unwrap();
        assert!(all.ends_with(text.as_bytes()) && all.len() > one.len() + 60);
        assert_eq!(answer(b"\x0F\x01SIM1\0", &instances).unwrap(), [5, 6, 0, 1, 0x32, 0xDF]);
        for request in [&b""[..], b"\x04SIM3\0", b"\x0F\x02SIM1\0", b"\x03x", b"\x99", b"\x04\xff\xfe"] {
            assert_eq!(answer(request, &instances), None, "{request:?}");
        }
    }
}
