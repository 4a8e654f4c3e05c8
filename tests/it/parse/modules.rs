//! Tests of modules.
