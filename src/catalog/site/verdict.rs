//! Owns the thresholds of a site's own scenarios.

use super::{Document, Fault};
use crate::catalog::sessions::Question;
use crate::catalog::verdicts::Settings;
use crate::catalog::{
    Catalog, FileLatencySettings, LatchSettings, LogWriteSettings, PageLatchSettings, SnapshotSettings,
    SpinlockSettings, WaitsSettings, YieldSettings,
};
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// The thresholds of one scenario, of the kind that its question has.
#[derive(Debug, Clone, PartialEq)]
pub enum SiteVerdict {
    /// Of scheduler yields.
    Yields(YieldSettings),
    /// Of spinlocks.
    Spinlock(SpinlockSettings),
    /// Of latches.
    Latch(LatchSettings),
    /// Of page latches.
    PageLatch(PageLatchSettings),
    /// Of log writes.
    LogWrite(LogWriteSettings),
    /// Of database snapshots.
    Snapshot(SnapshotSettings),
    /// Of files.
    FileLatency(FileLatencySettings),
    /// Of waits that only the site knows of.
    Waits(WaitsSettings),
}

/// Reads the thresholds of a question.
pub(super) fn read(document: &Document<'_>, question: Question, faults: &mut Vec<Fault>) -> Option<SiteVerdict> {
    match question {
        Question::Yields => {
            let sections = ["shares", "gates", "spins", "no_contention", "agreement"];
            settings(document, &sections, faults).map(SiteVerdict::Yields)
        }
        Question::Spinlock => {
            let sections = ["gates", "buckets", "no_contention", "observers"];
            settings(document, &sections, faults).map(SiteVerdict::Spinlock)
        }
        Question::Latch => settings(document, &["gates", "no_contention"], faults).map(SiteVerdict::Latch),
        Question::PageLatch => {
            settings(document, &["gates", "inserts", "no_contention"], faults).map(SiteVerdict::PageLatch)
        }
        Question::LogWrite => {
            settings(document, &["gates", "files_alone", "no_contention"], faults).map(SiteVerdict::LogWrite)
        }
        Question::Snapshot => {
            settings(document, &["gates", "frames", "no_contention"], faults).map(SiteVerdict::Snapshot)
        }
        Question::FileLatency => settings(document, &["gates"], faults).map(SiteVerdict::FileLatency),
        Question::Waits => {
            settings(document, &["share_of_wait_time", "events_per_second"], faults).map(SiteVerdict::Waits)
        }
        Question::Any => None,
    }
}

fn settings<S: Settings + DeserializeOwned>(
    document: &Document<'_>,
    sections: &[&str],
    faults: &mut Vec<Fault>,
) -> Option<S> {
    document.refuse_other_keys(sections, faults);
    let settings: S = document.read(sections, faults)?;
    let found = settings.faults();
    faults.extend(found.iter().map(|(path, message)| document.fault_at(path, message)));
    found.is_empty().then_some(settings)
}

impl Catalog {
    /// The catalogue with the thresholds of the first of these scenarios (joined with `+`) that has its own.
    pub fn settled_for(&self, scenarios: Option<&str>) -> Cow<'_, Self> {
        let names = scenarios.unwrap_or_default().split('+').map(str::trim);
        let own: Vec<(&str, &SiteVerdict)> =
            names.filter_map(|name| Some((name, self.site_verdicts.get(name)?))).collect();
        if own.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        // The first scenario's stand, so they are set last.
        for (scenario, verdict) in own.into_iter().rev() {
            match verdict {
                SiteVerdict::Yields(settings) => settled.sos_yield = settings.clone(),
                SiteVerdict::Spinlock(settings) => settled.spinlock = settings.clone(),
                SiteVerdict::Latch(settings) => settled.latch = settings.clone(),
                SiteVerdict::PageLatch(settings) => settled.page_latch = settings.clone(),
                SiteVerdict::LogWrite(settings) => settled.log_write = settings.clone(),
                SiteVerdict::Snapshot(settings) => settled.snapshot = settings.clone(),
                SiteVerdict::FileLatency(settings) => settled.file_latency = settings.clone(),
                SiteVerdict::Waits(settings) => {
                    settled.site_waits.insert(scenario.to_owned(), settings.clone());
                }
            }
        }
        Cow::Owned(settled)
    }
}
