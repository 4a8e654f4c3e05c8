//! Any report at all: hostile names, huge numbers, everything missing or present.

use proptest::{collection::vec, option, prelude::*};
use std::collections::BTreeMap;
use std::sync::Arc;
use xestack::model::{
    Address, Answer, Basis, Capture, ClassTotal, Confidence, DatabaseRow, FilePoint, FileRow, Finding, Frame, Gate,
    Interval, LatchRow, Mark, NextStep, PageRow, Problem, QueryRow, Reason, Report, SCHEMA, ServerIdentity,
    ServerVersion, SessionOutcome, SessionReport, Severity, Share, SpinlockRow, StackClass, StackItem, Stacks,
    StoppedBy, Tool, TraceFlagUse, UtcMicros, Verdict, VerdictKind, WaitRow, Window,
};

/// Years 0 to 9999: what RFC 3339 can write.
const WRITABLE_TIMES: std::ops::Range<i64> = -62_167_219_200_000_000..253_402_300_800_000_000;

const VERDICTS: [VerdictKind; 4] =
    [VerdictKind::CpuBoundYields, VerdictKind::FileLatency, VerdictKind::NoContention, VerdictKind::Inconclusive];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Z_]{1,20}",
        2 => any::<String>(),
        1 => "[\\x00-\\x1f\\x7f-\\x9f a-z]{0,40}",
        1 => "[\u{200b}-\u{202e}\u{300}-\u{310}\u{ad}\u{4e00}-\u{4e20}\u{1f600}-\u{1f610} ]{0,60}",
        1 => "[a-z:<>,]{100,300}",
        1 => Just("name ".repeat(2000)),
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..100u64, any::<u64>(), Just(u64::MAX), Just(1 << 53), Just((1 << 53) + 1)]
}

fn real() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1.0f64, any::<f64>().prop_filter("finite", |number| number.is_finite())]
}

fn maybe<T: std::fmt::Debug>(inner: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    option::of(inner)
}

fn mark() -> impl Strategy<Value = Option<Mark>> {
    maybe(prop_oneof![
        Just(Mark::New),
        Just(Mark::Reset),
        Just(Mark::Restarted),
        Just(Mark::Missing),
        Just(Mark::Renamed)
    ])
}

fn class() -> impl Strategy<Value = StackClass> {
    proptest::sample::select(StackClass::ALL.to_vec())
}

fn frame() -> impl Strategy<Value = Frame> {
    (text(), maybe(text()), maybe(text()), maybe(number()), maybe(number()), maybe(number())).prop_map(
        |(text, module, symbol, offset, rva, address)| Frame {
            text,
            module,
            symbol,
            offset,
            rva,
            address: address.map(Address),
            ..Frame::default()
        },
    )
}

fn stack() -> impl Strategy<Value = StackItem> {
    (text(), class(), maybe(text()), maybe(text()), number(), vec(frame(), 0..12), 0..20usize).prop_map(
        |(id, class, area, rule, events, frames, plumbing)| StackItem {
            id,
            class,
            area,
            rule,
            events,
            slots: vec!["0:0".to_owned()],
            plumbing,
            frames: frames.into_iter().map(Arc::new).collect(),
        },
    )
}

fn stacks() -> impl Strategy<Value = Stacks> {
    (number(), number(), number(), vec(stack(), 0..6), vec((class(), maybe(text()), number(), real()), 0..3)).prop_map(
        |(total_events, distinct, unresolved_events, items, classes)| Stacks {
            total_events,
            distinct,
            unresolved_events,
            classes: classes
                .into_iter()
                .map(|(class, area, events, share)| ClassTotal { class, area, events, share })
                .collect(),
            items,
        },
    )
}

fn session() -> impl Strategy<Value = SessionReport> {
    let losses = (maybe(number()), maybe(number()), maybe(number()));
    let outcome = (proptest::sample::select(SessionOutcome::ALL.to_vec()), maybe(Just(StoppedBy::Someone)));
    (text(), maybe(text()), outcome, maybe(number()), number(), any::<(bool, bool, bool)>(), losses).prop_map(
        |(name, event, outcome, buckets, slots_used, (at_capacity, target_cut, event_cap_reached), losses)| {
            SessionReport {
                name,
                event,
                outcome: outcome.0,
                stopped_by: outcome.1,
                slots_requested: buckets,
                buckets,
                slots_used,
                at_capacity,
                events_without_slot: losses.0,
                dropped_events: losses.1,
                dropped_buffers: losses.2,
                target_cut,
                event_cap_reached,
            }
        },
    )
}

fn server() -> impl Strategy<Value = ServerIdentity> {
    (text(), text(), text(), any::<i64>(), maybe(text())).prop_map(
        |(name, product_version, edition, engine_edition, virtual_machine)| ServerIdentity {
            name,
            product_version,
            version: Some(ServerVersion::V2022),
            edition,
            engine_edition,
            virtual_machine,
            ..ServerIdentity::default()
        },
    )
}

fn flag() -> impl Strategy<Value = TraceFlagUse> {
    (any::<u32>(), maybe(any::<bool>()), any::<bool>(), text(), number(), any::<bool>()).prop_map(
        |(flag, global_before, enabled_by_us, scope, on_ms, restored)| TraceFlagUse {
            flag,
            global_before,
            enabled_by_us,
            scope,
            on_ms,
            restored,
        },
    )
}

fn problem() -> impl Strategy<Value = Problem> {
    let severity = prop_oneof![Just(Severity::Info), Just(Severity::Warning), Just(Severity::Partial)];
    (text(), severity, text(), maybe(text())).prop_map(|(code, severity, message, hint)| Problem {
        code,
        severity,
        message,
        hint,
    })
}

fn capture() -> impl Strategy<Value = Capture> {
    let window = (WRITABLE_TIMES, WRITABLE_TIMES, number()).prop_map(|(started_at, ended_at, elapsed_ms)| Window {
        started_at: UtcMicros(started_at),
        ended_at: UtcMicros(ended_at),
        elapsed_ms,
    });
    (
        text(),
        maybe(text()),
        maybe(server()),
        maybe(window),
        vec(session(), 0..3),
        vec(flag(), 0..3),
        vec(problem(), 0..25),
    )
        .prop_map(|(id, scenario, server, window, sessions, trace_flags, problems)| Capture {
            id,
            scenario,
            server,
            window,
            sessions,
            trace_flags,
            problems,
        })
}

fn share() -> impl Strategy<Value = Share> {
    (real(), real(), any::<bool>()).prop_map(|(low, high, time)| Share {
        low,
        high,
        basis: if time { Basis::WaitMs } else { Basis::Events },
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let kind = proptest::sample::select(VERDICTS.to_vec());
    let shares = vec(share(), 13)
        .prop_map(|shares| StackClass::ALL.into_iter().zip(shares).collect::<BTreeMap<StackClass, Share>>());
    let reasons = vec((text(), vec(text(), 0..3)).prop_map(|(text, evidence)| Reason { text, evidence }), 0..3);
    let steps = vec((text(), text()).prop_map(|(text, risk)| NextStep { text, risk }), 0..3);
    (kind, maybe(text()), text(), shares, reasons, steps).prop_map(
        |(kind, subject, summary, shares, reasons, next_steps)| Verdict {
            kind,
            subject,
            confidence: Confidence::Low,
            summary,
            shares,
            reasons,
            next_steps,
        },
    )
}

fn finding() -> impl Strategy<Value = Finding> {
    let gate = (text(), maybe(real()), text(), any::<bool>()).prop_map(|(name, value, needed, met)| Gate {
        name,
        value,
        needed,
        met,
    });
    (text(), text(), maybe(real()), maybe(real()), maybe(real()), vec(gate, 0..3), text())
        .prop_map(|(name, state, value, low, high, gates, text)| Finding { name, state, value, low, high, gates, text })
}

fn wait() -> impl Strategy<Value = WaitRow> {
    ((text(), maybe(text())), number(), number(), number(), number(), real(), mark()).prop_map(
        |((wait_type, category), waiting_tasks, wait_ms, resource_ms, signal_ms, share, mark)| WaitRow {
            wait_type,
            category,
            waiting_tasks,
            wait_ms,
            resource_ms,
            signal_ms,
            share,
            mark,
        },
    )
}

fn latch() -> impl Strategy<Value = LatchRow> {
    (text(), number(), number(), real(), mark()).prop_map(|(latch_class, requests, wait_ms, share, mark)| LatchRow {
        latch_class,
        requests,
        wait_ms,
        share,
        mark,
    })
}

fn spinlock() -> impl Strategy<Value = SpinlockRow> {
    let range = (real(), real()).prop_map(|(low, high)| Interval { low, high });
    (text(), (number(), number(), number(), number(), number()), maybe(real()), maybe(range), mark()).prop_map(
        |(name, figures, spins_per_second_per_cpu, spin_cpu_share, mark)| SpinlockRow {
            name,
            collisions: figures.0,
            spins: figures.1,
            spins_per_collision: figures.2,
            sleep_time_ms: figures.3,
            backoffs: figures.4,
            spins_per_second_per_cpu,
            spin_cpu_share,
            mark,
        },
    )
}

fn signed() -> impl Strategy<Value = i64> {
    prop_oneof![-100..100i64, any::<i64>(), Just(i64::MIN), Just(i64::MAX)]
}

fn point() -> impl Strategy<Value = FilePoint> {
    (number(), number(), number(), maybe(real()), maybe(real())).prop_map(
        |(at_ms, reads, writes, read_latency_ms, write_latency_ms)| FilePoint {
            at_ms,
            reads,
            writes,
            read_latency_ms,
            write_latency_ms,
        },
    )
}

fn file() -> impl Strategy<Value = FileRow> {
    let names = (text(), text(), text(), signed(), signed());
    let counters = (number(), number(), number(), number(), number(), number(), maybe(number()), maybe(number()));
    let means = vec(maybe(real()), 7);
    let space = (maybe(number()), maybe(signed()));
    (names, counters, means, space, vec(point(), 0..16), mark()).prop_map(
        |(names, counters, means, space, series, mark)| FileRow {
            database: names.0,
            file: names.1,
            kind: names.2,
            database_id: names.3,
            file_id: names.4,
            reads: counters.0,
            writes: counters.1,
            read_bytes: counters.2,
            write_bytes: counters.3,
            read_stall_ms: counters.4,
            write_stall_ms: counters.5,
            queued_read_ms: counters.6,
            queued_write_ms: counters.7,
            read_latency_ms: means[0],
            write_latency_ms: means[1],
            latency_ms: means[2],
            bytes_per_read: means[3],
            bytes_per_write: means[4],
            cumulative_read_latency_ms: means[5],
            cumulative_write_latency_ms: means[6],
            size_bytes: space.0,
            growth_bytes: space.1,
            series,
            mark,
        },
    )
}

fn database() -> impl Strategy<Value = DatabaseRow> {
    let settings = vec(maybe(any::<bool>()), 4);
    let numbers = vec(maybe(number()), 7);
    (text(), 0..8i64, maybe(text()), maybe(text()), settings, numbers, maybe(signed()), mark()).prop_map(
        |(database, database_id, snapshot_of, delayed_durability, settings, numbers, growth, mark)| DatabaseRow {
            database,
            database_id,
            snapshot_of,
            read_committed_snapshot: settings[0],
            snapshot_isolation: settings[1],
            accelerated_recovery: settings[2],
            delayed_durability,
            readable_secondary: settings[3],
            version_store_kb: numbers[0],
            version_store_growth_kb: growth,
            persistent_version_store_kb: numbers[1],
            transactions: numbers[2],
            log_flushes: numbers[3],
            log_bytes_flushed: numbers[4],
            log_flush_waits: numbers[5],
            log_flush_wait_ms: numbers[6],
            mark,
        },
    )
}

fn page() -> impl Strategy<Value = PageRow> {
    (text(), signed(), signed(), signed(), text(), number(), real(), text()).prop_map(
        |(database, database_id, file_id, page_id, page_type, waits, share, basis)| PageRow {
            database,
            database_id,
            file_id,
            page_id,
            page_type,
            waits,
            share,
            basis,
        },
    )
}

fn query() -> impl Strategy<Value = QueryRow> {
    (text(), number(), maybe(share()), maybe(text()), maybe(number()), maybe(number())).prop_map(
        |(query_hash, events, share, statement, executions, cpu_ms)| QueryRow {
            query_hash,
            events,
            share,
            statement,
            executions,
            cpu_ms,
        },
    )
}

type Rows = (Vec<Answer>, Vec<FileRow>, Vec<DatabaseRow>, Vec<PageRow>, Vec<QueryRow>);

fn rows() -> impl Strategy<Value = Rows> {
    let answer = (text(), verdict()).prop_map(|(scenario, verdict)| Answer { scenario, verdict });
    (vec(answer, 0..2), few(file()), few(database()), few(page()), few(query()))
}

/// Seldom more than a table shows.
fn few<T: std::fmt::Debug + Clone + 'static>(row: impl Strategy<Value = T> + 'static) -> impl Strategy<Value = Vec<T>> {
    let row = row.boxed();
    prop_oneof![9 => vec(row.clone(), 0..3), 1 => vec(row, 11..13)]
}

pub(super) fn report() -> impl Strategy<Value = Report> {
    (
        capture(),
        verdict(),
        vec(finding(), 0..3),
        stacks(),
        vec(wait(), 0..13),
        vec(latch(), 0..3),
        vec(spinlock(), 0..13),
        rows(),
    )
        .prop_map(|(capture, verdict, findings, stacks, waits, latches, spinlocks, rows)| Report {
            schema: SCHEMA.to_owned(),
            tool: Tool { name: "xestack".to_owned(), version: "0.1.0".to_owned() },
            capture,
            verdict,
            further: rows.0,
            findings,
            stacks,
            waits,
            latches,
            spinlocks,
            files: rows.1,
            databases: rows.2,
            pages: rows.3,
            queries: rows.4,
        })
}
