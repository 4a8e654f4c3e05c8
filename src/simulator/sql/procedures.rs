//! Owns the system procedures: sp_executesql, sp_getapplock, sp_releaseapplock.

use crate::simulator::host::SessionContext;
use crate::simulator::output::{Message, Output};
use crate::simulator::sql::ast::{Argument, Execute, Expr};
use crate::simulator::sql::execute::convert_owned;
use crate::simulator::sql::messages::{Failure, error, not_simulated, other_database};
use crate::simulator::sql::parser::parse_parameters;
use crate::simulator::sql::session::SqlSession;
use crate::simulator::sql::types::{is_national, is_text};
use crate::simulator::sql::variables::Variables;
use crate::simulator::value::{Datum, SqlType};

const PROCEDURES: [&str; 3] = ["sp_executesql", "sp_getapplock", "sp_releaseapplock"];

const NAME: SqlType = SqlType::NVarChar(Some(255));

impl SqlSession {
    pub(super) fn call_procedure(&mut self, call: &Execute, line: u32) -> Result<(), Failure> {
        if let [database, _, _] = call.procedure.as_slice()
            && !self.host.reaches_other_databases()
            && !self.host.collation().same(database, &self.context.database)
        {
            return Err(other_database(&call.procedure.join(".")).into());
        }
        let context = self.context_of(call)?;
        let status = match self.procedure_name(call) {
            "sp_executesql" => return self.execute_sql(call),
            "sp_getapplock" => self.get_app_lock(call, &context)?,
            "sp_releaseapplock" => self.release_app_lock(call, &context, line)?,
            _ => {
                let text = format!("Could not find stored procedure '{}'.", call.procedure.join("."));
                return Err(error(2812, 16, 62, text).into());
            }
        };
        if let Some(result) = &call.result {
            self.set_variable(result, Datum::Int(i64::from(status)));
        }
        self.send_procedure_done(status);
        Ok(())
    }

    /// The procedure that a name means; empty for none.
    fn procedure_name(&self, call: &Execute) -> &'static str {
        let given = call.procedure.last().map_or("", String::as_str);
        PROCEDURES.into_iter().find(|known| self.host.collation().same(known, given)).unwrap_or_default()
    }

    /// Where a procedure runs: the database of a three-part name, else the session's.
    fn context_of(&self, call: &Execute) -> Result<SessionContext, Failure> {
        let [database, _schema, _name] = call.procedure.as_slice() else { return Ok(self.context.clone()) };
        let known = self.host.databases().into_iter().find(|(_, name)| self.host.collation().same(name, database));
        match known {
            _ if database.is_empty() => Ok(self.context.clone()),
            Some((_, database)) => Ok(SessionContext { database, ..self.context.clone() }),
            None => {
                let text =
                    format!("Database '{database}' does not exist. Make sure that the name is entered correctly.");
                Err(error(911, 16, 1, text).into())
            }
        }
    }

    fn get_app_lock(&mut self, call: &Execute, context: &SessionContext) -> Result<i32, Failure> {
        let names = ["@Resource", "@LockMode", "@LockOwner", "@LockTimeout", "@DbPrincipal"];
        let arguments = by_name(call, &names)?;
        let resource = self.required_text(&arguments, 0, call, "@Resource")?;
        let mode = self.required_text(&arguments, 1, call, "@LockMode")?;
        let owner = self.optional_text(&arguments, 2)?.unwrap_or_else(|| "Transaction".to_owned());
        let timeout = match arguments.get(3).copied().flatten() {
            Some(timeout) => self.value(&timeout.value, Some(SqlType::Int))?.0,
            None => Datum::Int(-1),
        };
        if !mode.eq_ignore_ascii_case("Exclusive") || !owner.eq_ignore_ascii_case("Session") {
            return Err(not_simulated("application locks other than Exclusive ones owned by the Session").into());
        }
        if timeout != Datum::Int(0) {
            return Err(not_simulated("application locks with a LockTimeout other than 0").into());
        }
        Ok(self.host.get_app_lock(context, &resource))
    }

    fn release_app_lock(&mut self, call: &Execute, context: &SessionContext, line: u32) -> Result<i32, Failure> {
        let arguments = by_name(call, &["@Resource", "@LockOwner", "@DbPrincipal"])?;
        let resource = self.required_text(&arguments, 0, call, "@Resource")?;
        let owner = self.optional_text(&arguments, 1)?.unwrap_or_else(|| "Transaction".to_owned());
        if !owner.eq_ignore_ascii_case("Session") {
            return Err(not_simulated("application locks other than those owned by the Session").into());
        }
        let status = self.host.release_app_lock(context, &resource);
        if status != 0 {
            let text = format!(
                "Cannot release the application lock (Database Principal: 'public', Resource: '{resource}') because it \
                 is not currently held."
            );
            self.send(Output::Message(Message { number: 1223, class: 16, state: 1, text, line }));
        }
        Ok(status)
    }

    fn required_text(
        &self,
        arguments: &[Option<&Argument>],
        place: usize,
        call: &Execute,
        name: &str,
    ) -> Result<String, Failure> {
        self.optional_text(arguments, place)?.ok_or_else(|| missing_parameter(&call.procedure.join("."), name).into())
    }

    fn optional_text(&self, arguments: &[Option<&Argument>], place: usize) -> Result<Option<String>, Failure> {
        let Some(argument) = arguments.get(place).copied().flatten() else { return Ok(None) };
        Ok(if let Datum::Text(text) = self.value(&argument.value, Some(NAME))?.0 { Some(text) } else { None })
    }

    /// sp_executesql N'statement', N'@a int, @b int OUTPUT', 1, @b = @x OUTPUT.
    fn execute_sql(&mut self, call: &Execute) -> Result<(), Failure> {
        let mut arguments = call.arguments.iter();
        let Some(statement) = arguments.next() else {
            return Err(missing_parameter("sp_executesql", "@statement").into());
        };
        let statement = self.unicode_text(&statement.value, "@statement")?;
        let mut variables = Variables::default();
        let mut outputs = Vec::new();
        if let Some(definitions) = arguments.next() {
            let definitions = self.unicode_text(&definitions.value, "@params")?;
            let parameters = parse_parameters(&definitions, self.host.version())?;
            let given: Vec<&Argument> = arguments.collect();
            if given.len() > parameters.len() {
                return Err(too_many_arguments("sp_executesql").into());
            }
            for (place, (name, sql_type)) in parameters.iter().enumerate() {
                let by_name = given.iter().find(|argument| is_called(argument, name));
                let by_place = given.get(place).filter(|argument| argument.name.is_none());
                let Some(argument) = by_name.or(by_place) else {
                    let text = format!(
                        "The parameterized query '{statement}' expects the parameter '{name}', which was not supplied."
                    );
                    return Err(error(8178, 16, 1, text).into());
                };
                let (value, from) = self.value(&argument.value, None)?;
                variables.declare(name, *sql_type, convert_owned(value, from, *sql_type)?);
                if let (true, Expr::Variable(outer)) = (argument.output, &argument.value) {
                    outputs.push((name.clone(), outer.clone()));
                }
            }
        }
        self.enter(&statement, variables, outputs, call.result.clone(), Some("sp_executesql".to_owned()))
    }

    /// Error 214 for varchar.
    fn unicode_text(&self, value: &Expr, name: &str) -> Result<String, Failure> {
        let (value, sql_type) = self.value(value, None)?;
        match value {
            Datum::Text(text) if is_national(sql_type) => Ok(text),
            Datum::Null if !is_text(sql_type) || is_national(sql_type) => Ok(String::new()),
            _ => {
                let text = format!("Procedure expects parameter '{name}' of type 'ntext/nchar/nvarchar'.");
                Err(error(214, 16, 2, text).into())
            }
        }
    }
}

fn is_called(argument: &Argument, name: &str) -> bool {
    argument.name.as_deref().is_some_and(|given| given.eq_ignore_ascii_case(name))
}

/// Puts arguments in the order of the parameters; errors 8144 and 8145.
fn by_name<'c>(call: &'c Execute, names: &[&str]) -> Result<Vec<Option<&'c Argument>>, Message> {
    if call.arguments.len() > names.len() {
        return Err(too_many_arguments(&call.procedure.join(".")));
    }
    let mut ordered: Vec<Option<&Argument>> = vec![None; names.len()];
    for (place, argument) in call.arguments.iter().enumerate() {
        let place = match &argument.name {
            None => place,
            Some(given) => names.iter().position(|name| name.eq_ignore_ascii_case(given)).ok_or_else(|| {
                error(8145, 16, 1, format!("{given} is not a parameter for procedure {}.", call.procedure.join(".")))
            })?,
        };
        if let Some(slot) = ordered.get_mut(place) {
            *slot = Some(argument);
        }
    }
    Ok(ordered)
}

fn missing_parameter(procedure: &str, name: &str) -> Message {
    let text = format!("Procedure or function '{procedure}' expects parameter '{name}', which was not supplied.");
    error(201, 16, 4, text)
}

fn too_many_arguments(procedure: &str) -> Message {
    error(8144, 16, 2, format!("Procedure or function {procedure} has too many arguments specified."))
}
