//! Owns what is to be undone on a server: a fold over the journals of this machine and what the server shows, nothing
//! else. Pure.

use crate::agent::journal::{self, Entry, Step};
use crate::agent::listing::Listing;
use crate::agent::run::{Life, Marker, Owner, RunId};
use crate::agent::undo::HandedOver;
use std::collections::{BTreeMap, BTreeSet};

/// What is known.
pub(super) struct View<'a> {
    /// The process that looks.
    pub here: &'a Owner,
    /// Whether a process of this machine runs.
    pub is_running: &'a dyn Fn(&Owner) -> bool,
    /// The server's clock, seconds since the epoch.
    pub server_unix: i64,
    /// Since when the server runs, by its own clock.
    pub server_started_unix: Option<i64>,
    /// `sqlserver_start_time_ms_ticks`.
    pub server_started: Option<i64>,
    /// A run to give up although it may live on another machine.
    pub force: Option<&'a RunId>,
    /// The server's event sessions.
    pub listing: &'a Listing,
    /// The journals of runs on this server.
    pub journals: &'a BTreeMap<RunId, Vec<Entry>>,
    /// The flags that are on globally; `None` where TRACESTATUS could not be read.
    pub flags_on: Option<&'a BTreeSet<u32>>,
}

/// A session of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundSession {
    /// Its name.
    pub name: String,
    /// Whether it runs, or may.
    pub running: bool,
    /// Whether the server shows it; a session that only the journal knows may be hidden, or gone.
    pub shown: bool,
}

/// A run and what of it is to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundRun {
    /// One of its markers.
    pub marker: Marker,
    /// Its scenarios.
    pub scenarios: BTreeSet<String>,
    /// How it stands.
    pub life: Life,
    /// Whether it is given up because the user says so.
    pub forced: bool,
    /// Its sessions.
    pub sessions: Vec<FoundSession>,
    /// Flags to turn off: on, or perhaps on.
    pub flags: Vec<u32>,
    /// Flags that a live run names too.
    pub handed_over: Vec<HandedOver>,
}

impl FoundRun {
    /// Whether what it left is to be undone.
    pub(super) fn is_dead(&self) -> bool {
        self.life.is_dead() || self.forced
    }

    /// Whether the server still shows anything of it that is to be undone.
    pub(super) fn is_owing(&self) -> bool {
        self.is_dead() && (self.sessions.iter().any(|session| session.shown) || !self.flags.is_empty())
    }
}

/// Every flag that a run names.
pub(super) fn named_flags(listing: &Listing, journals: &BTreeMap<RunId, Vec<Entry>>) -> BTreeSet<u32> {
    let of_journals = journals.values().flat_map(|entries| {
        let owed = journal::owed(entries);
        let named =
            owed.sessions.into_keys().filter_map(|name| name.parse().ok()).flat_map(|marker: Marker| marker.flags);
        named.chain(owed.flags).collect::<Vec<_>>()
    });
    listing.markers().flat_map(|marker| marker.flags).chain(of_journals).collect()
}

/// Every run of ours that the server shows or a journal owes something for, oldest first.
pub(super) fn fold(view: &View<'_>) -> Vec<FoundRun> {
    let mut runs: BTreeMap<RunId, FoundRun> = BTreeMap::new();
    for listed in &view.listing.0 {
        if let Ok(marker) = listed.name.parse::<Marker>() {
            let session = FoundSession { name: listed.name.clone(), running: listed.running, shown: true };
            add(&mut runs, view, marker, session);
        }
    }
    for entries in view.journals.values() {
        for (name, running) in journal::owed(entries).sessions {
            // Shown: the server knows better whether it runs. Like another one's name: the server might take it for that.
            let is_known = view.listing.holds(&name) || view.listing.holds_a_like(&name);
            if let (false, Ok(marker)) = (is_known, name.parse::<Marker>()) {
                add(&mut runs, view, marker, FoundSession { name, running, shown: false });
            }
        }
    }
    for run in runs.values_mut() {
        run.forced = view.force == Some(&run.marker.run_id) && run.life == Life::MayLive;
    }
    let live: Vec<Marker> = runs.values().filter(|run| !run.is_dead()).flat_map(all_markers).collect();
    for run in runs.values_mut().filter(|run| run.is_dead()) {
        settle_flags(run, view, &live);
    }
    runs.into_values().collect()
}

fn add(runs: &mut BTreeMap<RunId, FoundRun>, view: &View<'_>, marker: Marker, session: FoundSession) {
    let life = marker.life(view.here, view.server_unix, view.is_running);
    let scenario = marker.scenario.clone();
    let run = runs.entry(marker.run_id.clone()).or_insert_with(|| FoundRun {
        marker,
        scenarios: BTreeSet::new(),
        life,
        forced: false,
        sessions: Vec::new(),
        flags: Vec::new(),
        handed_over: Vec::new(),
    });
    // A run of which anything may live is left alone.
    if run.life.is_dead() && !life.is_dead() {
        run.life = life;
    }
    run.scenarios.insert(scenario);
    run.sessions.push(session);
}

fn all_markers(run: &FoundRun) -> Vec<Marker> {
    run.sessions.iter().filter_map(|session| session.name.parse().ok()).collect()
}

/// The flags in a dead run's markers, and those its journal owes; not those that a live run names, nor any that a restart
/// of the server has turned off.
fn settle_flags(run: &mut FoundRun, view: &View<'_>, live: &[Marker]) {
    let entries = view.journals.get(&run.marker.run_id).map(Vec::as_slice).unwrap_or_default();
    if has_restarted(&run.marker, entries, view) {
        return;
    }
    let named = all_markers(run).into_iter().flat_map(|marker| marker.flags);
    let named: BTreeSet<u32> = named.chain(journal::owed(entries).flags).collect();
    for flag in named.into_iter().filter(|flag| view.flags_on.is_none_or(|on| on.contains(flag))) {
        match live.iter().find(|marker| marker.flags.contains(&flag)) {
            Some(user) => run.handed_over.push(HandedOver { flag, to: user.run_id.clone() }),
            None => run.flags.push(flag),
        }
    }
}

/// Whether the server has been started anew since the run: its flags went with that, and one that is on is somebody's.
fn has_restarted(marker: &Marker, entries: &[Entry], view: &View<'_>) -> bool {
    let then = entries.iter().find_map(|entry| match &entry.step {
        Step::Begin { server_started, .. } => *server_started,
        _ => None,
    });
    match (then, view.server_started) {
        (Some(then), Some(now)) => then != now,
        _ => view.server_started_unix.is_some_and(|started| started > marker.deadline_unix),
    }
}

#[cfg(test)]
mod tests;
