//! Owns SERVERPROPERTY and `@@VERSION`.

use crate::model::ServerVersion;
use crate::simulator::faults::places::Edition;
use crate::simulator::instance::Instance;
use crate::simulator::value::{Datum, SqlType};
use crate::simulator::versions::VersionData;

/// SERVERPROPERTY, a sql_variant; NULL for an unknown name.
pub fn server_property(instance: &Instance, name: &str) -> Datum {
    let version = instance.version_data();
    let (major, minor, build, _) = version.build;
    let text = |value: &str| {
        let length = u16::try_from(value.chars().count().max(1)).unwrap_or(u16::MAX);
        Datum::Variant(SqlType::NVarChar(Some(length)), Box::new(Datum::Text(value.to_owned())))
    };
    let number = |value: i64| Datum::Variant(SqlType::Int, Box::new(Datum::Int(value)));
    let name = name.trim().to_lowercase();
    let places = &instance.switches().places;
    if !is_known(version, &name) || places.dialect.is_some() {
        return Datum::Null;
    }
    match name.as_str() {
        "productversion" => text(&version.product_version()),
        "productmajorversion" => text(&major.to_string()),
        "productminorversion" => text(&minor.to_string()),
        "productbuild" => text(&build.to_string()),
        "productlevel" => text(version.level),
        "productupdatelevel" => version.update_level.map_or(Datum::Null, text),
        "productupdatetype" => version.update_level.map_or(Datum::Null, |_| text("CU")),
        "edition" if version.is_azure() => text("SQL Azure"),
        "edition" => text(edition(places.edition).0),
        "editionid" => Datum::Variant(SqlType::BigInt, Box::new(Datum::Int(-2_117_995_310))),
        "engineedition" if version.is_azure_database() => number(5),
        "engineedition" if version.is_azure() => number(8),
        "engineedition" => number(edition(places.edition).1),
        "servername" => text(&instance.server_name()),
        "machinename" => text(instance.machine_name()),
        "computernamephysicalnetbios" => text(instance.computer_name()),
        "collation" => text(places.collation.name()),
        "isclustered"
        | "ishadrenabled"
        | "issingleuser"
        | "isintegratedsecurityonly"
        | "isadvancedanalyticsinstalled"
        | "filestreamconfiguredlevel" => number(0),
        "isfulltextinstalled" | "isxtpsupported" => number(1),
        "lcid" => number(1_033),
        "processid" => number(4_212),
        "pathseparator" => text(if is_on_linux(instance) { "/" } else { "\\" }),
        "instancedefaultdatapath" | "instancedefaultlogpath" => text(&data_path(instance)),
        _ => Datum::Null,
    }
}

/// Whether a version knows a property that not every version has (SERVERPROPERTY documentation).
fn is_known(version: &VersionData, property: &str) -> bool {
    match property {
        "productmajorversion"
        | "productminorversion"
        | "productbuild"
        | "productupdatelevel"
        | "productupdatetype"
        | "instancedefaultdatapath"
        | "instancedefaultlogpath" => version.knows_product_parts,
        "ishadrenabled" => version.version >= ServerVersion::V2012,
        "isxtpsupported" => version.version >= ServerVersion::V2014,
        "isadvancedanalyticsinstalled" => version.version >= ServerVersion::V2016,
        _ => true,
    }
}

/// Name and engine edition (SERVERPROPERTY documentation).
fn edition(edition: Edition) -> (&'static str, i64) {
    match edition {
        Edition::Developer => ("Developer Edition (64-bit)", 3),
        Edition::Express => ("Express Edition (64-bit)", 4),
        Edition::Web => ("Web Edition (64-bit)", 2),
    }
}

/// Whether it runs on Linux, which no version before 2017 does (documented).
pub fn is_on_linux(instance: &Instance) -> bool {
    let version = instance.version_data();
    instance.switches().places.linux && version.version >= ServerVersion::V2017 && !version.is_azure()
}

/// The Linux it runs on then, as `@@VERSION` and sys.dm_os_host_info tell it: distribution and release.
pub const LINUX: (&str, &str) = ("Ubuntu", "22.04");

/// The default data folder.
pub fn data_path(instance: &Instance) -> String {
    if is_on_linux(instance) {
        return "/var/opt/mssql/data/".to_owned();
    }
    format!(r"C:\Program Files\Microsoft SQL Server\{}.MSSQLSERVER\MSSQL\DATA\", instance.version_data().folder)
}

/// `@@VERSION`; says that it is simulated.
pub fn version_text(instance: &Instance) -> String {
    let version = instance.version_data();
    let places = &instance.switches().places;
    if places.dialect.is_some() {
        return "Another server that speaks TDS 1.0 (simulated by xestack)".to_owned();
    }
    if version.is_azure() {
        return format!("Microsoft SQL Azure (RTM) - {} (simulated by xestack)\n", version.product_version());
    }
    let update = version.update_level.map(|update| format!("-{update}")).unwrap_or_default();
    let (distribution, release) = LINUX;
    let system = if is_on_linux(instance) {
        format!("Linux ({distribution} {release} LTS) <X64>")
    } else {
        version.windows.text.to_owned()
    };
    format!(
        "Microsoft SQL Server {} ({}{update}) - {} (X64) \n\t{} on {system} (simulated by xestack)\n",
        version.product,
        version.level,
        version.product_version(),
        edition(places.edition).0,
    )
}
