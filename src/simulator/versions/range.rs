//! Owns runs of versions: since when something exists, and until when.

use crate::model::ServerVersion;

/// A run of versions, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    first: ServerVersion,
    last: ServerVersion,
}

impl VersionRange {
    /// Every version.
    pub const ALL: Self = Self { first: ServerVersion::V2008R2, last: ServerVersion::AzureDb };

    /// From a version on.
    pub const fn since(first: ServerVersion) -> Self {
        Self { first, ..Self::ALL }
    }

    /// Up to a version.
    pub const fn until(last: ServerVersion) -> Self {
        Self { last, ..Self::ALL }
    }

    /// From one version to another.
    pub const fn between(first: ServerVersion, last: ServerVersion) -> Self {
        Self { first, last }
    }

    /// Whether a version is one of them.
    pub fn contains(self, version: ServerVersion) -> bool {
        self.first <= version && version <= self.last
    }

    /// The versions that are in both; `None` for none.
    pub fn within(self, other: Self) -> Option<Self> {
        let both = Self { first: self.first.max(other.first), last: self.last.min(other.last) };
        (both.first <= both.last).then_some(both)
    }

    /// Reads `2016..`, `..2017`, `2012..2014`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once("..")?;
        let end = |name: &str, open: ServerVersion| if name.is_empty() { Some(open) } else { name.parse().ok() };
        Some(Self { first: end(first, Self::ALL.first)?, last: end(last, Self::ALL.last)? })
    }
}

#[cfg(test)]
mod tests {
    use super::VersionRange;
    use crate::model::ServerVersion;

    #[test]
    fn ranges_are_read_and_hold_their_ends() {
        let versions = [ServerVersion::V2008R2, ServerVersion::V2014, ServerVersion::V2016, ServerVersion::V2025];
        for (text, inside) in [
            ("2014..", [false, true, true, true]),
            ("..2014", [true, true, false, false]),
            ("2014..2016", [false, true, true, false]),
            ("..", [true; 4]),
        ] {
            let range = VersionRange::parse(text).unwrap();
            assert_eq!(versions.map(|version| range.contains(version)), inside, "{text}");
        }
        for wrong in ["2014", "2013..", "..x", ""] {
            assert_eq!(VersionRange::parse(wrong), None, "{wrong}");
        }
    }
}
