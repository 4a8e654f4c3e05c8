//! Owns running T-SQL batches against the instance.

pub mod tokenizer;
