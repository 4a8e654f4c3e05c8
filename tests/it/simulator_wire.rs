//! Tests of simulator_wire.
