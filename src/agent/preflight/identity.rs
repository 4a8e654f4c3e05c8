//! Owns who the server is: product, version, place, and the start that its counters count from.

use crate::agent::server::Server;
use crate::agent::{CaptureError, Refusal};
use crate::catalog::sessions::Sessions;
use crate::model::{ServerIdentity, ServerVersion, Table};
use crate::statements::{RenderError, Statements};

/// Services that answer with version numbers of SQL Server and have no event sessions (SERVERPROPERTY documentation).
const OTHER_SERVICES: [(i64, &str); 3] = [
    (6, "a dedicated SQL pool of Azure Synapse Analytics"),
    (7, "a stretch database"),
    (11, "a serverless SQL pool of Azure Synapse Analytics"),
];

/// Asks who the server is. One that is not SQL Server is refused, whatever it answers; one of an unknown version is not.
/// What the login may not read of host and start is left out.
pub(in crate::agent) async fn identify(
    server: &mut Server,
    sessions: &Sessions,
) -> Result<ServerIdentity, CaptureError> {
    // The statements are the same for every version.
    let statements = Statements::new(sessions, ServerVersion::V2008R2);
    let table = match server.table(&statements.common("identity", &[])?).await {
        Err(error) if error.number().is_some() => return Err(not_sql_server().caused_by(error)),
        result => result?,
    };
    let mut identity = read(&table).ok_or_else(not_sql_server)?;
    if let Some((_, service)) = OTHER_SERVICES.iter().find(|(edition, _)| *edition == identity.engine_edition) {
        return Err(CaptureError::refused(
            Refusal::Version,
            format!("the server is {service}, which has no event sessions for call stacks"),
            None,
        ));
    }
    if let Some(version) = identity.version {
        identity.host_platform = host_platform(server, &statements, version).await?;
        if let Some(start) = if_allowed(server, statements.common("server_start", &[])).await? {
            identity.started_ms_ticks = start.integer(0, "sqlserver_start_time_ms_ticks");
            identity.ms_ticks = start.integer(0, "ms_ticks");
        }
    }
    Ok(identity)
}

fn not_sql_server() -> CaptureError {
    CaptureError::refused(Refusal::Version, "what answers there is not SQL Server", None)
}

/// The answer, where it is one of SQL Server: a version in numbers and an engine edition.
fn read(table: &Table) -> Option<ServerIdentity> {
    let text = |name: &str| table.text(0, name).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let flag = |name: &str| table.integer(0, name).map(|number| number != 0);
    let product_version = text("product_version")?;
    let numbers: Vec<Option<u32>> = product_version.split('.').map(|part| part.parse().ok()).collect();
    let engine_edition = table.integer(0, "engine_edition").filter(|edition| *edition > 0)?;
    (numbers.len() >= 3 && numbers.iter().all(Option::is_some)).then(|| ServerIdentity {
        name: text("server_name").unwrap_or_default(),
        version: ServerVersion::from_product(&product_version, engine_edition),
        product_version,
        edition: text("edition").unwrap_or_default(),
        engine_edition,
        machine: text("machine_name"),
        instance: text("instance_name"),
        collation: text("collation_name"),
        database: text("database_name"),
        hadr_enabled: flag("is_hadr_enabled"),
        clustered: flag("is_clustered"),
        ..ServerIdentity::default()
    })
}

/// Before 2017 there is only Windows; Azure SQL does not tell.
async fn host_platform(
    server: &mut Server,
    statements: &Statements<'_>,
    version: ServerVersion,
) -> Result<Option<String>, CaptureError> {
    match version {
        ServerVersion::AzureDb | ServerVersion::AzureMi => Ok(None),
        _ if version < ServerVersion::V2017 => Ok(Some("Windows".to_owned())),
        _ => {
            let host = if_allowed(server, statements.common("host_info", &[])).await?;
            Ok(host.and_then(|host| host.text(0, "host_platform").map(str::to_owned)))
        }
    }
}

/// A table that may be missing or not for this login; only a lost connection is an error.
async fn if_allowed(server: &mut Server, sql: Result<String, RenderError>) -> Result<Option<Table>, CaptureError> {
    match server.table(&sql?).await {
        Err(error) if error.number().is_some() => Ok(None),
        result => Ok(Some(result?)),
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::{ServerVersion, Table, Value};

    fn answer(version: Value, edition: Value) -> Table {
        let row = vec![Value::Text("SQL1".into()), version, edition, Value::Text("  ".into()), Value::Integer(1)];
        let columns = ["server_name", "product_version", "engine_edition", "instance_name", "is_hadr_enabled"];
        Table { columns: columns.map(str::to_owned).to_vec(), rows: vec![row] }
    }

    #[test]
    fn an_answer_of_sql_server_is_read_whatever_its_types() {
        for (version, edition, expected) in [
            ("15.0.4198.2", Value::Integer(3), Some(ServerVersion::V2019)),
            ("12.0.2000.8", Value::Text("5".into()), Some(ServerVersion::AzureDb)),
            ("10.50.6000.34", Value::Real(2.0), Some(ServerVersion::V2008R2)),
            ("99.0.1.1", Value::Integer(3), None),
        ] {
            let identity = read(&answer(Value::Text(version.into()), edition)).unwrap();
            assert_eq!((identity.version, identity.name.as_str()), (expected, "SQL1"), "{version}");
            assert_eq!((identity.instance, identity.hadr_enabled, identity.clustered), (None, Some(true), None));
        }
    }

    #[test]
    fn any_other_answer_is_not_sql_server() {
        let version = || Value::Text("15.0.4198.2".into());
        for (version, edition) in [
            (Value::Null, Value::Integer(3)),
            (Value::Text(String::new()), Value::Integer(3)),
            (Value::Text("PostgreSQL 16.2 on x86_64".into()), Value::Integer(3)),
            (Value::Text("16".into()), Value::Integer(3)),
            (Value::Text("16.2".into()), Value::Integer(3)),
            (Value::Integer(15), Value::Integer(3)),
            (version(), Value::Null),
            (version(), Value::Integer(0)),
            (version(), Value::Text("Enterprise".into())),
        ] {
            assert_eq!(read(&answer(version.clone(), edition.clone())), None, "{version:?}, {edition:?}");
        }
        for table in [
            Table::default(),
            Table { rows: vec![], ..answer(version(), Value::Integer(3)) },
            Table { columns: vec!["version".into()], rows: vec![vec![version()]] },
            Table { rows: vec![vec![]], ..answer(version(), Value::Integer(3)) },
        ] {
            assert_eq!(read(&table), None, "{table:?}");
        }
    }
}
