//! Owns the switches of an instance: what its faults set for as long as it lives.

use crate::simulator::events::cut::TargetCut;
use crate::simulator::events::xml::TextForm;
use crate::simulator::faults::kinds::{DdlTrigger, FaultKind, SymboliseAt};
use crate::simulator::faults::login::LoginFaults;
use crate::simulator::faults::places::Places;
use crate::simulator::faults::{At, Fault};
use crate::simulator::output::Message;
use crate::simulator::versions::RawStackForm;
use crate::simulator::wire::attention::AttentionReply;

/// The switches of one instance, from its faults.
#[derive(Debug, Clone, Default)]
pub struct Switches {
    /// Where call stacks get their symbols.
    pub symbolise_at: SymboliseAt,
    /// Whether nearest exports are shown instead of symbols.
    pub symbols_missing: bool,
    /// Unsymbolised form of call stacks; `None`: the version's.
    pub raw_stack: Option<RawStackForm>,
    /// Frames of call stacks; `None`: the version's.
    pub stack_depth: Option<usize>,
    /// Whether callstack_rva carries addresses.
    pub frame_addresses_shown: bool,
    /// How text stands in target documents; `None`: the version's way.
    pub text_values: Option<TextForm>,
    /// Whether a target keeps the old name it was made under.
    pub target_name_given: bool,
    /// Whether ALTER and DROP without the right for it act as if the session did not exist.
    pub refusal_hides: bool,
    /// Whether NO_EVENT_LOSS takes events that may not block.
    pub no_event_loss_allowed: bool,
    /// Whether TRACESTATUS answers an empty rowset when no flag is on.
    pub trace_status_rowset: bool,
    /// Whether the only event of a running session cannot be dropped.
    pub drop_last_event_refused: bool,
    /// Permissions denied to every login, in upper case; SYSADMIN is the role.
    pub denied: Vec<String>,
    /// Dropped events that a started session shows.
    pub dropped_events: u32,
    /// Dropped buffers that a started session shows.
    pub dropped_buffers: u32,
    /// CPU that each reading of a view costs the reader's session, milliseconds.
    pub read_cost_ms: u32,
    /// Tasks that wait for a worker on each scheduler while a client's event session runs.
    pub work_queue: u32,
    /// Statements that fail, and with which error.
    pub errors: Vec<(At, u32)>,
    /// Where target documents end; `None`: after 4 MB (documented).
    pub target_cut: Option<TargetCut>,
    /// Where an attention that cuts an answer short is acknowledged.
    pub attention: AttentionReply,
    /// What a server trigger does at each statement on event sessions; `None`: there is none.
    pub ddl_trigger: Option<DdlTrigger>,
    /// What is wrong before a session is there.
    pub login: LoginFaults,
    /// What the place of the server is like.
    pub places: Places,
}

impl Switches {
    /// What the faults set; a later fault wins over an earlier one.
    pub fn from_faults(faults: &[Fault]) -> Self {
        let mut switches = Self::default();
        for fault in faults {
            match &fault.kind {
                FaultKind::SymboliseAt(at) => switches.symbolise_at = *at,
                FaultKind::SymbolsMissing => switches.symbols_missing = true,
                FaultKind::RawStack(form) => switches.raw_stack = Some(*form),
                FaultKind::StackDepth(depth) => switches.stack_depth = Some(*depth),
                FaultKind::FrameAddressesShown => switches.frame_addresses_shown = true,
                FaultKind::TextValues(form) => switches.text_values = Some(*form),
                FaultKind::Login(fault) => switches.login.login = Some(*fault),
                FaultKind::Tls(fault) => switches.login.tls = Some(*fault),
                FaultKind::Route(route) => switches.login.route = Some(route.clone()),
                FaultKind::TargetNameGiven => switches.target_name_given = true,
                FaultKind::RefusalHides => switches.refusal_hides = true,
                FaultKind::NoEventLossAllowed => switches.no_event_loss_allowed = true,
                FaultKind::TraceStatusRowset => switches.trace_status_rowset = true,
                FaultKind::DropLastEventRefused => switches.drop_last_event_refused = true,
                FaultKind::Deny(permission) => switches.denied.push(permission.clone()),
                FaultKind::DroppedEvents(count) => switches.dropped_events = *count,
                FaultKind::DroppedBuffers(count) => switches.dropped_buffers = *count,
                FaultKind::ReadCost(ms) => switches.read_cost_ms = *ms,
                FaultKind::WorkQueue(tasks) => switches.work_queue = *tasks,
                FaultKind::Error(number) => {
                    switches.errors.extend(fault.at.clone().map(|at| (at, *number)));
                }
                FaultKind::CutTarget(cut) => switches.target_cut = Some(*cut),
                FaultKind::Attention(reply) => switches.attention = *reply,
                FaultKind::DdlTrigger(trigger) => switches.ddl_trigger = Some(*trigger),
                FaultKind::Place(place) => switches.places.set(place),
                FaultKind::Moment(_) => {}
            }
        }
        switches
    }

    /// The error that a statement fails with, if it does.
    pub fn statement_error(&self, at: &At) -> Option<Message> {
        let (_, number) = self.errors.iter().find(|(failing, _)| failing == at)?;
        Some(Message::new(*number, 16, format!("Error {number}, asked for by a fault of the simulated server.")))
    }
}
