//! Owns what faults do to the answer of a request or of a statement in it.

use crate::simulator::host::{CutAt, Disturbance, Session};
use crate::simulator::output::Step;
use crate::simulator::sql::session::SqlSession;
use std::time::Duration;

/// A stall without a time: longer than anyone waits.
const FOR_EVER: Duration = Duration::from_hours(24 * 365);

impl SqlSession {
    /// Takes what faults do to the request that begins; `true`: it does not run at all.
    pub(super) fn is_cut_before_it_runs(&mut self) -> bool {
        self.disturbances = self.host.disturbances(&self.context);
        let cut = self.disturbances.contains(&Disturbance::Cut(CutAt::Before));
        if cut {
            self.close();
        }
        cut
    }

    /// Does to the answer of the statement that has just run what faults ask for.
    pub(super) fn disturb_statement(&mut self) {
        let disturbances = self.host.disturbances(&self.context);
        self.disturb(&disturbances);
    }

    /// The next piece of the answer. While the request runs, an answer that is disturbed as a whole is held back; its
    /// pauses are not.
    pub(super) fn next_to_send(&mut self) -> Option<Step> {
        if !self.disturbances.is_empty() {
            if !self.frames.is_empty() {
                return self.outbox.pop_back_if(|last| matches!(last, Step::Wait(_)));
            }
            let disturbances = std::mem::take(&mut self.disturbances);
            self.disturb(&disturbances);
        }
        self.outbox.pop_front()
    }

    fn disturb(&mut self, disturbances: &[Disturbance]) {
        for disturbance in disturbances {
            let step = match disturbance {
                Disturbance::Cut(CutAt::Before | CutAt::After) => return self.close(),
                Disturbance::Cut(CutAt::MidRow) => Step::CloseInRow,
                Disturbance::Stall(time) => Step::Wait(time.unwrap_or(FOR_EVER)),
                Disturbance::Drip(bytes_per_second) => Step::Drip(*bytes_per_second),
            };
            self.outbox.push_front(step);
        }
    }

    fn close(&mut self) {
        self.cancel();
        self.outbox.push_back(Step::Close);
    }
}
