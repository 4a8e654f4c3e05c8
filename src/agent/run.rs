//! Owns a run's identity: its id, the process that owns it, and the marker in its session's name by which another
//! machine can tell a dead run from a live one.

use crate::model::UtcMicros;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// `YYYYMMDDTHHMMSSZ-` and 8 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

/// Text that is no run id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a run id such as 20260131T235959Z-0a1b2c3d")]
pub struct NotARunId(String);

impl RunId {
    /// The id of a run that starts now; `random` tells runs of one second apart.
    pub fn new(now: UtcMicros, random: u32) -> Self {
        let (year, month, day, hour, minute, second) = now.civil();
        Self(format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z-{random:08x}"))
    }

    /// When the run started, by its own machine's clock; `None` where the digits name no such time.
    pub fn started(&self) -> Option<UtcMicros> {
        let part = |from: usize, to: usize| self.0.get(from..to).unwrap_or_default();
        let (date, time) = (part(0, 8), part(9, 15));
        let of = |text: &str, from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
        UtcMicros::parse(&format!(
            "{}-{}-{}T{}:{}:{}Z",
            of(date, 0, 4),
            of(date, 4, 6),
            of(date, 6, 8),
            of(time, 0, 2),
            of(time, 2, 4),
            of(time, 4, 6)
        ))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RunId {
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<Self, NotARunId> {
        let shape = text.bytes().enumerate().all(|(at, byte)| match at {
            8 => byte == b'T',
            15 => byte == b'Z',
            16 => byte == b'-',
            17.. => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            _ => byte.is_ascii_digit(),
        });
        if shape && text.len() == 25 { Ok(Self(text.to_owned())) } else { Err(NotARunId(text.to_owned())) }
    }
}

impl Serialize for RunId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The process that owns a run, on its machine and since its boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// 8 hex digits for the machine (and the process namespace on it).
    pub host: String,
    /// 8 hex digits for its boot.
    pub boot: String,
    /// Process id.
    pub pid: u32,
    /// When the process started, in the machine's own ticks since boot, or seconds since the epoch.
    pub start_ticks: u64,
}

impl Owner {
    /// This process.
    pub fn this_process() -> Self {
        let pid = std::process::id();
        Self { host: host_digest(), boot: boot_digest(), pid, start_ticks: start_ticks(pid).unwrap_or(0) }
    }

    /// Whether the owning process still runs; only meaningful on its own machine and boot.
    pub fn is_running(&self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// 8 hex digits of a text's SHA-256.
fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    let first = bytes.iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    format!("{first:08x}")
}

/// A container that shares its machine's name but not its processes counts as another host.
fn host_digest() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let name = sysinfo::System::host_name().unwrap_or_default();
    digest(&format!("{}\n{name}\n{}", read("/etc/machine-id").trim(), namespace.display()))
}

fn boot_digest() -> String {
    match std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(id) => digest(id.trim()),
        Err(_) => digest(&sysinfo::System::boot_time().unwrap_or_default().to_string()),
    }
}

fn start_ticks(pid: u32) -> Option<u64> {
    if cfg!(target_os = "linux") {
        // proc(5): field 22, counted after the command in parentheses, which may itself hold blanks and parentheses.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, after) = stat.rsplit_once(')')?;
        let mut fields = after.split_whitespace();
        // A process that has ended stays listed until its parent asks: state Z, or X.
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        return fields.nth(18)?.parse().ok();
    }
    let pid = sysinfo::Pid::from_u32(pid);
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_processes(sysinfo::ProcessesToUpdate::Some(&[pid]), true);
    system.process(pid).map(sysinfo::Process::start_time)
}

/// What a session's name says of its run. The name is the journal on the server: it exists whenever anything of ours does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Scenario.
    pub scenario: String,
    /// Run.
    pub run_id: RunId,
    /// Owner.
    pub owner: Owner,
    /// Seconds since the epoch after which the run is over for certain.
    pub deadline_unix: i64,
    /// Trace flags that the run may turn on globally.
    pub flags: Vec<u32>,
}

/// How long after its deadline a run of another machine is given up, seconds.
const GRACE_SECONDS: i64 = 60;

/// What is known of a run's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// Its process runs on this machine.
    Runs,
    /// It is another machine's, and its deadline has not passed for long enough: nobody here can tell.
    MayLive,
    /// Its process on this machine is gone.
    ProcessGone,
    /// This machine has been started anew since.
    OtherBoot,
    /// It is another machine's, and its deadline has passed.
    DeadlinePassed,
}

impl Life {
    /// Whether what the run left may be undone.
    pub fn is_dead(self) -> bool {
        matches!(self, Self::ProcessGone | Self::OtherBoot | Self::DeadlinePassed)
    }
}

/// A name that is not, whole and with its checksum, a marker of ours: a foreign session, never to be touched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a session of this program")]
pub struct Foreign;

const PREFIX: &str = "xestack:1:";

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = if self.flags.is_empty() {
            "-".to_owned()
        } else {
            self.flags.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")
        };
        let Owner { host, boot, pid, start_ticks } = &self.owner;
        let body = format!(
            "{PREFIX}{}:{}:{host}:{boot}:{pid}.{start_ticks}:{}:{flags}:",
            self.scenario, self.run_id, self.deadline_unix
        );
        write!(f, "{body}{:08x}", crc32fast::hash(body.as_bytes()))
    }
}

impl FromStr for Marker {
    type Err = Foreign;

    fn from_str(name: &str) -> Result<Self, Foreign> {
        Self::read(name).filter(|marker| marker.to_string() == name).ok_or(Foreign)
    }
}

impl Marker {
    fn read(name: &str) -> Option<Self> {
        let parts: Vec<&str> = name.strip_prefix(PREFIX)?.split(':').collect();
        let [scenario, run_id, host, boot, process, deadline, flags, _checksum] = parts.as_slice() else { return None };
        let (pid, start_ticks) = process.split_once('.')?;
        let is_digest = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_word =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if scenario.is_empty() || !is_word(scenario) || !is_digest(host) || !is_digest(boot) {
            return None;
        }
        let flags = match *flags {
            "-" => Vec::new(),
            list => list.split('.').map(|flag| flag.parse().ok()).collect::<Option<Vec<u32>>>()?,
        };
        Some(Self {
            scenario: (*scenario).to_owned(),
            run_id: run_id.parse().ok()?,
            owner: Owner {
                host: (*host).to_owned(),
                boot: (*boot).to_owned(),
                pid: pid.parse().ok()?,
                start_ticks: start_ticks.parse().ok()?,
            },
            deadline_unix: deadline.parse().ok()?,
            flags,
        })
    }

    /// The same run's marker for a session, by its scenario's name and its own.
    #[must_use]
    pub fn for_session(&self, name: &str) -> Self {
        Self { scenario: name.to_owned(), ..self.clone() }
    }

    /// Whether the run is dead, judged from `here` at `server_unix` seconds of the server's clock.
    pub fn is_dead(&self, here: &Owner, server_unix: i64) -> bool {
        self.life(here, server_unix, &Owner::is_running).is_dead()
    }

    /// How the run stands, judged from `here` at `server_unix` seconds of the server's clock. `is_running` is asked for
    /// processes of this machine only.
    pub fn life(&self, here: &Owner, server_unix: i64, is_running: &dyn Fn(&Owner) -> bool) -> Life {
        if self.owner.host != here.host {
            let is_past = server_unix > self.deadline_unix.saturating_add(GRACE_SECONDS);
            return if is_past { Life::DeadlinePassed } else { Life::MayLive };
        }
        if self.owner.boot != here.boot {
            Life::OtherBoot
        } else if is_running(&self.owner) {
            Life::Runs
        } else {
            Life::ProcessGone
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Marker, Owner, RunId};
    use crate::model::UtcMicros;
    use proptest::prelude::*;

    fn marker() -> Marker {
        Marker {
            scenario: "file-latency".into(),
            run_id: RunId::new(UtcMicros(1_796_067_092_000_000), 0xdead_beef),
            owner: Owner {
                host: "0a1b2c3d".into(),
                boot: "4e5f6071".into(),
                pid: 4_194_304,
                start_ticks: 987_654_321_012,
            },
            deadline_unix: 1_796_067_300,
            flags: vec![3656, 2592],
        }
    }

    #[test]
    fn the_longest_name_fits_an_identifier_and_reads_back() {
        let name = marker().to_string();
        assert!(
            name.starts_with(
                "xestack:1:file-latency:20261130T193132Z-deadbeef:0a1b2c3d:4e5f6071:4194304.987654321012:1796067300:3656.2592:"
            ),
            "{name}"
        );
        assert!(name.len() <= 128, "{}", name.len());
        assert_eq!(name.parse(), Ok(marker()));
    }

    #[test]
    fn a_run_tells_when_it_started() {
        let now = UtcMicros(1_796_067_092_000_000);
        assert_eq!(RunId::new(now, 7).started(), Some(now));
        let none: RunId = "20261330T193132Z-00000007".parse().unwrap();
        assert_eq!(none.started(), None);
    }

    #[test]
    fn a_name_is_foreign_even_with_a_right_checksum_where_a_part_is_none() {
        let of = |change: &dyn Fn(&mut Marker)| {
            let mut marker = marker();
            change(&mut marker);
            marker.to_string().parse::<Marker>()
        };
        assert!(of(&|_| ()).is_ok());
        assert!(of(&|marker| marker.scenario = String::new()).is_err());
        assert!(of(&|marker| marker.scenario = "a]b".into()).is_err());
        assert!(of(&|marker| marker.scenario = "Spinlock".into()).is_err());
        assert!(of(&|marker| marker.owner.host = "0a1b".into()).is_err());
        assert!(of(&|marker| marker.owner.boot = "nonsense".into()).is_err());
    }

    #[test]
    fn this_process_is_alive_and_another_start_is_not() {
        let here = Owner::this_process();
        assert!(here.is_running());
        assert!(!Owner { start_ticks: here.start_ticks + 1, ..here }.is_running());
    }

    #[test]
    fn death_is_judged_by_host_boot_process_and_deadline() {
        let here = Owner::this_process();
        let of = |owner: Owner| Marker { owner, ..marker() };
        let deadline = marker().deadline_unix;
        assert!(!of(here.clone()).is_dead(&here, deadline + 9999));
        assert!(of(Owner { start_ticks: here.start_ticks + 1, ..here.clone() }).is_dead(&here, 0));
        assert!(of(Owner { boot: "00000000".into(), ..here.clone() }).is_dead(&here, 0));
        let elsewhere = of(Owner { host: "00000000".into(), ..here.clone() });
        assert!(!elsewhere.is_dead(&here, deadline + 60));
        assert!(elsewhere.is_dead(&here, deadline + 61));
    }

    proptest! {
        #[test]
        fn a_changed_name_is_foreign(at in 0_usize..128, byte in b'!'..=b'~') {
            let name = marker().to_string();
            let mut changed = name.clone().into_bytes();
            let at = at % changed.len();
            prop_assume!(changed[at] != byte);
            changed[at] = byte;
            let changed = String::from_utf8(changed).unwrap();
            prop_assert!(changed.parse::<Marker>().is_err());
            prop_assert!(name.get(..at).unwrap().parse::<Marker>().is_err());
        }

        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,140}") {
            prop_assert!(text.parse::<Marker>().is_err());
        }
    }
}
