//! Owns the syntax tree of a batch: what was written, before names and types are known.

use crate::simulator::collation::Collation;
use crate::simulator::sql::aggregate::AggregateFunction;
use crate::simulator::sql::functions::Function;
use crate::simulator::sql::tokenizer::Token;
use crate::simulator::value::SqlType;

/// A statement and the line it starts on.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) line: u32,
    pub(super) kind: StatementKind,
}

#[derive(Debug)]
pub(super) enum StatementKind {
    Select(Query),
    Declare(Vec<Declaration>),
    SetVariable {
        name: String,
        value: Expr,
    },
    /// A SET option that changes nothing here.
    SetOption,
    Use(String),
    Print(Expr),
    If {
        condition: Condition,
        then: Box<Statement>,
        otherwise: Option<Box<Statement>>,
    },
    While {
        condition: Condition,
        body: Box<Statement>,
    },
    Break,
    Continue,
    Block(Vec<Statement>),
    Try {
        body: Vec<Statement>,
        handler: Vec<Statement>,
    },
    Begin,
    Commit,
    Rollback,
    RaiseError {
        message: Expr,
        severity: Expr,
        state: Expr,
        arguments: Vec<Expr>,
    },
    Throw(Option<Throw>),
    WaitFor(Expr),
    Return(Option<Expr>),
    Execute(Execute),
    ExecuteText(Expr),
    EventSession(Vec<Token>),
    Dbcc(Vec<Token>),
}

#[derive(Debug)]
pub(super) struct Throw {
    pub(super) number: Expr,
    pub(super) message: Expr,
    pub(super) state: Expr,
}

#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) sql_type: SqlType,
    pub(super) value: Option<Expr>,
}

/// A procedure call.
#[derive(Debug)]
pub(super) struct Execute {
    /// The parts of its name.
    pub(super) procedure: Vec<String>,
    /// The variable that takes the return value.
    pub(super) result: Option<String>,
    pub(super) arguments: Vec<Argument>,
}

#[derive(Debug)]
pub(super) struct Argument {
    /// With its `@`; none when given by position.
    pub(super) name: Option<String>,
    pub(super) value: Expr,
    pub(super) output: bool,
}

#[derive(Debug)]
pub(super) struct Query {
    pub(super) ctes: Vec<Cte>,
    pub(super) first: Term,
    pub(super) unions: Vec<Union>,
    pub(super) order_by: Vec<OrderItem>,
    pub(super) offset: Option<Expr>,
    pub(super) fetch: Option<Expr>,
}

#[derive(Debug)]
pub(super) struct Cte {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) query: Query,
}

#[derive(Debug)]
pub(super) struct Union {
    pub(super) all: bool,
    pub(super) term: Term,
}

#[derive(Debug)]
pub(super) enum Term {
    Select(Box<Select>),
    Nested(Box<Query>),
}

#[derive(Debug)]
pub(super) struct Select {
    pub(super) distinct: bool,
    pub(super) top: Option<Expr>,
    pub(super) items: Vec<SelectItem>,
    pub(super) from: Vec<FromChain>,
    pub(super) filter: Option<Condition>,
    pub(super) group_by: Vec<Expr>,
    pub(super) having: Option<Condition>,
}

#[derive(Debug)]
pub(super) enum SelectItem {
    Star { qualifier: Vec<String>, line: u32 },
    Value { expr: Expr, alias: Option<String> },
    Assign { variable: String, expr: Expr },
}

#[derive(Debug)]
pub(super) struct OrderItem {
    pub(super) expr: Expr,
    pub(super) descending: bool,
}

/// A table source and what is joined to it.
#[derive(Debug)]
pub(super) struct FromChain {
    pub(super) first: Source,
    pub(super) joins: Vec<Join>,
}

#[derive(Debug)]
pub(super) struct Join {
    pub(super) kind: JoinKind,
    pub(super) source: Source,
    pub(super) on: Option<Condition>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    CrossApply,
    OuterApply,
}

#[derive(Debug)]
pub(super) enum Source {
    Named { name: Vec<String>, alias: Option<String>, arguments: Option<Vec<Expr>>, line: u32 },
    Derived { query: Box<Query>, alias: String, columns: Vec<String> },
    Values { rows: Vec<Vec<Expr>>, alias: String, columns: Vec<String> },
    Nested(Box<FromChain>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug)]
pub(super) enum Expr {
    Null,
    Text {
        value: String,
        national: bool,
    },
    /// As written.
    Number(String),
    Variable(String),
    Column {
        parts: Vec<String>,
        line: u32,
    },
    /// Operators of one precedence, from left to right.
    Chain {
        first: Box<Expr>,
        steps: Vec<(Arithmetic, Expr)>,
    },
    Negate(Box<Expr>),
    BitNot(Box<Expr>),
    Call {
        function: &'static Function,
        arguments: Vec<Expr>,
    },
    Aggregate(Box<AggregateCall>),
    /// A function with OVER: an aggregate, or ROW_NUMBER when there is none.
    Window {
        aggregate: Option<Box<AggregateCall>>,
        partition_by: Vec<Expr>,
        order_by: Vec<OrderItem>,
    },
    SimpleCase {
        operand: Box<Expr>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    SearchedCase {
        branches: Vec<(Condition, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Coalesce(Vec<Expr>),
    NullIf(Box<Expr>, Box<Expr>),
    IsNull(Box<Expr>, Box<Expr>),
    Convert {
        value: Box<Expr>,
        to: SqlType,
        style: Option<Box<Expr>>,
        lenient: bool,
    },
    Collate {
        value: Box<Expr>,
        /// `None`: the database's.
        collation: Option<Collation>,
    },
    Subquery(Box<Query>),
}

#[derive(Debug)]
pub(super) struct AggregateCall {
    pub(super) function: AggregateFunction,
    pub(super) distinct: bool,
    /// None for COUNT(*).
    pub(super) argument: Option<Expr>,
    /// Of STRING_AGG.
    pub(super) separator: Option<Expr>,
    /// WITHIN GROUP of STRING_AGG.
    pub(super) order_by: Vec<OrderItem>,
}

#[derive(Debug)]
pub(super) enum Condition {
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Compare { operator: Comparison, left: Expr, right: Expr },
    Between { value: Expr, low: Expr, high: Expr },
    Like { value: Expr, pattern: Expr, escape: Option<Expr> },
    InList { value: Expr, list: Vec<Expr> },
    InQuery { value: Expr, query: Box<Query> },
    IsNull(Expr),
    Exists(Box<Query>),
}
