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

/// Where the password may be given.
const PASSWORD_VARIABLE: &str = "XESTACK_SIM_PASSWORD";

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
            TlsArgument::Strict => TlsMode::Strict,
        },
        password: given,
        accounts: arguments.login.clone(),
        ..LaunchOptions::default()
    })
    .await
    .map_err(|error| Failure::new(Exit::Usage, error))?;
    if let (Some(path), Some(pem)) = (&arguments.tls_cert_out, simulator.certificate_pem()) {
        private_file::write_atomic(path, pem.as_bytes()).map_err(|error| {
            Failure::new(Exit::Usage, anyhow::Error::new(error).context(format!("could not write {}", path.display())))
        })?;
    }
    let password = if is_given { format!("in {PASSWORD_VARIABLE}") } else { simulator.password().to_owned() };
    printer.result(&format!(
        "simulated SQL Server {} listens on {}\nlogin {}, password {password}\n",
        arguments.server_version,
        simulator.local_addr(),
        launch::USER
    ))?;
    interrupt.signalled().await;
    simulator.stop().await;
    Ok(Exit::Interrupted)
}
