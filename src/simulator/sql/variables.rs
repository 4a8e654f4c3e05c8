//! Owns the variables of a batch.

use crate::simulator::value::{Datum, SqlType};
use std::collections::HashMap;

/// Variables by name, without case.
#[derive(Debug, Default)]
pub(super) struct Variables {
    by_name: HashMap<String, (SqlType, Datum)>,
}

impl Variables {
    /// Declares a variable, or declares it anew.
    pub(super) fn declare(&mut self, name: &str, sql_type: SqlType, value: Datum) {
        self.by_name.insert(name.to_lowercase(), (sql_type, value));
    }

    pub(super) fn sql_type(&self, name: &str) -> Option<SqlType> {
        self.by_name.get(&name.to_lowercase()).map(|(sql_type, _)| *sql_type)
    }

    pub(super) fn value(&self, name: &str) -> Option<&Datum> {
        self.by_name.get(&name.to_lowercase()).map(|(_, value)| value)
    }

    /// Sets a declared variable; anything else is left alone.
    pub(super) fn set(&mut self, name: &str, value: Datum) {
        if let Some((_, current)) = self.by_name.get_mut(&name.to_lowercase()) {
            *current = value;
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.by_name.keys().cloned()
    }
}
