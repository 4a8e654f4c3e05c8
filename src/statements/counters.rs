//! Owns the ways to read a counter table: the text for the version first, then older ones, then whatever the view has.

use crate::statements::NO_LOCK_TIMEOUT;

/// One way to read a counter table. A later way does without what a build lacks of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterStatement {
    /// The view it reads, without `sys.`.
    pub view: String,
    /// Its text.
    pub sql: String,
    /// The columns that the first way names: those which a later one may come without.
    pub columns: Vec<String>,
}

/// The ways, from the texts for a version, newest first. The last ones take every column there is, of the newest text's
/// view too where older texts read another one.
pub(super) fn ways(texts: &[&str]) -> Vec<CounterStatement> {
    let wanted: Vec<String> = texts.first().map(|text| columns(text)).unwrap_or_default();
    let way = |sql: String| CounterStatement { view: view(&sql).to_owned(), sql, columns: wanted.clone() };
    let named = texts.iter().map(|text| text.trim_end().to_owned());
    let (newest, oldest) = (texts.first(), texts.last());
    let of_another_view = newest.zip(oldest).filter(|(newest, oldest)| view(newest) != view(oldest));
    let whole_newest = of_another_view.and_then(|(newest, _)| whole(newest));
    named.chain(whole_newest).chain(oldest.and_then(|text| whole(text))).map(way).collect()
}

/// A text that takes every column of its views, and what it computes without them.
pub(super) fn whole(text: &str) -> Option<String> {
    let (_, from) = text.split_once("\nFROM ")?;
    let words: Vec<&str> = from.split_whitespace().collect();
    let aliases = || words.windows(2).filter(|pair| pair.first() == Some(&"AS")).filter_map(|pair| pair.get(1));
    let is_of_view = |item: &&str| aliases().any(|alias| item.contains(&format!("{alias}.")));
    let computed = items(text).into_iter().filter(|item| !is_of_view(item));
    let list: Vec<&str> = ["*"].into_iter().chain(computed).collect();
    Some(format!("SELECT {}\nFROM {}", list.join(", "), from.trim_end()))
}

/// Statements as one batch, so that what they read is of one moment.
pub fn batch(statements: &[String]) -> String {
    statements.join(";\n")
}

/// Statements as one batch that never waits for a lock.
pub fn polled(statements: &[String]) -> String {
    format!("SET LOCK_TIMEOUT 0;\n{};\n{NO_LOCK_TIMEOUT}", batch(statements))
}

/// The first view that a text reads.
fn view(sql: &str) -> &str {
    let (_, after) = sql.split_once("\nFROM sys.").unwrap_or_default();
    after.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default()
}

/// The names of the columns that a text selects: the last word of each item of its list.
fn columns(sql: &str) -> Vec<String> {
    items(sql).into_iter().map(|item| item.rsplit([' ', '.']).next().unwrap_or_default().to_owned()).collect()
}

/// The items of a text's list.
fn items(sql: &str) -> Vec<&str> {
    let (_, list) = sql.split_once("SELECT ").unwrap_or_default();
    let list = list.split_once("\nFROM ").map_or(list, |(list, _)| list);
    let mut depth = 0;
    let items = list.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    items.map(str::trim).filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::{columns, ways};

    #[test]
    fn a_table_is_read_in_fewer_and_fewer_columns() {
        let texts = [
            "-- New.\nSELECT a.x, ISNULL(a.y, 0) AS y\nFROM sys.new AS a\nWHERE a.z = 1\n",
            "SELECT CAST(@@SPID AS int) AS own, b.x\nFROM sys.old AS b\nWHERE b.z = 1\n",
        ];
        let ways = ways(&texts);
        let told: Vec<(&str, &str)> = ways.iter().map(|way| (way.view.as_str(), way.sql.as_str())).collect();
        assert_eq!(
            told,
            [
                ("new", texts[0].trim_end()),
                ("old", texts[1].trim_end()),
                ("new", "SELECT *\nFROM sys.new AS a\nWHERE a.z = 1"),
                ("old", "SELECT *, CAST(@@SPID AS int) AS own\nFROM sys.old AS b\nWHERE b.z = 1"),
            ]
        );
        assert!(ways.iter().all(|way| way.columns == ["x", "y"]));
    }

    #[test]
    fn columns_are_named_by_the_last_word_of_each_item() {
        let sql =
            "SELECT w.wait_type,\n       w.a - ISNULL(o.a, 0) AS a,\n       CAST(s.b AS bigint) AS b\nFROM sys.w AS w";
        assert_eq!(columns(sql), ["wait_type", "a", "b"]);
        assert!(columns("nothing").is_empty());
    }
}
