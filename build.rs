//! Lets the tests in `tests/live` be ignored, and shown as ignored, where no real server is named.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=XESTACK_TEST_SERVER");
    println!("cargo::rustc-check-cfg=cfg(xestack_test_server)");
    if std::env::var_os("XESTACK_TEST_SERVER").is_some_and(|server| !server.is_empty()) {
        println!("cargo::rustc-cfg=xestack_test_server");
    }
}
