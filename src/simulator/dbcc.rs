//! Owns DBCC: trace flags and clearing of statistics.
//!
//! Assumed: the numbers and texts of the errors, which no documentation at hand gives for each case.

use crate::simulator::events::cursor::{Cursor, Parsed};
use crate::simulator::host::SessionContext;
use crate::simulator::output::{Message, Output};
use crate::simulator::sql::tokenizer::{Token, TokenKind};
use crate::simulator::value::{Column, Datum, SqlType};
use std::collections::{BTreeMap, BTreeSet};

/// Which trace flags are on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceFlags {
    global: BTreeSet<u32>,
    sessions: BTreeMap<u16, BTreeSet<u32>>,
}

impl TraceFlags {
    /// Flags set at start-up (`-T`): global.
    pub fn at_startup(flags: &[u32]) -> Self {
        Self { global: flags.iter().copied().collect(), sessions: BTreeMap::new() }
    }

    /// On globally.
    pub fn is_global(&self, flag: u32) -> bool {
        self.global.contains(&flag)
    }

    /// On in a session's own scope.
    pub fn is_in_session(&self, spid: u16, flag: u32) -> bool {
        self.sessions.get(&spid).is_some_and(|flags| flags.contains(&flag))
    }

    /// The session is over.
    pub fn end_session(&mut self, spid: u16) {
        self.sessions.remove(&spid);
    }

    fn set(&mut self, spid: u16, global: bool, flags: &[u32], on: bool) {
        let scope = if global { &mut self.global } else { self.sessions.entry(spid).or_default() };
        for flag in flags {
            if on {
                scope.insert(*flag);
            } else {
                scope.remove(flag);
            }
        }
    }
}

/// TRACESTATUS shows flags as smallint. Assumed: larger numbers are refused.
const MAX_FLAG: u16 = i16::MAX as u16;

/// Statistics that DBCC SQLPERF clears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Statistics {
    Waits,
    Latches,
    Spinlocks,
}

/// A DBCC statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub action: Action,
    /// WITH NO_INFOMSGS.
    pub quiet: bool,
}

/// What a DBCC statement does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    TraceFlags { on: bool, flags: Vec<u32>, global: bool },
    TraceStatus { flags: Vec<u32>, global: bool },
    Clear(Statistics),
}

impl Action {
    /// The command's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TraceFlags { on: true, .. } => "TRACEON",
            Self::TraceFlags { on: false, .. } => "TRACEOFF",
            Self::TraceStatus { .. } => "TRACESTATUS",
            Self::Clear(_) => "SQLPERF",
        }
    }
}

enum Argument {
    Number(i64),
    Text(String),
}

/// 2526: no such command.
fn unknown_command() -> Message {
    Message::new(2526, 16, "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options.")
}

/// 2560: a parameter makes no sense; counted from 1.
fn wrong_parameter(number: usize) -> Message {
    Message::new(2560, 16, format!("Parameter {number} is incorrect for this DBCC statement."))
}

/// 2583: too few or too many parameters.
fn wrong_number_of_parameters() -> Message {
    Message::new(2583, 16, "An incorrect number of parameters was given to the DBCC statement.")
}

/// 2571: the command needs sysadmin.
pub fn not_permitted(login: &str, command: &str) -> Message {
    Message::new(2571, 14, format!("User '{login}' does not have permission to run DBCC {command}."))
}

/// 40518: no command of Azure SQL Database.
pub fn not_supported(command: &str) -> Message {
    Message::new(40518, 16, format!("DBCC command '{command}' is not supported in this version of SQL Server."))
}

/// Trace flags that Azure SQL Managed Instance supports, globally only (documented).
const OF_MANAGED_INSTANCE: [u32; 11] = [460, 2301, 2389, 2390, 2453, 2467, 7471, 8207, 9389, 10316, 11024];

/// Whether Managed Instance turns these flags on or off.
pub fn managed_instance_takes(flags: &[u32], global: bool) -> bool {
    global && flags.iter().all(|flag| OF_MANAGED_INSTANCE.contains(flag))
}

/// 2528: done.
pub fn completed() -> Output {
    Output::Message(Message::new(
        2528,
        0,
        "DBCC execution completed. If DBCC printed error messages, contact your system administrator.",
    ))
}

/// Parses a statement. Errors: 102, 156, 2526, 2532, 2560, 2583.
pub fn parse(tokens: &[Token]) -> Parsed<Command> {
    let mut cursor = Cursor::new(tokens);
    cursor.expect_word("DBCC")?;
    let name = cursor.expect_name()?.to_uppercase();
    let arguments = arguments(&mut cursor)?;
    let quiet = with_options(&mut cursor)?;
    cursor.expect_end()?;
    let action = match name.as_str() {
        "TRACEON" | "TRACEOFF" => {
            let (flags, global) = flags(&arguments)?;
            if arguments.is_empty() {
                return Err(wrong_number_of_parameters());
            }
            Action::TraceFlags { on: name == "TRACEON", flags, global }
        }
        "TRACESTATUS" => {
            let (flags, global) = flags(&arguments)?;
            Action::TraceStatus { flags, global }
        }
        "SQLPERF" => Action::Clear(statistics(&arguments)?),
        _ => return Err(unknown_command()),
    };
    Ok(Command { action, quiet })
}

fn arguments(cursor: &mut Cursor<'_>) -> Parsed<Vec<Argument>> {
    let mut found = Vec::new();
    if !cursor.take_symbol("(") || cursor.take_symbol(")") {
        return Ok(found);
    }
    loop {
        let negative = cursor.take_symbol("-");
        let Some(token) = cursor.peek() else { return Err(cursor.unexpected()) };
        found.push(match token.kind {
            TokenKind::Number => {
                // What is no whole number fails as a parameter, not as syntax.
                let number = token.text.parse::<i64>().unwrap_or(i64::MIN);
                Argument::Number(if negative { number.saturating_neg() } else { number })
            }
            TokenKind::String | TokenKind::Word | TokenKind::QuotedIdentifier if !negative => {
                Argument::Text(token.text.clone())
            }
            _ => return Err(cursor.unexpected()),
        });
        cursor.bump();
        if !cursor.take_symbol(",") {
            cursor.expect_symbol(")")?;
            return Ok(found);
        }
    }
}

fn with_options(cursor: &mut Cursor<'_>) -> Parsed<bool> {
    if !cursor.take_word("WITH") {
        return Ok(false);
    }
    if cursor.take_word("NO_INFOMSGS") {
        return Ok(true);
    }
    cursor.expect_name()?;
    Err(Message::new(2532, 16, "One or more WITH options specified are not valid for this command."))
}

/// Flags, and whether -1 stands among them. Any other number is taken, as the product takes it.
fn flags(arguments: &[Argument]) -> Parsed<(Vec<u32>, bool)> {
    let (mut flags, mut global) = (Vec::new(), false);
    for (index, argument) in arguments.iter().enumerate() {
        match argument {
            Argument::Number(-1) => global = true,
            Argument::Number(number) => {
                let flag = u16::try_from(*number).ok().filter(|flag| *flag <= MAX_FLAG);
                flags.push(flag.map(u32::from).ok_or_else(|| wrong_parameter(index + 1))?);
            }
            Argument::Text(_) => return Err(wrong_parameter(index + 1)),
        }
    }
    Ok((flags, global))
}

fn statistics(arguments: &[Argument]) -> Parsed<Statistics> {
    let [first, second] = arguments else { return Err(wrong_number_of_parameters()) };
    let of = match first {
        Argument::Text(name) => match name.to_lowercase().as_str() {
            "sys.dm_os_wait_stats" => Some(Statistics::Waits),
            "sys.dm_os_latch_stats" => Some(Statistics::Latches),
            "sys.dm_os_spinlock_stats" => Some(Statistics::Spinlocks),
            _ => None,
        },
        Argument::Number(_) => None,
    };
    let of = of.ok_or_else(|| wrong_parameter(1))?;
    match second {
        Argument::Text(word) if word.eq_ignore_ascii_case("CLEAR") => Ok(of),
        _ => Err(wrong_parameter(2)),
    }
}

/// TRACEON and TRACEOFF.
pub fn set_flags(state: &mut TraceFlags, session: &SessionContext, flags: &[u32], global: bool, on: bool) {
    state.set(session.spid, global, flags, on);
}

/// TRACESTATUS: a row for each flag asked for; without flags one for each that is on, and no rowset when none is, unless
/// there is always one. Assumed: which of the two.
pub fn trace_status(
    state: &TraceFlags,
    session: &SessionContext,
    flags: &[u32],
    global: bool,
    always_rowset: bool,
) -> Option<Output> {
    let asked: Vec<u32> = if flags.is_empty() {
        let own = state.sessions.get(&session.spid).filter(|_| !global);
        state.global.union(own.unwrap_or(&BTreeSet::new())).copied().collect()
    } else {
        flags.to_vec()
    };
    if asked.is_empty() && !always_rowset {
        return None;
    }
    let columns = ["TraceFlag", "Status", "Global", "Session"].map(|name| Column::new(name, SqlType::SmallInt));
    let rows = asked.into_iter().map(|flag| {
        let (global, own) = (state.is_global(flag), state.is_in_session(session.spid, flag));
        vec![
            Datum::Int(i64::from(flag)),
            Datum::Int(i64::from(global || own)),
            Datum::Int(i64::from(global)),
            Datum::Int(i64::from(own)),
        ]
    });
    Some(Output::Rows { rows: rows.collect(), columns: columns.to_vec() })
}
