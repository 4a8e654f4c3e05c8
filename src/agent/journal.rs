//! Owns the record of what a run does to a server: the intent is on disk before the deed, the outcome after it, and what
//! is still owed follows from the entries alone.

use crate::agent::clock::Clock;
use crate::agent::run::{Owner, RunId};
use crate::model::UtcMicros;
use crate::store::private_file;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A change on the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The run begins; nothing is changed yet.
    Begin {
        /// Where.
        server: String,
        /// `@@SERVERNAME`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_name: Option<String>,
        /// `sqlserver_start_time_ms_ticks`: another number after a restart, with which global trace flags go.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_started: Option<i64>,
        /// The process at work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
        /// Trace flags that were on globally.
        flags_on_before: Vec<u32>,
    },
    /// CREATE EVENT SESSION.
    CreateSession {
        /// Its name.
        session: String,
    },
    /// STATE = START.
    StartSession {
        /// Its name.
        session: String,
    },
    /// DROP EVENT from the session.
    DropEvent {
        /// Its name.
        session: String,
    },
    /// Global TRACEON of these flags.
    TraceOn {
        /// Flags.
        flags: Vec<u32>,
    },
    /// Global TRACEOFF of these flags.
    TraceOff {
        /// Flags.
        flags: Vec<u32>,
    },
    /// STATE = STOP.
    StopSession {
        /// Its name.
        session: String,
    },
    /// DROP EVENT SESSION.
    DropSession {
        /// Its name.
        session: String,
    },
    /// The run is over and the server as before.
    End,
}

/// How far a step is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// About to be done; without an outcome after it, it may or may not have happened.
    Intended,
    /// Done.
    Done,
    /// Refused by the server: it did not happen.
    Refused {
        /// Message number.
        number: u32,
    },
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub utc: UtcMicros,
    /// What.
    #[serde(flatten)]
    pub step: Step,
    /// How far.
    #[serde(flatten)]
    pub state: State,
}

/// What of ours may still be on the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owed {
    /// Sessions that may exist, and whether each may run.
    pub sessions: BTreeMap<String, bool>,
    /// Flags that this run may have left on globally.
    pub flags: Vec<u32>,
}

/// What the entries leave to be undone. A step that was intended and has no outcome counts as done where that means work
/// for clean-up, and as not done where it would mean less.
pub fn owed(entries: &[Entry]) -> Owed {
    let mut owed = Owed::default();
    for Entry { step, state, .. } in entries {
        let may_have_happened = !matches!(state, State::Refused { .. });
        let happened = *state == State::Done;
        match step {
            Step::CreateSession { session } if may_have_happened => {
                owed.sessions.insert(session.clone(), false);
            }
            // A refused CREATE made nothing, and what has our name by chance is not ours.
            Step::CreateSession { session } => {
                owed.sessions.remove(session);
            }
            Step::StartSession { session } if may_have_happened => {
                owed.sessions.insert(session.clone(), true);
            }
            Step::TraceOn { flags } if may_have_happened => {
                let new: Vec<u32> = flags.iter().copied().filter(|flag| !owed.flags.contains(flag)).collect();
                owed.flags.extend(new);
            }
            Step::TraceOff { flags } if happened => owed.flags.retain(|flag| !flags.contains(flag)),
            Step::StopSession { session } if happened => {
                owed.sessions.insert(session.clone(), false);
            }
            Step::DropSession { session } if happened => {
                owed.sessions.remove(session);
            }
            _ => {}
        }
    }
    owed
}

/// Every session that a run created or may have created.
pub fn created(entries: &[Entry]) -> BTreeSet<String> {
    let of_entry = |entry: &Entry| match (&entry.step, &entry.state) {
        (Step::CreateSession { session }, State::Intended | State::Done) => Some(session.clone()),
        _ => None,
    };
    let mut created: BTreeSet<String> = entries.iter().filter_map(of_entry).collect();
    // Refused, and never made at another time.
    for entry in entries {
        if let (Step::CreateSession { session }, State::Refused { .. }) = (&entry.step, &entry.state)
            && !entries.iter().any(|other| other.step == entry.step && other.state == State::Done)
        {
            created.remove(session);
        }
    }
    created
}

/// Whether a run turned a flag on globally, or may have.
pub fn turned_on(entries: &[Entry], flag: u32) -> bool {
    entries.iter().any(|entry| {
        !matches!(entry.state, State::Refused { .. })
            && matches!(&entry.step, Step::TraceOn { flags } if flags.contains(&flag))
    })
}

/// Whether a run is over, and the server as before.
pub fn has_ended(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.step == Step::End)
}

/// A run's journal, in memory and on disk.
pub struct Journal {
    path: PathBuf,
    entries: Vec<Entry>,
    /// When each entry of this process was written, by the monotonic clock: the wall's may jump.
    moments: Vec<Duration>,
}

impl Journal {
    /// Makes the folder and the file; nothing may be changed on a server when this fails.
    pub fn create(state_dir: &Path, run_id: &RunId) -> io::Result<Self> {
        let folder = state_dir.join("journal");
        private_file::ensure_private_dir(state_dir)?;
        private_file::ensure_private_dir(&folder)?;
        Ok(Self { path: folder.join(format!("{run_id}.jsonl")), entries: Vec::new(), moments: Vec::new() })
    }

    /// A journal of an earlier run, to go on with. A line that was torn in the writing is read around: nothing was done
    /// after it, for a change is only made once its intent is on the disk.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let bytes = std::fs::read(&path)?;
        let lines = bytes.split(|byte| *byte == b'\n');
        let entries: Vec<Entry> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Ok(Self { path, entries, moments: Vec::new() })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes an entry and syncs it before it returns.
    pub fn write(&mut self, clock: &dyn Clock, step: Step, state: State) -> io::Result<()> {
        let entry = Entry { utc: clock.utc(), step, state };
        let line = serde_json::to_string(&entry).map_err(io::Error::other)?;
        // Counted as written even where the disk refuses: what is owed must not be forgotten.
        self.entries.push(entry);
        self.moments.push(clock.monotonic());
        private_file::append_synced(&self.path, &line)
    }

    /// What is still owed.
    pub fn owed(&self) -> Owed {
        owed(&self.entries)
    }

    /// Everything written so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Milliseconds for which this process had a flag on globally, from its first TRACEON to its last TRACEOFF.
    pub fn global_on_ms(&self, flag: u32) -> u64 {
        // Entries read from a file come first and have no moment.
        let written = || self.entries.iter().rev().zip(self.moments.iter().rev()).rev();
        let done = || written().filter(|(entry, _)| entry.state == State::Done);
        let on = done().find(|(entry, _)| matches!(&entry.step, Step::TraceOn { flags } if flags.contains(&flag)));
        let off = done().rfind(|(entry, _)| matches!(&entry.step, Step::TraceOff { flags } if flags.contains(&flag)));
        on.zip(off).map_or(0, |((_, on), (_, off))| off.saturating_sub(*on).as_millis() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Owed, State, Step, owed};
    use crate::model::UtcMicros;

    fn fold(steps: &[(Step, State)]) -> Owed {
        let entries: Vec<Entry> =
            steps.iter().cloned().map(|(step, state)| Entry { utc: UtcMicros(0), step, state }).collect();
        owed(&entries)
    }

    #[test]
    fn what_is_owed_follows_from_the_entries() {
        use State::{Done, Intended};
        use Step::{TraceOff, TraceOn};
        let name = || "xestack:1:a".to_owned();
        let create = || Step::CreateSession { session: name() };
        let start = || Step::StartSession { session: name() };
        let stop = || Step::StopSession { session: name() };
        let drop_it = || Step::DropSession { session: name() };
        let other = || Step::CreateSession { session: "xestack:1:b".to_owned() };
        let refused = || State::Refused { number: 25631 };
        let flags = || vec![3656, 2592];
        let nothing = Owed::default;
        let session = |running| Owed { sessions: [(name(), running)].into(), flags: vec![] };
        for (steps, expected) in [
            (vec![], nothing()),
            (vec![(create(), Intended)], session(false)),
            (vec![(create(), Intended), (create(), refused())], nothing()),
            (vec![(create(), Done), (start(), Intended)], session(true)),
            (vec![(create(), Done), (start(), Done), (stop(), Intended)], session(true)),
            (vec![(create(), Done), (start(), Done), (stop(), Done)], session(false)),
            (vec![(create(), Done), (drop_it(), Intended)], session(false)),
            (vec![(create(), Done), (start(), Done), (drop_it(), Done)], nothing()),
            (
                vec![
                    (create(), Done),
                    (start(), Done),
                    (other(), Done),
                    (Step::DropSession { session: "xestack:1:b".into() }, Done),
                ],
                session(true),
            ),
            (vec![(TraceOn { flags: flags() }, Intended)], Owed { flags: flags(), ..nothing() }),
            (vec![(TraceOn { flags: flags() }, refused())], nothing()),
            (
                vec![(TraceOn { flags: flags() }, Done), (TraceOff { flags: vec![2592] }, Done)],
                Owed { flags: vec![3656], ..nothing() },
            ),
            (
                vec![(TraceOn { flags: flags() }, Done), (TraceOff { flags: flags() }, Intended)],
                Owed { flags: flags(), ..nothing() },
            ),
        ] {
            assert_eq!(fold(&steps), expected, "{steps:?}");
        }
    }

    #[test]
    fn an_entry_reads_back() {
        let entry = Entry {
            utc: UtcMicros(1_796_067_092_000_000),
            step: Step::TraceOn { flags: vec![3656] },
            state: State::Refused { number: 2571 },
        };
        let line = serde_json::to_string(&entry).unwrap();
        assert_eq!(
            line,
            r#"{"utc":"2026-11-30T19:31:32.000000Z","step":"trace_on","flags":[3656],"state":"refused","number":2571}"#
        );
        assert_eq!(serde_json::from_str::<Entry>(&line).unwrap(), entry);
    }
}
