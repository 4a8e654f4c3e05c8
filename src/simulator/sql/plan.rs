//! Owns the bound tree of a statement: names resolved, every expression with its type, conversions written out.

use crate::simulator::sql::aggregate::AggregateFunction;
use crate::simulator::sql::ast::{Arithmetic, Comparison, JoinKind};
use crate::simulator::sql::compare::Collation;
use crate::simulator::sql::functions::Function;
use crate::simulator::value::{Column, Datum, SqlType};
use std::ops::Range;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) sql_type: SqlType,
    pub(super) nullable: bool,
    /// `None`: the server's.
    pub(super) collation: Option<Collation>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ExprKind {
    Literal(Datum),
    /// A column of the `source`-th table of the query `depth` levels out.
    Column {
        depth: usize,
        source: usize,
        column: usize,
    },
    /// The aggregate's place in its query's list.
    Aggregate(usize),
    /// The window function's place in its query's list.
    Window(usize),
    Variable(String),
    Chain {
        first: Box<Expr>,
        steps: Vec<ChainStep>,
    },
    Negate(Box<Expr>),
    BitNot(Box<Expr>),
    Call {
        function: &'static Function,
        arguments: Vec<Expr>,
    },
    /// Operand and tests have one type.
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
    /// `other` and the value brought to `compared_as` are compared; the answer is the value as it is.
    NullIf {
        value: Box<Expr>,
        other: Box<Expr>,
        compared_as: SqlType,
    },
    Convert {
        value: Box<Expr>,
        style: Option<Box<Expr>>,
        lenient: bool,
    },
    Subquery(Box<QueryPlan>),
}

/// One operator of a chain; the left operand is what stands before it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChainStep {
    pub(super) operator: Arithmetic,
    pub(super) operand: Expr,
    pub(super) result: SqlType,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Compare {
        operator: Comparison,
        left: Expr,
        right: Expr,
        collation: Collation,
    },
    Between {
        value: Expr,
        low: Expr,
        high: Expr,
        collation: Collation,
    },
    Like {
        value: Expr,
        pattern: Expr,
        escape: Option<Expr>,
        collation: Collation,
    },
    InList {
        value: Expr,
        list: Vec<Expr>,
        collation: Collation,
    },
    /// The query's only column is brought to the value's type.
    InQuery {
        value: Expr,
        query: Box<QueryPlan>,
        collation: Collation,
    },
    IsNull(Expr),
    Exists(Box<QueryPlan>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryPlan {
    /// Unique in its statement.
    pub(super) id: usize,
    /// Whether it reads columns of a query around it.
    pub(super) correlated: bool,
    pub(super) columns: Vec<Column>,
    pub(super) first: TermPlan,
    pub(super) unions: Vec<UnionPlan>,
    pub(super) order: Vec<SortKey>,
    pub(super) offset: Option<Expr>,
    pub(super) fetch: Option<Expr>,
}

impl QueryPlan {
    /// The SELECT that sets variables instead of returning rows.
    pub(super) fn assignment(&self) -> Option<&SelectPlan> {
        match &self.first {
            TermPlan::Select(select) if !select.assigned.is_empty() => Some(select),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnionPlan {
    pub(super) all: bool,
    pub(super) term: TermPlan,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TermPlan {
    Select(Box<SelectPlan>),
    Nested(Box<QueryPlan>),
}

impl TermPlan {
    pub(super) fn columns(&self) -> &[Column] {
        match self {
            Self::Select(select) => &select.columns,
            Self::Nested(query) => &query.columns,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SortKey {
    pub(super) by: SortBy,
    pub(super) descending: bool,
    pub(super) collation: Collation,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum SortBy {
    /// An output column.
    Output(usize),
    Value(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SelectPlan {
    /// Tables of FROM; a row has a place for each.
    pub(super) sources: usize,
    pub(super) from: Option<ChainPlan>,
    /// Conditions that all must hold.
    pub(super) filter: Vec<Condition>,
    pub(super) grouping: Option<Grouping>,
    pub(super) having: Option<Condition>,
    pub(super) windows: Vec<WindowPlan>,
    pub(super) items: Vec<Expr>,
    /// The variables the items go to; empty for a SELECT that returns rows.
    pub(super) assigned: Vec<String>,
    pub(super) columns: Vec<Column>,
    pub(super) distinct: bool,
    pub(super) top: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grouping {
    /// Empty for aggregates over the whole.
    pub(super) keys: Vec<Expr>,
    pub(super) aggregates: Vec<AggregatePlan>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct AggregatePlan {
    pub(super) function: AggregateFunction,
    pub(super) distinct: bool,
    pub(super) argument: Option<Expr>,
    pub(super) separator: Option<Expr>,
    pub(super) order: Vec<SortKey>,
    pub(super) result: SqlType,
}

/// `function OVER (PARTITION BY … ORDER BY …)`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WindowPlan {
    /// ROW_NUMBER when there is no aggregate.
    pub(super) aggregate: Option<AggregatePlan>,
    pub(super) partition_by: Vec<Expr>,
    pub(super) order: Vec<SortKey>,
}

/// A source, what its rows must fulfil, and what is joined to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChainPlan {
    pub(super) first: SourcePlan,
    pub(super) first_filter: Vec<Condition>,
    pub(super) joins: Vec<JoinPlan>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct JoinPlan {
    pub(super) kind: JoinKind,
    pub(super) source: SourcePlan,
    /// The places the source fills.
    pub(super) slots: Range<usize>,
    /// Conditions that all must hold.
    pub(super) on: Vec<Condition>,
    /// Equalities among `on` that find partners by hash.
    pub(super) equal: Vec<EqualPair>,
}

/// `earlier = joined`, each side reading only its own sources.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EqualPair {
    pub(super) earlier: Expr,
    pub(super) joined: Expr,
    pub(super) collation: Collation,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum SourcePlan {
    View { slot: usize, schema: String, name: String, arguments: Vec<Expr> },
    Derived { slot: usize, plan: Box<QueryPlan> },
    Cte { slot: usize, index: usize },
    Values { slot: usize, rows: Vec<Vec<Expr>> },
    Nested(Box<ChainPlan>),
}

impl Expr {
    pub(super) fn literal(value: Datum, sql_type: SqlType) -> Self {
        let nullable = value == Datum::Null;
        Self { kind: ExprKind::Literal(value), sql_type, nullable, collation: None }
    }

    pub(super) fn new(kind: ExprKind, sql_type: SqlType, nullable: bool) -> Self {
        Self { kind, sql_type, nullable, collation: None }
    }

    /// The literal NULL takes the type of what stands beside it.
    pub(super) fn is_null_literal(&self) -> bool {
        self.kind == ExprKind::Literal(Datum::Null)
    }

    /// Calls `visit` for this expression and, where it answers true, for those inside it. Subqueries are visited as
    /// such, not entered.
    pub(super) fn walk(&self, visit: &mut dyn FnMut(&Expr) -> bool) {
        if !visit(self) {
            return;
        }
        match &self.kind {
            ExprKind::Literal(_)
            | ExprKind::Column { .. }
            | ExprKind::Aggregate(_)
            | ExprKind::Window(_)
            | ExprKind::Variable(_)
            | ExprKind::Subquery(_) => {}
            ExprKind::Chain { first, steps } => {
                first.walk(visit);
                for step in steps {
                    step.operand.walk(visit);
                }
            }
            ExprKind::Negate(value) | ExprKind::BitNot(value) => value.walk(visit),
            ExprKind::Call { arguments, .. } | ExprKind::Coalesce(arguments) => {
                for argument in arguments {
                    argument.walk(visit);
                }
            }
            ExprKind::SimpleCase { operand, branches, otherwise } => {
                operand.walk(visit);
                for (when, then) in branches {
                    when.walk(visit);
                    then.walk(visit);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.walk(visit);
                }
            }
            ExprKind::SearchedCase { branches, otherwise } => {
                for (when, then) in branches {
                    when.walk(visit);
                    then.walk(visit);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.walk(visit);
                }
            }
            ExprKind::NullIf { value, other, .. } => {
                value.walk(visit);
                other.walk(visit);
            }
            ExprKind::Convert { value, style, .. } => {
                value.walk(visit);
                if let Some(style) = style {
                    style.walk(visit);
                }
            }
        }
    }
}

impl Condition {
    /// Walks the expressions of the condition; see [`Expr::walk`]. Answers whether it holds no subquery of its own.
    pub(super) fn walk(&self, visit: &mut dyn FnMut(&Expr) -> bool) -> bool {
        match self {
            Self::And(parts) | Self::Or(parts) => {
                let mut plain = true;
                for part in parts {
                    plain &= part.walk(visit);
                }
                plain
            }
            Self::Not(inner) => inner.walk(visit),
            Self::Compare { left, right, .. } => walk_all(&[left, right], visit),
            Self::Between { value, low, high, .. } => walk_all(&[value, low, high], visit),
            Self::Like { value, pattern, escape, .. } => {
                if let Some(escape) = escape {
                    escape.walk(visit);
                }
                walk_all(&[value, pattern], visit)
            }
            Self::InList { value, list, .. } => {
                for member in list {
                    member.walk(visit);
                }
                walk_all(&[value], visit)
            }
            Self::InQuery { value, .. } => {
                value.walk(visit);
                false
            }
            Self::IsNull(value) => walk_all(&[value], visit),
            Self::Exists(_) => false,
        }
    }
}

fn walk_all(values: &[&Expr], visit: &mut dyn FnMut(&Expr) -> bool) -> bool {
    for value in values {
        value.walk(visit);
    }
    true
}
