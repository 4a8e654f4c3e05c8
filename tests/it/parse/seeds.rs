//! Tests of seeds.
