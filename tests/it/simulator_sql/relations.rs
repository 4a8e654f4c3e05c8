//! Properties of queries against a reference in Rust: joins, grouping, ordering, LIKE; and well-formed random queries.

use super::host::{TestHost, answer, run};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A table of keys, some of them NULL, with a number for each row.
type Table = Vec<Option<i32>>;

fn table() -> impl Strategy<Value = Table> {
    prop::collection::vec(prop::option::weighted(0.8, 0..5_i32), 1..7)
}

fn show(value: Option<i32>) -> String {
    value.map_or("NULL".to_owned(), |value| value.to_string())
}

fn values(table: &Table) -> String {
    // The first row gives the columns a type even when all keys are NULL.
    let rows = table.iter().enumerate().map(|(number, key)| format!("(CAST({} AS int), {number})", show(*key)));
    format!("(VALUES {})", rows.collect::<Vec<_>>().join(", "))
}

fn sorted(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.into_iter().collect();
    lines.sort();
    lines
}

fn joined(left: &Table, right: &Table, keep_left: bool, keep_right: bool) -> Vec<String> {
    let mut rows = Vec::new();
    let mut right_matched = vec![false; right.len()];
    for (l, left_key) in left.iter().enumerate() {
        let before = rows.len();
        for (r, right_key) in right.iter().enumerate() {
            if left_key.is_some() && left_key == right_key {
                right_matched[r] = true;
                rows.push(format!("{l}|{r}"));
            }
        }
        if rows.len() == before && keep_left {
            rows.push(format!("{l}|NULL"));
        }
    }
    for (r, matched) in right_matched.into_iter().enumerate() {
        if !matched && keep_right {
            rows.push(format!("NULL|{r}"));
        }
    }
    sorted(rows)
}

/// LIKE for `%`, `_` and literals, straight from its definition.
fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.iter().all(|c| *c == ' '),
        Some(('%', rest)) => (0..=text.len()).any(|skipped| like(&text[skipped..], rest)),
        Some((wanted, rest)) => {
            text.split_first().is_some_and(|(c, after)| (*wanted == '_' || wanted == c) && like(after, rest))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn joins_agree_with_their_definition(left in table(), right in table()) {
        let (l, r) = (values(&left), values(&right));
        for (kind, keep_left, keep_right) in
            [("JOIN", false, false), ("LEFT JOIN", true, false), ("RIGHT JOIN", false, true), ("FULL JOIN", true, true)]
        {
            // The first condition is found by hash, the second row by row.
            for on in ["a.k = b.k", "NOT a.k <> b.k"] {
                let sql = format!("SELECT a.n, b.n FROM {l} AS a(k, n) {kind} {r} AS b(k, n) ON {on}");
                let found = sorted(answer(&sql).lines().map(str::to_owned));
                prop_assert_eq!(found, joined(&left, &right, keep_left, keep_right), "{}", sql);
            }
        }
        let inner = joined(&left, &right, false, false);
        for sql in [
            format!("SELECT a.n, b.n FROM {l} AS a(k, n), {r} AS b(k, n) WHERE a.k = b.k AND a.n >= 0"),
            format!("SELECT a.n, b.n FROM {l} AS a(k, n) CROSS APPLY (SELECT c.n FROM {r} AS c(k, n) WHERE c.k = a.k) AS b"),
        ] {
            prop_assert_eq!(sorted(answer(&sql).lines().map(str::to_owned)), inner.clone(), "{}", sql);
        }
        let with_partner = sorted(inner.iter().filter_map(|row| row.split('|').next().map(str::to_owned)).collect::<std::collections::BTreeSet<_>>());
        for sql in [
            format!("SELECT a.n FROM {l} AS a(k, n) WHERE EXISTS (SELECT 1 FROM {r} AS b(k, n) WHERE b.k = a.k)"),
            format!("SELECT a.n FROM {l} AS a(k, n) WHERE a.k IN (SELECT b.k FROM {r} AS b(k, n))"),
        ] {
            prop_assert_eq!(sorted(answer(&sql).lines().map(str::to_owned)), with_partner.clone(), "{}", sql);
        }
    }

    #[test]
    fn groups_agree_with_their_definition(rows in table()) {
        let mut groups: BTreeMap<Option<i32>, Vec<usize>> = BTreeMap::new();
        for (number, key) in rows.iter().enumerate() {
            groups.entry(*key).or_default().push(number);
        }
        let expected: Vec<String> = groups
            .iter()
            .map(|(key, members)| {
                let (count, sum) = (members.len(), members.iter().sum::<usize>());
                format!("{}|{count}|{}|{sum}|{}|{}", show(*key), if key.is_some() { count } else { 0 }, sum / count, members[count - 1])
            })
            .collect();
        let sql = format!(
            "SELECT t.k, COUNT(*), COUNT(t.k), SUM(t.n), AVG(t.n), MAX(t.n) FROM {} AS t(k, n) GROUP BY t.k ORDER BY t.k",
            values(&rows)
        );
        prop_assert_eq!(answer(&sql), expected.join("\n"));
        let distinct: Vec<String> = groups.keys().map(|key| show(*key)).collect();
        let sql = format!("SELECT DISTINCT t.k FROM {} AS t(k, n) ORDER BY 1", values(&rows));
        prop_assert_eq!(answer(&sql), distinct.join("\n"));
    }

    #[test]
    fn order_top_and_offset_agree_with_sorting(rows in table(), skip in 0_usize..8, take in 1_usize..8) {
        let mut expected: Vec<(Option<i32>, usize)> = rows.iter().copied().enumerate().map(|(n, k)| (k, n)).collect();
        expected.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
        let line = |row: &(Option<i32>, usize)| format!("{}|{}", show(row.0), row.1);
        let from = values(&rows);
        let offset: Vec<String> = expected.iter().skip(skip).take(take).map(line).collect();
        let sql = format!("SELECT t.k, t.n FROM {from} AS t(k, n) ORDER BY t.k DESC, n OFFSET {skip} ROWS FETCH NEXT {take} ROWS ONLY");
        prop_assert_eq!(answer(&sql), offset.join("\n"));
        let top: Vec<String> = expected.iter().take(take).map(line).collect();
        let sql = format!("SELECT TOP ({take}) t.k, t.n FROM {from} AS t(k, n) ORDER BY t.k DESC, t.n");
        prop_assert_eq!(answer(&sql), top.join("\n"));
    }

    #[test]
    fn like_agrees_with_its_definition(text in "[ab ]{0,8}", pattern in "[ab%_ ]{0,8}") {
        let expected = like(&text.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>());
        let sql = format!("SELECT CASE WHEN N'{text}' LIKE N'{pattern}' THEN 1 ELSE 0 END");
        prop_assert_eq!(answer(&sql), u8::from(expected).to_string(), "{} LIKE {}", text, pattern);
    }

    #[test]
    fn dates_agree_with_counting_days(from in -200_000_i32..200_000, days in -100_000_i32..100_000) {
        let sql = format!(
            "DECLARE @a datetime2 = DATEADD(day, {from}, CAST('2000-01-01' AS datetime2)); DECLARE @b datetime2 = DATEADD(day, {days}, @a); \
             SELECT DATEDIFF(day, @a, @b), DATEDIFF_BIG(second, @b, @a), CASE WHEN CAST(CONVERT(varchar(40), @b, 121) AS datetime2) = @b THEN 1 END"
        );
        prop_assert_eq!(answer(&sql), format!("{days}|{}|1", -i64::from(days) * 86_400));
    }
}

/// Values over the columns of `sys.dm_os_schedulers s`, well formed and of any type.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "NULL",
        "0",
        "1",
        "-7",
        "2147483647",
        "9999999999",
        "2.50",
        "1e2",
        "'a%'",
        "N'ž'",
        "''",
        "0xFF",
        "s.scheduler_id",
        "s.cpu_id",
        "s.status",
        "s.is_online",
        "GETDATE()",
        "SYSUTCDATETIME()",
        "NEWID()",
        "@@SPID",
        "SERVERPROPERTY('x')",
        "CAST(1 AS bit)",
        "CAST('<a/>' AS xml)",
        "'2026-01-01'",
        "'12'",
        "@v",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 3, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*", "/", "%", "&", "|", "^"]);
        let comparison = prop::sample::select(vec!["=", "<>", "<", ">=", "LIKE"]);
        let one = prop::sample::select(vec![
            "LEN(#)",
            "DATALENGTH(#)",
            "UPPER(#)",
            "REVERSE(#)",
            "ABS(#)",
            "FLOOR(#)",
            "CEILING(#)",
            "SIGN(#)",
            "SQRT(#)",
            "YEAR(#)",
            "-#",
            "~#",
            "CAST(# AS int)",
            "CAST(# AS bigint)",
            "CAST(# AS decimal(10,3))",
            "CAST(# AS float)",
            "CAST(# AS varchar(5))",
            "CAST(# AS nvarchar(max))",
            "CAST(# AS varbinary(6))",
            "CAST(# AS datetime)",
            "CAST(# AS uniqueidentifier)",
            "CAST(# AS sql_variant)",
            "CAST(# AS bit)",
            "TRY_CAST(# AS tinyint)",
            "CONVERT(varchar(50), #, 121)",
            "CONVERT(varbinary(9), #, 1)",
            "DATEADD(day, #, GETDATE())",
            "DATEPART(week, #)",
            "DATENAME(month, #)",
            "COUNT(#)",
            "MAX(#)",
            "SUM(#)",
            "AVG(DISTINCT #)",
            "STRING_AGG(#, ',')",
            "SPACE(#)",
            "CHAR(#)",
            "QUOTENAME(#)",
            "DB_NAME(#)",
            "(SELECT #)",
            "(SELECT TOP 1 f.size FROM sys.dm_files f WHERE f.size > #)",
            "# COLLATE Latin1_General_BIN2",
            "SUM(#) OVER (PARTITION BY s.status)",
        ]);
        let two = prop::sample::select(vec![
            "ISNULL(#, ~)",
            "COALESCE(#, ~)",
            "NULLIF(#, ~)",
            "LEFT(#, ~)",
            "RIGHT(#, ~)",
            "CHARINDEX(#, ~)",
            "PATINDEX(#, ~)",
            "REPLICATE(#, ~)",
            "CONCAT(#, ~)",
            "ROUND(#, ~)",
            "POWER(#, ~)",
            "DATEDIFF(hour, #, ~)",
            "REPLACE(#, ~, 'x')",
            "SUBSTRING(#, ~, 2)",
            "STUFF(#, ~, 1, 'x')",
            "PARSENAME(#, ~)",
            "CASE # WHEN ~ THEN 1 ELSE 2 END",
        ]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(l, operator, r)| format!("({l} {operator} {r})")),
            (inner.clone(), one).prop_map(|(value, form)| form.replace('#', &value)),
            (inner.clone(), inner.clone(), two).prop_map(|(one, other, form)| {
                let (before, after) = form.split_once('#').unwrap_or((form, ""));
                format!("{before}{one}{}", after.replace('~', &other))
            }),
            (inner.clone(), comparison, inner.clone(), inner.clone()).prop_map(|(l, comparison, r, then)| format!(
                "CASE WHEN {l} {comparison} {r} THEN {then} ELSE {l} END"
            )),
            (inner.clone(), inner.clone(), inner).prop_map(|(value, low, high)| format!(
                "CASE WHEN {value} BETWEEN {low} AND {high} OR {low} IN ({high}, {value}) THEN {high} END"
            )),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any answer will do, as long as there is one, and every value fits its column's type.
    #[test]
    fn well_formed_queries_are_answered(item in value(), filter in value(), key in value(), shape in 0..4) {
        let tail = match shape {
            0 => String::new(),
            1 => format!(" WHERE {filter} = {key}"),
            2 => format!(" GROUP BY {key} ORDER BY 1"),
            _ => format!(" JOIN sys.dm_files f ON {filter} = f.size ORDER BY {key} DESC"),
        };
        let sql = format!("DECLARE @v nvarchar(20) = N'v'; SELECT {item} AS x FROM sys.dm_os_schedulers s{tail}");
        let steps = run(&mut TestHost::new().session(), &sql);
        prop_assert!(!steps.is_empty());
        super::host::check_values(&steps);
    }
}
