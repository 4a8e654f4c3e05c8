//! Where passwords and tokens may come from, and what is said of those that cannot be used.

use super::{PASSWORD, Server, assert_says, assert_works, look};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PLAIN: [&str; 2] = ["-N", "disable"];

fn server() -> Server {
    Server::start(&["--tls", "off"])
}

fn private_file(folder: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// A look with these arguments and variables.
fn given(server: &Server, arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String) {
    look(&server.address(), |command| {
        command.args(PLAIN).args(arguments).envs(variables.iter().copied());
    })
}

#[test]
fn a_password_comes_from_one_of_its_sources() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    let file = private_file(folder.path(), "password", &format!("{PASSWORD}\n"), 0o600).display().to_string();
    let command = format!("cat '{file}'");
    let wrong = [("SQLCMDPASSWORD", "wrong")];
    for (arguments, variables) in [
        (&["-U", "sa"][..], &[("SQLCMDPASSWORD", PASSWORD)][..]),
        (&[], &[("SQLCMDUSER", "sa"), ("SQLCMDPASSWORD", PASSWORD)]),
        (&["-U", "sa", "--password-file", &file], &wrong),
        (&["-U", "sa", "--password-command", &command], &wrong),
        (&["-U", "sa"], &[("SQLCMDUSER", "nobody"), ("SQLCMDPASSWORD", PASSWORD)]),
    ] {
        let said = assert_works(given(&server, arguments, variables));
        assert!(!said.contains("-P"), "{said}");
    }
    let said = assert_works(given(&server, &["-U", "sa", "-P", PASSWORD], &wrong));
    assert!(said.contains("-P can be seen by every user") && !said.contains(PASSWORD), "{said}");
    assert_says(given(&server, &["-U", "sa", "-P", "-starts-so"], &[]), 3, &["18456"]);
}

#[test]
fn a_password_from_nowhere_or_from_two_places_is_wrong_usage() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    let file = private_file(folder.path(), "password", PASSWORD, 0o600).display().to_string();
    let open = private_file(folder.path(), "open", PASSWORD, 0o644).display().to_string();
    for (arguments, needles) in [
        (&["-U", "sa"][..], &["no password is given", "SQLCMDPASSWORD", "--password-file"][..]),
        (&["-U", "sa", "-P", "x", "--password-file", &file], &["cannot be used with"]),
        (&["-U", "sa", "--password-file", &file, "--password-command", "x"], &["cannot be used with"]),
        (&["-E", "--password-command", "x"], &["cannot be used with"]),
        (&["--password-file", &file], &["no login name", "-U LOGIN"]),
        (&["-U", "sa", "--password-file", &open], &["others may read", "chmod 600"]),
        (&["-U", "sa", "--password-command", "exit 4"], &["the command for the password gives none", "exit status: 4"]),
        (&["-U", r"CORP\joe", "-P", "x"], &["NTLM is not spoken", "-E"]),
        (&["-G", "-U", "sa"], &["-G logs in with an access token"]),
        (&["-G"], &["XESTACK_ACCESS_TOKEN", "az account get-access-token"]),
        (&["--access-token-file", &file], &["--use-aad"]),
    ] {
        let said = assert_says(given(&server, arguments, &[]), 2, needles);
        assert!(!said.contains(PASSWORD), "{said}");
    }
    if !cfg!(feature = "kerberos") {
        let service = format!("MSSQLSvc/127.0.0.1:{}", server.port);
        for arguments in [&["-E"][..], &[]] {
            assert_says(given(&server, arguments, &[]), 2, &["Kerberos", &service, "kinit"]);
        }
    }
}

#[test]
fn a_password_is_asked_for_on_a_terminal_without_echo() {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: no `script` to make a terminal");
        return;
    }
    let server = server();
    let line = format!(
        "{} doctor --scenario sos-yield -S {} -U sa -N disable",
        env!("CARGO_BIN_EXE_xestack"),
        server.address()
    );
    let mut terminal = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env_remove("SQLCMDPASSWORD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = terminal.stdout.take().unwrap();
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains("Password of sa: ") {
        let mut byte = [0];
        assert_eq!(output.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    let mut input = terminal.stdin.take().unwrap();
    input.write_all(format!("{PASSWORD}\n").as_bytes()).unwrap();
    output.read_to_end(&mut said).unwrap();
    let code = terminal.wait().unwrap().code().unwrap();
    let said = assert_works((code, String::from_utf8_lossy(&said).into_owned()));
    assert!(!said.contains(PASSWORD), "{said}");
}

/// A token of the shape that Microsoft Entra gives, good until that time.
pub(super) fn token(expires: i64) -> String {
    use base64::Engine as _;
    let part = |text: String| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let claims = format!(r#"{{"aud":"https://database.windows.net/","exp":{expires},"oid":"t0ken-0f-a-test"}}"#);
    format!("{}.{}.c2lnbmF0dXJl", part(r#"{"typ":"JWT","alg":"RS256"}"#.to_owned()), part(claims))
}

#[test]
fn an_access_token_comes_from_one_of_its_sources() {
    let token_text = token(4_000_000_000);
    let server = Server::start_with(&["--tls", "off"], |command| {
        command.env("XESTACK_SIM_TOKEN", &token_text);
    });
    let folder = tempfile::tempdir().unwrap();
    let file = private_file(folder.path(), "token", &format!("{token_text}\n"), 0o600).display().to_string();
    let command = format!("cat '{file}'");
    assert_works(given(&server, &["-G"], &[("XESTACK_ACCESS_TOKEN", &token_text), ("SQLCMDUSER", "sa")]));
    assert_works(given(&server, &["-G", "--access-token-file", &file], &[]));
    assert_works(given(&server, &["-G", "--access-token-command", &command], &[]));

    let other = token(4_000_000_001);
    let expired = token(1_000_000_000);
    for (token, code, needles) in [
        (other.as_str(), 3, &["18456"][..]),
        (expired.as_str(), 2, &["the access token expired at 2001-09-09T01:46:40", "az account get-access-token"]),
        ("s3cret-but-no-token", 2, &["no access token of Microsoft Entra"]),
    ] {
        let said = assert_says(given(&server, &["-G"], &[("XESTACK_ACCESS_TOKEN", token)]), code, needles);
        assert!(!said.contains(token), "{said}");
    }
}
