//! Owns a session's requests: which instruction runs next, what it sends, what an error ends.

use crate::simulator::host::{Disturbance, Host, Parameter, Request, Session, SessionContext};
use crate::simulator::output::{Message, Output, Step};
use crate::simulator::sql::ast;
use crate::simulator::sql::bind::{Binder, coerce};
use crate::simulator::sql::execute::{Env, Executor};
use crate::simulator::sql::functions::{ErrorDetails, ServerState};
use crate::simulator::sql::messages::{Failure, Reach, error};
use crate::simulator::sql::parser::parse_batch;
use crate::simulator::sql::plan::Expr;
use crate::simulator::sql::program::{Action, Instruction, compile, declarations};
use crate::simulator::sql::variables::Variables;
use crate::simulator::value::{Datum, SqlType};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Instructions one request may run: a bound for WHILE.
const MAX_INSTRUCTIONS: u32 = 200_000;
/// After so many instructions without an answer the caller gets a chance to look for an attention.
const INSTRUCTIONS_AT_A_STRETCH: u32 = 1000;
/// Nesting of dynamic SQL, as in SQL Server (error 217).
const MAX_FRAMES: usize = 32;

/// One session's way through its requests.
pub struct SqlSession {
    pub(super) host: Arc<dyn Host>,
    pub(super) context: SessionContext,
    /// The database the login chose; a reset returns to it.
    home_database: String,
    /// The running batch and the dynamic SQL inside it, innermost last.
    pub(super) frames: Vec<Frame>,
    pub(super) outbox: VecDeque<Step>,
    /// Whether the request is an RPC, which ends with its return status.
    is_call: bool,
    owes_status: bool,
    return_status: i32,
    instructions_run: u32,
    row_count: i64,
    last_error: i64,
    pub(super) open_transactions: i64,
    ended: CancellationToken,
    /// What faults do to the whole answer of the request.
    pub(super) disturbances: Vec<Disturbance>,
}

/// A batch, or dynamic SQL inside one.
pub(super) struct Frame {
    program: Arc<Vec<Instruction>>,
    next: usize,
    pub(super) variables: RefCell<Variables>,
    /// The errors of the CATCH blocks around the current instruction.
    caught: Vec<ErrorDetails>,
    /// Variables handed back to the caller at the end: here, there.
    outputs: Vec<(String, String)>,
    /// The caller's variable for the return value.
    result: Option<String>,
    /// What USE inside dynamic SQL is undone to.
    database: String,
    procedure: Option<String>,
}

impl SqlSession {
    /// A session of this login. Dropping it ends it on the host.
    pub fn new(host: Arc<dyn Host>, context: SessionContext) -> Self {
        let home_database = context.database.clone();
        let ended = host.ended(&context);
        Self {
            host,
            context,
            home_database,
            frames: Vec::new(),
            outbox: VecDeque::new(),
            is_call: false,
            owes_status: false,
            return_status: 0,
            instructions_run: 0,
            row_count: 0,
            last_error: 0,
            open_transactions: 0,
            ended,
            disturbances: Vec::new(),
        }
    }

    fn load(&mut self, sql: &str, parameters: Vec<Parameter>) {
        let mut variables = Variables::default();
        for parameter in parameters {
            variables.declare(&parameter.name, parameter.sql_type, parameter.value);
        }
        if let Err(failure) = self.enter(sql, variables, Vec::new(), None, None) {
            self.send_messages(failure.messages);
        }
    }

    /// Starts a batch or dynamic SQL. Nothing of it runs when it does not parse.
    pub(super) fn enter(
        &mut self,
        sql: &str,
        mut variables: Variables,
        outputs: Vec<(String, String)>,
        result: Option<String>,
        procedure: Option<String>,
    ) -> Result<(), Failure> {
        if self.frames.len() >= MAX_FRAMES {
            let text = "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).";
            return Err(error(217, 16, 1, text).into());
        }
        let statements = parse_batch(sql, self.host.version(), variables.names())
            .map_err(|message| Failure::new(message, Reach::Scope).at_line(1))?;
        let program = compile(statements);
        for declaration in declarations(&program) {
            variables.declare(&declaration.name, declaration.sql_type, Datum::Null);
        }
        self.frames.push(Frame {
            program: Arc::new(program),
            next: 0,
            variables: RefCell::new(variables),
            caught: Vec::new(),
            outputs,
            result,
            database: self.context.database.clone(),
            procedure,
        });
        Ok(())
    }

    pub(super) fn send(&mut self, output: Output) {
        let output = match output {
            Output::Message(message) => Output::Message(self.host.language().translated(message)),
            output => output,
        };
        self.outbox.push_back(Step::Output(output));
    }

    /// A procedure is done. In a batch its return value is sent; an RPC sends only its own.
    pub(super) fn send_procedure_done(&mut self, status: i32) {
        self.send(if self.is_call { Output::Done } else { Output::ReturnStatus(status) });
    }

    pub(super) fn wait(&mut self, delay: Duration) {
        self.outbox.push_back(Step::Wait(delay));
    }

    pub(super) fn set_row_count(&mut self, rows: i64) {
        self.row_count = rows;
    }

    /// Messages of a failed statement and its end.
    fn send_messages(&mut self, messages: Vec<Message>) {
        for message in messages {
            if message.is_error() {
                self.last_error = i64::from(message.number);
                self.return_status = message.number as i32;
            }
            self.send(Output::Message(message));
        }
        self.send(Output::Done);
    }

    /// Runs the next instruction of the innermost frame.
    fn run_instruction(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        let program = Arc::clone(&frame.program);
        let Some(instruction) = program.get(frame.next) else {
            self.leave(0);
            return;
        };
        frame.next += 1;
        frame.caught.truncate(instruction.catch_depth);
        self.instructions_run += 1;
        if self.instructions_run > MAX_INSTRUCTIONS {
            let text = "The simulated server ended a batch that ran too many statements.";
            self.frames.clear();
            self.send_messages(vec![error(50000, 16, 1, text).at_line(instruction.line)]);
            return;
        }
        let done = match &instruction.action {
            Action::Jump(target) => {
                frame.next = *target;
                return;
            }
            Action::JumpUnless(condition, target) => match self.truth(condition) {
                Ok(true) => Ok(()),
                other => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.next = *target;
                    }
                    other.map(|_| ())
                }
            },
            Action::Run(statement) => self.run(statement, instruction.line),
        };
        match done {
            Ok(()) => self.last_error = 0,
            Err(failure) => self.fail(failure.at_line(instruction.line), instruction),
        }
    }

    /// Takes an error to the CATCH block that is due, or to the client.
    fn fail(&mut self, failure: Failure, instruction: &Instruction) {
        let error = failure.messages.iter().rev().find(|message| message.is_error()).cloned();
        self.last_error = error.as_ref().map_or(0, |error| i64::from(error.number));
        let here = instruction.handler.filter(|_| failure.reach != Reach::Scope);
        let depth = self.frames.len();
        let catcher = self.frames.iter().enumerate().rev().find_map(|(place, frame)| {
            let handler = if place + 1 == depth {
                here
            } else {
                // The call that is running stands just before `next`.
                frame.next.checked_sub(1).and_then(|at| frame.program.get(at)).and_then(|call| call.handler)
            };
            handler.map(|handler| (place, handler))
        });
        if let (Some((place, handler)), Some(message)) = (catcher, error) {
            let procedure = self.frames.last().and_then(|frame| frame.procedure.clone());
            self.unwind(place + 1);
            let message = self.host.language().translated(message);
            if let Some(frame) = self.frames.last_mut() {
                frame.caught.push(ErrorDetails { message, procedure });
                frame.next = handler;
            }
            return;
        }
        match failure.reach {
            Reach::Statement => {}
            Reach::Batch => self.unwind(0),
            Reach::Scope => self.unwind(depth.saturating_sub(1)),
        }
        self.send_messages(failure.messages);
    }

    fn unwind(&mut self, depth: usize) {
        while self.frames.len() > depth {
            if let Some(frame) = self.frames.pop()
                && !self.frames.is_empty()
            {
                self.return_to_database(frame.database);
            }
        }
    }

    /// Undoes USE inside dynamic SQL.
    fn return_to_database(&mut self, database: String) {
        if self.context.database != database {
            self.context.database.clone_from(&database);
            self.send(Output::Database(database));
        }
    }

    /// The innermost frame is done.
    pub(super) fn leave(&mut self, status: i32) {
        let Some(frame) = self.frames.pop() else { return };
        let Some(caller) = self.frames.last_mut() else {
            if status != 0 {
                self.return_status = status;
            }
            return;
        };
        let inner = frame.variables.borrow();
        let mut outer = caller.variables.borrow_mut();
        for (from, to) in &frame.outputs {
            outer.set(to, inner.value(from).cloned().unwrap_or(Datum::Null));
        }
        if let Some(result) = &frame.result {
            outer.set(result, Datum::Int(i64::from(status)));
        }
        drop(outer);
        drop(inner);
        self.return_to_database(frame.database);
        if frame.procedure.is_some() {
            self.send_procedure_done(status);
        }
    }

    fn server_state(&self) -> ServerState<'_> {
        ServerState {
            host: &*self.host,
            context: &self.context,
            now_ticks: self.host.utc_micros().saturating_mul(10),
            row_count: self.row_count,
            last_error: self.last_error,
            open_transactions: self.open_transactions,
            caught: self.frames.iter().rev().find_map(|frame| frame.caught.last()),
        }
    }

    fn frame(&self) -> Result<&Frame, Failure> {
        self.frames.last().ok_or_else(|| error(50000, 16, 1, "The simulated server has no running batch.").into())
    }

    fn truth(&self, condition: &ast::Condition) -> Result<bool, Failure> {
        let frame = self.frame()?;
        let (condition, ctes) = {
            let variables = frame.variables.borrow();
            let mut binder = Binder::new(&*self.host, &self.context.database, &variables);
            (binder.standalone_condition(condition)?, binder.into_ctes())
        };
        let executor = Executor::new(self.server_state(), &frame.variables, &ctes);
        Ok(executor.holds(&condition, &Env::EMPTY)? == Some(true))
    }

    /// A value brought to a type, or left in its own.
    pub(super) fn value(&self, expr: &ast::Expr, to: Option<SqlType>) -> Result<(Datum, SqlType), Failure> {
        let frame = self.frame()?;
        let (bound, ctes): (Expr, _) = {
            let variables = frame.variables.borrow();
            let mut binder = Binder::new(&*self.host, &self.context.database, &variables);
            let bound = binder.standalone(expr)?;
            let bound = match to {
                Some(to) => coerce(bound, to)?,
                None => bound,
            };
            (bound, binder.into_ctes())
        };
        let executor = Executor::new(self.server_state(), &frame.variables, &ctes);
        let value = executor.evaluate(&bound, &Env::EMPTY)?.into_owned();
        Ok((value, bound.sql_type))
    }

    pub(super) fn select(&mut self, query: &ast::Query) -> Result<(), Failure> {
        let frame = self.frame()?;
        let (plan, ctes) = {
            let variables = frame.variables.borrow();
            let mut binder = Binder::new(&*self.host, &self.context.database, &variables);
            (binder.statement(query)?, binder.into_ctes())
        };
        let executor = Executor::new(self.server_state(), &frame.variables, &ctes);
        if let Some(assignment) = plan.assignment() {
            let count = executor.assign(&plan, assignment)?;
            self.row_count = count as i64;
            self.send(Output::Done);
        } else {
            let rows = executor.query(&plan, None)?;
            self.row_count = rows.len() as i64;
            self.send(Output::Rows { columns: plan.columns, rows });
        }
        Ok(())
    }

    pub(super) fn set_variable(&self, name: &str, value: Datum) {
        if let Some(frame) = self.frames.last() {
            frame.variables.borrow_mut().set(name, value);
        }
    }

    /// The type of a variable of the running batch.
    pub(super) fn variable_type(&self, name: &str) -> Option<SqlType> {
        self.frames.last().and_then(|frame| frame.variables.borrow().sql_type(name))
    }

    /// The error the current CATCH block handles.
    pub(super) fn caught(&self) -> Option<&ErrorDetails> {
        self.frames.last().and_then(|frame| frame.caught.last())
    }
}

impl Session for SqlSession {
    fn spid(&self) -> u16 {
        self.context.spid
    }

    fn database(&self) -> String {
        self.context.database.clone()
    }

    fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    fn start(&mut self, number: u64, request: Request) {
        self.cancel();
        self.instructions_run = 0;
        self.return_status = 0;
        self.is_call = matches!(request, Request::ExecuteSql { .. });
        let refused = self.host.begin_request(&self.context, number);
        if self.is_cut_before_it_runs() {
            return;
        }
        if let Err(messages) = refused {
            self.owes_status = self.is_call;
            self.send_messages(messages);
            return;
        }
        match request {
            Request::Batch(sql) => self.load(&sql, Vec::new()),
            Request::ExecuteSql { sql, parameters } => {
                self.owes_status = true;
                self.load(&sql, parameters);
            }
        }
    }

    fn step(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.next_to_send() {
                return Some(step);
            }
            if self.frames.is_empty() {
                let owed = std::mem::take(&mut self.owes_status);
                return owed.then_some(Step::Output(Output::ReturnStatus(self.return_status)));
            }
            self.run_instruction();
            self.disturb_statement();
            if self.instructions_run.is_multiple_of(INSTRUCTIONS_AT_A_STRETCH)
                && self.outbox.is_empty()
                && !self.frames.is_empty()
            {
                return Some(Step::Wait(Duration::ZERO));
            }
        }
    }

    fn cancel(&mut self) {
        self.frames.clear();
        self.outbox.clear();
        self.owes_status = false;
        self.disturbances.clear();
    }

    fn reset(&mut self) {
        self.cancel();
        self.host.reset_session(&self.context);
        self.context.database.clone_from(&self.home_database);
        self.open_transactions = 0;
        self.row_count = 0;
        self.last_error = 0;
    }

    fn set_in_transaction(&mut self, open: bool) {
        self.open_transactions = i64::from(open);
    }
}

impl Drop for SqlSession {
    fn drop(&mut self) {
        self.host.end_session(&self.context);
    }
}
