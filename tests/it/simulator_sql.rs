//! Tests of simulator_sql.
