//! Owns the thresholds of a site's own scenarios.

use super::{Document, Fault};
use crate::catalog::sessions::Question;
use crate::catalog::{Catalog, Checked, SpinlockSettings, YieldSettings};
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// The thresholds of one scenario, of the kind that its question has.
#[derive(Debug, Clone, PartialEq)]
pub enum SiteVerdict {
    /// Of scheduler yields.
    Yields(YieldSettings),
    /// Of spinlocks.
    Spinlock(SpinlockSettings),
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
        _ => {
            faults.push(document.fault_at("", "scenarios of this question have no thresholds of their own"));
            None
        }
    }
}

fn settings<S: Checked + DeserializeOwned>(
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
        let own: Vec<&SiteVerdict> = names.filter_map(|name| self.site_verdicts.get(name)).collect();
        if own.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        // The first scenario's stand, so they are set last.
        for verdict in own.into_iter().rev() {
            match verdict {
                SiteVerdict::Yields(settings) => settled.sos_yield = settings.clone(),
                SiteVerdict::Spinlock(settings) => settled.spinlock = settings.clone(),
            }
        }
        Cow::Owned(settled)
    }
}
