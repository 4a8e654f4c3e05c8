//! Owns the switches that tell one place from another: what differs between servers of one version.

/// Names and what each takes.
pub(super) const PLACES: [(&str, &str); 3] =
    [("tier", "basic or pool"), ("max-duration", "absent"), ("catalogue", "hidden")];

/// The service objective of an Azure SQL Database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tier {
    /// A single database that has what it needs for itself.
    #[default]
    Single,
    /// Basic, S0 or S1: the server's state is for administrators and ##MS_ServerStateReader## (documented).
    Basic,
    /// In an elastic pool, where that holds too.
    Pool,
}

/// One such switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// `tier=basic|pool`.
    Tier(Tier),
    /// `max-duration=absent`: neither the option nor its column, whatever the version.
    MaxDurationAbsent,
    /// `catalogue=hidden`: the catalogue of event sessions shows none.
    CatalogueHidden,
}

impl Place {
    /// By name and value; `None` for a name that is none of a place, or a value that it does not take.
    pub(super) fn parse(name: &str, value: &str) -> Option<Self> {
        Some(match (name, value) {
            ("tier", "basic") => Self::Tier(Tier::Basic),
            ("tier", "pool") => Self::Tier(Tier::Pool),
            ("max-duration", "absent") => Self::MaxDurationAbsent,
            ("catalogue", "hidden") => Self::CatalogueHidden,
            _ => return None,
        })
    }
}

/// What they set.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The service objective; without meaning but on Azure SQL Database.
    pub tier: Tier,
    /// Whether MAX_DURATION is not known.
    pub max_duration_absent: bool,
    /// Whether the catalogue of event sessions shows none.
    pub catalogue_hidden: bool,
}

impl Places {
    /// Sets what a switch says; a later one wins.
    pub(super) fn set(&mut self, place: &Place) {
        match place {
            Place::Tier(tier) => self.tier = *tier,
            Place::MaxDurationAbsent => self.max_duration_absent = true,
            Place::CatalogueHidden => self.catalogue_hidden = true,
        }
    }
}
