//! Owns the JSON report: the model as it is, and exact text beside integers that a double cannot hold.

use crate::model::Report;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// 2^53: above it a reader that keeps numbers as doubles loses digits.
const LARGEST_EXACT_IN_A_DOUBLE: u64 = 1 << 53;

/// The report as indented JSON with the contract's keys in their order, ending in a line feed.
///
/// Beside an integer key `k` whose magnitude exceeds 2^53 stands `k_exact` as text. What is not a number is `null`.
pub fn render(report: &Report) -> String {
    write(report, &report.schema)
}

/// Anything of a schema, written in the same way.
pub(super) fn write(answer: &impl Serialize, schema: &str) -> String {
    let value =
        serde_json::to_value(answer).unwrap_or_else(|error| json!({ "schema": schema, "error": error.to_string() }));
    without_terminal_controls(&format!("{:#}\n", with_exact_text(value)))
}

/// JSON leaves DEL and the C1 controls in strings as they are, but a terminal may obey them; escaped they mean the same.
fn without_terminal_controls(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match u32::from(character) {
            // Writing to a string cannot fail.
            code @ 0x7f..=0x9f => drop(write!(text, "\\u{code:04x}").ok()),
            _ => text.push(character),
        }
    }
    text
}

fn with_exact_text(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let mut kept = Map::new();
            for (key, entry) in entries {
                let exact = exact_text(&entry);
                kept.insert(key.clone(), with_exact_text(entry));
                if let Some(exact) = exact {
                    kept.insert(format!("{key}_exact"), exact);
                }
            }
            Value::Object(kept)
        }
        Value::Array(entries) => entries.into_iter().map(with_exact_text).collect(),
        other => other,
    }
}

fn exact_text(value: &Value) -> Option<Value> {
    let Value::Number(number) = value else { return None };
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs))?;
    (magnitude > LARGEST_EXACT_IN_A_DOUBLE).then(|| Value::String(number.to_string()))
}
