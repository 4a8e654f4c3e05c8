//! Owns the server's collation: which names and texts are the same.

/// A collation. It decides what is equal and, but for binary ones, roughly what comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collation {
    /// SQL_Latin1_General_CP1_CI_AS, and any other without regard to case.
    #[default]
    CaseInsensitive,
    /// Latin1_General_CS_AS, and any other with regard to case.
    CaseSensitive,
    /// Latin1_General_BIN2, and any other binary one.
    Binary,
    /// Turkish_100_CI_AS: without regard to case, `i` and `I` being two letters.
    Turkish,
}

/// Those a server can have, by name.
const SERVERS: [(&str, Collation); 4] = [
    ("SQL_Latin1_General_CP1_CI_AS", Collation::CaseInsensitive),
    ("Latin1_General_CS_AS", Collation::CaseSensitive),
    ("Latin1_General_BIN2", Collation::Binary),
    ("Turkish_100_CI_AS", Collation::Turkish),
];

impl Collation {
    /// One that a server can have.
    pub fn of_server(name: &str) -> Option<Self> {
        SERVERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, collation)| *collation)
    }

    /// The name of a server's.
    pub fn name(self) -> &'static str {
        SERVERS.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// One that COLLATE names; `None` where the name is no collation's.
    pub fn named(name: &str) -> Option<Self> {
        let upper = name.to_ascii_uppercase();
        let parts: Vec<&str> = upper.split('_').collect();
        let has = |wanted: &[&str]| parts.iter().skip(1).any(|part| wanted.contains(part));
        if has(&["BIN", "BIN2"]) {
            Some(Self::Binary)
        } else if has(&["CS"]) {
            Some(Self::CaseSensitive)
        } else if has(&["CI"]) {
            Some(if parts.first() == Some(&"TURKISH") { Self::Turkish } else { Self::CaseInsensitive })
        } else {
            None
        }
    }

    /// Whether case counts.
    pub fn tells_case(self) -> bool {
        matches!(self, Self::CaseSensitive | Self::Binary)
    }

    /// What all characters that are the same become.
    pub fn fold(self, c: char) -> char {
        match (self, c) {
            (Self::CaseSensitive | Self::Binary, c) => c,
            (Self::Turkish, 'I') => 'ı',
            (Self::Turkish, 'İ') => 'i',
            (_, c) if c.is_ascii() => c.to_ascii_lowercase(),
            (_, c) => c.to_lowercase().next().unwrap_or(c),
        }
    }

    /// Whether two names are the same.
    pub fn same(self, left: &str, right: &str) -> bool {
        left.chars().map(|c| self.fold(c)).eq(right.chars().map(|c| self.fold(c)))
    }
}

#[cfg(test)]
mod tests {
    use super::Collation;

    #[test]
    fn names_are_the_same_as_the_collation_says() {
        for (collation, case, dotted) in [
            (Collation::CaseInsensitive, true, true),
            (Collation::CaseSensitive, false, false),
            (Collation::Binary, false, false),
            (Collation::Turkish, true, false),
        ] {
            assert_eq!(collation.same("WAITS", "waits"), dotted, "{collation:?}");
            assert_eq!(collation.same("NAME", "name"), case, "{collation:?}");
            assert_eq!(Collation::of_server(collation.name()), Some(collation));
        }
        assert!(Collation::Turkish.same("İi", "iİ") && Collation::Turkish.same("Iı", "ıI"));
        assert_eq!(Collation::named("Turkish_CI_AS"), Some(Collation::Turkish));
        assert_eq!(Collation::named("Latin1_General_BIN"), Some(Collation::Binary));
        assert_eq!(Collation::named("Latin1"), None);
    }
}
