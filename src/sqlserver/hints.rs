//! Owns what a person can do about a connection that was not made.

use crate::sqlserver::ServerAddress;
use crate::sqlserver::browser::BrowserError;
use crate::sqlserver::error::{CertificateProblem, ConnectFailure};

const BROWSER: &str =
    "a named instance needs the SQL Server Browser (UDP 1434) on its host; give the port instead: -S host,port";
const DEDICATED_ADMIN: &str = "the dedicated administrator connection is to be had on the server itself only, unless \
     `remote admin connections` is on there (sp_configure); TCP 1434 must be open for the default instance";
const NO_TLS: &str = "the server may speak no TLS 1.2, or none of its suites that are still safe (ECDHE with AES-GCM): SQL \
     Server 2008 R2 to 2014 need an update for TLS 1.2 (KB3135244), and Windows must have it on; nothing is sent \
     unencrypted unless -N disable says so";

pub(super) fn of_login(number: u32) -> &'static str {
    match number {
        18_456 => "check the login name and password (-U, SQLCMDPASSWORD); the login is not tried again",
        18_452 => "this is a Windows login, or Windows authentication across domains; a SQL Server login needs -U",
        18_470 => "the login is disabled on the server",
        18_486 => "the account is locked out; the login is not tried again",
        18_487 => "the password has expired: change it, then come again; the login is not tried again",
        18_488 => "the password must be changed first; the login is not tried again",
        18_451 | 18_461 => "the server shuts down, or is in single-user mode",
        17_810 => "a server gives one dedicated administrator connection, and another one has it",
        17_892 => "a logon trigger of the server refused it",
        17_142 | 17_187 | 17_197 | 18_401 => "the server is starting or paused; try again in a minute",
        4_060 => "the database given with -d cannot be opened by this login",
        40_615 | 40_914 => "the server's firewall does not allow this client",
        40_143 | 40_197 | 40_501 | 40_613 | 49_918..=49_920 | 10_928 => {
            "the service is busy or moving the database; try again in a minute"
        }
        _ => "the login is not tried again",
    }
}

pub(super) fn of_connecting(address: &ServerAddress, failure: &ConnectFailure) -> Option<String> {
    Some(match failure {
        ConnectFailure::Redirected { to, source } => return of_connecting(to, source),
        ConnectFailure::Certificate { problem, strict, .. } => of_certificate(*problem, *strict),
        ConnectFailure::TlsRefused { .. } | ConnectFailure::TlsClosed { .. } => NO_TLS.to_owned(),
        ConnectFailure::Tls(_) => {
            "nothing is sent unencrypted unless -N disable says so; -F NAME, --ca FILE and -C change what is validated"
                .to_owned()
        }
        ConnectFailure::NoEncryption => {
            "-N disable connects without; then the password and all data can be read on the way".to_owned()
        }
        ConnectFailure::InsistsOnEncryption => "leave out -N disable".to_owned(),
        ConnectFailure::OnlyStrictEncryption => "-N strict is for such a server".to_owned(),
        ConnectFailure::NoStrictEncryption | ConnectFailure::StrictRefused(_) => {
            "-N strict needs SQL Server 2022 or newer, set up for it; leave it out for any other".to_owned()
        }
        ConnectFailure::Browser(error) => of_browser(error).to_owned(),
        ConnectFailure::Name { .. } => {
            "is the host's name right, and does this machine's name server know it?".to_owned()
        }
        ConnectFailure::Silent(_) if !address.dedicated_admin => {
            "the server may have no worker left for new logins (THREADPOOL waits); admin: before its name asks for the \
             dedicated administrator connection, which has one of its own"
                .to_owned()
        }
        ConnectFailure::Network(_) | ConnectFailure::TimedOut(_) | ConnectFailure::ClosedAtOnce
            if address.dedicated_admin =>
        {
            DEDICATED_ADMIN.to_owned()
        }
        ConnectFailure::Silent(_) | ConnectFailure::Stalled(_) => "-l SECONDS waits longer".to_owned(),
        ConnectFailure::Network(_) | ConnectFailure::TimedOut(_) | ConnectFailure::ClosedAtOnce => format!(
            "are the host name and TCP port {} right, is it open, and TCP/IP enabled for the instance? -l SECONDS waits longer",
            address.tcp_port()
        ),
        ConnectFailure::NotTds => format!("is TCP port {} right?", address.tcp_port()),
        ConnectFailure::RedirectLoop(_) | ConnectFailure::TooManyRedirects(_) => {
            "the server's routing is wrong: connect to the replica or the node itself".to_owned()
        }
        ConnectFailure::NoKerberos { .. } => {
            "a build with the feature `kerberos` takes the ticket of kinit; else use -U \
             LOGIN with SQLCMDPASSWORD, or -G with an access token"
                .to_owned()
        }
        ConnectFailure::Protocol(text) if text.contains("GSSAPI") => format!(
            "is there a ticket (kinit, klist), and does the domain know the service {}?",
            address.service_principal()
        ),
        ConnectFailure::Protocol(_) => return None,
    })
}

fn of_browser(error: &BrowserError) -> &'static str {
    match error {
        BrowserError::NoTcp { .. } => "enable TCP/IP for the instance in SQL Server Configuration Manager",
        BrowserError::NoAdminPort { .. } => DEDICATED_ADMIN,
        BrowserError::NotListed { .. } | BrowserError::Name(_) => {
            r"the instance is what stands after the backslash: -S host\instance"
        }
        _ => BROWSER,
    }
}

fn of_certificate(problem: CertificateProblem, strict: bool) -> String {
    let remedy = match problem {
        CertificateProblem::Trust => {
            "the server's certificate is not trusted here (one that SQL Server made itself never is): give it or its \
             authority with --ca FILE"
        }
        CertificateProblem::Name => "give a name that the certificate holds with -F NAME",
        CertificateProblem::Time => "the server needs a new certificate, or one of the two clocks is wrong",
    };
    if strict {
        format!("{remedy}; with -N strict there is no way around it, and -C is without effect")
    } else {
        format!("{remedy}; -C trusts it unseen, and then anyone on the way can read and change everything")
    }
}
