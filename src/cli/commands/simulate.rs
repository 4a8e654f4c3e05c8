//! Owns `xestack simulate`: the simulated server on its own, until it is interrupted.

use crate::agent::progress::Interrupt;
use crate::cli::args::{OverflowArgument, SimulateArguments, TlsArgument};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Printer;
use crate::simulator::events::histogram::Overflow;
use crate::simulator::launch::{self, LaunchOptions};
use crate::simulator::server::TlsMode;
use crate::simulator::workload::pace::Pace;
use crate::store::private_file;
use std::net::SocketAddr;

/// Where the password may be given.
const PASSWORD_VARIABLE: &str = "XESTACK_SIM_PASSWORD";
/// Where an access token that logs in may be given.
const TOKEN_VARIABLE: &str = "XESTACK_SIM_TOKEN";

pub(in crate::cli) async fn run(
    arguments: SimulateArguments,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    if arguments.tls == TlsArgument::Off && arguments.tls_cert_out.is_some() {
        return Err(Failure::new(
            Exit::Usage,
            anyhow::anyhow!("--tls-cert-out needs TLS: there is no certificate with --tls off"),
        ));
    }
    let given = std::env::var(PASSWORD_VARIABLE).ok().filter(|password| !password.is_empty());
    let is_given = given.is_some();
    let simulator = launch::launch(LaunchOptions {
        listen: arguments.listen,
        instances: arguments.instances,
        version: arguments.server_version,
        workload: arguments.workload.clone(),
        pace: arguments.burst.map_or(Pace::Steady, Pace::Burst),
        seed: arguments.seed,
        faults: arguments.fault.clone(),
        overflow: match arguments.overflow {
            OverflowArgument::Fold => Overflow::Fold,
            OverflowArgument::Ignore => Overflow::Ignore,
        },
        startup_flags: arguments.startup_flag.clone(),
        tls: match arguments.tls {
            TlsArgument::Off => TlsMode::Off,
            TlsArgument::On => TlsMode::On,
            TlsArgument::Forced => TlsMode::Forced,
            TlsArgument::Strict => TlsMode::Strict,
        },
        password: given,
        accounts: arguments.login.clone(),
        access_token: std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty()),
        browser: arguments.browser,
        ..LaunchOptions::default()
    })
    .await
    .map_err(|error| Failure::new(Exit::Usage, error))?;
    if let (Some(path), Some(pem)) = (&arguments.tls_cert_out, simulator.certificate_pem()) {
        private_file::write_atomic(path, pem.as_bytes()).map_err(|error| {
            Failure::new(Exit::Usage, anyhow::Error::new(error).context(format!("could not write {}", path.display())))
        })?;
    }
    if let Some(browser) = simulator.browser_addr() {
        printer.note(&format!("a SQL Server Browser answers on {browser}"));
    }
    let password = if is_given { format!("in {PASSWORD_VARIABLE}") } else { simulator.password().to_owned() };
    printer.result(&format!(
        "simulated SQL Server {} listens on {}\nlogin {}, password {password}\n",
        arguments.server_version,
        addresses(&simulator.addresses()),
        launch::USER
    ))?;
    interrupt.signalled().await;
    simulator.stop().await;
    Ok(Exit::Interrupted)
}

/// One address; the first with the last port of several in a row; else the first with all other ports.
fn addresses(all: &[SocketAddr]) -> String {
    let first = all.first().map(ToString::to_string).unwrap_or_default();
    let in_a_row =
        all.windows(2).all(|two| matches!(two, [one, next] if one.port().checked_add(1) == Some(next.port())));
    match all {
        [] | [_] => first,
        [.., last] if in_a_row => format!("{first} to {}", last.port()),
        _ => all.iter().skip(1).fold(first, |listed, address| format!("{listed}, {}", address.port())),
    }
}

#[cfg(test)]
mod tests {
    use super::addresses;
    use std::net::{Ipv4Addr, SocketAddr};

    #[test]
    fn addresses_stand_on_one_line() {
        let listed = |ports: &[u16]| {
            let all: Vec<_> = ports.iter().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, *port))).collect();
            addresses(&all)
        };
        assert_eq!(listed(&[14_330]), "127.0.0.1:14330");
        assert_eq!(listed(&[14_330, 14_331, 14_332]), "127.0.0.1:14330 to 14332");
        assert_eq!(listed(&[40_001, 40_002, 40_009]), "127.0.0.1:40001, 40002, 40009");
    }
}
