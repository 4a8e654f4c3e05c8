//! Owns the functions that ask the server, the session or the running statement.

use super::{Call, Function, Signature, function, int_parameter, signature, text_parameter};
use crate::simulator::host::{Host, SessionContext};
use crate::simulator::output::Message;
use crate::simulator::value::{Datum, SqlType};

/// What functions can ask while a statement runs.
pub(crate) struct ServerState<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) context: &'a SessionContext,
    /// Of the statement's start, 100 ns units since 1970-01-01.
    pub(crate) now_ticks: i64,
    pub(crate) row_count: i64,
    pub(crate) last_error: i64,
    pub(crate) open_transactions: i64,
    pub(crate) caught: Option<&'a ErrorDetails>,
}

/// The error a CATCH block handles.
#[derive(Debug, Clone)]
pub(crate) struct ErrorDetails {
    pub(crate) message: Message,
    pub(crate) procedure: Option<String>,
}

const NAME: SqlType = SqlType::NVarChar(Some(128));

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "@@VERSION",
        (0, 0),
        |_| signature(&[], SqlType::NVarChar(Some(300))),
        |call| Ok(Datum::Text(call.server.host.version_text())),
    ),
    function("@@MICROSOFTVERSION", (0, 0), int_type, |call| Ok(numeric_version(call))),
    function("@@SERVERNAME", (0, 0), name_type, |call| {
        Ok(match call.server.host.server_property("ServerName") {
            Datum::Variant(_, name) => *name,
            name => name,
        })
    }),
    function("@@SERVICENAME", (0, 0), name_type, |call| {
        Ok(match call.server.host.server_property("InstanceName") {
            Datum::Variant(_, name) if *name != Datum::Null => *name,
            Datum::Text(name) => Datum::Text(name),
            _ => text("MSSQLSERVER"),
        })
    }),
    function(
        "@@SPID",
        (0, 0),
        |_| signature(&[], SqlType::SmallInt),
        |call| Ok(Datum::Int(i64::from(call.server.context.spid))),
    ),
    function("@@TRANCOUNT", (0, 0), int_type, |call| Ok(Datum::Int(call.server.open_transactions))),
    function("@@ROWCOUNT", (0, 0), int_type, |call| Ok(Datum::Int(call.server.row_count))),
    function("ROWCOUNT_BIG", (0, 0), |_| signature(&[], SqlType::BigInt), |call| Ok(Datum::Int(call.server.row_count))),
    function("@@ERROR", (0, 0), int_type, |call| Ok(Datum::Int(call.server.last_error))),
    function("@@LANGUAGE", (0, 0), name_type, |call| Ok(text(call.server.host.language().name()))),
    function(
        "@@LANGID",
        (0, 0),
        |_| signature(&[], SqlType::SmallInt),
        |call| Ok(Datum::Int(call.server.host.language().id())),
    ),
    // ANSI options, ARITHABORT, QUOTED_IDENTIFIER and CONCAT_NULL_YIELDS_NULL on: what drivers set.
    function("@@OPTIONS", (0, 0), int_type, |_| Ok(Datum::Int(5496))),
    function("@@MAX_PRECISION", (0, 0), |_| signature(&[], SqlType::TinyInt), |_| Ok(Datum::Int(38))),
    function("@@TEXTSIZE", (0, 0), int_type, |_| Ok(Datum::Int(2_147_483_647))),
    function("@@LOCK_TIMEOUT", (0, 0), int_type, |_| Ok(Datum::Int(-1))),
    function(
        "@@DATEFIRST",
        (0, 0),
        |_| signature(&[], SqlType::TinyInt),
        |call| Ok(Datum::Int(call.server.host.language().first_day())),
    ),
    function("@@NESTLEVEL", (0, 0), int_type, |_| Ok(Datum::Int(0))),
    function(
        "XACT_STATE",
        (0, 0),
        |_| signature(&[], SqlType::SmallInt),
        |call| Ok(Datum::Int(i64::from(call.server.open_transactions > 0))),
    ),
    function(
        "SERVERPROPERTY",
        (1, 1),
        |types| signature(&[text_parameter(types, 0)?], SqlType::SqlVariant),
        |call| Ok(variant(call.server.host.server_property(call.text(0)))),
    ),
    function(
        "HAS_PERMS_BY_NAME",
        (3, 5),
        |types| {
            let parameters: Vec<SqlType> = types.iter().map(|_| NAME).collect();
            Ok(Signature { parameters, result: SqlType::Int })
        },
        has_permission,
    )
    .sees_nulls(),
    function("IS_SRVROLEMEMBER", (1, 2), names_to_int, |call| {
        Ok(flag(call.server.host.is_role_member(call.server.context, call.text(0))))
    }),
    // The simulated databases know no roles beyond public and what a server administrator owns.
    function("IS_MEMBER", (1, 1), names_to_int, |call| {
        let role = call.text(0).to_ascii_lowercase();
        let administrator = call.server.host.is_role_member(call.server.context, "sysadmin");
        Ok(match role.as_str() {
            "public" => Datum::Int(1),
            "db_owner" => Datum::Int(i64::from(administrator == Some(true))),
            _ => Datum::Null,
        })
    }),
    function("SUSER_SNAME", (0, 1), names_to_name, login_name),
    function(
        "SUSER_NAME",
        (0, 1),
        |types| signature(&types.iter().map(|_| SqlType::Int).collect::<Vec<_>>(), NAME),
        login_name,
    ),
    function("ORIGINAL_LOGIN", (0, 0), name_type, login_name),
    function(
        "USER_NAME",
        (0, 1),
        |types| signature(&types.iter().map(|_| SqlType::Int).collect::<Vec<_>>(), NAME),
        |call| {
            let administrator = call.server.host.is_role_member(call.server.context, "sysadmin") == Some(true);
            Ok(match (call.arguments.first().map(|_| call.int(0)), administrator) {
                (None, true) | (Some(1), _) => text("dbo"),
                (None, false) => text(&call.server.context.login),
                (Some(_), _) => Datum::Null,
            })
        },
    ),
    function(
        "DB_NAME",
        (0, 1),
        |types| {
            signature(
                &types
                    .iter()
                    .enumerate()
                    .map(|(place, _)| int_parameter(types, place))
                    .collect::<Result<Vec<_>, _>>()?,
                NAME,
            )
        },
        |call| {
            if call.arguments.is_empty() {
                return Ok(text(&call.server.context.database));
            }
            let databases = call.server.host.databases();
            let found = databases.into_iter().find(|(id, _)| i64::from(*id) == call.int(0));
            Ok(found.map_or(Datum::Null, |(_, name)| Datum::Text(name)))
        },
    ),
    function(
        "DB_ID",
        (0, 1),
        |types| signature(&types.iter().map(|_| NAME).collect::<Vec<_>>(), SqlType::Int),
        |call| {
            let name = if call.arguments.is_empty() { call.server.context.database.as_str() } else { call.text(0) };
            let databases = call.server.host.databases();
            let found = databases.into_iter().find(|(_, known)| call.server.host.collation().same(known, name));
            Ok(found.map_or(Datum::Null, |(id, _)| Datum::Int(i64::from(id))))
        },
    ),
    function("OBJECT_ID", (1, 2), names_to_int, object_id),
    function("SCHEMA_NAME", (0, 0), name_type, |_| Ok(text("dbo"))),
    function("HOST_NAME", (0, 0), name_type, |call| Ok(text(&call.server.context.host))),
    function("APP_NAME", (0, 0), name_type, |call| Ok(text(&call.server.context.application))),
    function("NEWID", (0, 0), |_| signature(&[], SqlType::UniqueIdentifier), |_| Ok(Datum::Guid(random_guid()))),
    function("ERROR_NUMBER", (0, 0), int_type, |call| of_error(call, |error| number(error.message.number))),
    function("ERROR_SEVERITY", (0, 0), int_type, |call| of_error(call, |error| number(error.message.class.into()))),
    function("ERROR_STATE", (0, 0), int_type, |call| of_error(call, |error| number(error.message.state.into()))),
    function("ERROR_LINE", (0, 0), int_type, |call| of_error(call, |error| number(error.message.line))),
    function(
        "ERROR_MESSAGE",
        (0, 0),
        |_| signature(&[], SqlType::NVarChar(Some(4000))),
        |call| of_error(call, |error| text(&error.message.text)),
    ),
    function("ERROR_PROCEDURE", (0, 0), name_type, |call| {
        of_error(call, |error| error.procedure.as_deref().map_or(Datum::Null, text))
    }),
];

/// Major version, minor version and build in one number: a byte, a byte, two bytes.
fn numeric_version(call: &Call<'_>) -> Datum {
    let version = match call.server.host.server_property("ProductVersion") {
        Datum::Variant(_, version) => *version,
        version => version,
    };
    let Datum::Text(version) = version else { return Datum::Null };
    let mut parts = version.split('.').map(|part| part.parse::<i64>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    Datum::Int((next() << 24) | (next() << 16) | next())
}

fn text(value: &str) -> Datum {
    Datum::Text(value.to_owned())
}

fn number(value: u32) -> Datum {
    Datum::Int(i64::from(value))
}

fn of_error(call: &Call<'_>, read: fn(&ErrorDetails) -> Datum) -> Result<Datum, Message> {
    Ok(call.server.caught.map_or(Datum::Null, read))
}

fn flag(answer: Option<bool>) -> Datum {
    answer.map_or(Datum::Null, |yes| Datum::Int(i64::from(yes)))
}

fn int_type(_: &[SqlType]) -> Result<Signature, usize> {
    signature(&[], SqlType::Int)
}

fn name_type(_: &[SqlType]) -> Result<Signature, usize> {
    signature(&[], NAME)
}

fn names_to_int(types: &[SqlType]) -> Result<Signature, usize> {
    let parameters = (0..types.len()).map(|place| text_parameter(types, place)).collect::<Result<Vec<_>, _>>()?;
    Ok(Signature { parameters, result: SqlType::Int })
}

fn names_to_name(types: &[SqlType]) -> Result<Signature, usize> {
    names_to_int(types).map(|found| Signature { result: NAME, ..found })
}

fn login_name(call: &Call<'_>) -> Result<Datum, Message> {
    Ok(if call.arguments.is_empty() { text(&call.server.context.login) } else { Datum::Null })
}

/// A property as sql_variant; a host may leave the base type to its value.
fn variant(value: Datum) -> Datum {
    let base = match &value {
        Datum::Null | Datum::Variant(..) => return value,
        Datum::Text(_) => NAME,
        Datum::Bit(_) => SqlType::Bit,
        Datum::Int(number) if i32::try_from(*number).is_ok() => SqlType::Int,
        Datum::Int(_) => SqlType::BigInt,
        Datum::Float(_) => SqlType::Float,
        Datum::Decimal(_) => SqlType::Decimal { precision: 38, scale: 0 },
        Datum::Binary(_) => SqlType::VarBinary(Some(8000)),
        Datum::Guid(_) => SqlType::UniqueIdentifier,
        Datum::Time(_) => SqlType::DateTime,
    };
    Datum::Variant(base, Box::new(value))
}

/// Permissions on the server, and in a database: the current one without a name. Any other securable answers NULL.
fn has_permission(call: &Call<'_>) -> Result<Datum, Message> {
    let (host, context, permission) = (call.server.host, call.server.context, call.text(2));
    Ok(match (call.is_null(0), call.is_null(1), call.is_null(2)) {
        (true, true, false) => flag(host.has_permission(context, permission)),
        (unnamed, false, false) if call.text(1).eq_ignore_ascii_case("DATABASE") => {
            let database = if unnamed { &context.database } else { call.text(0) };
            flag(host.has_database_permission(context, database, permission))
        }
        _ => Datum::Null,
    })
}

/// System objects have negative ids, made of their names here. NULL for what the server does not have.
fn object_id(call: &Call<'_>) -> Result<Datum, Message> {
    let plain = call.text(0).replace(['[', ']'], "");
    let parts: Vec<&str> = plain.split('.').collect();
    let (schema, name) = match parts.as_slice() {
        [name] => ("sys", *name),
        [.., schema, name] => (if schema.is_empty() { "sys" } else { *schema }, *name),
        [] => return Ok(Datum::Null),
    };
    Ok(call.server.host.object_id(schema, name).map_or(Datum::Null, |id| Datum::Int(id.into())))
}

/// Version 4, variant 1, as NEWID makes them.
fn random_guid() -> [u8; 16] {
    let mut bytes = fastrand::u128(..).to_be_bytes();
    if let Some(version) = bytes.get_mut(6) {
        *version = (*version & 0x0F) | 0x40;
    }
    if let Some(variant) = bytes.get_mut(8) {
        *variant = (*variant & 0x3F) | 0x80;
    }
    bytes
}
