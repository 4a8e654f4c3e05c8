//! A host with a few small tables.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::host::{Host, Parameter, Request, Session, SessionContext};
use xestack::simulator::output::{Message, Output, Step};
use xestack::simulator::sql::SqlSession;
use xestack::simulator::sql::tokenizer::Token;
use xestack::simulator::value::{Column, Datum, SqlType};

/// 2026-01-01T00:00:00Z.
pub(crate) const NOW_MICROS: i64 = 1_767_225_600_000_000;

pub(crate) struct TestHost {
    pub(crate) version: ServerVersion,
    /// What was handed over: event session and DBCC statements, locks, ends of sessions.
    pub(crate) log: Mutex<Vec<String>>,
    /// Rows of sys.dm_many.
    pub(crate) many: usize,
}

impl TestHost {
    pub(crate) fn new() -> Arc<Self> {
        Self::of(ServerVersion::V2019)
    }

    pub(crate) fn of(version: ServerVersion) -> Arc<Self> {
        Arc::new(Self { version, log: Mutex::new(Vec::new()), many: 2000 })
    }

    pub(crate) fn session(self: &Arc<Self>) -> SqlSession {
        let context = SessionContext {
            spid: 51,
            login: "sa".to_owned(),
            database: "master".to_owned(),
            host: "workstation".to_owned(),
            application: "tests".to_owned(),
        };
        SqlSession::new(self.clone(), context)
    }

    fn note(&self, text: String) {
        self.log.lock().expect("no panic holds it").push(text);
    }
}

fn text(value: &str) -> Datum {
    Datum::Text(value.to_owned())
}

fn words(tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
}

impl Host for TestHost {
    fn version(&self) -> ServerVersion {
        self.version
    }

    fn object_id(&self, schema: &str, name: &str) -> Option<i32> {
        self.columns(schema, name).map(|_| -7)
    }

    fn columns(&self, schema: &str, name: &str) -> Option<Vec<Column>> {
        if schema != "sys" {
            return None;
        }
        let wait_type = || Column::new("wait_type", SqlType::NVarChar(Some(60)));
        Some(match name.to_ascii_lowercase().as_str() {
            "dm_os_wait_stats" => vec![
                wait_type(),
                Column::new("waiting_tasks_count", SqlType::BigInt),
                Column::new("wait_time_ms", SqlType::BigInt),
                Column::new("signal_wait_time_ms", SqlType::BigInt),
            ],
            "dm_os_schedulers" => vec![
                Column::new("scheduler_id", SqlType::Int),
                Column::new("cpu_id", SqlType::SmallInt),
                Column::new("status", SqlType::NVarChar(Some(60))),
                Column::new("is_online", SqlType::Bit),
            ],
            "dm_files" => vec![Column::new("database_id", SqlType::SmallInt), Column::new("size", SqlType::BigInt)],
            "dm_io_virtual_file_stats" => {
                vec![Column::new("database_id", SqlType::SmallInt), Column::new("num_of_reads", SqlType::BigInt)]
            }
            "dm_targets" => vec![
                Column::new("name", SqlType::NVarChar(Some(60))),
                Column::new("target_data", SqlType::NVarChar(None)),
            ],
            "dm_many" => vec![Column::new("id", SqlType::Int), Column::new("name", SqlType::NVarChar(Some(20)))],
            _ => return None,
        })
    }

    fn rows(
        &self,
        _session: &SessionContext,
        _schema: &str,
        name: &str,
        arguments: &[Datum],
    ) -> Result<Vec<Vec<Datum>>, Vec<Message>> {
        let wait =
            |name: &str, tasks, wait, signal| vec![text(name), Datum::Int(tasks), Datum::Int(wait), Datum::Int(signal)];
        Ok(match name.to_ascii_lowercase().as_str() {
            "dm_os_wait_stats" => vec![
                wait("SOS_SCHEDULER_YIELD", 100, 4000, 3999),
                wait("LATCH_EX", 10, 300, 5),
                wait("WRITELOG", 0, 0, 0),
                wait("lck_m_x", 3, 3_000_000_000, 1),
            ],
            "dm_os_schedulers" => (0..4)
                .map(|id| {
                    let status = if id < 3 { "VISIBLE ONLINE" } else { "HIDDEN ONLINE" };
                    let cpu = if id == 3 { Datum::Null } else { Datum::Int(id) };
                    vec![Datum::Int(id), cpu, text(status), Datum::Bit(id < 3)]
                })
                .collect(),
            "dm_files" => vec![
                vec![Datum::Int(1), Datum::Int(10)],
                vec![Datum::Int(1), Datum::Int(20)],
                vec![Datum::Int(2), Datum::Int(30)],
                vec![Datum::Int(9), Datum::Int(40)],
            ],
            "dm_io_virtual_file_stats" => (1..=2)
                .filter(|id| {
                    matches!(arguments.first(), Some(Datum::Int(wanted)) if wanted == id)
                        || arguments.first() == Some(&Datum::Null)
                })
                .map(|id| vec![Datum::Int(id), Datum::Int(id * 100)])
                .collect(),
            "dm_targets" => vec![vec![text("histogram"), text(&"<a/>".repeat(1_000_000))]],
            "dm_many" => (0..self.many as i64).map(|id| vec![Datum::Int(id), text(&format!("name {id}"))]).collect(),
            _ => return Err(vec![Message::new(297, 16, "The user does not have permission to perform this action.")]),
        })
    }

    fn server_property(&self, name: &str) -> Datum {
        match name.to_ascii_lowercase().as_str() {
            "productversion" => text("15.0.4198.2"),
            "engineedition" => Datum::Int(3),
            "servername" => text("SIM"),
            _ => Datum::Null,
        }
    }

    fn version_text(&self) -> String {
        "Microsoft SQL Server 2019".to_owned()
    }

    fn has_permission(&self, _session: &SessionContext, permission: &str) -> Option<bool> {
        match permission.to_ascii_uppercase().as_str() {
            "VIEW SERVER STATE" => Some(true),
            "ALTER TRACE" => Some(false),
            _ => None,
        }
    }

    fn is_role_member(&self, _session: &SessionContext, role: &str) -> Option<bool> {
        role.eq_ignore_ascii_case("sysadmin").then_some(true)
    }

    fn databases(&self) -> Vec<(i32, String)> {
        vec![(1, "master".to_owned()), (2, "tempdb".to_owned()), (5, "Shop".to_owned())]
    }

    fn event_session(&self, _session: &SessionContext, statement: &[Token]) -> Result<(), Vec<Message>> {
        let words = words(statement);
        let refused = words.contains("refused");
        self.note(words);
        if refused {
            return Err(vec![Message::new(25631, 16, "The event session, \"refused\", already exists.")]);
        }
        Ok(())
    }

    fn dbcc(&self, _session: &SessionContext, statement: &[Token]) -> Result<Vec<Output>, Vec<Message>> {
        self.note(words(statement));
        Ok(vec![Output::Message(Message::new(2528, 10, "DBCC execution completed."))])
    }

    fn get_app_lock(&self, _session: &SessionContext, resource: &str) -> i32 {
        self.note(format!("lock {resource}"));
        if resource == "taken" { -1 } else { 0 }
    }

    fn release_app_lock(&self, _session: &SessionContext, resource: &str) -> i32 {
        self.note(format!("release {resource}"));
        if resource == "taken" { -999 } else { 0 }
    }

    fn utc_micros(&self) -> i64 {
        NOW_MICROS
    }

    fn end_session(&self, session: &SessionContext) {
        self.note(format!("end {}", session.spid));
    }
}

/// Everything a request answers.
pub(crate) fn run_request(session: &mut SqlSession, request: Request) -> Vec<Step> {
    session.start(1, request);
    let mut steps = Vec::new();
    while let Some(step) = session.step() {
        steps.push(step);
    }
    steps
}

pub(crate) fn run(session: &mut SqlSession, sql: &str) -> Vec<Step> {
    run_request(session, Request::Batch(sql.to_owned()))
}

pub(crate) fn call(session: &mut SqlSession, sql: &str, parameters: Vec<Parameter>) -> Vec<Step> {
    run_request(session, Request::ExecuteSql { sql: sql.to_owned(), parameters })
}

/// An answer in words: each result set as lines of values, each message as its number and text.
pub(crate) fn describe(steps: &[Step]) -> String {
    let mut lines = Vec::new();
    for step in steps {
        match step {
            Step::Output(Output::Rows { rows, .. }) => {
                lines.extend(rows.iter().map(|row| row.iter().map(show).collect::<Vec<_>>().join("|")));
            }
            Step::Output(Output::Message(message)) => lines.push(format!("{}: {}", message.number, message.text)),
            Step::Output(Output::Database(name)) => lines.push(format!("database {name}")),
            Step::Output(Output::ReturnStatus(status)) => lines.push(format!("status {status}")),
            // A wait of zero is a pause in which the wire looks for an attention.
            Step::Output(Output::Done) | Step::Wait(Duration::ZERO) => {}
            Step::Wait(delay) => lines.push(format!("wait {delay:?}")),
            Step::Close | Step::CloseInRow | Step::Drip(_) => lines.push(format!("{step:?}")),
        }
    }
    lines.join("\n")
}

/// The types of the last result set's columns.
pub(crate) fn columns(steps: &[Step]) -> Vec<Column> {
    steps
        .iter()
        .rev()
        .find_map(|step| match step {
            Step::Output(Output::Rows { columns, .. }) => Some(columns.clone()),
            _ => None,
        })
        .unwrap_or_default()
}

fn show(value: &Datum) -> String {
    match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Bit(bit) => u8::from(*bit).to_string(),
        Datum::Int(number) => number.to_string(),
        Datum::Float(float) => format!("{float:?}"),
        Datum::Decimal(unscaled) => format!("d{unscaled}"),
        Datum::Text(text) => text.clone(),
        Datum::Binary(bytes) => format!("{bytes:02X?}"),
        Datum::Guid(bytes) => format!("{bytes:02x?}"),
        Datum::Time(ticks) => format!("t{ticks}"),
        Datum::Variant(_, inner) => format!("v{}", show(inner)),
    }
}

/// The answer of one batch in a session of its own.
pub(crate) fn answer(sql: &str) -> String {
    describe(&run(&mut TestHost::new().session(), sql))
}

/// The numbers of the errors of one batch.
pub(crate) fn error_numbers(sql: &str) -> Vec<u32> {
    errors_of(&run(&mut TestHost::new().session(), sql))
}

pub(crate) fn errors_of(steps: &[Step]) -> Vec<u32> {
    steps
        .iter()
        .filter_map(|step| match step {
            Step::Output(Output::Message(message)) if message.is_error() => Some(message.number),
            _ => None,
        })
        .collect()
}

/// Asserts that every value is of the kind, and within the length, that its column's type says.
#[track_caller]
pub(crate) fn check_values(steps: &[Step]) {
    for step in steps {
        let Step::Output(Output::Rows { columns, rows }) = step else { continue };
        for row in rows {
            assert_eq!(row.len(), columns.len());
            for (value, column) in row.iter().zip(columns) {
                assert!(fits(value, column.sql_type), "{value:?} in {column:?}");
                assert!(column.nullable || *value != Datum::Null, "NULL in {column:?}");
            }
        }
    }
}

fn fits(value: &Datum, sql_type: SqlType) -> bool {
    let within = |range: std::ops::RangeInclusive<i64>, number: &i64| range.contains(number);
    match (value, sql_type) {
        (Datum::Null, _)
        | (Datum::Bit(_), SqlType::Bit)
        | (Datum::Int(_), SqlType::BigInt)
        | (Datum::Guid(_), SqlType::UniqueIdentifier)
        | (Datum::Text(_), SqlType::NVarChar(None) | SqlType::VarChar(None) | SqlType::Xml)
        | (Datum::Binary(_), SqlType::VarBinary(None))
        | (Datum::Time(_), SqlType::DateTime | SqlType::DateTime2(_) | SqlType::DateTimeOffset(_)) => true,
        (Datum::Int(number), SqlType::TinyInt) => within(0..=255, number),
        (Datum::Int(number), SqlType::SmallInt) => i16::try_from(*number).is_ok(),
        (Datum::Int(number), SqlType::Int) => i32::try_from(*number).is_ok(),
        (Datum::Float(float), SqlType::Float | SqlType::Real) => float.is_finite(),
        (Datum::Decimal(unscaled), SqlType::Decimal { precision, scale }) => {
            scale <= precision && unscaled.unsigned_abs() < 10_u128.pow(u32::from(precision))
        }
        (Datum::Text(text), SqlType::NVarChar(Some(length))) => text.encode_utf16().count() <= usize::from(length),
        (Datum::Text(text), SqlType::VarChar(Some(length))) => text.chars().count() <= usize::from(length),
        (Datum::Text(text), SqlType::NChar(length)) => text.encode_utf16().count() == usize::from(length),
        (Datum::Text(text), SqlType::Char(length)) => text.chars().count() == usize::from(length),
        (Datum::Binary(bytes), SqlType::VarBinary(Some(length))) => bytes.len() <= usize::from(length),
        (Datum::Variant(base, inner), SqlType::SqlVariant) => **inner != Datum::Null && fits(inner, *base),
        _ => false,
    }
}
