//! Owns the journals on this machine: which are of runs on this server, which of others, and which are kept.

use crate::agent::journal::{self, Entry, Journal, Step};
use crate::agent::listing::Listing;
use crate::agent::run::{Marker, Owner, RunId};
use crate::model::{Problem, ServerIdentity, Severity};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How many journals of finished runs are kept.
const KEPT: usize = 100;

/// A run on another server whose journal shows that it did not end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// The run.
    pub run_id: RunId,
    /// Where, as it was connected to.
    pub server: String,
}

/// The journals of this machine.
#[derive(Default)]
pub(super) struct Journals {
    all: BTreeMap<RunId, Journal>,
    /// Those that cannot be read.
    pub problems: Vec<Problem>,
}

impl Journals {
    /// Reads all of them; a folder that is not there holds none.
    pub(super) fn read(state_dir: &Path) -> Self {
        let mut journals = Self::default();
        let Ok(files) = std::fs::read_dir(state_dir.join("journal")) else { return journals };
        for path in files.flatten().map(|file| file.path()) {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".jsonl"));
            let Some(run_id) = name.and_then(|name| name.parse::<RunId>().ok()) else { continue };
            match Journal::open(path.clone()) {
                Ok(journal) => {
                    journals.all.insert(run_id, journal);
                }
                Err(error) => {
                    let message = format!("the journal {} could not be read: {error}", path.display());
                    journals.problems.push(Problem::new("journal_unreadable", Severity::Info, message));
                }
            }
        }
        journals
    }

    /// Those of runs on this server that have not ended.
    pub(super) fn of_server(
        &self,
        address: &str,
        identity: &ServerIdentity,
        listing: &Listing,
    ) -> BTreeMap<RunId, Vec<Entry>> {
        let shown: Vec<RunId> = listing.markers().map(|marker| marker.run_id).collect();
        let is_here = |(run_id, journal): &(&RunId, &Journal)| {
            !journal::has_ended(journal.entries())
                && (shown.contains(run_id) || is_of_server(journal.entries(), address, &identity.name))
        };
        let here = self.all.iter().filter(is_here);
        here.map(|(run_id, journal)| (run_id.clone(), journal.entries().to_vec())).collect()
    }

    /// Those of runs on other servers that did not end and still owe something.
    pub(super) fn elsewhere(&self, here: &BTreeMap<RunId, Vec<Entry>>) -> Vec<Elsewhere> {
        let of_journal = |(run_id, journal): (&RunId, &Journal)| {
            let entries = journal.entries();
            let is_unfinished =
                is_owing(entries) && !here.contains_key(run_id) && !owners(entries).any(|owner| owner.is_running());
            let server = begin(entries).map(|(server, _)| server.to_owned())?;
            is_unfinished.then(|| Elsewhere { run_id: run_id.clone(), server })
        };
        self.all.iter().filter_map(of_journal).collect()
    }

    /// A journal to go on with.
    pub(super) fn take(&mut self, run_id: &RunId) -> Option<Journal> {
        self.all.remove(run_id)
    }

    /// Removes the journals of finished runs but the newest. One that owes something, or whose run may be alive, is kept.
    pub(super) fn prune(&self, here: &Owner) {
        let may_live = |entries: &[Entry]| owners(entries).any(|owner| owner.host != here.host || owner.is_running());
        let is_finished = |entries: &[Entry]| journal::has_ended(entries) || !is_owing(entries) && !may_live(entries);
        let finished = self.all.values().rev().filter(|journal| is_finished(journal.entries()));
        for journal in finished.skip(KEPT) {
            // Another process may have been faster.
            let _ignored = std::fs::remove_file(journal.path());
        }
    }
}

fn is_owing(entries: &[Entry]) -> bool {
    !journal::has_ended(entries) && journal::owed(entries) != journal::Owed::default()
}

fn begin(entries: &[Entry]) -> Option<(&str, Option<&str>)> {
    entries.iter().find_map(|entry| match &entry.step {
        Step::Begin { server, server_name, .. } => Some((server.as_str(), server_name.as_deref())),
        _ => None,
    })
}

fn owners(entries: &[Entry]) -> impl Iterator<Item = Owner> {
    let of_entry = |entry: &Entry| match &entry.step {
        Step::Begin { owner, .. } => owner.clone(),
        Step::CreateSession { session } => session.parse::<Marker>().ok().map(|marker| marker.owner),
        _ => None,
    };
    entries.iter().filter_map(of_entry).collect::<Vec<_>>().into_iter()
}

/// The address alone may lead to another server by now, and two servers can have one name: both must agree.
fn is_of_server(entries: &[Entry], address: &str, name: &str) -> bool {
    begin(entries).is_some_and(|(server, server_name)| {
        server == address && server_name.is_none_or(|server_name| name.is_empty() || server_name == name)
    })
}
