//! Owns the names of the SQL Server versions that xestack tells apart.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A major version of the product. Ordered by age; the Azure services come last because they carry the newest features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ServerVersion {
    #[serde(rename = "2008R2")]
    V2008R2,
    #[serde(rename = "2012")]
    V2012,
    #[serde(rename = "2014")]
    V2014,
    #[serde(rename = "2016")]
    V2016,
    #[serde(rename = "2017")]
    V2017,
    #[serde(rename = "2019")]
    V2019,
    #[serde(rename = "2022")]
    V2022,
    #[serde(rename = "2025")]
    V2025,
    #[serde(rename = "azure-mi")]
    AzureMi,
    #[serde(rename = "azure-db")]
    AzureDb,
}

/// Text that names no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown SQL Server version `{text}`: use one of {}, or a number such as 15.0", ServerVersion::names())]
pub struct UnknownVersion {
    /// What was given.
    pub text: String,
}

const NAMES: [(ServerVersion, &str); 10] = [
    (ServerVersion::V2008R2, "2008R2"),
    (ServerVersion::V2012, "2012"),
    (ServerVersion::V2014, "2014"),
    (ServerVersion::V2016, "2016"),
    (ServerVersion::V2017, "2017"),
    (ServerVersion::V2019, "2019"),
    (ServerVersion::V2022, "2022"),
    (ServerVersion::V2025, "2025"),
    (ServerVersion::AzureMi, "azure-mi"),
    (ServerVersion::AzureDb, "azure-db"),
];

impl ServerVersion {
    /// All names, oldest first, separated by commas.
    pub fn names() -> String {
        NAMES.map(|(_, name)| name).join(", ")
    }

    /// The version that a product version such as `15.0.4198.2` and an engine edition belong to.
    /// Engine edition 5 is Azure SQL Database, 8 Azure SQL Managed Instance, 12 SQL database in Microsoft Fabric; 6, 7 and
    /// 11 are services without event sessions that answer with version numbers of SQL Server (SERVERPROPERTY
    /// documentation).
    pub fn from_product(product_version: &str, engine_edition: i64) -> Option<Self> {
        match engine_edition {
            5 | 12 => return Some(Self::AzureDb),
            8 => return Some(Self::AzureMi),
            6 | 7 | 11 => return None,
            _ => {}
        }
        let mut numbers = product_version.split('.').map(|part| part.parse::<u32>().ok());
        let major = numbers.next()??;
        let minor = numbers.next().flatten();
        match (major, minor) {
            (10, Some(50)) => Some(Self::V2008R2),
            (11, _) => Some(Self::V2012),
            (12, _) => Some(Self::V2014),
            (13, _) => Some(Self::V2016),
            (14, _) => Some(Self::V2017),
            (15, _) => Some(Self::V2019),
            (16, _) => Some(Self::V2022),
            (17, _) => Some(Self::V2025),
            _ => None,
        }
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(version, _)| version == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for ServerVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let trimmed = text.trim();
        NAMES
            .iter()
            .find(|(_, name)| name.eq_ignore_ascii_case(trimmed))
            .map(|(version, _)| *version)
            .or_else(|| Self::from_product(trimmed, 0))
            .ok_or_else(|| UnknownVersion { text: trimmed.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::ServerVersion;

    #[test]
    fn names_and_numbers_are_understood() {
        for (text, version) in [
            ("2019", ServerVersion::V2019),
            ("15.0", ServerVersion::V2019),
            ("15.0.4198.2", ServerVersion::V2019),
            ("10.50", ServerVersion::V2008R2),
            ("2008r2", ServerVersion::V2008R2),
            ("AZURE-DB", ServerVersion::AzureDb),
        ] {
            assert_eq!(text.parse::<ServerVersion>().ok(), Some(version), "{text}");
        }
        for wrong in ["", "2018", "10.0", "x", "9.0"] {
            assert!(wrong.parse::<ServerVersion>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_engine_edition_decides_before_the_number() {
        for (number, edition, version) in [
            ("12.0.2000.8", 5, Some(ServerVersion::AzureDb)),
            ("12.0.2000.8", 12, Some(ServerVersion::AzureDb)),
            ("12.0.2000.8", 8, Some(ServerVersion::AzureMi)),
            ("12.0.2000.8", 6, None),
            ("12.0.2000.8", 11, None),
            ("12.0.6174.8", 3, Some(ServerVersion::V2014)),
            ("15.0.2000.1574", 9, Some(ServerVersion::V2019)),
        ] {
            assert_eq!(ServerVersion::from_product(number, edition), version, "{number}, edition {edition}");
        }
    }
}
