//! Tests of analyze.
