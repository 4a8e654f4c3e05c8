//! Owns what a build offers: which of the names that differ between builds exist on this one.

use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Refusal};
use crate::catalog::sessions::SessionTemplate;
use crate::model::ServerIdentity;
use crate::statements::Statements;
use std::collections::BTreeSet;

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// `type.name` of the objects asked for, for example `action.callstack_rva`.
    objects: BTreeSet<String>,
}

impl Capabilities {
    fn has(&self, kind: &str, name: &str) -> bool {
        self.objects.contains(&format!("{kind}.{name}"))
    }
}

pub(super) async fn capabilities(
    server: &mut Server,
    statements: &Statements<'_>,
    events: &[String],
) -> Result<Capabilities, CaptureError> {
    let table = server.table(&statements.capabilities(events)?).await?;
    let objects = (0..table.rows.len())
        .filter_map(|row| Some(format!("{}.{}", table.text(row, "object_type")?, table.text(row, "name")?)))
        .collect();
    Ok(Capabilities { objects })
}

/// The call-stack action and the target to use, the newest that exist. Where trace flags are forced, the action that they
/// can symbolise.
pub(super) fn choose_objects(
    capabilities: &Capabilities,
    identity: &ServerIdentity,
    options: &CaptureOptions,
) -> Result<(&'static str, &'static str), CaptureError> {
    let missing = |what: &str| is_missing(what, identity);
    let symbolised = options.trace_flags.enable && options.trace_flags.force;
    let actions = if symbolised { ["callstack", "callstack_rva"] } else { ["callstack_rva", "callstack"] };
    let action = actions.into_iter().find(|name| capabilities.has("action", name));
    let target = ["histogram", "asynchronous_bucketizer"].into_iter().find(|name| capabilities.has("target", name));
    Ok((action.ok_or_else(|| missing("a call-stack action"))?, target.ok_or_else(|| missing("a histogram target"))?))
}

/// Whether a session's event, and the action that it is bucketed by, exist.
pub(super) fn check_session(
    capabilities: &Capabilities,
    identity: &ServerIdentity,
    template: &SessionTemplate,
) -> Result<(), CaptureError> {
    let event = &template.event;
    if !capabilities.has("event", event.rsplit('.').next().unwrap_or_default()) {
        return Err(is_missing(&format!("the event {event}"), identity));
    }
    match template.bucket.rsplit_once('.') {
        Some((_, action)) if !capabilities.has("action", action) => {
            Err(is_missing(&format!("the action {}", template.bucket), identity))
        }
        _ => Ok(()),
    }
}

fn is_missing(what: &str, identity: &ServerIdentity) -> CaptureError {
    let text = format!("{what} does not exist on build {} of the server", identity.product_version);
    CaptureError::refused(Refusal::Version, text, None)
}
