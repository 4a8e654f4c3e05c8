//! Kill points: a capture is ended at every statement it sends, in every way a run can end, and the server must be as it
//! was: event sessions, what runs, trace flags, locks. How many points that are is printed.
//!
//! A tenth of the points is run at a time; which, is given by `XESTACK_ROTATION` (0 to 9). `XESTACK_KILL_POINTS=all` runs
//! all of them.

mod in_process;
#[cfg(unix)]
mod process;
pub(crate) mod state;

/// Of a list, those whose turn it is.
fn whose_turn<T>(points: Vec<T>) -> Vec<T> {
    if std::env::var("XESTACK_KILL_POINTS").is_ok_and(|value| value == "all") {
        return points;
    }
    let rotation: usize = std::env::var("XESTACK_ROTATION").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    points.into_iter().enumerate().filter(|(n, _)| n % 10 == rotation % 10).map(|(_, point)| point).collect()
}
