//! Tests of properties.
