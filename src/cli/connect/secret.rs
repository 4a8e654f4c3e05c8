//! Owns where secrets come from: a variable, a private file, a command, the terminal. They stay in memory that is wiped,
//! and no message repeats any of them.

use crate::agent::progress::Interrupt;
use crate::cli::exit::{Exit, Failure};
use anyhow::{Context as _, anyhow, bail};
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;

/// The longest secret; access tokens have a few kilobytes.
const LONGEST: usize = 64 * 1024;
/// How long a command may take: it may ask a person.
const COMMAND_LIMIT: Duration = Duration::from_mins(1);

/// Where a secret comes from.
pub(super) enum Source<'a> {
    /// The command line.
    Secret(&'a SecretString),
    /// A variable's value.
    Text(String),
    /// A file that nobody else can read.
    File(&'a Path),
    /// What a command of the shell writes.
    Command(&'a str),
    /// The terminal.
    Prompt {
        /// What is asked.
        text: &'a str,
        /// What to do where there is no terminal.
        hint: &'a str,
    },
}

/// Reads a secret. `what` names it in messages.
pub(super) async fn read(what: &str, source: Source<'_>, interrupt: &Interrupt) -> Result<SecretString, Failure> {
    let reading = async {
        match source {
            Source::Secret(secret) => Ok(secret.clone()),
            Source::Text(text) => {
                let text = Zeroizing::new(text);
                Ok(SecretString::new(text.as_str().into()))
            }
            Source::File(path) => {
                let owned: PathBuf = path.to_owned();
                // Opening a pipe waits for its writer.
                let read = tokio::task::spawn_blocking(move || from_file(&owned)).await.map_err(anyhow::Error::from);
                read.flatten().with_context(|| format!("cannot take the {what} from {}", path.display())).map_err(usage)
            }
            Source::Command(command) => from_command(command)
                .await
                .with_context(|| format!("the command for the {what} gives none"))
                .map_err(usage),
            Source::Prompt { text, hint } => from_terminal(text, interrupt)
                .await
                .with_context(|| format!("no {what} is given"))
                .map_err(|error| usage(error).with_hint(hint)),
        }
    };
    tokio::select! {
        secret = reading => secret,
        () = interrupt.signalled() => Err(Failure::new(Exit::Interrupted, anyhow!("interrupted"))),
    }
}

fn usage(error: anyhow::Error) -> Failure {
    Failure::new(Exit::Usage, error)
}

fn from_file(path: &Path) -> anyhow::Result<SecretString> {
    let mut file = std::fs::File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let mode = file.metadata()?.mode() & 0o777;
        if mode & 0o077 != 0 {
            bail!("others may read or write it (mode {mode:03o}); chmod 600 keeps it");
        }
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
    Read::by_ref(&mut file).take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    one_line(&bytes)
}

/// By the shell, so that quotes and pipes mean what they mean there. What it writes to standard error is seen.
async fn from_command(command: &str) -> anyhow::Result<SecretString> {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut child = tokio::process::Command::new(shell)
        .args([option, command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut output = child.stdout.take().context("it has no output")?.take(LONGEST as u64 + 1);
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
    let finished = async {
        output.read_to_end(&mut bytes).await?;
        // More would fill the pipe and keep it waiting.
        drop(output);
        child.wait().await
    };
    let status = tokio::time::timeout(COMMAND_LIMIT, finished)
        .await
        .map_err(|_elapsed| anyhow!("it is not done after {} s", COMMAND_LIMIT.as_secs()))??;
    if !status.success() {
        bail!("it failed with {status}");
    }
    one_line(&bytes)
}

/// The only line of a text, without its end.
fn one_line(bytes: &[u8]) -> anyhow::Result<SecretString> {
    if bytes.len() > LONGEST {
        bail!("it is longer than {LONGEST} bytes");
    }
    let text = str::from_utf8(bytes).map_err(|_| anyhow!("it is no text in UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    if line.is_empty() {
        bail!("it is empty");
    }
    if line.contains('\n') {
        bail!("it has more than one line");
    }
    Ok(SecretString::new(line.into()))
}

/// Asks on the terminal, without echo.
#[cfg(unix)]
async fn from_terminal(text: &str, interrupt: &Interrupt) -> anyhow::Result<SecretString> {
    use std::io::{BufRead as _, Write as _};

    /// Gives the terminal its echo back, however the asking ends.
    struct Quiet<'a> {
        terminal: &'a std::fs::File,
        before: rustix::termios::Termios,
    }

    impl Drop for Quiet<'_> {
        fn drop(&mut self) {
            use rustix::termios::{OptionalActions, tcsetattr};
            // A terminal that has gone needs none.
            let _ignored = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
        }
    }

    if !io::stdin().is_terminal() {
        bail!("there is no terminal to ask on");
    }
    let terminal = std::fs::File::options().read(true).write(true).open("/dev/tty")?;
    let mut reader = io::BufReader::new(terminal.try_clone()?);
    let before = rustix::termios::tcgetattr(&terminal)?;
    let mut without_echo = before.clone();
    without_echo.local_modes.remove(rustix::termios::LocalModes::ECHO);
    without_echo.local_modes.insert(rustix::termios::LocalModes::ECHONL);
    rustix::termios::tcsetattr(&terminal, rustix::termios::OptionalActions::Flush, &without_echo)?;
    let quiet = Quiet { terminal: &terminal, before };
    (&terminal).write_all(text.as_bytes())?;
    // A task of its own: an interrupt does not wait for the end of the line.
    let line = tokio::task::spawn_blocking(move || {
        let mut line = Zeroizing::new(String::with_capacity(LONGEST));
        (&mut reader).take(LONGEST as u64).read_line(&mut line).map(|_| line)
    });
    let line = tokio::select! {
        line = line => line,
        () = interrupt.signalled() => bail!("interrupted"),
    };
    drop(quiet);
    one_line(line??.as_bytes())
}

/// Asks on the console, without echo.
#[cfg(windows)]
async fn from_terminal(text: &str, _: &Interrupt) -> anyhow::Result<SecretString> {
    if !io::stdin().is_terminal() {
        bail!("there is no terminal to ask on");
    }
    let text = text.to_owned();
    let line = tokio::task::spawn_blocking(move || rpassword::prompt_password(text)).await??;
    one_line(Zeroizing::new(line).as_bytes())
}

#[cfg(not(any(unix, windows)))]
async fn from_terminal(_: &str, _: &Interrupt) -> anyhow::Result<SecretString> {
    bail!("this platform has no terminal to ask on")
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Source, one_line, read};
    use crate::agent::progress::Interrupt;
    use crate::cli::exit::{Exit, Failure};
    use secrecy::ExposeSecret as _;

    async fn result(source: Source<'_>) -> Result<String, (Exit, String)> {
        match read("password", source, &Interrupt::default()).await {
            Ok(secret) => Ok(secret.expose_secret().to_owned()),
            Err(Failure { exit, error, .. }) => Err((exit, format!("{error:#}"))),
        }
    }

    #[test]
    fn a_secret_is_one_line_without_its_end() {
        let line =
            |text: &[u8]| one_line(text).map(|secret| secret.expose_secret().to_owned()).map_err(|e| e.to_string());
        assert_eq!(line(b"pass word"), Ok("pass word".to_owned()));
        assert_eq!(line(b" x \n"), Ok(" x ".to_owned()));
        assert_eq!(line("\u{feff}x\r\n".as_bytes()), Ok("x".to_owned()));
        assert_eq!(line(b"x\r"), Ok("x\r".to_owned()));
        for wrong in [&b""[..], b"\n", b"\r\n", b"a\nb", b"a\n\n", b"\xff", &vec![b'x'; LONGEST + 1]] {
            assert!(line(wrong).is_err(), "{:?}", wrong.first());
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a file of a test")]
    async fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "s3cret!\n").unwrap();
        for (mode, taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let found = result(Source::File(&path)).await;
            if taken {
                assert_eq!(found, Ok("s3cret!".to_owned()));
            } else {
                let (exit, text) = found.unwrap_err();
                assert_eq!(exit, Exit::Usage);
                assert!(text.contains("others may read") && text.contains(&format!("{mode:03o}")), "{text}");
                assert!(!text.contains("s3cret"), "{text}");
            }
        }
        let (exit, text) = result(Source::File(&folder.path().join("missing"))).await.unwrap_err();
        assert_eq!(exit, Exit::Usage);
        assert!(text.contains("missing"), "{text}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_gives_its_output_or_says_why_not() {
        assert_eq!(result(Source::Command("printf 's3 %s\\n' cret | cat")).await, Ok("s3 cret".to_owned()));
        for (command, told) in [
            ("echo s3cret; exit 3", "exit status: 3"),
            ("true", "empty"),
            ("echo s3cret; echo two", "more than one line"),
            ("yes s3cret", "failed"),
        ] {
            let (exit, text) = result(Source::Command(command)).await.unwrap_err();
            assert_eq!(exit, Exit::Usage);
            assert!(text.contains(told), "{command}: {text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn an_interrupt_ends_the_wait_for_a_command() {
        let interrupt = Interrupt::default();
        interrupt.signal();
        let failure = read("password", Source::Command("sleep 600"), &interrupt).await.unwrap_err();
        assert_eq!(failure.exit, Exit::Interrupted);
    }
}
