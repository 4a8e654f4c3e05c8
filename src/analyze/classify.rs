//! Owns the class of one stack: what its event was filtered to, and what its frames show.

use super::frames::{cause_depth, plumbing_depth, symbol};
use crate::{
    catalog::{Catalog, Look, Rule},
    model::{EventContext, Stack, StackClass},
};

/// The wait type of a scheduler yield.
pub const YIELD_WAIT: &str = "SOS_SCHEDULER_YIELD";

/// Wait types of latches other than those of buffer pages.
pub const LATCH_WAITS: [&str; 6] = ["LATCH_NL", "LATCH_KP", "LATCH_SH", "LATCH_UP", "LATCH_EX", "LATCH_DT"];
/// Wait types of latches of buffer pages in memory.
pub const PAGE_LATCH_WAITS: [&str; 6] =
    ["PAGELATCH_NL", "PAGELATCH_KP", "PAGELATCH_SH", "PAGELATCH_UP", "PAGELATCH_EX", "PAGELATCH_DT"];

/// The wait types that the events of a session were filtered to.
pub fn wait_types(context: &EventContext) -> impl Iterator<Item = &str> {
    context.wait_type.iter().flat_map(|types| types.split(',')).map(str::trim).filter(|wait| !wait.is_empty())
}

/// Rule id of a yield that only the session's predicate proves.
pub const YIELD_BY_PREDICATE: &str = "yield-by-predicate";
/// Rule id of a back-off that only the session's event proves.
pub const BACKOFF_BY_EVENT: &str = "backoff-by-event";
/// Rule id of a stack with an unresolved frame where a class is looked for.
pub const UNRESOLVED_FRAME: &str = "unresolved-frame";
/// Rule id of every stack of a capture that shows nearest exports.
pub const WRONG_SYMBOLS: &str = "wrong-symbols";

/// Frames under the plumbing in which a class is looked for.
const TOP: usize = 8;
/// Frames under the wait primitive in which a class by area is looked for.
const UNDER_PRIMITIVE: usize = 3;

/// What one stack is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Classification {
    /// Its class.
    pub class: StackClass,
    /// Part of the engine.
    pub area: Option<String>,
    /// Rule that decided; `None` where none did.
    pub rule: Option<String>,
}

impl Classification {
    /// A stack that cannot be read, and why.
    pub fn unresolved(rule: &str) -> Self {
        Self { class: StackClass::Unresolved, area: None, rule: Some(rule.to_owned()) }
    }
}

/// What all events of a session are, as far as it decides their class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Captured {
    /// Ends of scheduler yields.
    Yields,
    /// Threads that back off from a spinlock.
    Backoffs,
    /// Threads that did not get a spinlock for seconds.
    BackoffWarnings,
    /// Something else.
    Others,
    /// Not known.
    Unknown,
}

impl Captured {
    /// What the context says. A wait type alone says yields where no event is named, because only the wait events carry
    /// one.
    pub fn of(context: &EventContext) -> Self {
        let event = context.event.as_deref().map(|event| event.rsplit('.').next().unwrap_or(event).trim());
        let is = |name: &str| event.is_some_and(|event| event.eq_ignore_ascii_case(name));
        let waits_for_yield =
            context.wait_type.as_deref().is_some_and(|wait| wait.trim().eq_ignore_ascii_case(YIELD_WAIT));
        if is("spinlock_backoff") {
            Self::Backoffs
        } else if is("spinlock_backoff_warning") {
            Self::BackoffWarnings
        } else if waits_for_yield && (event.is_none() || is("wait_info") || is("wait_completed")) {
            Self::Yields
        } else if event.is_none() && context.wait_type.is_none() {
            Self::Unknown
        } else {
            Self::Others
        }
    }

    /// Whether every event is a thread that wants a spinlock.
    pub fn is_spinning(self) -> bool {
        matches!(self, Self::Backoffs | Self::BackoffWarnings)
    }

    /// Whether frames that give this class say more than the context.
    fn lets_decide(self, class: StackClass) -> bool {
        match self {
            Self::Yields => matches!(
                class,
                StackClass::SpinlockBackoff
                    | StackClass::Latch
                    | StackClass::Lock
                    | StackClass::CpuYield
                    | StackClass::Preemptive
            ),
            Self::Backoffs | Self::BackoffWarnings => class == StackClass::SpinlockBackoff,
            Self::Others | Self::Unknown => true,
        }
    }
}

/// Whether every event of a session is the end of a scheduler yield.
pub fn is_yield_capture(context: &EventContext) -> bool {
    Captured::of(context) == Captured::Yields
}

/// The class of a stack whose names can be trusted.
///
/// A frame that is unresolved among the top 8 under the plumbing makes the stack `unresolved`. Then the rules are tried
/// in order. In a session filtered to SOS_SCHEDULER_YIELD only the rules for spinlocks, latches, locks, yields and
/// preemptive waits are; what none of them claims is a voluntary yield by the predicate alone. In a session of
/// spinlock back-offs every resolved stack is one, whatever its frames show.
pub fn classify(context: &EventContext, stack: &Stack, catalog: &Catalog) -> Classification {
    let symbols: Vec<Option<&str>> = stack.frames.iter().map(|frame| symbol(frame)).collect();
    let dropped = plumbing_depth(stack, &catalog.plumbing);
    let under_plumbing = symbols.iter().skip(dropped).take(TOP);
    if symbols.is_empty() || under_plumbing.clone().any(Option::is_none) {
        return Classification::unresolved(UNRESOLVED_FRAME);
    }
    let cause = cause_depth(stack, &catalog.plumbing);
    let captured = Captured::of(context);
    let rule = catalog.rules.iter().filter(|rule| captured.lets_decide(rule.class)).find(|rule| {
        let (from, to) = match rule.look {
            Look::Anywhere => (0, symbols.len()),
            Look::Top => (0, dropped.saturating_add(TOP)),
            Look::UnderPrimitive => (cause, cause.saturating_add(UNDER_PRIMITIVE)),
        };
        symbols.get(from..to.min(symbols.len())).is_some_and(|looked_at| Rule::matches(rule, looked_at))
    });
    let area = || {
        let cause_frames = symbols.iter().skip(cause).take(TOP).flatten();
        cause_frames.copied().find_map(|symbol| catalog.areas.of(symbol)).map(ToOwned::to_owned)
    };
    match rule {
        Some(rule) => {
            Classification { class: rule.class, area: rule.area.clone().or_else(area), rule: Some(rule.id.clone()) }
        }
        None if captured == Captured::Yields => {
            Classification { class: StackClass::CpuYield, area: area(), rule: Some(YIELD_BY_PREDICATE.to_owned()) }
        }
        None if captured.is_spinning() => {
            Classification { class: StackClass::SpinlockBackoff, area: area(), rule: Some(BACKOFF_BY_EVENT.to_owned()) }
        }
        None => Classification { class: StackClass::Other, area: area(), rule: None },
    }
}
