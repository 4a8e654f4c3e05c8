//! Owns the points of an exchange at which a test may step in, so that it never has to guess with a sleep.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Where an exchange stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The request is decoded; nothing of it has run.
    BeforeExecute,
    /// The request has run to its end; the packet that ends the answer is held back. (Full packets of an answer of
    /// more than 64 KiB have left before.)
    ExecutedNotAnswered,
    /// The whole answer is sent.
    Answered,
}

/// A point of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookPoint<'a> {
    /// The instance, counted from 1.
    pub instance: u32,
    /// The connection to it, counted from 1 in the order of accepting; failed logins count.
    pub connection: u64,
    /// The statement text, counted from 1 in its connection: each batch, and each call that runs a statement.
    pub request: u64,
    /// The statement text.
    pub sql: &'a str,
    /// How far it is.
    pub phase: Phase,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAction {
    /// Nothing special.
    Continue,
    /// The connection is closed at once.
    Disconnect,
    /// The server waits that long, then goes on; an attention ends the wait and the request.
    Delay(Duration),
}

type Hook = dyn Fn(&HookPoint<'_>) -> HookAction + Send + Sync;

/// A function that is asked at every point of every exchange, or none.
#[derive(Clone, Default)]
pub struct Hooks {
    hook: Option<Arc<Hook>>,
}

impl Hooks {
    /// Asks `hook`. It may block; only its own connection waits for it.
    pub fn new(hook: impl Fn(&HookPoint<'_>) -> HookAction + Send + Sync + 'static) -> Self {
        Self { hook: Some(Arc::new(hook)) }
    }

    pub(crate) fn get(&self) -> Option<Arc<Hook>> {
        self.hook.clone()
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Hooks").field("set", &self.hook.is_some()).finish()
    }
}
