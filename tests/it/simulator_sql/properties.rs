//! Properties: nothing panics or hangs; integer arithmetic and three-valued logic agree with a reference.

use super::host::{TestHost, answer, describe, errors_of, run};
use proptest::prelude::*;

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "TOP",
    "DISTINCT",
    "JOIN",
    "LEFT",
    "ON",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
    "BETWEEN",
    "IS",
    "NULL",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "(",
    ")",
    ",",
    ".",
    "*",
    "+",
    "-",
    "/",
    "%",
    "=",
    "<>",
    "<",
    "'a'",
    "N'b%'",
    "1",
    "2.5",
    "0x1F",
    "1e3",
    "@x",
    "@@SPID",
    "sys",
    "dm_files",
    "size",
    "dm_many",
    "f",
    "[q]",
    "DECLARE",
    "int",
    "nvarchar",
    "SET",
    "IF",
    "WHILE",
    "BEGIN",
    "END",
    "TRY",
    "CATCH",
    "EXEC",
    "sp_executesql",
    "RETURN",
    "BREAK",
    "UNION",
    "ALL",
    "WITH",
    "COUNT",
    "SUM",
    "MAX",
    "LEN",
    "DATEADD",
    "day",
    "GETDATE",
    "EXISTS",
    "COALESCE",
    "ISNULL",
    "NULLIF",
    "CONVERT",
    "ROUND",
    "REPLACE",
    "STRING_AGG",
    "ROW_NUMBER",
    "OVER",
    "PARTITION",
    "BY",
    "OFFSET",
    "ROWS",
    "FETCH",
    "ONLY",
    "CROSS",
    "APPLY",
    "VALUES",
    "USE",
    "PRINT",
    "RAISERROR",
    "THROW",
    "DBCC",
    "CREATE",
    "ALTER",
    "DROP",
    "EVENT",
    "SESSION",
    ";",
    "COLLATE",
    "Latin1_General_BIN2",
    "~",
    "&",
    "!",
    "'",
    "\"",
    "/*",
    "--",
    "WAITFOR",
    "DELAY",
    "'00:00:01'",
    "COMMIT",
    "ROLLBACK",
    "OPTION",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_words_are_answered(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        run(&mut TestHost::new().session(), &words.join(" "));
    }

    #[test]
    fn any_select_is_answered(words in prop::collection::vec(prop::sample::select(WORDS), 0..12)) {
        run(&mut TestHost::new().session(), &format!("DECLARE @x int = 1 SELECT {} FROM sys.dm_files f", words.join(" ")));
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,60}") {
        run(&mut TestHost::new().session(), &text);
        run(&mut TestHost::new().session(), &format!("SELECT {text}"));
    }

    #[test]
    fn a_batch_cut_anywhere_is_answered(at in 0_usize..400) {
        let sql = "DECLARE @i int = 0; WHILE @i < 3 BEGIN SET @i += 1 END; BEGIN TRY SELECT TOP (2) f.size AS [s], COUNT(*) \
                   FROM sys.dm_files AS f LEFT JOIN sys.dm_os_schedulers s ON s.scheduler_id = f.database_id WHERE f.size \
                   BETWEEN 1 AND 100 AND s.status LIKE N'%O[NM]%' GROUP BY f.size ORDER BY 1 DESC END TRY BEGIN CATCH THROW END \
                   CATCH EXEC sp_executesql N'SELECT @a', N'@a int', @a = 1";
        let end = sql.char_indices().map(|(place, _)| place).nth(at).unwrap_or(sql.len());
        run(&mut TestHost::new().session(), sql.get(..end).unwrap_or(sql));
    }
}

/// An integer expression and what int arithmetic makes of it: the value, or the error number.
#[derive(Debug, Clone)]
enum Arithmetic {
    Number(i32),
    Binary(Box<Arithmetic>, char, Box<Arithmetic>),
}

impl Arithmetic {
    fn sql(&self) -> String {
        match self {
            Self::Number(number) if *number < 0 => format!("({number})"),
            Self::Number(number) => number.to_string(),
            Self::Binary(left, operator, right) => format!("({} {operator} {})", left.sql(), right.sql()),
        }
    }

    fn value(&self) -> Result<i32, u32> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Binary(left, operator, right) => {
                let (left, right) = (left.value()?, right.value()?);
                match operator {
                    '+' => left.checked_add(right).ok_or(8115),
                    '-' => left.checked_sub(right).ok_or(8115),
                    '*' => left.checked_mul(right).ok_or(8115),
                    '/' | '%' if right == 0 => Err(8134),
                    '/' => left.checked_div(right).ok_or(8115),
                    '%' => Ok(left.wrapping_rem(right)),
                    '&' => Ok(left & right),
                    '|' => Ok(left | right),
                    _ => Ok(left ^ right),
                }
            }
        }
    }
}

fn arithmetic() -> impl Strategy<Value = Arithmetic> {
    let number = prop_oneof![-20_i32..20, -i32::MAX..i32::MAX].prop_map(Arithmetic::Number);
    number.prop_recursive(5, 32, 2, |inner| {
        let operator = prop::sample::select(vec!['+', '-', '*', '/', '%', '&', '|', '^']);
        (inner.clone(), operator, inner)
            .prop_map(|(left, operator, right)| Arithmetic::Binary(Box::new(left), operator, Box::new(right)))
    })
}

#[derive(Debug, Clone)]
enum Logic {
    Leaf(Option<bool>),
    Not(Box<Logic>),
    And(Box<Logic>, Box<Logic>),
    Or(Box<Logic>, Box<Logic>),
}

impl Logic {
    fn sql(&self) -> String {
        match self {
            Self::Leaf(Some(true)) => "1 = 1".to_owned(),
            Self::Leaf(Some(false)) => "1 = 2".to_owned(),
            Self::Leaf(None) => "NULL = 1".to_owned(),
            Self::Not(inner) => format!("NOT ({})", inner.sql()),
            Self::And(left, right) => format!("({} AND {})", left.sql(), right.sql()),
            Self::Or(left, right) => format!("({} OR {})", left.sql(), right.sql()),
        }
    }

    fn truth(&self) -> Option<bool> {
        match self {
            Self::Leaf(truth) => *truth,
            Self::Not(inner) => inner.truth().map(|truth| !truth),
            Self::And(left, right) => match (left.truth(), right.truth()) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(left, right) => match (left.truth(), right.truth()) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

fn logic() -> impl Strategy<Value = Logic> {
    prop_oneof![Just(Some(true)), Just(Some(false)), Just(None)].prop_map(Logic::Leaf).prop_recursive(
        5,
        32,
        2,
        |inner| {
            prop_oneof![
                inner.clone().prop_map(|inner| Logic::Not(Box::new(inner))),
                (inner.clone(), inner.clone()).prop_map(|(left, right)| Logic::And(Box::new(left), Box::new(right))),
                (inner.clone(), inner).prop_map(|(left, right)| Logic::Or(Box::new(left), Box::new(right))),
            ]
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn integers_follow_int_arithmetic(expression in arithmetic()) {
        let steps = run(&mut TestHost::new().session(), &format!("SELECT {}", expression.sql()));
        match expression.value() {
            Ok(value) => prop_assert_eq!(describe(&steps), value.to_string()),
            Err(number) => prop_assert_eq!(errors_of(&steps), vec![number]),
        }
    }

    #[test]
    fn conditions_follow_three_valued_logic(condition in logic()) {
        let sql = condition.sql();
        let expected = match condition.truth() {
            Some(true) => "true",
            Some(false) => "false",
            None => "unknown",
        };
        let sql = format!("SELECT CASE WHEN {sql} THEN 'true' WHEN NOT ({sql}) THEN 'false' ELSE 'unknown' END");
        prop_assert_eq!(answer(&sql), expected);
    }
}

#[test]
fn deep_and_long_statements_are_answered() {
    for sql in [
        format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)),
        format!("SELECT {}1", "-".repeat(3) + &"- ".repeat(5000)),
        format!("SELECT 1 WHERE {}1 = 1", "NOT ".repeat(5000)),
        format!("{}SELECT 1{}", "BEGIN ".repeat(5000), " END".repeat(5000)),
        format!("{}SELECT 1", "IF 1 = 1 ".repeat(5000)),
        format!("SELECT {}1{}", "(SELECT ".repeat(5000), ")".repeat(5000)),
        format!("SELECT {}1{}", "CASE WHEN 1 = 1 THEN ".repeat(5000), " END".repeat(5000)),
        format!("SELECT * FROM {}sys.dm_files", "(".repeat(5000)),
    ] {
        let numbers = errors_of(&run(&mut TestHost::new().session(), &sql));
        assert!(numbers == [191] || numbers == [102], "{numbers:?}");
    }
    // Breadth is no depth.
    assert_eq!(answer(&format!("SELECT 1{}", " + 1".repeat(20_000))), "20001");
    assert_eq!(answer(&format!("SELECT 1 WHERE 1 = 2{}", " OR 1 = 1".repeat(20_000))), "1");
    assert_eq!(answer(&format!("SELECT LEN('a'{})", " + 'b'".repeat(2_000))), "2001");
    assert_eq!(
        answer(&format!("SELECT COUNT(*) FROM (SELECT 1 AS a{}) x", " UNION ALL SELECT 1".repeat(1000))),
        "1001"
    );
}

/// Server threads have stacks of 2 MB; what is around the engine there must fit beside it.
#[test]
fn the_deepest_allowed_nesting_fits_half_a_stack() {
    let nested = |open: &str, close: &str| {
        (1..200).rev().map(|depth| format!("SELECT {}1{}", open.repeat(depth), close.repeat(depth))).collect::<Vec<_>>()
    };
    let kinds = [
        nested("(", ")"),
        nested("(SELECT LEN(CASE WHEN 1 IN (1) THEN ", " END))"),
        nested("(SELECT TOP 1 a FROM (VALUES (", ")) v(a) ORDER BY 1)"),
        nested("(SELECT COUNT(*) FROM sys.dm_files f WHERE f.size = ", ")"),
        nested("(SELECT MAX(x.a) FROM (SELECT 1 AS a WHERE EXISTS (SELECT 1 WHERE 1 = ", ")) x)"),
    ];
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for statements in kinds {
            let allowed = statements.iter().find(|sql| errors_of(&run(&mut TestHost::new().session(), sql)).is_empty());
            assert!(allowed.is_some());
        }
    });
    thread.expect("a thread").join().expect("no panic");
}

#[test]
fn a_query_over_too_many_rows_is_ended() {
    let sql = "SELECT COUNT(*) FROM sys.dm_many a CROSS JOIN sys.dm_many b CROSS JOIN sys.dm_many c";
    assert_eq!(
        answer(sql),
        "50000: The simulated server ended a statement that looks at too many rows or produces too much."
    );
}
