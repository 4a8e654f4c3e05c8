//! Owns the Extended Events maps of a version: which key stands for which text.

use crate::simulator::versions::{Anchor, VersionData};
use crate::simulator::workload::{spinlocks, wait_types};
use std::collections::BTreeSet;

/// A map of the package it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    /// `sqlos` or `sqlserver` or `package0`.
    pub package: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Keys and texts.
    pub values: Vec<(u32, &'static str)>,
}

/// Packages and names of all maps.
const MAPS: [(&str, &str); 5] = [
    ("sqlos", "wait_types"),
    ("sqlos", "spinlock_types"),
    ("sqlserver", "latch_class"),
    ("sqlserver", "latch_mode"),
    ("sqlos", "event_opcode"),
];

/// All maps of a version.
pub fn maps(version: &VersionData) -> Vec<Map> {
    MAPS.iter().filter_map(|(_, name)| map(version, name)).collect()
}

/// A map by its name.
pub fn map(version: &VersionData, name: &str) -> Option<Map> {
    let (package, name) = MAPS.iter().copied().find(|(_, known)| *known == name)?;
    let of = version.version;
    let values = match name {
        "wait_types" => keyed(wait_types::of_version(of).map(|wait| wait.map_text), version.wait_type_keys),
        "spinlock_types" => keyed(spinlocks::of_version(of).map(|lock| lock.name), version.spinlock_keys),
        "latch_class" => keyed(spinlocks::latch_classes().iter().map(|class| class.map_text), version.latch_class_keys),
        "latch_mode" => counted(&["NL", "KP", "SH", "UP", "EX", "DT"]),
        _ => counted(&["Begin", "End"]),
    };
    Some(Map { package, name, values })
}

impl Map {
    /// The key of a text, which is compared without regard to case.
    pub fn key(&self, text: &str) -> Option<u32> {
        self.values.iter().find(|(_, known)| known.eq_ignore_ascii_case(text)).map(|(key, _)| *key)
    }

    /// The text of a key.
    pub fn text(&self, key: u64) -> Option<&'static str> {
        self.values.iter().find(|(known, _)| u64::from(*known) == key).map(|(_, text)| *text)
    }
}

/// Keys run up by one from anchor to anchor and pass over those that are taken. An anchor is known by the wait type's
/// own name, which `texts` may replace.
fn keyed(texts: impl Iterator<Item = &'static str>, anchors: &[Anchor]) -> Vec<(u32, &'static str)> {
    let mut taken: BTreeSet<u32> = anchors.iter().map(|(_, key)| *key).collect();
    let mut next = 0;
    texts
        .map(|text| {
            let anchored = anchors.iter().find(|(name, _)| *name == text).map(|(_, key)| *key);
            let key = anchored.unwrap_or_else(|| (next..=u32::MAX).find(|key| !taken.contains(key)).unwrap_or(next));
            taken.insert(key);
            next = key + 1;
            (key, text)
        })
        .collect()
}

fn counted(texts: &[&'static str]) -> Vec<(u32, &'static str)> {
    (0..).zip(texts.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::{map, maps};
    use crate::model::ServerVersion;
    use crate::simulator::versions::VersionData;
    use std::collections::BTreeSet;

    fn data(version: ServerVersion) -> &'static VersionData {
        VersionData::of(version).unwrap()
    }

    #[test]
    fn keys_are_unique_in_every_map_and_differ_between_versions() {
        let mut keys_of = [BTreeSet::new(), BTreeSet::new()];
        for version in VersionData::all() {
            for map in maps(version) {
                let keys: BTreeSet<_> = map.values.iter().map(|(key, _)| key).collect();
                assert_eq!(keys.len(), map.values.len(), "{} {}", version.product, map.name);
            }
            let texts = [("wait_types", "SOS_SCHEDULER_YIELD"), ("spinlock_types", "LOCK_HASH")];
            for (keys, (name, text)) in keys_of.iter_mut().zip(texts) {
                keys.insert(map(version, name).unwrap().key(text).unwrap());
            }
        }
        // 2012 and 2014, and 2016 and 2017, have the same published key for yields.
        assert_eq!(keys_of.map(|keys| keys.len()), [8, 10]);
    }

    #[test]
    fn published_keys_hold() {
        for (version, name, text, key) in [
            (ServerVersion::V2008R2, "wait_types", "LCK_M_IX", 8),
            (ServerVersion::V2008R2, "wait_types", "SOS_SCHEDULER_YIELD", 120),
            (ServerVersion::V2008R2, "wait_types", "SOS_WORKER", 113),
            (ServerVersion::V2008R2, "wait_types", "FCB_REPLICA_WRITE", 175),
            (ServerVersion::V2008R2, "wait_types", "WRITELOG", 178),
            (ServerVersion::V2008R2, "wait_types", "CXPACKET", 187),
            (ServerVersion::V2008R2, "wait_types", "PREEMPTIVE_OS_WRITEFILE", 465),
            (ServerVersion::V2008R2, "spinlock_types", "MUTEX", 8),
            (ServerVersion::V2008R2, "spinlock_types", "LOCK_HASH", 61),
            (ServerVersion::V2008R2, "spinlock_types", "SOS_CACHESTORE", 144),
            (ServerVersion::V2008R2, "latch_class", "METADATA_CLONE_ACCESS_TICKET", 145),
            (ServerVersion::V2012, "wait_types", "SOS_SCHEDULER_YIELD", 124),
            (ServerVersion::V2012, "wait_types", "FCB_REPLICA_WRITE", 179),
            (ServerVersion::V2012, "wait_types", "PREEMPTIVE_OS_WRITEFILE", 513),
            (ServerVersion::V2014, "wait_types", "SOS_SCHEDULER_YIELD", 124),
            (ServerVersion::V2014, "wait_types", "PREEMPTIVE_OS_FILEOPS", 506),
            (ServerVersion::V2014, "wait_types", "PREEMPTIVE_OS_WRITEFILE", 529),
            (ServerVersion::V2014, "wait_types", "PREEMPTIVE_XE_TARGETFINALIZE", 607),
            (ServerVersion::V2014, "latch_class", "METADATA_CLONE_ACCESS_TICKET", 142),
            (ServerVersion::V2016, "wait_types", "SOS_SCHEDULER_YIELD", 123),
            (ServerVersion::V2016, "spinlock_types", "LOCK_HASH", 151),
            (ServerVersion::V2019, "spinlock_types", "LOCK_HASH", 156),
            (ServerVersion::V2022, "spinlock_types", "LOCK_HASH", 187),
            (ServerVersion::V2025, "wait_types", "WAITFOR", 308),
        ] {
            assert_eq!(map(data(version), name).unwrap().key(text), Some(key), "{version} {text}");
        }
        let waits = map(data(ServerVersion::V2017), "wait_types").unwrap();
        for (text, key) in
            [("LCK_M_IX", 8), ("LATCH_EX", 36), ("PAGELATCH_SH", 50), ("NETWORK_IO", 99), ("SOS_SCHEDULER_YIELD", 123)]
        {
            assert_eq!(waits.key(text), Some(key), "{text}");
        }
        assert_eq!(waits.key("ASYNC_NETWORK_IO"), None);
        assert_eq!(waits.text(123), Some("SOS_SCHEDULER_YIELD"));
    }
}
