//! Reading large target documents: throughput, what it is to be held against, and memory.
//!
//! After the measurements it checks their ratios, taken side by side in this one run, and ends with an error where one of
//! them is not kept.

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench is a test")]
#![allow(clippy::print_stdout, reason = "it reports")]
#![expect(clippy::disallowed_methods, reason = "a bench takes real time")]

use criterion::{Criterion, Throughput};
use quick_xml::{Reader, escape::unescape, events::Event};
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fs};
use xestack::parse::input;

const STACKS: usize = 16_384;
const DOCUMENT_BYTES: usize = 100_000_000;
/// Distinct frames that the stacks are made of, in paths that calls take again and again.
const FRAMES: usize = 4_096;
const FRAMES_OF_A_PATH: usize = 8;
/// Rounds of the ratios; the best of each counts, which is the one that other work on the machine disturbed least.
const ROUNDS: usize = 5;
const MEBIBYTE: f64 = 1_048_576.0;
/// Names the document that a child process is to read for the measurement of memory.
const CHILD_VARIABLE: &str = "XESTACK_BENCH_DOCUMENT";

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Escaped,
    CData,
}

/// A `HistogramTarget` document of 16,384 distinct stacks. They are made of paths, and these of 4,096 distinct frames.
fn document(form: Form, bytes: usize) -> String {
    let mut random = fastrand::Rng::with_seed(1);
    let frames: Vec<String> = (0..FRAMES).map(|index| frame(index, &mut random)).collect();
    let mut out = format!("<HistogramTarget truncated=\"0\" buckets=\"{STACKS}\">");
    for slot in 0..STACKS {
        write!(out, "<Slot count=\"{}\"><value>", random.u32(1..100_000)).unwrap();
        let end = bytes / STACKS * (slot + 1);
        if form == Form::CData {
            out.push_str("<![CDATA[");
        }
        // The first two frames number the stack, so that no two are alike.
        let numbering = [slot % 128, slot / 128];
        let paths = std::iter::repeat_with(|| random.usize(..FRAMES / FRAMES_OF_A_PATH) * FRAMES_OF_A_PATH);
        for place in numbering.into_iter().chain(paths.flat_map(|first| first..first + FRAMES_OF_A_PATH)) {
            let frame = &frames[place];
            match form {
                Form::CData => out.push_str(frame),
                Form::Escaped => out.push_str(&frame.replace('<', "&lt;").replace('>', "&gt;")),
            }
            out.push('\n');
            if out.len() >= end {
                break;
            }
        }
        if form == Form::CData {
            out.push_str("]]>");
        }
        out.push_str("</value></Slot>");
    }
    out.push_str("</HistogramTarget>");
    out
}

/// One frame in ten has a template, as in published stacks.
fn frame(index: usize, random: &mut fastrand::Rng) -> String {
    let module = ["sqldk.dll", "sqlmin.dll", "sqllang.dll", "SqlTsEs.dll"][random.usize(..4)];
    let class = ["SOS_Task", "SpinlockBase", "CQScanStreamAggregateNew", "RowsetNewSS", "IndexDataSetSession"];
    let template = if random.u8(..10) == 0 { "<144,1,0>" } else { "" };
    let class = class[random.usize(..class.len())];
    format!("{module}!{class}{template}::Method{index}+0x{:x}", random.u32(16..0x2000))
}

/// What reading such a document costs at least: every event, and the text of every value unescaped.
fn bare_loop(text: &str) -> usize {
    let mut reader = Reader::from_str(text);
    let (mut values, mut value) = (Vec::new(), String::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Text(text) => value.push_str(&text.decode().unwrap()),
            Event::CData(text) => value.push_str(&text.decode().unwrap()),
            Event::GeneralRef(reference) => {
                let name = format!("&{};", std::str::from_utf8(&reference).unwrap());
                value.push_str(&unescape(&name).unwrap());
            }
            Event::End(tag) if tag.name().as_ref() == b"value" => values.push(std::mem::take(&mut value)),
            Event::Eof => return values.len(),
            _ => {}
        }
    }
}

fn read(text: &str) -> usize {
    let read = input::read(text.as_bytes());
    read.targets.iter().map(|target| target.slots.len()).sum()
}

/// Time on a core: that of this thread where the system tells it, so that other work on the machine does not count.
fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let (started, on_core) = (Instant::now(), time_on_core());
    black_box(work());
    match (on_core, time_on_core()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => started.elapsed(),
    }
}

fn time_on_core() -> Option<Duration> {
    let said = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    said.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn throughput(escaped: &str, cdata: &str) {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("target of 16384 stacks");
    group.sample_size(10).throughput(Throughput::Bytes(escaped.len() as u64));
    group.bench_function("bare quick-xml loop, escaped", |bencher| bencher.iter(|| bare_loop(black_box(escaped))));
    group.bench_function("escaped", |bencher| bencher.iter(|| read(black_box(escaped))));
    group.bench_function("cdata", |bencher| bencher.iter(|| read(black_box(cdata))));
    group.finish();
    criterion.final_summary();
}

/// A figure, the bound that it has to keep, and whether it does.
fn kept(name: &str, figure: f64, most: bool, bound: f64, unit: &str) -> bool {
    let keeps = if most { figure <= bound } else { figure >= bound };
    let (limit, verdict) = (if most { "at most" } else { "at least" }, if keeps { "kept" } else { "NOT KEPT" });
    println!("{name}: {figure:.2} {unit} ({limit} {bound}): {verdict}");
    keeps
}

fn ratios(escaped: &str, cdata: &str) -> bool {
    // Side by side: what else the machine does meets all three.
    let works: [&dyn Fn() -> usize; 3] = [&|| bare_loop(escaped), &|| read(escaped), &|| read(cdata)];
    let mut best = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        for (best, work) in best.iter_mut().zip(works) {
            *best = timed(work).min(*best);
        }
    }
    let [bare, in_escaped, in_cdata] = best.map(|time| time.as_secs_f64());
    let mib = |bytes: usize, seconds: f64| bytes as f64 / MEBIBYTE / seconds;
    println!("bare loop {:.0} MiB/s, escaped {:.0} MiB/s", mib(escaped.len(), bare), mib(escaped.len(), in_escaped));
    let mut all = kept("escaped text, time by the bare loop's", in_escaped / bare, true, 3.0, "times");
    all &= kept("CDATA on one core", cdata.len() as f64 / 1e6 / in_cdata, false, 250.0, "MB/s");
    all
}

/// Twice the input, about twice the time, on inputs made to be slow.
fn growth() -> bool {
    const BYTES: usize = 8_000_000;
    let repeated = |unit: &str, bytes: usize| unit.repeat(bytes / unit.len());
    let rooted = |unit: &str, bytes: usize| format!("<HistogramTarget>{}", repeated(unit, bytes));
    type Input<'a> = (&'a str, &'a dyn Fn(usize) -> String);
    let inputs: [Input<'_>; 14] = [
        ("<", &|bytes| repeated("<", bytes)),
        ("a root and <", &|bytes| rooted("<", bytes)),
        ("&lt;", &|bytes| repeated("&lt;", bytes)),
        ("nested tags", &|bytes| rooted("<a>", bytes)),
        ("nested slots", &|bytes| rooted("<Slot count=\"1\"><value>", bytes)),
        ("unclosed quotes", &|bytes| rooted("<Slot count=\"1 ", bytes)),
        ("unclosed comments", &|bytes| rooted("<!-- ", bytes)),
        ("unclosed CDATA", &|bytes| rooted("<Slot count=\"1\"><value><![CDATA[", bytes)),
        ("roots", &|bytes| repeated("<HistogramTarget", bytes)),
        ("escaped roots", &|bytes| repeated("&lt;HistogramTarget&gt;", bytes)),
        ("entities", &|bytes| format!("<!DOCTYPE a [{}]>", repeated("<!ENTITY a \"&a;&a;\">", bytes))),
        ("frames", &|bytes| repeated("<frame rva='", bytes)),
        ("operators and brackets", &|bytes| repeated("A<B::operator< (", bytes)),
        ("pluses", &|bytes| repeated("a+1 ", bytes)),
    ];
    let mut all = true;
    for (name, make) in inputs {
        let (small, large) = (make(BYTES), make(2 * BYTES));
        let best = |text: &str| (0..ROUNDS).map(|_| timed(|| input::read(text.as_bytes()))).min().unwrap();
        // The system counts time on a core in steps of some milliseconds: below ten there is nothing to compare.
        let (small, large) = (best(&small).as_secs_f64().max(0.01), best(&large).as_secs_f64());
        all &=
            kept(&format!("{name}: time of 16 MB by that of 8 MB ({small:.3} s)"), large / small, true, 3.0, "times");
    }
    all
}

/// Peak memory of a process that reads the document and nothing else, by the text of its values.
fn memory(name: &str, document: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("target.xml");
    fs::write(&path, document).unwrap();
    let output = Command::new(env::current_exe().unwrap()).env(CHILD_VARIABLE, &path).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let mut numbers = said.split_whitespace().map(|number| number.parse::<f64>().unwrap());
    let (Some(peak), Some(distinct)) = (numbers.next(), numbers.next()) else {
        println!("skipped: memory is measured where /proc/self/status is");
        return true;
    };
    println!("{name}: peak {:.0} MiB for {:.0} MiB of distinct text", peak / MEBIBYTE, distinct / MEBIBYTE);
    kept(&format!("{name}: peak memory by the distinct text"), peak / distinct, true, 3.0, "times")
}

/// The child's part of [`memory`]: prints its peak and the bytes of all values.
fn read_and_tell(path: &str) {
    let bytes = fs::read(path).unwrap();
    let read = input::read(&bytes);
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return };
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    let distinct: usize = read.targets.iter().flat_map(|target| &target.slots).map(|slot| slot.value.len()).sum();
    println!("{} {distinct}", peak.parse::<usize>().unwrap() * 1024);
}

fn main() -> ExitCode {
    if let Ok(path) = env::var(CHILD_VARIABLE) {
        read_and_tell(&path);
        return ExitCode::SUCCESS;
    }
    let (escaped, cdata) = (document(Form::Escaped, DOCUMENT_BYTES), document(Form::CData, DOCUMENT_BYTES));
    assert_eq!((read(&escaped), read(&cdata)), (STACKS, STACKS));
    throughput(&escaped, &cdata);
    let mut all = ratios(&escaped, &cdata);
    all &= memory("escaped", &escaped);
    all &= memory("CDATA", &cdata);
    all &= growth();
    if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
