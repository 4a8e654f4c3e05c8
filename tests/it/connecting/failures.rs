//! Connections that cannot be made: each is told apart, with its remedy, and nothing falls back to plain text.

use super::{Server, assert_says, assert_works, look_as_sa};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

/// A port that nobody listens on just now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that is no SQL Server: it reads what comes first and answers with these bytes.
fn foreign(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ignored = stream.read(&mut [0; 512]);
            let _ignored = stream.write_all(answer);
        }
    });
    format!("127.0.0.1,{port}")
}

#[test]
fn tls_that_fails_says_what_is_wrong_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("certificate.pem").display().to_string();
    let server =
        |fault: &str, tls: &str| Server::start(&["--tls", tls, "--fault", fault, "--tls-cert-out", &certificate]);
    let trusting = ["--ca", certificate.as_str()];

    let closed = server("tls=closed", "on");
    let told = &["SQL Server 15.0.", "closed the connection during the TLS handshake", "KB3135244", "-N disable"];
    for arguments in [&["-C"][..], &trusting, &["-C", "-N", "optional"]] {
        assert_says(look_as_sa(&closed.address(), arguments), 3, told);
    }
    let old = server("tls=old", "on");
    assert_says(look_as_sa(&old.address(), &["-C"]), 3, &["TLS with SQL Server 15.0.", "TLS 1.2", "KB3135244"]);

    let expired = server("tls=expired", "on");
    assert_says(look_as_sa(&expired.address(), &trusting), 3, &["certificate expired", "new certificate", "-C"]);
    assert_works(look_as_sa(&expired.address(), &["-C"]));

    let other_name = server("tls=other-name", "on");
    let said = look_as_sa(&other_name.address(), &trusting);
    assert_says(said, 3, &["not valid for name", "elsewhere.example", "-F NAME"]);
    assert_works(look_as_sa(&other_name.address(), &[&trusting[..], &["-F", "elsewhere.example"]].concat()));

    let strict = server("login=locked:9", "strict");
    let strictly = [&trusting[..], &["-N", "strict"]].concat();
    assert_works(look_as_sa(&strict.address(), &strictly));
    let said = assert_says(look_as_sa(&strict.address(), &["-N", "strict", "-C"]), 3, &["certificate", "--ca FILE"]);
    assert!(said.contains("-C is without effect with -N strict"), "{said}");
    assert_says(look_as_sa(&strict.address(), &["-C"]), 3, &["strict encryption only", "-N strict"]);
    let strict_closed = server("tls=closed", "strict");
    assert_says(look_as_sa(&strict_closed.address(), &strictly), 3, &["begins with TLS", "SQL Server 2022"]);
}

#[test]
fn encryption_is_as_much_as_both_sides_want_and_never_silently_less() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("certificate.pem").display().to_string();
    let available = Server::start(&["--tls", "on", "--tls-cert-out", &certificate]);
    let trusting = ["--ca", certificate.as_str()];
    // Plain text needs no certificate, a login that is encrypted alone does.
    assert_works(look_as_sa(&available.address(), &["-N", "disable"]));
    assert_works(look_as_sa(&available.address(), &[&trusting[..], &["-N", "optional"]].concat()));
    assert_says(look_as_sa(&available.address(), &["-N", "optional"]), 3, &["certificate", "--ca FILE"]);
    assert_works(look_as_sa(&available.address(), &[&trusting[..], &["-N"]].concat()));
    for word in ["mandatory", "m", "yes", "true", "t", "1", "default", "Mandatory"] {
        assert_says(look_as_sa(&available.address(), &["-N", word]), 3, &["certificate"]);
    }
    assert_says(look_as_sa(&available.address(), &["-N", "perhaps"]), 2, &["strict, mandatory, optional or disable"]);

    let forced = Server::start(&["--tls", "forced", "--tls-cert-out", &certificate]);
    for word in ["optional", "mandatory"] {
        assert_works(look_as_sa(&forced.address(), &[&trusting[..], &["-N", word]].concat()));
    }
    let disabled = look_as_sa(&forced.address(), &["-N", "disable"]);
    assert_says(disabled, 3, &["insists on encryption", "leave out -N disable"]);
}

#[test]
fn a_refused_login_names_its_reason_and_is_not_tried_again() {
    for (fault, number, remedy) in [
        ("refused", "18456", "check the login name and password"),
        ("locked", "18486", "locked out; the login is not tried again"),
        ("expired", "18487", "has expired"),
        ("must-change", "18488", "must be changed first"),
        ("17810", "17810", "one dedicated administrator connection"),
        ("18470", "18470", "disabled"),
        ("40615", "40615", "firewall"),
    ] {
        let server = Server::start(&["--tls", "off", "--fault", &format!("login={fault}")]);
        assert_says(look_as_sa(&server.address(), &["-N", "disable"]), 3, &["refused the login", number, remedy]);
    }
}

#[test]
fn a_port_without_a_sql_server_is_told_apart() {
    let silent = Server::start(&["--fault", "login=no-workers"]);
    let told = &["takes connections and says nothing within 1 s", "THREADPOOL", "admin:"];
    assert_says(look_as_sa(&silent.address(), &["-l", "1"]), 3, told);
    let admin = format!("admin:{}", silent.address());
    assert_says(look_as_sa(&admin, &["-l", "1"]), 3, &["says nothing within 1 s", "-l SECONDS"]);

    assert_says(look_as_sa(&foreign(b"HTTP/1.1 400 Bad Request\r\n\r\n"), &[]), 3, &["no SQL Server", "TCP port"]);
    assert_says(look_as_sa(&foreign(b""), &[]), 3, &["closes the connection before it says anything"]);
    let refused = free_port();
    assert_says(look_as_sa(&format!("127.0.0.1,{refused}"), &[]), 3, &["refused", &format!("TCP port {refused}")]);
    let admin = format!("admin:127.0.0.1,{refused}");
    assert_says(look_as_sa(&admin, &[]), 3, &["refused", "remote admin connections"]);
    assert_says(look_as_sa("no..host", &[]), 3, &["no..host cannot be looked up"]);
    let unlimited = format!("127.0.0.1,{refused}");
    assert_says(look_as_sa(&unlimited, &["-l", "0", "-t", "0"]), 3, &["refused"]);
}

#[test]
fn a_redirection_is_followed_validated_and_never_in_a_circle() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let start = |listen: &str, name: &str, faults: &[&str]| {
        let mut arguments = vec!["--listen", listen, "--tls-cert-out", name];
        for fault in faults {
            arguments.extend(["--fault", *fault]);
        }
        Server::start(&arguments)
    };
    let both = |one: &str, two: &str| {
        let text = std::fs::read_to_string(one).unwrap() + &std::fs::read_to_string(two).unwrap();
        std::fs::write(file("both.pem"), text).unwrap();
        file("both.pem")
    };
    let (gateway_pem, node_pem) = (file("gateway.pem"), file("node.pem"));

    let node = start("127.0.0.1:0", &node_pem, &[]);
    let gateway = start("127.0.0.1:0", &gateway_pem, &[&format!("route=127.0.0.1:{}", node.port)]);
    assert_works(look_as_sa(&gateway.address(), &["--ca", &both(&gateway_pem, &node_pem)]));
    // The node's certificate counts as any other.
    let untrusted = look_as_sa(&gateway.address(), &["--ca", &gateway_pem]);
    let redirected = format!("redirected to 127.0.0.1,{}", node.port);
    assert_says(untrusted, 3, &[&redirected, "certificate", "--ca FILE"]);

    let elsewhere = start("127.0.0.1:0", &node_pem, &["tls=other-name"]);
    let gateway = start("127.0.0.1:0", &gateway_pem, &[&format!("route=127.0.0.1:{}", elsewhere.port)]);
    let wrong_name = look_as_sa(&gateway.address(), &["--ca", &both(&gateway_pem, &node_pem)]);
    assert_says(wrong_name, 3, &["redirected to", "not valid for name", "-F NAME"]);

    let silent = start("127.0.0.1:0", &node_pem, &["login=no-workers"]);
    let gateway = start("127.0.0.1:0", &gateway_pem, &[&format!("route=127.0.0.1:{}", silent.port)]);
    let timed_out = look_as_sa(&gateway.address(), &["-C", "-l", "2"]);
    assert_says(timed_out, 3, &["redirected to", "says nothing within 2 s"]);

    let port = free_port();
    let circle = start(&format!("127.0.0.1:{port}"), &gateway_pem, &[&format!("route=127.0.0.1:{port}")]);
    let said = look_as_sa(&circle.address(), &["-C"]);
    assert_says(said, 3, &[&format!("redirects in a circle, to 127.0.0.1,{port} again"), "routing is wrong"]);
    let nowhere = start("127.0.0.1:0", &gateway_pem, &["route=:1433"]);
    assert_says(look_as_sa(&nowhere.address(), &["-C"]), 3, &["redirects to `,1433`, which is no address"]);
}
