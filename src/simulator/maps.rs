//! Owns the Extended Events maps of a version: which key stands for which text.

use crate::simulator::versions::{Anchor, VersionData};
use crate::simulator::workload::{spinlocks, wait_types};

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

/// All maps of a version.
pub fn maps(version: &VersionData) -> Vec<Map> {
    let of = version.version;
    let map = |package, name, values| Map { package, name, values };
    vec![
        map("sqlos", "wait_types", keyed(wait_types::of_version(of).map(|wait| wait.map_text), version.wait_type_keys)),
        map("sqlos", "spinlock_types", keyed(spinlocks::of_version(of).map(|lock| lock.name), version.spinlock_keys)),
        map(
            "sqlserver",
            "latch_class",
            keyed(spinlocks::latch_classes().iter().map(|class| class.map_text), version.latch_class_keys),
        ),
        map("sqlserver", "latch_mode", counted(&["NL", "KP", "SH", "UP", "EX", "DT"])),
        map("sqlos", "event_opcode", counted(&["Begin", "End"])),
    ]
}

/// A map by its name.
pub fn map(version: &VersionData, name: &str) -> Option<Map> {
    maps(version).into_iter().find(|map| map.name == name)
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

/// Keys run up by one from anchor to anchor. An anchor is known by the wait type's own name, which `texts` may replace.
fn keyed(texts: impl Iterator<Item = &'static str>, anchors: &[Anchor]) -> Vec<(u32, &'static str)> {
    let mut next = 0;
    texts
        .map(|text| {
            next = anchors.iter().find(|(name, _)| *name == text).map_or(next, |(_, key)| *key);
            next += 1;
            (next - 1, text)
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
        let versions = [ServerVersion::V2017, ServerVersion::V2019, ServerVersion::V2022];
        let mut yields = BTreeSet::new();
        for version in versions {
            for map in maps(data(version)) {
                let keys: BTreeSet<_> = map.values.iter().map(|(key, _)| key).collect();
                assert_eq!(keys.len(), map.values.len(), "{version} {}", map.name);
            }
            yields.insert(map(data(version), "wait_types").unwrap().key("SOS_SCHEDULER_YIELD"));
        }
        assert_eq!(yields.len(), versions.len());
    }

    #[test]
    fn published_keys_of_2017_hold() {
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
