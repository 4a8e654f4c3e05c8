//! Owns symbolising on the server: the raw document is safe already, the least form is tried first, and a global flag is
//! on no longer than one read takes.

use crate::agent::journal::Step;
use crate::agent::outcome::{CaptureError, RawTarget};
use crate::agent::progress::Progress;
use crate::agent::session::TARGET;
use crate::agent::window::{Gathered, Window};
use crate::agent::{counters, lock, locks, preflight};
use crate::catalog::sessions::CALLSTACK;
use crate::model::{Problem, SessionEvidence, Severity, Target};
use crate::parse::target;
use crate::statements::{Scope, Statements};
use std::time::Duration;

/// A read with flags on loads symbols inside the server; it is given this long, once.
const SYMBOLISED_READ_LIMIT: Duration = Duration::from_mins(1);

/// Reads the target again with trace flags on, where they are opted in and the frames are unresolved without.
pub(super) async fn symbolise(window: &mut Window) -> Result<(), CaptureError> {
    let unresolved = stack_sessions(&window.gathered).any(|session| {
        let slots = session.target.iter().flat_map(|target| &target.slots);
        slots.flat_map(|slot| &slot.stack.frames).any(|frame| !frame.is_resolved())
    });
    let flags = flags_to_turn_on(window);
    // An interrupted run goes straight to restoring.
    if !unresolved || window.plan.flags_to_use.is_empty() || window.surroundings.interrupt.is_signalled() {
        return Ok(());
    }
    if window.options.trace_flags.during_window || flags.is_empty() {
        return Ok(());
    }
    if !window.options.trace_flags.force
        && let Some(reason) = refusal_now(window).await?
    {
        let message = format!("trace flags were not turned on, call stacks stay unresolved: {reason}");
        let problem = Problem::new("trace_flags_refused", Severity::Partial, message);
        window.gathered.problems.push(problem.with_hint("--force-flags insists"));
        return Ok(());
    }
    (window.surroundings.observer)(&Progress::Symbolising);
    read_with_session_flags(window, &flags).await?;
    if window.gathered.flag_scope.is_none() {
        read_with_global_flags(window).await?;
    }
    Ok(())
}

/// The flags of the plan that are not on already.
fn flags_to_turn_on(window: &Window) -> Vec<u32> {
    let is_on = |flag: u32| window.plan.flags.iter().any(|state| state.flag == flag && state.is_on_before());
    window.plan.flags_to_use.iter().copied().filter(|flag| !is_on(*flag)).collect()
}

async fn refusal_now(window: &mut Window) -> Result<Option<String>, CaptureError> {
    let statements = Statements::new(&window.surroundings.sessions, window.plan.version);
    let names = ["dm_os_sys_info".to_owned(), "dm_os_schedulers".to_owned()];
    let clock = &*window.surroundings.clock;
    let now = counters::read(&mut window.server, &statements, clock, &names, &mut window.gathered.problems).await?;
    let cpu = window.gathered.after.as_ref().and_then(|after| counters::cpu_share(after, &now));
    let scenarios: Vec<_> = window.plan.scenarios.iter().map(|planned| planned.scenario.clone()).collect();
    Ok(preflight::flags_policy(cpu, &now, preflight::cpu_limit(&scenarios)))
}

async fn read_with_session_flags(window: &mut Window, flags: &[u32]) -> Result<(), CaptureError> {
    let on = window.statements().trace_on(flags, Scope::Session)?;
    let off = window.statements().trace_off(flags, Scope::Session)?;
    if let Err(error) = window.server.run(&on).await {
        return note_or_fail(window, error, "a session trace flag could not be turned on");
    }
    let resolved = read_again(window).await?;
    window.server.run(&off).await?;
    if resolved {
        window.gathered.flag_scope = Some("session");
    }
    Ok(())
}

async fn read_with_global_flags(window: &mut Window) -> Result<(), CaptureError> {
    turn_on_globally(window).await?;
    if window.gathered.flag_scope != Some("global") {
        return turn_off_globally(window).await;
    }
    let resolved = read_again(window).await;
    turn_off_globally(window).await?;
    if !resolved? {
        let message = "call stacks stayed unresolved with the trace flags on globally for the read";
        let problem = Problem::new("symbolising_failed", Severity::Partial, message);
        window.gathered.problems.push(problem.with_hint(
            "this build may symbolise when events are dispatched: --flags-during-window; or no symbol files are beside the \
             server's modules",
        ));
    }
    Ok(())
}

/// Global TRACEON under the flags lock, journalled first.
pub(super) async fn turn_on_globally(window: &mut Window) -> Result<(), CaptureError> {
    let flags = flags_to_turn_on(window);
    if flags.is_empty() {
        return Ok(());
    }
    let statements = Statements::new(&window.surroundings.sessions, window.plan.version);
    let surroundings = window.surroundings.clone();
    if !locks::take_flags(&mut window.server, &statements, &surroundings, true).await? {
        let message = "another run is using the trace flags; they were not turned on";
        window.gathered.problems.push(Problem::new("trace_flags_busy", Severity::Partial, message));
        return Ok(());
    }
    window.gathered.flags_locked = true;
    // One that another run has turned on is used as it is, and is that run's to turn off.
    let now = preflight::read_flags(&mut window.server, &statements, &flags).await?;
    let still_off: Vec<u32> = now.iter().filter(|state| state.global == Some(false)).map(|state| state.flag).collect();
    let on = statements.trace_on(&still_off, Scope::Global)?;
    if still_off.is_empty() {
        window.gathered.flag_scope = Some("global");
        return Ok(());
    }
    match window.change(Step::TraceOn { flags: still_off }, &on).await {
        Ok(()) => {
            window.gathered.flag_scope = Some("global");
            Ok(())
        }
        Err(CaptureError::Server(error)) => note_or_fail(window, error, "a global trace flag could not be turned on"),
        Err(error) => Err(error),
    }
}

/// Global TRACEOFF of what this run turned on, and the lock given back.
pub(super) async fn turn_off_globally(window: &mut Window) -> Result<(), CaptureError> {
    let flags = lock(&window.journal).owed().flags;
    if !flags.is_empty() {
        let off = window.statements().trace_off(&flags, Scope::Global)?;
        window.change(Step::TraceOff { flags }, &off).await?;
    }
    if window.gathered.flags_locked {
        let release = window.statements().release_lock(locks::FLAGS)?;
        window.server.run(&release).await?;
        window.gathered.flags_locked = false;
    }
    Ok(())
}

/// Reads the targets once more; true where frames are resolved now. The better documents become the evidence.
async fn read_again(window: &mut Window) -> Result<bool, CaptureError> {
    let names: Vec<String> = stack_sessions(&window.gathered).map(|session| session.name.clone()).collect();
    let mut resolved = false;
    for name in names {
        let ways = window.statements().read_target_ways(&name)?;
        let Some(sql) = ways.into_iter().nth(window.server.way(TARGET)) else { continue };
        let tables = match window.server.run_within(&sql, SYMBOLISED_READ_LIMIT).await {
            Ok(tables) => tables,
            Err(error) => {
                note_or_fail(window, error, "the target could not be read with trace flags on")?;
                continue;
            }
        };
        let Some(text) = tables.first().and_then(|table| table.text(0, "target_data")) else { continue };
        let Some(target) = target::parse_targets(text).into_iter().next().filter(is_symbolised) else { continue };
        resolved = true;
        let of_name = |session: &&mut SessionEvidence| session.name == name && is_of_stacks(session);
        if let Some(session) = window.gathered.sessions.iter_mut().find(of_name) {
            let (bucket, text) = (session.bucket.clone(), text.to_owned());
            window.gathered.targets.push(RawTarget { session: name, bucket, symbolised: true, text });
            session.target = Some(target);
        }
    }
    Ok(resolved)
}

/// The sessions that bucket call stacks.
fn stack_sessions(gathered: &Gathered) -> impl Iterator<Item = &SessionEvidence> {
    gathered.sessions.iter().filter(|session| is_of_stacks(session))
}

fn is_of_stacks(session: &SessionEvidence) -> bool {
    session.bucket.as_deref() == Some(CALLSTACK)
}

/// Whether any frame shows a symbol, a right one or the nearest export.
fn is_symbolised(target: &Target) -> bool {
    target.slots.iter().flat_map(|slot| &slot.stack.frames).any(|frame| frame.symbol.is_some())
}

/// An error of the server is noted, because the raw document stands; a lost connection ends the window.
fn note_or_fail(window: &mut Window, error: crate::sqlserver::SqlServerError, what: &str) -> Result<(), CaptureError> {
    if error.is_connection_lost() {
        return Err(error.into());
    }
    let message = format!("{what}: {}", counters::chain(&error));
    window.gathered.problems.push(Problem::new("symbolising_failed", Severity::Partial, message));
    Ok(())
}
