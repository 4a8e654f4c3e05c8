//! Tests of simulator_events.
