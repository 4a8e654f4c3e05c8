//! Owns turning connection arguments into connection settings.

mod secret;
mod token;

use crate::agent::clock::{Clock as _, MachineClock};
use crate::agent::progress::Interrupt;
use crate::cli::args::ConnectionArguments;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Printer;
use crate::sqlserver::{
    Authentication, ConnectOptions, Encryption, SPEAKS_INTEGRATED, ServerAddress, read_authorities,
};
use secrecy::SecretString;
use secret::{Source, read};
use std::path::Path;
use std::time::Duration;

const USER_VARIABLE: &str = "SQLCMDUSER";
const PASSWORD_VARIABLE: &str = "SQLCMDPASSWORD";
/// Where the access token for `-G` comes from when neither a file nor a command gives it.
const TOKEN_VARIABLE: &str = "XESTACK_ACCESS_TOKEN";
const TOKEN_HINT: &str = "az account get-access-token --resource https://database.windows.net/ --query accessToken -o tsv \
     prints one";

/// The settings. Asks for the password last, and only where it comes from nowhere else.
pub(super) async fn options(
    arguments: &ConnectionArguments,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<ConnectOptions, Failure> {
    let address: ServerAddress = arguments.server.parse().map_err(|error| Failure::new(Exit::Usage, error))?;
    let encryption = encryption(&arguments.encrypt_connection)?;
    let ca_pem = arguments.ca.as_deref().map(authorities).transpose()?;
    let read_only = read_only(arguments.application_intent.as_deref())?;
    if encryption == Encryption::Strict && arguments.trust_server_certificate {
        printer.note("-C is without effect with -N strict: the server's certificate is always validated");
    }
    let authentication = authentication(arguments, &address, printer, interrupt).await?;
    Ok(ConnectOptions {
        database: arguments.database_name.clone().filter(|name| !name.is_empty()),
        encryption,
        trust_certificate: arguments.trust_server_certificate,
        ca_pem,
        hostname_in_certificate: arguments.host_name_in_certificate.clone(),
        login_timeout: limit(arguments.login_timeout),
        query_timeout: limit(arguments.query_timeout),
        workstation: arguments.workstation_name.clone().or_else(host_name).unwrap_or_default(),
        read_only,
        browser_port: arguments.browser_port,
        ..ConnectOptions::new(address, authentication)
    })
}

/// 0 seconds are no limit, as with sqlcmd.
fn limit(seconds: u64) -> Duration {
    if seconds == 0 { Duration::MAX } else { Duration::from_secs(seconds) }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

async fn authentication(
    arguments: &ConnectionArguments,
    address: &ServerAddress,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<Authentication, Failure> {
    let password = password_source(arguments);
    if arguments.entra {
        if arguments.user.is_some() || password.is_some() {
            return Err(Failure::usage("-G logs in with an access token, which goes without login name and password"));
        }
        return access_token(arguments, printer, interrupt).await.map(Authentication::AccessToken);
    }
    let user = if arguments.trusted_connection { None } else { arguments.user.clone().or(variable(USER_VARIABLE)) };
    let Some(user) = user else {
        if password.is_some() {
            return Err(Failure::usage("a password is given, and no login name").with_hint("-U LOGIN, or SQLCMDUSER"));
        }
        return if SPEAKS_INTEGRATED { Ok(Authentication::Integrated) } else { Err(no_kerberos(address)) };
    };
    if user.contains('\\') {
        let text = format!("{user} is a Windows login, and NTLM is not spoken here");
        return Err(Failure::usage(text).with_hint("-E logs in as the current user; -U takes a login of SQL Server"));
    }
    if arguments.password.is_some() {
        printer.note("the password given with -P can be seen by every user of this machine; SQLCMDPASSWORD, --password-file and --password-command keep it");
    }
    let prompt = format!("Password of {user}: ");
    let source = password.or_else(|| variable(PASSWORD_VARIABLE).map(Source::Text)).unwrap_or(Source::Prompt {
        text: &prompt,
        hint: "put it into SQLCMDPASSWORD, or use --password-file or --password-command",
    });
    let password = read("password", source, interrupt).await?;
    Ok(Authentication::Password { user, password })
}

fn password_source(arguments: &ConnectionArguments) -> Option<Source<'_>> {
    // clap has seen to it that there is one at most.
    let given = arguments.password.as_ref().map(Source::Secret);
    let file = arguments.password_file.as_deref().map(Source::File);
    given.or(file).or_else(|| arguments.password_command.as_deref().map(Source::Command))
}

async fn access_token(
    arguments: &ConnectionArguments,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<SecretString, Failure> {
    let file = arguments.access_token_file.as_deref().map(Source::File);
    let command = arguments.access_token_command.as_deref().map(Source::Command);
    let source = file.or(command).or_else(|| variable(TOKEN_VARIABLE).map(Source::Text)).ok_or_else(|| {
        let text =
            format!("-G needs an access token: in {TOKEN_VARIABLE}, --access-token-file or --access-token-command");
        Failure::usage(text).with_hint(TOKEN_HINT)
    })?;
    let token = read("access token", source, interrupt).await?;
    let audience = token::check(&token, MachineClock::default().utc())
        .map_err(|problem| Failure::new(Exit::Usage, problem).with_hint(TOKEN_HINT))?;
    if let Some(other) = audience {
        printer.note(&format!("the access token is for {other}, not for https://database.windows.net/"));
    }
    Ok(token)
}

fn no_kerberos(address: &ServerAddress) -> Failure {
    let text = format!(
        "Windows authentication from this machine goes by Kerberos, which this build does not speak (the service would be {})",
        address.service_principal()
    );
    Failure::usage(text).with_hint(
        "a build with `--features kerberos` logs in with the ticket of kinit; else use -U LOGIN with SQLCMDPASSWORD, or \
         -G with an access token",
    )
}

fn authorities(file: &Path) -> Result<String, Failure> {
    let read = || anyhow::Ok(read_authorities(&std::fs::read(file)?)?);
    read().map_err(|error| Failure::new(Exit::Usage, error.context(format!("cannot use --ca {}", file.display()))))
}

/// sqlcmd's words.
fn encryption(text: &str) -> Result<Encryption, Failure> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "s" | "strict" => Encryption::Strict,
        "" | "default" | "m" | "mandatory" | "t" | "true" | "y" | "yes" | "1" => Encryption::Mandatory,
        "o" | "optional" | "f" | "false" | "n" | "no" | "0" => Encryption::Optional,
        "disable" | "disabled" => Encryption::Disabled,
        _ => return Err(Failure::usage(format!("-N {text}: use strict, mandatory, optional or disable"))),
    })
}

fn read_only(intent: Option<&str>) -> Result<bool, Failure> {
    match intent {
        None => Ok(false),
        Some(intent) if intent.eq_ignore_ascii_case("readonly") => Ok(true),
        Some(intent) if intent.eq_ignore_ascii_case("readwrite") => Ok(false),
        Some(intent) => Err(Failure::usage(format!("-K {intent}: use ReadOnly or ReadWrite"))),
    }
}

fn host_name() -> Option<String> {
    sysinfo::System::host_name().ok()
}
