//! Owns the system procedures by which clients run statements, and the statements that a connection has prepared.

use crate::simulator::host::Parameter;
use crate::simulator::output::Message;
use crate::simulator::value::Datum;
use crate::simulator::wire::request::{Argument, Call, Procedure};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Prepared statements a connection may hold; beyond it preparing fails with 701.
const PREPARED_LIMIT: usize = 1_000;

/// What a call comes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// The statement to run.
    pub(crate) run: Option<Statement>,
    /// The handle to give back, with the name of its parameter.
    pub(crate) handle: Option<(String, i32)>,
    /// The session is to be reset.
    pub(crate) reset: bool,
}

/// A statement with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Parameter>,
}

#[derive(Debug, Clone)]
struct Prepared {
    sql: Arc<str>,
    /// Names of its parameters, in the order in which they are declared.
    declared: Arc<[String]>,
}

/// The prepared statements of a connection.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    last_handle: i32,
    by_handle: BTreeMap<i32, Prepared>,
}

impl PreparedStatements {
    /// What `call` comes to; the message is the error to send instead.
    pub(crate) fn plan(&mut self, call: Call) -> Result<Plan, Message> {
        let Call { procedure, arguments } = call;
        let mut arguments = arguments.into_iter();
        let nothing = Plan { run: None, handle: None, reset: false };
        match procedure {
            Procedure::ExecuteSql => {
                let sql = text(arguments.next(), "sp_executesql", "@statement")?.unwrap_or_default();
                let declared = match arguments.next() {
                    None => Vec::new(),
                    some => declared_names(&text(some, "sp_executesql", "@parameters")?.unwrap_or_default()),
                };
                let parameters = bind(&sql, &declared, arguments)?;
                Ok(Plan { run: Some(Statement { sql, parameters }), ..nothing })
            }
            Procedure::Prepare => {
                let (name, _) = handle(arguments.next(), "sp_prepare")?;
                let (prepared, _) = preparation(&mut arguments, "sp_prepare")?;
                Ok(Plan { handle: Some((name, self.keep(prepared)?)), ..nothing })
            }
            Procedure::PrepareAndExecute => {
                let (name, old) = handle(arguments.next(), "sp_prepexec")?;
                let (prepared, sql) = preparation(&mut arguments, "sp_prepexec")?;
                let parameters = bind(&sql, &prepared.declared, arguments)?;
                old.and_then(|old| self.by_handle.remove(&old));
                let handle = Some((name, self.keep(prepared)?));
                Ok(Plan { run: Some(Statement { sql, parameters }), handle, ..nothing })
            }
            Procedure::Execute => {
                let (_, handle) = handle(arguments.next(), "sp_execute")?;
                let prepared = handle.and_then(|handle| self.by_handle.get(&handle).cloned());
                let Prepared { sql, declared } = prepared.ok_or_else(|| unknown_handle(handle))?;
                let parameters = bind(&sql, &declared, arguments)?;
                Ok(Plan { run: Some(Statement { sql: sql.to_string(), parameters }), ..nothing })
            }
            Procedure::Unprepare => {
                let (_, handle) = handle(arguments.next(), "sp_unprepare")?;
                let removed = handle.and_then(|handle| self.by_handle.remove(&handle));
                removed.map(|_| nothing).ok_or_else(|| unknown_handle(handle))
            }
            Procedure::ResetConnection => Ok(Plan { reset: true, ..nothing }),
            Procedure::Other(name) => {
                let mut message = Message::new(2812, 16, format!("Could not find stored procedure '{name}'."));
                message.state = 62;
                Err(message)
            }
        }
    }

    fn keep(&mut self, prepared: Prepared) -> Result<i32, Message> {
        if self.by_handle.len() >= PREPARED_LIMIT {
            return Err(Message::new(701, 17, "There is insufficient system memory to run this query."));
        }
        self.last_handle = self.last_handle.wrapping_add(1);
        self.by_handle.insert(self.last_handle, prepared);
        Ok(self.last_handle)
    }
}

fn unknown_handle(handle: Option<i32>) -> Message {
    Message::new(8179, 16, format!("Could not find prepared statement with handle {}.", handle.unwrap_or(0)))
}

fn missing(procedure: &str, parameter: &str) -> Message {
    let text = format!("Procedure or function '{procedure}' expects parameter '{parameter}', which was not supplied.");
    Message::new(201, 16, text)
}

/// A statement or a parameter list; `None` is NULL.
fn text(argument: Option<Argument>, procedure: &str, parameter: &str) -> Result<Option<String>, Message> {
    match argument.ok_or_else(|| missing(procedure, parameter))?.value {
        Datum::Text(text) => Ok(Some(text)),
        Datum::Null => Ok(None),
        _ => {
            let text = format!("Procedure expects parameter '{parameter}' of type 'ntext/nchar/nvarchar'.");
            Err(Message::new(214, 16, text))
        }
    }
}

/// A handle with the name of its parameter; `None` is NULL.
fn handle(argument: Option<Argument>, procedure: &str) -> Result<(String, Option<i32>), Message> {
    let argument = argument.ok_or_else(|| missing(procedure, "@handle"))?;
    match argument.value {
        Datum::Int(handle) => Ok((argument.name, i32::try_from(handle).ok())),
        Datum::Null => Ok((argument.name, None)),
        _ => Err(Message::new(214, 16, "Procedure expects parameter '@handle' of type 'int'.")),
    }
}

/// Parameter list and statement, in the order of sp_prepare and sp_prepexec.
fn preparation(arguments: &mut impl Iterator<Item = Argument>, procedure: &str) -> Result<(Prepared, String), Message> {
    let declared = declared_names(&text(arguments.next(), procedure, "@params")?.unwrap_or_default());
    let sql = text(arguments.next(), procedure, "@stmt")?.unwrap_or_default();
    Ok((Prepared { sql: sql.as_str().into(), declared: declared.into() }, sql))
}

/// The names in a parameter list such as `@P1 int, @P2 decimal(10, 2) OUTPUT`.
fn declared_names(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut expecting = true;
    let mut rest = list.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => expecting = true,
            '@' if expecting => {
                let mut name = String::from('@');
                let in_name = |next: &char| next.is_alphanumeric() || "@#$_".contains(*next);
                while let Some(next) = rest.next_if(in_name) {
                    name.push(next);
                }
                names.push(name);
                expecting = false;
            }
            _ => {}
        }
    }
    names
}

/// Gives each argument its parameter: by its name, else by its place among the declared.
fn bind(sql: &str, declared: &[String], arguments: impl Iterator<Item = Argument>) -> Result<Vec<Parameter>, Message> {
    let mut parameters = Vec::new();
    for (index, Argument { name, sql_type, value }) in arguments.enumerate() {
        let name = if name.is_empty() {
            let too_many = || Message::new(8144, 16, "Procedure or function has too many arguments specified.");
            declared.get(index).cloned().ok_or_else(too_many)?
        } else {
            name
        };
        parameters.push(Parameter { name, sql_type, value });
    }
    let given = |name: &String| parameters.iter().any(|parameter| parameter.name.eq_ignore_ascii_case(name));
    match declared.iter().find(|name| !given(name)) {
        None => Ok(parameters),
        Some(name) => {
            let start: String = sql.chars().take(200).collect();
            let text =
                format!("The parameterized query '{start}' expects the parameter '{name}', which was not supplied.");
            Err(Message::new(8178, 16, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::value::SqlType;

    fn argument(name: &str, value: Datum) -> Argument {
        Argument { name: name.into(), sql_type: SqlType::Int, value }
    }

    fn call(procedure: Procedure, values: Vec<Datum>) -> Call {
        Call { procedure, arguments: values.into_iter().map(|value| argument("", value)).collect() }
    }

    fn text(text: &str) -> Datum {
        Datum::Text(text.into())
    }

    fn bound(plan: &Plan) -> Vec<(&str, &Datum)> {
        let statement = plan.run.as_ref().unwrap();
        statement.parameters.iter().map(|parameter| (parameter.name.as_str(), &parameter.value)).collect()
    }

    #[test]
    fn declared_names_are_read_past_their_types() {
        let list = "@P1 int,@P2 decimal(10, 2) OUTPUT , @name_3 nvarchar(4000) = N'x'";
        assert_eq!(declared_names(list), ["@P1", "@P2", "@name_3"]);
        assert!(declared_names("").is_empty());
    }

    #[test]
    fn a_prepared_statement_runs_with_each_executions_values() {
        let mut statements = PreparedStatements::default();
        let values = vec![Datum::Null, text("@a int"), text("SELECT @a"), Datum::Int(1)];
        let first = statements.plan(call(Procedure::PrepareAndExecute, values)).unwrap();
        assert_eq!(bound(&first), [("@a", &Datum::Int(1))]);
        let handle = first.handle.unwrap().1;
        let again = call(Procedure::Execute, vec![Datum::Int(handle.into()), Datum::Int(2)]);
        let second = statements.plan(again.clone()).unwrap();
        assert_eq!(second.run.as_ref().unwrap().sql, "SELECT @a");
        assert_eq!(bound(&second), [("@a", &Datum::Int(2))]);
        statements.plan(call(Procedure::Unprepare, vec![Datum::Int(handle.into())])).unwrap();
        assert_eq!(statements.plan(again).unwrap_err().number, 8179);
    }

    #[test]
    fn arguments_bind_by_name_or_place() {
        let mut statements = PreparedStatements::default();
        let mut by_name = call(Procedure::ExecuteSql, vec![text("SELECT @a, @b"), text("@a int, @b int")]);
        by_name.arguments.extend([argument("@B", Datum::Int(2)), argument("@a", Datum::Int(1))]);
        assert_eq!(bound(&statements.plan(by_name).unwrap()), [("@B", &Datum::Int(2)), ("@a", &Datum::Int(1))]);
    }

    #[test]
    fn wrong_calls_have_the_servers_errors() {
        let mut statements = PreparedStatements::default();
        let mut error = |procedure, values| statements.plan(call(procedure, values)).unwrap_err().number;
        assert_eq!(error(Procedure::ExecuteSql, vec![]), 201);
        assert_eq!(error(Procedure::ExecuteSql, vec![Datum::Int(1)]), 214);
        assert_eq!(error(Procedure::ExecuteSql, vec![text("s"), text("@a int")]), 8178);
        assert_eq!(error(Procedure::ExecuteSql, vec![text("s"), text(""), Datum::Int(1)]), 8144);
        assert_eq!(error(Procedure::Execute, vec![Datum::Int(9)]), 8179);
        assert_eq!(error(Procedure::Unprepare, vec![Datum::Null]), 8179);
        assert_eq!(error(Procedure::Prepare, vec![text("x")]), 214);
        assert_eq!(error(Procedure::Other("sp_who".into()), vec![]), 2812);
    }

    #[test]
    fn preparing_without_end_is_refused() {
        let mut statements = PreparedStatements::default();
        let prepare = || call(Procedure::Prepare, vec![Datum::Null, Datum::Null, text("SELECT 1")]);
        for _ in 0..PREPARED_LIMIT {
            statements.plan(prepare()).unwrap();
        }
        assert_eq!(statements.plan(prepare()).unwrap_err().number, 701);
    }
}
