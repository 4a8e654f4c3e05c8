//! The `xestack` command.

fn main() {}
