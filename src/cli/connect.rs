//! Owns turning connection arguments into connection settings.

use crate::cli::args::ConnectionArguments;
use crate::cli::exit::{Exit, Failure};
use crate::sqlserver::{Authentication, ConnectOptions, Encryption, ServerAddress};
use secrecy::SecretString;
use std::path::Path;
use std::time::Duration;

/// Where the access token for `-G` comes from.
const TOKEN_VARIABLE: &str = "XESTACK_ACCESS_TOKEN";

pub(super) fn options(arguments: &ConnectionArguments) -> Result<ConnectOptions, Failure> {
    let address: ServerAddress = arguments.server.parse().map_err(|error| Failure::new(Exit::Usage, error))?;
    Ok(ConnectOptions {
        address,
        authentication: authentication(arguments)?,
        database: arguments.database_name.clone(),
        encryption: encryption(&arguments.encrypt_connection)?,
        trust_certificate: arguments.trust_server_certificate,
        ca_pem: arguments.ca.as_deref().map(authority).transpose()?,
        hostname_in_certificate: arguments.host_name_in_certificate.clone(),
        login_timeout: Duration::from_secs(arguments.login_timeout),
        query_timeout: Duration::from_secs(arguments.query_timeout),
        workstation: arguments.workstation_name.clone().or_else(host_name).unwrap_or_default(),
        read_only: read_only(arguments.application_intent.as_deref())?,
        browser_port: 1434,
    })
}

fn authentication(arguments: &ConnectionArguments) -> Result<Authentication, Failure> {
    if arguments.entra {
        return match std::env::var(TOKEN_VARIABLE) {
            Ok(token) if !token.trim().is_empty() => {
                Ok(Authentication::AccessToken(SecretString::from(token.trim().to_owned())))
            }
            _ => Err(Failure::usage(format!("-G needs an access token in {TOKEN_VARIABLE}"))
                .with_hint("az account get-access-token --resource https://database.windows.net/ prints one")),
        };
    }
    match &arguments.user {
        Some(user) if !arguments.trusted_connection => {
            let password = arguments.password.clone().ok_or_else(|| {
                Failure::usage(format!("no password for login {user}")).with_hint("put it into SQLCMDPASSWORD")
            })?;
            Ok(Authentication::Password { user: user.clone(), password: SecretString::from(password) })
        }
        _ if cfg!(windows) => Ok(Authentication::Integrated),
        _ => Err(Failure::usage("Windows authentication works on Windows only in this build")
            .with_hint("use -U LOGIN with SQLCMDPASSWORD, or -G with an access token")),
    }
}

fn authority(file: &Path) -> Result<String, Failure> {
    let unusable =
        |error: anyhow::Error| Failure::new(Exit::Usage, error.context(format!("cannot use --ca {}", file.display())));
    let text = std::fs::read_to_string(file).map_err(|error| unusable(error.into()))?;
    if text.contains("-----BEGIN CERTIFICATE-----") {
        Ok(text)
    } else {
        Err(unusable(anyhow::anyhow!("it holds no certificate in PEM form")))
    }
}

/// sqlcmd's words, any beginning of them.
fn encryption(text: &str) -> Result<Encryption, Failure> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "s" | "strict" => Encryption::Strict,
        "" | "m" | "mandatory" | "t" | "true" | "y" | "yes" | "1" => Encryption::Mandatory,
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
