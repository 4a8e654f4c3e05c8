//! Owns the data that xestack reasons with, from (name, text) pairs, embedded and user-given, validated.

pub mod sessions;
