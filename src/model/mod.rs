//! Owns the plain types that every layer speaks: no behaviour beyond small total methods, no I/O,
//! no clock. Units stand in the names.

mod doctor;
mod evidence;
mod frame;
mod known_table;
mod report;
mod rows;
mod table;
mod target;
mod time;
mod version;

pub use doctor::{
    DOCTOR_SCHEMA, Doctor, ErrorLogOutlook, EventSessions, LoginRights, NeedOutlook, NeedState, OwnSession, PollCost,
    ScenarioOutlook, ScenarioReadiness, ServerLoad, SideEffectOutlook, SymbolOutlook, TraceFlagOutlook, WouldRun,
};
pub use evidence::{
    EventContext, Evidence, Problem, ServerIdentity, SessionEvidence, SessionState, Severity, Snapshot, TraceFlagUse,
    Window,
};
pub use frame::{Address, CountedStack, Frame, Module, PdbIdentity, Stack};
pub use known_table::{KnownColumn, KnownTable};
pub use report::{
    Answer, Basis, Capture, ClassTotal, Confidence, Finding, Gate, Interval, NextStep, Reason, Report, SCHEMA,
    SessionOutcome, SessionReport, Share, StackClass, StackItem, Stacks, StoppedBy, Tool, Verdict, VerdictKind,
};
pub use rows::{DatabaseRow, FilePoint, FileRow, LatchRow, Mark, PageRow, QueryRow, SpinlockRow, WaitRow};
pub use table::{Table, Value};
pub use target::{Slot, Target, TargetRoot};
pub use time::UtcMicros;
pub use version::{ServerVersion, UnknownVersion};
