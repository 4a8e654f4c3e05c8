//! Shares as intervals that hold the truth.

use super::support::{catalog, raw_stack, session, spin_stack, yield_stack, yields};
use proptest::prelude::*;
use xestack::{
    analyze::shares::Tally,
    model::{SessionEvidence, StackClass},
};

fn tally(session: &SessionEvidence, slots: &[(StackClass, u64)]) -> Tally {
    let mut tally = Tally::default();
    tally.add(session, slots, &catalog().sos_yield.shares);
    tally
}

fn share(tally: &Tally, class: StackClass) -> (f64, f64) {
    let shares = tally.shares(&catalog().sos_yield.shares);
    assert_eq!(shares.len(), 13, "every class is there");
    (shares[&class].low, shares[&class].high)
}

fn plain() -> SessionEvidence {
    session(yields(), vec![(1, yield_stack()), (1, spin_stack()), (1, raw_stack())])
}

fn close(actual: (f64, f64), low: f64, high: f64) {
    assert!((actual.0 - low).abs() < 1e-9 && (actual.1 - high).abs() < 1e-9, "{actual:?}, expected {low} to {high}");
}

const SLOTS: [(StackClass, u64); 3] =
    [(StackClass::CpuYield, 9_000), (StackClass::SpinlockBackoff, 400), (StackClass::Unresolved, 600)];

#[test]
fn unresolved_events_may_be_of_any_class() {
    let tally = tally(&plain(), &SLOTS);
    close(share(&tally, StackClass::CpuYield), 0.90, 0.96);
    close(share(&tally, StackClass::SpinlockBackoff), 0.04, 0.10);
    close(share(&tally, StackClass::Latch), 0.0, 0.06);
    close(share(&tally, StackClass::Unresolved), 0.06, 0.06);
}

#[test]
fn lost_events_and_events_without_a_slot_may_be_of_any_class() {
    let mut lossy = plain();
    lossy.dropped_events = Some(1_000);
    close(share(&tally(&lossy, &SLOTS), StackClass::CpuYield), 9_000.0 / 11_000.0, 10_600.0 / 11_000.0);

    let mut buffers = plain();
    buffers.dropped_buffers = Some(2);
    buffers.buffer_bytes = Some(64_000);
    close(share(&tally(&buffers, &SLOTS), StackClass::CpuYield), 0.75, 11_600.0 / 12_000.0);

    let mut overfull = plain();
    overfull.target.as_mut().unwrap().truncated = Some(2_000);
    close(share(&tally(&overfull, &SLOTS), StackClass::CpuYield), 0.75, 11_600.0 / 12_000.0);
}

#[test]
fn without_a_bound_nothing_is_proven() {
    let mut cut = plain();
    cut.target.as_mut().unwrap().cut = true;
    let mut unknown_loss = plain();
    unknown_loss.dropped_events = None;
    let mut unknown_buffers = plain();
    unknown_buffers.dropped_buffers = Some(1);
    unknown_buffers.buffer_bytes = None;
    let mut gone = plain();
    gone.target = None;
    for session in [cut, unknown_loss, unknown_buffers, gone] {
        close(share(&tally(&session, &SLOTS), StackClass::CpuYield), 0.0, 1.0);
    }
    let mut file = plain();
    file.live = false;
    file.dropped_events = None;
    close(share(&tally(&file, &SLOTS), StackClass::CpuYield), 0.90, 0.96);
}

#[test]
fn at_capacity_one_event_a_slot_is_proven() {
    let mut full = plain();
    full.target.as_mut().unwrap().buckets = Some(3);
    let tally = tally(&full, &SLOTS);
    close(share(&tally, StackClass::CpuYield), 0.000_1, 9_999.0 / 10_000.0);
    close(share(&tally, StackClass::SpinlockBackoff), 0.000_1, 9_999.0 / 10_000.0);
    let mut told = full.clone();
    told.target.as_mut().unwrap().truncated = Some(100);
    close(share(&super::intervals::tally(&told, &SLOTS), StackClass::CpuYield), 9_000.0 / 10_100.0, 9_700.0 / 10_100.0);
}

#[test]
fn few_events_widen() {
    let only = |count| share(&tally(&plain(), &[(StackClass::CpuYield, count)]), StackClass::CpuYield);
    close(only(1_000), 1.0, 1.0);
    assert!(only(999).0 < 0.998 && only(999).0 > 0.99, "{:?}", only(999));
    // The 95 % Wilson interval of 12 of 12.
    close(only(12), 12.0 / (12.0 + 1.96 * 1.96), 1.0);
    let spin = share(&tally(&plain(), &[(StackClass::CpuYield, 12)]), StackClass::SpinlockBackoff);
    close(spin, 0.0, 1.96 * 1.96 / (12.0 + 1.96 * 1.96));
    close(share(&tally(&plain(), &[]), StackClass::CpuYield), 0.0, 1.0);
}

fn sessions() -> impl Strategy<Value = (SessionEvidence, Vec<(StackClass, u64)>)> {
    let class = prop::sample::select(StackClass::ALL.to_vec());
    let count = prop_oneof![0..5_u64, 0..5_000_u64, Just(u64::MAX)];
    let slots = prop::collection::vec((class, count), 0..12);
    let loss = prop_oneof![Just(None), Just(Some(0)), (0..1_000_u64).prop_map(Some), Just(Some(u64::MAX))];
    (slots, loss.clone(), loss.clone(), loss.clone(), loss, any::<bool>(), any::<bool>()).prop_map(
        |(slots, dropped, buffers, bytes, truncated, live, full)| {
            let mut session = plain();
            session.dropped_events = dropped;
            session.dropped_buffers = buffers;
            session.buffer_bytes = bytes;
            session.live = live;
            let target = session.target.as_mut().unwrap();
            target.truncated = truncated;
            if full {
                target.buckets = Some(3);
            }
            (session, slots)
        },
    )
}

proptest! {
    #[test]
    fn intervals_are_intervals(sessions in prop::collection::vec(sessions(), 0..3)) {
        let settings = catalog().sos_yield.shares;
        let mut tally = Tally::default();
        for (session, slots) in &sessions {
            tally.add(session, slots, &settings);
        }
        let shares = tally.shares(&settings);
        for share in shares.values() {
            prop_assert!(0.0 <= share.low && share.low <= share.high && share.high <= 1.0, "{share:?}");
        }
        prop_assert!(shares.values().map(|share| share.low).sum::<f64>() <= 1.000_001);
        prop_assert!(tally.with_stack() == 0 || shares.values().map(|share| share.high).sum::<f64>() >= 0.999_999);
    }
}
