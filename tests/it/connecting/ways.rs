//! The ways to a server: by name of its instance, by port, over IPv6, as administrator.

use super::{Server, assert_says, assert_works, look_as_sa};
use std::net::{TcpListener, UdpSocket};

#[test]
fn a_named_instance_is_found_by_the_browser_and_a_port_goes_around_it() {
    let server = Server::start(&["--tls", "off", "--browser", "127.0.0.1:0"]);
    let browser = server.browser_port.clone().unwrap();
    let plain = ["-N", "disable", "--browser-port", browser.as_str()];
    assert_works(look_as_sa(r"127.0.0.1\SIM1", &plain));
    assert_works(look_as_sa(r"tcp:127.0.0.1\sim1", &plain));
    assert_works(look_as_sa(r"admin:127.0.0.1\SIM1", &plain));
    let unknown = look_as_sa(r"127.0.0.1\SALES", &plain);
    assert_says(unknown, 3, &["does not know instance SALES; it lists SIM1", r"-S host\instance"]);

    // Nobody listens there; a port makes the browser needless.
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let nowhere = ["-N", "disable", "--browser-port", nobody.as_str()];
    let silent = look_as_sa(r"127.0.0.1\SIM1", &nowhere);
    assert_says(silent, 3, &["the SQL Server Browser on 127.0.0.1 does not answer", "UDP 1434", "-S host,port"]);
    assert_works(look_as_sa(&format!(r"127.0.0.1\SIM1,{}", server.port), &nowhere));
    assert_works(look_as_sa(&format!("admin:127.0.0.1,{}", server.port), &nowhere));
}

#[test]
fn ipv6_is_a_way_as_any_other() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: this machine has no IPv6");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("certificate.pem").display().to_string();
    let arguments = ["--listen", "[::1]:0", "--browser", "[::1]:0", "--tls-cert-out", &certificate];
    let server = Server::start(&arguments);
    let browser = server.browser_port.clone().unwrap();
    let options = ["--ca", certificate.as_str(), "--browser-port", browser.as_str()];
    assert_works(look_as_sa(&format!("::1,{}", server.port), &options));
    assert_works(look_as_sa(&format!("tcp:[::1],{}", server.port), &options));
    assert_works(look_as_sa(r"[::1]\SIM1", &options));
}
