//! Owns where a SQL Trace writes its file. That its flush waits as PREEMPTIVE_OS_WRITEFILE is published; names but for
//! the controller's, and offsets, are invented.

use super::{Path, STATEMENTS};

/// A statement's event reaches the trace.
const TRACED: [&str; 4] = [
    "sqllang!CTraceController::ProduceRow+0x1fa",
    "sqllang!CTraceEvent::Fire+0x8c",
    "sqllang!CEventProducer::StatementCompleted+0x12f",
    "sqllang!CMsqlExecContext::ExecuteStmts<1,1>+0xf31",
];

/// Writing a full buffer into the trace's file.
pub fn flushes() -> Vec<Path> {
    let flush = |offset: &str, weight: u64| {
        Path::new([format!("sqllang!CTraceFile::WriteBuffer+{offset}")], weight)
            .below(["sqllang!CTraceFileProvider::Flush+0x6e"])
            .below(TRACED)
            .below(STATEMENTS)
    };
    let rolls_over = Path::new(["sqllang!CTraceFile::WriteHeader+0x4f", "sqllang!CTraceFile::RollOver+0xb7"], 70)
        .below(["sqllang!CTraceFileProvider::Flush+0xa3"])
        .below(TRACED)
        .below(STATEMENTS);
    vec![flush("0x9d", 740), flush("0xc2", 190), rolls_over]
}

/// Waiting for a buffer of the trace.
pub fn buffers() -> Vec<Path> {
    vec![Path::new(["sqllang!CTraceFileProvider::GetBuffer+0xd1"], 1).below(TRACED).below(STATEMENTS)]
}
