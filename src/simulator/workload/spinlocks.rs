//! Owns the spinlocks and latch classes of the simulated server: names, map texts and what they counted before.

use crate::model::ServerVersion;
use std::sync::OnceLock;

/// A spinlock of sys.dm_os_spinlock_stats; its name is also its text in the map `spinlock_types`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spinlock {
    /// Its name.
    pub name: &'static str,
    /// First version that has it; `None`: all.
    pub since: Option<ServerVersion>,
    /// Collisions, spins, sleep time and back-offs before the simulated time begins.
    pub base: [u64; 4],
}

/// A class of sys.dm_os_latch_stats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatchClass {
    /// Name in sys.dm_os_latch_stats.
    pub name: &'static str,
    /// Text in the map `latch_class`.
    pub map_text: &'static str,
    /// Requests, wait time and longest wait before the simulated time begins.
    pub base: [u64; 3],
}

/// All spinlocks, in the order of their map keys.
pub fn spinlocks() -> &'static [Spinlock] {
    static SPINLOCKS: OnceLock<Vec<Spinlock>> = OnceLock::new();
    SPINLOCKS.get_or_init(|| {
        lines(include_str!("spinlocks.txt"))
            .map(|(name, settings)| Spinlock {
                name,
                since: setting(settings, "since").and_then(|year| year.parse().ok()),
                base: setting(settings, "base").map_or([0; 4], numbers),
            })
            .collect()
    })
}

/// The spinlocks of a version.
pub fn of_version(version: ServerVersion) -> impl Iterator<Item = &'static Spinlock> {
    spinlocks().iter().filter(move |spinlock| spinlock.since.is_none_or(|since| since <= version))
}

/// All latch classes, in the order of their map keys.
pub fn latch_classes() -> &'static [LatchClass] {
    static CLASSES: OnceLock<Vec<LatchClass>> = OnceLock::new();
    CLASSES.get_or_init(|| {
        lines(include_str!("latch_classes.txt"))
            .map(|(name, settings)| LatchClass {
                name,
                map_text: setting(settings, "map").unwrap_or(name),
                base: setting(settings, "base").map_or([0; 3], numbers),
            })
            .collect()
    })
}

fn lines(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(' ').unwrap_or((line, "")))
}

fn setting(settings: &'static str, key: &str) -> Option<&'static str> {
    settings.split_whitespace().filter_map(|word| word.split_once('=')).find(|(name, _)| *name == key).map(|(_, v)| v)
}

fn numbers<const N: usize>(text: &str) -> [u64; N] {
    let mut values = [0; N];
    for (value, number) in values.iter_mut().zip(text.split(',')) {
        *value = number.parse().unwrap_or(0);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::{latch_classes, spinlocks};

    #[test]
    fn lists_are_read_whole() {
        assert!(spinlocks().len() > 70);
        let lock_hash = spinlocks().iter().find(|spinlock| spinlock.name == "LOCK_HASH").unwrap();
        assert_eq!(lock_hash.base, [88_213, 31_002_455, 12, 9_021]);
        let buffer = latch_classes().first().unwrap();
        assert_eq!((buffer.name, buffer.map_text, buffer.base), ("BUFFER", "BUF", [71_310, 98_221, 912]));
    }
}
