//! Owns the switches that tell one place from another: what differs between servers of one version.

use crate::simulator::collation::Collation;
use crate::simulator::language::Language;
use crate::simulator::views;

/// Names and what each takes.
pub(super) const PLACES: [(&str, &str); 15] = [
    ("host", "linux or rds"),
    ("edition", "express or web"),
    ("collation", "SQL_Latin1_General_CP1_CI_AS, Latin1_General_CS_AS, Latin1_General_BIN2 or Turkish_100_CI_AS"),
    ("language", "us_english, German, French or Turkish"),
    ("tier", "basic or pool"),
    ("dialect", "other or refusing"),
    ("max-duration", "absent"),
    ("catalogue", "hidden"),
    ("odd-rows", "no value"),
    ("backoffs", "int or bigint"),
    ("databases", "a number of databases up to 32000"),
    ("duplicate-names", "no value"),
    ("huge-counters", "no value"),
    ("missing-view", "the name of a view"),
    ("missing-column", "the name of a view, a dot, and that of one of its columns"),
];

/// The most that `databases` adds: an instance has at most 32,767 (documented).
const MOST_DATABASES: u32 = 32_000;

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

/// The edition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Edition {
    #[default]
    Developer,
    Express,
    Web,
}

/// An endpoint that speaks TDS and is not SQL Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherDialect {
    /// Knows no system view, and answers NULL to SERVERPROPERTY.
    KnowsNothing,
    /// Refuses every statement.
    RefusesAll,
}

/// One such switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// `host=linux`.
    Linux,
    /// `host=rds`: no login is in sysadmin or has CONTROL SERVER.
    Rds,
    /// `edition=express|web`: event sessions are refused as Amazon RDS does for these editions.
    Edition(Edition),
    /// `collation=NAME`.
    Collation(Collation),
    /// `language=NAME`.
    Language(Language),
    /// `tier=basic|pool`.
    Tier(Tier),
    /// `dialect=other|refusing`.
    Dialect(OtherDialect),
    /// `max-duration=absent`: neither the option nor its column, whatever the version.
    MaxDurationAbsent,
    /// `catalogue=hidden`: the catalogue of event sessions shows none.
    CatalogueHidden,
    /// `odd-rows`: a name twice, NULL in counters, a wait type that no list has.
    OddRows,
    /// `backoffs=int|bigint`: the type of that column, whatever the version; `true`: bigint.
    Backoffs(bool),
    /// `databases=N`: N user databases more.
    Databases(u32),
    /// `duplicate-names`: a logical file name twice in a database, and a database's name in both cases.
    DuplicateNames,
    /// `huge-counters`: waits and files have counted nearly 2^63 before the load.
    HugeCounters,
    /// `missing-view=VIEW`.
    MissingView(String),
    /// `missing-column=VIEW.COLUMN`.
    MissingColumn(String, String),
}

impl Place {
    /// By name and value; `None` for a name that is none of a place, or a value that it does not take.
    pub(super) fn parse(name: &str, value: &str) -> Option<Self> {
        Some(match (name, value) {
            ("host", "linux") => Self::Linux,
            ("host", "rds") => Self::Rds,
            ("edition", "express") => Self::Edition(Edition::Express),
            ("edition", "web") => Self::Edition(Edition::Web),
            ("collation", name) => Self::Collation(Collation::of_server(name)?),
            ("language", name) => Self::Language(Language::named(name)?),
            ("tier", "basic") => Self::Tier(Tier::Basic),
            ("tier", "pool") => Self::Tier(Tier::Pool),
            ("dialect", "other") => Self::Dialect(OtherDialect::KnowsNothing),
            ("dialect", "refusing") => Self::Dialect(OtherDialect::RefusesAll),
            ("max-duration", "absent") => Self::MaxDurationAbsent,
            ("catalogue", "hidden") => Self::CatalogueHidden,
            ("odd-rows", "") => Self::OddRows,
            ("backoffs", "int") => Self::Backoffs(false),
            ("backoffs", "bigint") => Self::Backoffs(true),
            ("databases", number) => Self::Databases(number.parse().ok().filter(|number| *number <= MOST_DATABASES)?),
            ("duplicate-names", "") => Self::DuplicateNames,
            ("huge-counters", "") => Self::HugeCounters,
            ("missing-view", view) => Self::MissingView(known_view(view)?),
            ("missing-column", column) => {
                let (view, column) = column.rsplit_once('.')?;
                let view = known_view(view)?;
                if !views::schema::has_column(&view, column) {
                    return None;
                }
                Self::MissingColumn(view, column.to_owned())
            }
            _ => return None,
        })
    }
}

/// A view's name, with or without `sys.`.
fn known_view(name: &str) -> Option<String> {
    let name = name.strip_prefix("sys.").unwrap_or(name);
    views::names().find(|known| *known == name).map(str::to_owned)
}

/// What they set.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Whether the server runs on Linux; versions before 2017 do not.
    pub linux: bool,
    /// Whether no login is in sysadmin or has CONTROL SERVER.
    pub rds: bool,
    /// The edition; without meaning on Azure.
    pub edition: Edition,
    /// The server's collation.
    pub collation: Collation,
    /// Its language.
    pub language: Language,
    /// The service objective; without meaning but on Azure SQL Database.
    pub tier: Tier,
    /// What it is instead of SQL Server.
    pub dialect: Option<OtherDialect>,
    /// Whether MAX_DURATION is not known.
    pub max_duration_absent: bool,
    /// Whether the catalogue of event sessions shows none.
    pub catalogue_hidden: bool,
    /// Whether some rows are odd.
    pub odd_rows: bool,
    /// Whether back-offs are bigint; `None`: as in the version.
    pub wide_backoffs: Option<bool>,
    /// User databases beside the workload's.
    pub databases: u32,
    /// Whether names of files and databases are there twice.
    pub duplicate_names: bool,
    /// Whether waits and files have counted nearly 2^63 before the load.
    pub huge_counters: bool,
    missing_views: Vec<String>,
    missing_columns: Vec<(String, String)>,
}

impl Places {
    /// Sets what a switch says; a later one wins.
    pub(super) fn set(&mut self, place: &Place) {
        match place {
            Place::Linux => self.linux = true,
            Place::Rds => self.rds = true,
            Place::Edition(edition) => self.edition = *edition,
            Place::Collation(collation) => self.collation = *collation,
            Place::Language(language) => self.language = *language,
            Place::Tier(tier) => self.tier = *tier,
            Place::Dialect(dialect) => self.dialect = Some(*dialect),
            Place::MaxDurationAbsent => self.max_duration_absent = true,
            Place::CatalogueHidden => self.catalogue_hidden = true,
            Place::OddRows => self.odd_rows = true,
            Place::Backoffs(wide) => self.wide_backoffs = Some(*wide),
            Place::Databases(number) => self.databases = *number,
            Place::DuplicateNames => self.duplicate_names = true,
            Place::HugeCounters => self.huge_counters = true,
            Place::MissingView(view) => self.missing_views.push(view.clone()),
            Place::MissingColumn(view, column) => self.missing_columns.push((view.clone(), column.clone())),
        }
    }

    /// Whether a view is there as far as the switches go.
    pub fn has_view(&self, view: &str) -> bool {
        self.dialect.is_none() && !self.missing_views.iter().any(|missing| missing == view)
    }

    /// Whether a column is.
    pub fn has_column(&self, view: &str, column: &str) -> bool {
        let is_missing = self.missing_columns.iter().any(|(of, missing)| of == view && missing == column);
        !(is_missing || self.max_duration_absent && column == "max_duration")
    }
}
