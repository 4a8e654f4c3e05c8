//! Owns the class of one stack: what its event was filtered to, and what its frames show.

use super::frames::{cause_depth, plumbing_depth, symbol};
use crate::{
    catalog::{Catalog, Look, Rule},
    model::{EventContext, Stack, StackClass},
};

/// The wait type of a scheduler yield.
pub const YIELD_WAIT: &str = "SOS_SCHEDULER_YIELD";

/// Rule id of a yield that only the session's predicate proves.
pub const YIELD_BY_PREDICATE: &str = "yield-by-predicate";
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

/// Whether every event of a session is the end of a scheduler yield. The wait type alone says so where no event is
/// named, because only the wait events carry one.
pub fn is_yield_capture(context: &EventContext) -> bool {
    let wait_event = context.event.as_deref().is_none_or(|event| {
        let name = event.rsplit('.').next().unwrap_or(event);
        ["wait_info", "wait_completed"].iter().any(|wait| wait.eq_ignore_ascii_case(name))
    });
    wait_event && context.wait_type.as_deref().is_some_and(|wait| wait.trim().eq_ignore_ascii_case(YIELD_WAIT))
}

/// The class of a stack whose names can be trusted.
///
/// A frame that is unresolved among the top 8 under the plumbing makes the stack `unresolved`. Then the rules are tried
/// in order. In a session filtered to SOS_SCHEDULER_YIELD only the rules for spinlocks, latches, locks, yields and
/// preemptive waits are; what none of them claims is a voluntary yield by the predicate alone.
pub fn classify(context: &EventContext, stack: &Stack, catalog: &Catalog) -> Classification {
    let symbols: Vec<Option<&str>> = stack.frames.iter().map(|frame| symbol(frame)).collect();
    let dropped = plumbing_depth(stack, &catalog.plumbing);
    let under_plumbing = symbols.iter().skip(dropped).take(TOP);
    if symbols.is_empty() || under_plumbing.clone().any(Option::is_none) {
        return Classification::unresolved(UNRESOLVED_FRAME);
    }
    let cause = cause_depth(stack, &catalog.plumbing);
    let yields_only = is_yield_capture(context);
    let rule = catalog.rules.iter().filter(|rule| !yields_only || decides_in_yields(rule.class)).find(|rule| {
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
        None if yields_only => {
            Classification { class: StackClass::CpuYield, area: area(), rule: Some(YIELD_BY_PREDICATE.to_owned()) }
        }
        None => Classification { class: StackClass::Other, area: area(), rule: None },
    }
}

fn decides_in_yields(class: StackClass) -> bool {
    matches!(
        class,
        StackClass::SpinlockBackoff
            | StackClass::Latch
            | StackClass::Lock
            | StackClass::CpuYield
            | StackClass::Preemptive
    )
}
