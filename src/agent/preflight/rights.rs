//! Owns what a login may do and what a build offers, settled before anything is created.

use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Refusal};
use crate::catalog::sessions::Scenario;
use crate::model::ServerVersion;
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

pub(super) async fn check_rights(
    server: &mut Server,
    statements: &Statements<'_>,
    version: ServerVersion,
    options: &CaptureOptions,
) -> Result<(), CaptureError> {
    let rights = server.table(&statements.common("rights", &[])?).await?;
    let has = |name: &str| rights.integer(0, name) == Some(1);
    let mut missing: Vec<&str> = Vec::new();
    let fine_rights = version >= ServerVersion::V2022;
    if !has("view_server_state") && !has("view_server_performance_state") {
        missing.push(if fine_rights { "VIEW SERVER PERFORMANCE STATE" } else { "VIEW SERVER STATE" });
    }
    // Never create what cannot be started, stopped and dropped. ALTER ANY EVENT SESSION holds all of it.
    if !has("alter_any_event_session") {
        if fine_rights {
            let parts = [
                ("create_any_event_session", "CREATE ANY EVENT SESSION"),
                ("enable_event_session", "ALTER ANY EVENT SESSION ENABLE"),
                ("disable_event_session", "ALTER ANY EVENT SESSION DISABLE"),
                ("drop_event", "ALTER ANY EVENT SESSION DROP EVENT"),
                ("drop_any_event_session", "DROP ANY EVENT SESSION"),
            ];
            missing.extend(parts.iter().filter(|(name, _)| !has(name)).map(|(_, right)| *right));
        } else if version >= ServerVersion::V2012 {
            missing.push("ALTER ANY EVENT SESSION");
        } else if !has("control_server") && !has("sysadmin") {
            // ALTER ANY EVENT SESSION came with 2012.
            missing.push("CONTROL SERVER");
        }
    }
    if !missing.is_empty() {
        let grants: Vec<String> = missing.iter().map(|right| format!("GRANT {right} TO [login];")).collect();
        return Err(CaptureError::refused(
            Refusal::Permission,
            format!("the login lacks {}", missing.join(", ")),
            Some(format!("in master: {}", grants.join(" "))),
        ));
    }
    if options.trace_flags.enable && !has("sysadmin") {
        return Err(CaptureError::refused(
            Refusal::Permission,
            "trace flags can only be turned on by a member of sysadmin",
            Some("leave out --enable-trace-flags: call stacks are then kept as addresses".to_owned()),
        ));
    }
    Ok(())
}

pub(super) async fn capabilities(
    server: &mut Server,
    statements: &Statements<'_>,
) -> Result<Capabilities, CaptureError> {
    let table = server.table(&statements.common("capabilities", &[])?).await?;
    let objects = (0..table.rows.len())
        .filter_map(|row| Some(format!("{}.{}", table.text(row, "object_type")?, table.text(row, "name")?)))
        .collect();
    Ok(Capabilities { objects })
}

/// The call-stack action and the target to use, the newest that exist. Where trace flags are forced, the action that they
/// can symbolise.
pub(super) fn choose_objects(
    capabilities: &Capabilities,
    scenarios: &[Scenario],
    options: &CaptureOptions,
) -> Result<(&'static str, &'static str), CaptureError> {
    let missing = |what: &str| {
        CaptureError::refused(Refusal::Version, format!("{what} does not exist on this build of the server"), None)
    };
    for event in scenarios.iter().map(|scenario| &scenario.session.event) {
        if !capabilities.has("event", event.rsplit('.').next().unwrap_or_default()) {
            return Err(missing(&format!("the event {event}")));
        }
    }
    let symbolised = options.trace_flags.enable && options.trace_flags.force;
    let actions = if symbolised { ["callstack", "callstack_rva"] } else { ["callstack_rva", "callstack"] };
    let action = actions.into_iter().find(|name| capabilities.has("action", name));
    let target = ["histogram", "asynchronous_bucketizer"].into_iter().find(|name| capabilities.has("target", name));
    Ok((action.ok_or_else(|| missing("a call-stack action"))?, target.ok_or_else(|| missing("a histogram target"))?))
}
