//! Owns the server address as sqlcmd writes it.

use std::fmt;
use std::str::FromStr;

/// `[tcp:|admin:]host[\instance][,port]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// Host name or address; `.` and `(local)` have become `localhost`.
    pub host: String,
    /// Named instance, looked up through the SQL Server Browser unless a port is given.
    pub instance: Option<String>,
    /// TCP port; `None` = 1433, or 1434 for the dedicated administrator connection.
    pub port: Option<u16>,
    /// Whether the dedicated administrator connection is asked for (`admin:`).
    pub dedicated_admin: bool,
}

/// An address that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing was given where a host should be.
    #[error("server address `{0}` names no host; use [tcp:|admin:]host[\\instance][,port]")]
    NoHost(String),
    /// The port is not a number from 1 to 65535.
    #[error("`{0}` is not a TCP port; use [tcp:|admin:]host[\\instance][,port]")]
    Port(String),
    /// Named pipes and shared memory are not spoken.
    #[error("protocol `{0}:` is not supported; use tcp: or admin:")]
    Protocol(String),
}

impl ServerAddress {
    /// The port to dial when no instance has to be looked up.
    pub fn tcp_port(&self) -> u16 {
        self.port.unwrap_or(if self.dedicated_admin { 1434 } else { 1433 })
    }

    /// The instance whose port only the SQL Server Browser can tell. The default instance has the default port also when
    /// it is called by its name.
    pub fn instance_to_find(&self) -> Option<&str> {
        let instance = self.instance.as_deref()?;
        (self.port.is_none() && !instance.eq_ignore_ascii_case("MSSQLSERVER")).then_some(instance)
    }

    /// The service principal name that Kerberos knows the server by.
    pub fn service_principal(&self) -> String {
        match self.instance_to_find() {
            Some(instance) => format!("MSSQLSvc/{}:{instance}", self.host),
            None => format!("MSSQLSvc/{}:{}", self.host, self.port.unwrap_or(1433)),
        }
    }
}

impl FromStr for ServerAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let mut rest = text.trim();
        let mut dedicated_admin = false;
        if let Some((protocol, after)) = rest.split_once(':')
            && !after.contains(':')
            && !protocol.contains([',', '\\', '['])
        {
            match protocol.to_ascii_lowercase().as_str() {
                "tcp" => {}
                "admin" => dedicated_admin = true,
                _ => return Err(AddressError::Protocol(protocol.to_owned())),
            }
            rest = after;
        } else if let Some(after) = rest.strip_prefix("tcp:") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("admin:") {
            rest = after;
            dedicated_admin = true;
        }
        let (name, port) = match rest.rsplit_once(',') {
            Some((name, port)) => {
                let number: u16 = port.trim().parse().map_err(|_| AddressError::Port(port.trim().to_owned()))?;
                if number == 0 {
                    return Err(AddressError::Port(port.trim().to_owned()));
                }
                (name, Some(number))
            }
            None => (rest, None),
        };
        let (host, instance) = match name.split_once('\\') {
            Some((host, instance)) if !instance.trim().is_empty() => (host, Some(instance.trim().to_owned())),
            Some((host, _)) => (host, None),
            None => (name, None),
        };
        let host = match host.trim().trim_start_matches('[').trim_end_matches(']') {
            "" => return Err(AddressError::NoHost(text.trim().to_owned())),
            "." | "(local)" => "localhost",
            host => host,
        };
        Ok(Self { host: host.to_owned(), instance, port, dedicated_admin })
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dedicated_admin {
            f.write_str("admin:")?;
        }
        f.write_str(&self.host)?;
        if let Some(instance) = &self.instance {
            write!(f, "\\{instance}")?;
        }
        if let Some(port) = self.port {
            write!(f, ",{port}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{AddressError, ServerAddress};

    #[test]
    fn every_documented_form_is_read() {
        for (text, host, instance, port, admin) in [
            ("db1", "db1", None, 1433, false),
            ("tcp:db1.example,14330", "db1.example", None, 14330, false),
            ("admin:db1", "db1", None, 1434, true),
            (r"db1\SALES", "db1", Some("SALES"), 1433, false),
            (r"tcp:db1\SALES,1500", "db1", Some("SALES"), 1500, false),
            (".", "localhost", None, 1433, false),
            (r"(local)\X", "localhost", Some("X"), 1433, false),
            ("127.0.0.1, 1433", "127.0.0.1", None, 1433, false),
            ("::1,1433", "::1", None, 1433, false),
            ("[::1],1500", "::1", None, 1500, false),
            ("tcp:::1", "::1", None, 1433, false),
        ] {
            let address: ServerAddress = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            let found =
                (address.host.as_str(), address.instance.as_deref(), address.tcp_port(), address.dedicated_admin);
            assert_eq!(found, (host, instance, port, admin), "{text}");
        }
    }

    #[test]
    fn only_a_named_instance_without_a_port_has_to_be_found() {
        for (text, instance, principal) in [
            (r"db1\SALES", Some("SALES"), "MSSQLSvc/db1:SALES"),
            (r"admin:db1\SALES", Some("SALES"), "MSSQLSvc/db1:SALES"),
            (r"db1\SALES,1500", None, "MSSQLSvc/db1:1500"),
            (r"db1\mssqlserver", None, "MSSQLSvc/db1:1433"),
            ("db1", None, "MSSQLSvc/db1:1433"),
            ("admin:db1", None, "MSSQLSvc/db1:1433"),
        ] {
            let address: ServerAddress = text.parse().unwrap();
            assert_eq!(address.instance_to_find(), instance, "{text}");
            assert_eq!(address.service_principal(), principal, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_dialled_is_refused() {
        for text in ["", ",1433", "tcp:", "db,0", "db,65536", "db,x", "np:db", "lpc:db"] {
            assert!(text.parse::<ServerAddress>().is_err(), "{text}");
        }
        assert_eq!("np:x".parse::<ServerAddress>(), Err(AddressError::Protocol("np".into())));
    }
}
