//! Owns SERVERPROPERTY and `@@VERSION`.

use crate::model::ServerVersion;
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
    if !is_known(version, &name) {
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
        "edition" => text("Developer Edition (64-bit)"),
        "editionid" => Datum::Variant(SqlType::BigInt, Box::new(Datum::Int(-2_117_995_310))),
        "engineedition" if version.is_azure_database() => number(5),
        "engineedition" if version.is_azure() => number(8),
        "engineedition" => number(3),
        "servername" => text(&instance.server_name()),
        "machinename" => text(instance.machine_name()),
        "computernamephysicalnetbios" => text(instance.computer_name()),
        "collation" => text("SQL_Latin1_General_CP1_CI_AS"),
        "isclustered"
        | "ishadrenabled"
        | "issingleuser"
        | "isintegratedsecurityonly"
        | "isadvancedanalyticsinstalled"
        | "filestreamconfiguredlevel" => number(0),
        "isfulltextinstalled" | "isxtpsupported" => number(1),
        "lcid" => number(1_033),
        "processid" => number(4_212),
        "pathseparator" => text("\\"),
        "instancedefaultdatapath" | "instancedefaultlogpath" => text(&data_path(version)),
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

/// The default data folder.
pub fn data_path(version: &VersionData) -> String {
    format!(r"C:\Program Files\Microsoft SQL Server\{}.MSSQLSERVER\MSSQL\DATA\", version.folder)
}

/// `@@VERSION`; says that it is simulated.
pub fn version_text(version: &VersionData) -> String {
    if version.is_azure() {
        return format!("Microsoft SQL Azure (RTM) - {} (simulated by xestack)\n", version.product_version());
    }
    let update = version.update_level.map(|update| format!("-{update}")).unwrap_or_default();
    format!(
        "Microsoft SQL Server {} ({}{update}) - {} (X64) \n\tDeveloper Edition (64-bit) on {} (simulated by xestack)\n",
        version.product,
        version.level,
        version.product_version(),
        version.windows.text,
    )
}
