//! Owns Extended Events and the instance they belong to.
