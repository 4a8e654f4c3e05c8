//! Owns the two ways in which a server acknowledges an attention.

/// Where the acknowledgement of an attention stands when it cuts an answer short. [MS-TDS] 4.19.2 allows both, and
/// drivers differ: tiberius 0.13 reads only the first, tedious 19 only the second, most read both. The authors of
/// tedious report the second from SQL Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttentionReply {
    /// At the end of that answer.
    #[default]
    InAnswer,
    /// In a message of its own; the answer ends before it.
    Apart,
}
