//! Owns running T-SQL batches against the instance: text in, result sets and messages out.
//!
//! A batch is tokenised and parsed whole (`tokenizer`, `parser`, `ast`); when it does not parse nothing of it runs. Each
//! statement is bound when its turn comes (`bind`: names, types, error 207 and its kind; the result is a `plan`) and
//! evaluated in memory over the host's rows (`execute`). `session` runs a batch step by step; `statements` and
//! `procedures` say what each statement does.
//!
//! After an error the batch goes on, unless the error is one of conversion, THROW or name resolution. XACT_ABORT and
//! most other SET options are accepted and change nothing.

mod aggregate;
mod arithmetic;
mod ast;
mod bind;
mod compare;
mod convert;
mod disturbance;
mod execute;
mod functions;
mod keywords;
mod messages;
mod parser;
mod plan;
mod procedures;
mod program;
mod session;
mod statements;
pub mod tokenizer;
mod types;
mod variables;

pub use session::SqlSession;
