//! Owns spreading work over threads.

use std::thread;

/// `work` on every item, in order, on up to `threads` threads. The result does not depend on their number; where the
/// system gives no thread, the caller's does the work.
pub(super) fn map<T: Sync, U: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let chunk = items.len().div_ceil(threads.max(1)).max(1);
    let on_chunk = |chunk: &[T]| chunk.iter().map(&work).collect::<Vec<U>>();
    if threads <= 1 || items.len() <= 1 {
        return on_chunk(items);
    }
    thread::scope(|scope| {
        let running: Vec<_> = items
            .chunks(chunk)
            .map(|part| (part, thread::Builder::new().spawn_scoped(scope, || on_chunk(part)).ok()))
            .collect();
        running
            .into_iter()
            .flat_map(|(part, thread)| match thread.map(thread::ScopedJoinHandle::join) {
                Some(Ok(done)) => done,
                Some(Err(_)) | None => on_chunk(part),
            })
            .collect()
    })
}
