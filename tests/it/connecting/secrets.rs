//! Passwords and tokens stay where they are: a whole run at the most talkative log level leaves them nowhere.

use super::sources::token;
use super::{PASSWORD, Server};
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

const WRONG: &str = "Wr0ng-distinctive-Secret";

/// The places that are looked through, by name.
struct Places(Vec<(String, Vec<u8>)>);

impl Places {
    fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.0.push((name.into(), bytes));
    }

    /// Every file below, the members of zip files by themselves.
    fn add_folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.add_folder(&path);
                continue;
            }
            if path.extension().is_some_and(|extension| extension == "zip") {
                let mut archive = zip::ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
                for index in 0..archive.len() {
                    let mut member = archive.by_index(index).unwrap();
                    let mut bytes = Vec::new();
                    member.read_to_end(&mut bytes).unwrap();
                    self.add(format!("{}!{}", path.display(), member.name().unwrap()), bytes);
                }
            }
            self.add(path.display().to_string(), fs::read(&path).unwrap());
        }
    }

    fn names(&self) -> String {
        self.0.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Neither as text nor as it goes over the wire before it is scrambled.
    fn that_hold(&self, secret: &str) -> Vec<&str> {
        let wide: Vec<u8> = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let holds = |bytes: &[u8]| {
            [secret.as_bytes(), &wide].iter().any(|needle| bytes.windows(needle.len()).any(|window| window == *needle))
        };
        self.0.iter().filter(|(_, bytes)| holds(bytes)).map(|(name, _)| name.as_str()).collect()
    }

    #[track_caller]
    fn assert_free_of(&self, secret: &str) {
        assert_eq!(self.that_hold(secret), Vec::<&str>::new());
    }
}

/// What a capture ends with that came to its window, all evidence there or not.
const CAPTURED: &[i32] = &[0, 5];

/// Runs a capture as talkative as it can be, and gives everything that it leaves or shows. Code first.
fn run(arguments: &[&str], variables: &[(&str, &str)], state_dir: &Path) -> (i32, Places) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xestack"));
    command.args(["capture", "--scenario", "sos-yield", "--for", "1s", "-vvv", "--format", "json"]);
    command.args(arguments).arg("--state-dir").arg(state_dir);
    for variable in ["SQLCMDUSER", "SQLCMDPASSWORD", "XESTACK_ACCESS_TOKEN"] {
        command.env_remove(variable);
    }
    command.env("RUST_LOG", "trace").envs(variables.iter().copied());
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut places = Places(Vec::new());
    let of_process = |name: &str| fs::read(format!("/proc/{}/{name}", process.id()));
    let shows_processes = Path::new("/proc/self/cmdline").exists();
    // Empty until the new program has taken the place of this one.
    while shows_processes && of_process("cmdline").unwrap().is_empty() {
        std::thread::yield_now();
    }
    if shows_processes {
        places.add("cmdline", of_process("cmdline").unwrap());
        let environment = of_process("environ").unwrap();
        let is_told =
            |entry: &&[u8]| entry.starts_with(b"SQLCMDPASSWORD=") || entry.starts_with(b"XESTACK_ACCESS_TOKEN=");
        let rest: Vec<&[u8]> = environment.split(|byte| *byte == 0).filter(|entry| !is_told(entry)).collect();
        places.add("environ", rest.join(&0));
    }
    let mut err = process.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut out = Vec::new();
    process.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    places.add("stdout", out);
    places.add("stderr", reader.join().unwrap());
    let code = process.wait().unwrap().code().unwrap();
    places.add_folder(state_dir);
    (code, places)
}

#[test]
fn a_run_leaves_its_password_nowhere() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let state_dir = folder.path().join("state");
    let file = folder.path().join("password");
    let server = Server::start(&["--tls", "on"]);
    let by_file =
        ["-S", &server.address(), "-U", "sa", "-C", "--password-file", &file.display().to_string()].map(str::to_owned);
    let by_file = by_file.each_ref().map(String::as_str);
    for (password, codes) in [(PASSWORD, CAPTURED), (WRONG, &[3])] {
        fs::write(&file, password).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let (found, places) = run(&by_file, &[], &state_dir);
        assert!(codes.contains(&found), "{found}: {}", places.names());
        places.assert_free_of(password);
        if codes == CAPTURED {
            for place in ["cmdline", "environ", "stderr", "report.json", "manifest.json", "statements.jsonl", ".jsonl"]
            {
                assert!(places.names().contains(place), "{place} was not looked at: {}", places.names());
            }
        }
    }
    // What is given with -P is seen where the warning says, and nowhere else.
    let (_, places) =
        run(&["-S", &server.address(), "-U", "sa", "-C", "-P", PASSWORD], &[], &folder.path().join("open"));
    assert_eq!(places.that_hold(PASSWORD), ["cmdline"]);
    assert!(!places.that_hold("connecting").is_empty(), "the log is not talkative");
    for (name, password, codes) in [("right", PASSWORD, CAPTURED), ("wrong", WRONG, &[3])] {
        let state_dir = folder.path().join(name);
        let arguments = ["-S", &server.address(), "-U", "sa", "-C"];
        let (found, places) = run(&arguments, &[("SQLCMDPASSWORD", password)], &state_dir);
        assert!(codes.contains(&found), "{found}");
        places.assert_free_of(password);
    }
}

#[test]
fn a_run_leaves_its_token_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let good = token(4_000_000_000);
    let server = Server::start_with(&["--tls", "on"], |command| {
        command.env("XESTACK_SIM_TOKEN", &good);
    });
    let arguments = ["-S", &server.address(), "-G", "-C"];
    for (name, token, codes) in [
        ("good", good.clone(), CAPTURED),
        ("unknown", token(4_000_000_001), &[3]),
        ("expired", token(1_000_000_000), &[2]),
        ("malformed", "n0-token-at-all".to_owned(), &[2]),
    ] {
        let state_dir = folder.path().join(name);
        fs::create_dir(&state_dir).unwrap();
        let (found, places) = run(&arguments, &[("XESTACK_ACCESS_TOKEN", &token)], &state_dir);
        assert!(codes.contains(&found), "{name}: {found}");
        places.assert_free_of(&token);
        // Its middle part says as much as the whole.
        if let Some(claims) = token.split('.').nth(1) {
            places.assert_free_of(claims);
        }
    }
}
