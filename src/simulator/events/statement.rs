//! Owns the grammar of CREATE, ALTER and DROP EVENT SESSION: tokens in, statement out, names not yet looked up.

use crate::model::ServerVersion;
use crate::simulator::events::cursor::{Cursor, Parsed};
use crate::simulator::events::errors;
use crate::simulator::events::expression::{self, Expression, Literal};
use crate::simulator::events::options::{self, OptionSetting};
use crate::simulator::sql::tokenizer::Token;
use std::fmt;

/// `[module.]package.object`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ObjectName {
    pub package: String,
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.package, self.name)
    }
}

/// ADD EVENT.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct EventClause {
    pub name: ObjectName,
    pub settings: Vec<(String, Literal)>,
    pub actions: Vec<ObjectName>,
    pub predicate: Option<PredicateClause>,
}

/// WHERE.
#[derive(Debug, Clone, PartialEq)]
pub struct PredicateClause {
    /// The expression.
    pub expression: Expression,
    /// Its text's length in bytes.
    pub length: usize,
}

/// ADD TARGET.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct TargetClause {
    pub name: ObjectName,
    pub settings: Vec<(String, Literal)>,
}

/// Where a statement says the session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// ON SERVER.
    Server,
    /// ON DATABASE: the current one.
    Database,
}

/// What a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grammar {
    /// Its version.
    pub version: ServerVersion,
    /// Whether MAX_DURATION is an option; documented for 2025, before it is a syntax error.
    pub max_duration: bool,
}

impl Grammar {
    /// That of a version.
    pub fn of(version: ServerVersion) -> Self {
        Self { version, max_duration: version >= ServerVersion::V2025 }
    }
}

/// A whole statement.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Statement {
    Create { name: String, events: Vec<EventClause>, targets: Vec<TargetClause>, options: Vec<OptionSetting> },
    Alter { name: String, change: Change },
    Drop { name: String },
}

impl Statement {
    /// Its name among the statements that a fault can be for.
    pub fn fault_name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Drop { .. } => "drop",
            Self::Alter { change: Change::Start, .. } => "start",
            Self::Alter { change: Change::Stop, .. } => "stop",
            Self::Alter { change: Change::Add { .. }, .. } => "alter-add",
            Self::Alter { change: Change::Drop { .. }, .. } => "alter-drop",
        }
    }
}

/// What ALTER does.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Change {
    Start,
    Stop,
    Add { events: Vec<EventClause>, targets: Vec<TargetClause>, options: Vec<OptionSetting> },
    Drop { events: Vec<ObjectName>, targets: Vec<ObjectName>, options: Vec<OptionSetting> },
}

const NAME_LENGTH: usize = 128;

/// Parses a statement. Errors: 102, 156, 103, 191, 1038, and those of the options.
pub fn parse(tokens: &[Token], grammar: Grammar) -> Parsed<(Statement, Level)> {
    let mut cursor = Cursor::new(tokens);
    let verb = cursor.bump();
    let is = |word: &str| verb.is_some_and(|token| token.is_word(word));
    if !["CREATE", "ALTER", "DROP"].into_iter().any(is) {
        return Err(Cursor::new(tokens).unexpected());
    }
    let (name, level) = session_name(&mut cursor, grammar)?;
    let statement = if is("CREATE") {
        create(&mut cursor, name, grammar)?
    } else if is("ALTER") {
        Statement::Alter { name, change: change(&mut cursor, grammar)? }
    } else {
        Statement::Drop { name }
    };
    cursor.expect_end()?;
    Ok((statement, level))
}

/// `EVENT SESSION name ON SERVER|DATABASE`. Assumed: the product outside Azure refuses ON DATABASE as a syntax error.
fn session_name(cursor: &mut Cursor<'_>, grammar: Grammar) -> Parsed<(String, Level)> {
    cursor.expect_word("EVENT")?;
    cursor.expect_word("SESSION")?;
    let name = cursor.expect_name()?.to_owned();
    if name.is_empty() {
        return Err(errors::empty_name());
    }
    if name.chars().count() > NAME_LENGTH {
        return Err(errors::identifier_too_long(&name));
    }
    cursor.expect_word("ON")?;
    if grammar.version >= ServerVersion::AzureMi && cursor.take_word("DATABASE") {
        return Ok((name, Level::Database));
    }
    cursor.expect_word("SERVER")?;
    Ok((name, Level::Server))
}

fn create(cursor: &mut Cursor<'_>, name: String, grammar: Grammar) -> Parsed<Statement> {
    let (events, targets) = additions(cursor)?;
    if events.is_empty() {
        return Err(cursor.unexpected());
    }
    let options = with_options(cursor, grammar)?;
    Ok(Statement::Create { name, events, targets, options })
}

fn change(cursor: &mut Cursor<'_>, grammar: Grammar) -> Parsed<Change> {
    if cursor.take_word("STATE") {
        cursor.expect_symbol("=")?;
        return if cursor.take_word("START") {
            Ok(Change::Start)
        } else if cursor.take_word("STOP") {
            Ok(Change::Stop)
        } else {
            Err(cursor.unexpected())
        };
    }
    if cursor.peek().is_some_and(|token| token.is_word("DROP")) {
        let (events, targets) = removals(cursor)?;
        return Ok(Change::Drop { events, targets, options: with_options(cursor, grammar)? });
    }
    let (events, targets) = additions(cursor)?;
    let options = with_options(cursor, grammar)?;
    if events.is_empty() && targets.is_empty() && options.is_empty() {
        return Err(cursor.unexpected());
    }
    Ok(Change::Add { events, targets, options })
}

/// `ADD EVENT …, ADD EVENT … ADD TARGET …, ADD TARGET …`.
fn additions(cursor: &mut Cursor<'_>) -> Parsed<(Vec<EventClause>, Vec<TargetClause>)> {
    let events = clauses(cursor, "ADD", "EVENT", event_clause)?;
    let targets = clauses(cursor, "ADD", "TARGET", target_clause)?;
    Ok((events, targets))
}

/// `DROP EVENT …, DROP EVENT … DROP TARGET …`.
fn removals(cursor: &mut Cursor<'_>) -> Parsed<(Vec<ObjectName>, Vec<ObjectName>)> {
    let events = clauses(cursor, "DROP", "EVENT", object_name)?;
    let targets = clauses(cursor, "DROP", "TARGET", object_name)?;
    Ok((events, targets))
}

fn clauses<T>(
    cursor: &mut Cursor<'_>,
    verb: &str,
    kind: &str,
    clause: impl Fn(&mut Cursor<'_>) -> Parsed<T>,
) -> Parsed<Vec<T>> {
    let mut found = Vec::new();
    let here = |cursor: &Cursor<'_>| {
        cursor.peek().is_some_and(|token| token.is_word(verb))
            && cursor.peek_at(1).is_some_and(|token| token.is_word(kind))
    };
    while here(cursor) {
        cursor.bump();
        cursor.bump();
        found.push(clause(cursor)?);
        if !cursor.take_symbol(",") {
            break;
        }
        if !here(cursor) {
            // After a comma only another clause of the same kind may stand.
            let mut wrong = cursor.clone();
            wrong.take_word(verb);
            return Err(wrong.unexpected());
        }
    }
    Ok(found)
}

fn object_name(cursor: &mut Cursor<'_>) -> Parsed<ObjectName> {
    let first = cursor.expect_name()?.to_owned();
    cursor.expect_symbol(".")?;
    let second = cursor.expect_name()?.to_owned();
    if cursor.take_symbol(".") {
        // The first was the module's GUID, which only tells packages of equal name apart.
        return Ok(ObjectName { package: second, name: cursor.expect_name()?.to_owned() });
    }
    Ok(ObjectName { package: first, name: second })
}

fn event_clause(cursor: &mut Cursor<'_>) -> Parsed<EventClause> {
    let mut clause =
        EventClause { name: object_name(cursor)?, settings: Vec::new(), actions: Vec::new(), predicate: None };
    if !cursor.take_symbol("(") {
        return Ok(clause);
    }
    if cursor.take_word("SET") {
        clause.settings = settings(cursor)?;
    }
    if cursor.take_word("ACTION") {
        cursor.expect_symbol("(")?;
        loop {
            clause.actions.push(object_name(cursor)?);
            if !cursor.take_symbol(",") {
                break;
            }
        }
        cursor.expect_symbol(")")?;
    }
    if cursor.take_word("WHERE") {
        let start = cursor.peek().map_or(0, |token| token.start);
        let expression = expression::parse(cursor)?;
        let end = cursor.previous().map_or(start, |token| token.end);
        clause.predicate = Some(PredicateClause { expression, length: end.saturating_sub(start) });
    }
    if clause.settings.is_empty() && clause.actions.is_empty() && clause.predicate.is_none() {
        return Err(cursor.unexpected());
    }
    cursor.expect_symbol(")")?;
    Ok(clause)
}

fn target_clause(cursor: &mut Cursor<'_>) -> Parsed<TargetClause> {
    let mut clause = TargetClause { name: object_name(cursor)?, settings: Vec::new() };
    if cursor.take_symbol("(") {
        cursor.expect_word("SET")?;
        clause.settings = settings(cursor)?;
        cursor.expect_symbol(")")?;
    }
    Ok(clause)
}

/// `name = value, …`.
fn settings(cursor: &mut Cursor<'_>) -> Parsed<Vec<(String, Literal)>> {
    let mut found = Vec::new();
    loop {
        let name = cursor.expect_name()?.to_owned();
        cursor.expect_symbol("=")?;
        found.push((name, expression::literal(cursor)?));
        if !cursor.take_symbol(",") {
            return Ok(found);
        }
    }
}

fn with_options(cursor: &mut Cursor<'_>, grammar: Grammar) -> Parsed<Vec<OptionSetting>> {
    if !cursor.take_word("WITH") {
        return Ok(Vec::new());
    }
    cursor.expect_symbol("(")?;
    let found = options::parse(cursor, grammar)?;
    cursor.expect_symbol(")")?;
    Ok(found)
}
