//! Files that are no evidence, or made to do harm, given to `analyze`: exit 0, 5 or 7, never a panic, never a hang.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use super::cli::xestack;
use fastrand::Rng;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;
use xestack::parse::input;

/// One sample of each form, small enough to be cut at every byte.
const SAMPLES: [&str; 3] = [
    "<HistogramTarget truncated=\"0\" buckets=\"8\"><Slot count=\"7\"><value>sqldk!A&lt;1,2&gt;::B+0x1f\n\
     sqlmin!C::D+0x2\n</value></Slot><Slot count=\"5\"><value><![CDATA[a!b+0x1\n]]></value></Slot></HistogramTarget>",
    "Slot_0\t[count:12]:\n\nsqldk!SOS_Task::Sleep+0x1\n00007FF812345678 sqldk+0x40609\n",
    "<event name=\"wait_info\"><action name=\"callstack\"><value><frame id=\"00\" pdb=\"a.pdb\" age=\"2\" \
     guid=\"0123456789ABCDEF0123456789ABCDEF\" module=\"a\" rva=\"0x1f\"/></value></action></event>",
];

/// Sizes are a hundredth without optimisation, so that `cargo test` stays quick; `.ci/full` runs the full ones.
fn scaled(bytes: usize) -> usize {
    if cfg!(debug_assertions) { bytes / 100 } else { bytes }
}

/// Exit code and standard error of `analyze` on a file with these bytes.
fn analyze(bytes: &[u8]) -> (i32, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("input");
    fs::write(&path, bytes).unwrap();
    let output = xestack(&["analyze"]).arg(&path).timeout(Duration::from_secs(60)).output().unwrap();
    (output.status.code().expect("an exit code"), String::from_utf8(output.stderr).unwrap())
}

fn repeated(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len())
}

fn png() -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\x01\0\x08\x06\0\0\0\\r\xa8f\0\0 \0IDAT".to_vec();
    let mut random = Rng::with_seed(1);
    bytes.extend(std::iter::repeat_with(|| random.u8(..)).take(8_192));
    bytes
}

/// Each entity is ten of the one before: expanded, gigabytes.
fn entity_bomb() -> String {
    let mut text = "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY e0 \"0123456789\">".to_owned();
    for level in 1..12 {
        let inside = format!("&e{};", level - 1).repeat(10);
        write!(text, "<!ENTITY e{level} \"{inside}\">").unwrap();
    }
    text.push_str("]><HistogramTarget buckets=\"8\"><Slot count=\"1\"><value>&e11;</value></Slot></HistogramTarget>");
    text
}

#[test]
fn what_holds_no_evidence_is_7_and_what_holds_some_is_kept() {
    let size = scaled(100_000_000);
    let nested = format!("{}{}", repeated("<HistogramTarget><Slot count=\"1\"><value>", size / 20), "x");
    let utf16: Vec<u8> = SAMPLES[0].encode_utf16().flat_map(u16::to_le_bytes).collect();
    let other_xml = "<?xml version=\"1.0\"?><note><to>DBA</to><body>Slots are free on Friday</body></note>";
    let cases: [(&str, Vec<u8>, &[i32]); 12] = [
        ("empty", Vec::new(), &[7]),
        ("blank", b" \r\n\t\n".to_vec(), &[7]),
        ("PNG", png(), &[7]),
        ("other XML", other_xml.into(), &[7]),
        ("<", repeated("<", size).into(), &[7]),
        ("zeros", vec![0; size / 10], &[7]),
        ("entity bomb", entity_bomb().into(), &[0, 5]),
        ("elements in elements", repeated("<a>", size / 10).into(), &[7]),
        ("documents in documents", nested.into(), &[5]),
        ("a slot in a slot", repeated("<Slot count=\"1\">", size / 20).into(), &[0, 5, 7]),
        ("UTF-16", utf16, &[0, 5]),
        ("half of a UTF-16 unit", vec![0xFF, 0xFE, b'<'], &[7]),
    ];
    for (name, bytes, codes) in cases {
        let (code, said) = analyze(&bytes);
        assert!(codes.contains(&code), "{name}: exit {code}: {}", said.chars().take(500).collect::<String>());
        let tells = said.contains("no target document and no call stack") || said.contains("is empty");
        assert_eq!(code == 7, tells, "{name}: {said}");
    }
}

#[test]
fn an_entity_bomb_stays_as_written() {
    let read = input::read(entity_bomb().as_bytes());
    assert_eq!(read.targets[0].slots[0].value, "&e11;");
}

#[test]
fn many_files_that_are_cut_are_one_evidence_set() {
    // Every cut as a file of its own, in one call: the whole sample is among them, so there is always evidence.
    for sample in SAMPLES {
        let folder = TempDir::new().unwrap();
        let mut command = xestack(&["analyze"]);
        for at in 0..=sample.len() {
            let path = folder.path().join(at.to_string());
            fs::write(&path, &sample.as_bytes()[..at]).unwrap();
            command.arg(path);
        }
        let output = command.timeout(Duration::from_secs(60)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_sample_cut_at_any_byte_never_gains_events() {
    let events = |bytes: &[u8]| -> u128 {
        let read = input::read(bytes);
        assert!(!read.is_empty() || !read.problems.is_empty(), "nothing read and nothing said");
        read.targets.iter().map(xestack::model::Target::events).sum()
    };
    for sample in SAMPLES {
        let all = events(sample.as_bytes());
        for at in 0..sample.len() {
            assert!(events(&sample.as_bytes()[..at]) <= all, "cut at {at}");
        }
    }
}

#[test]
fn two_thousand_corruptions_are_read_or_refused() {
    const CORRUPTIONS: usize = 2_000;
    const AT_ONCE: usize = 100;
    let mut random = Rng::with_seed(20_250_101);
    let mut corrupted = |sample: &str| {
        let mut bytes = sample.as_bytes().to_vec();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..bytes.len());
            match random.u8(..4) {
                0 => bytes[at] = random.u8(..),
                1 => bytes.insert(at, *random.choice(b"<>&\"'/!-[]\0\n;+:").unwrap()),
                2 => drop(bytes.drain(at..random.usize(at..bytes.len()))),
                _ => {
                    let from = random.usize(..bytes.len());
                    bytes.extend_from_within(from..);
                }
            }
        }
        bytes
    };
    let inputs: Vec<Vec<u8>> = (0..CORRUPTIONS).map(|index| corrupted(SAMPLES[index % SAMPLES.len()])).collect();
    // What one file does, the others of its call could hide: some alone, in an optimised build all.
    let alone = if cfg!(debug_assertions) { AT_ONCE / 4 } else { 1 };
    for batch in inputs.chunks(AT_ONCE) {
        let folder = TempDir::new().unwrap();
        let mut command = xestack(&["analyze", "--format", "json"]);
        for (index, bytes) in batch.iter().enumerate() {
            let path = folder.path().join(index.to_string());
            fs::write(&path, bytes).unwrap();
            command.arg(path);
        }
        let output = command.timeout(Duration::from_secs(60)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 5)), "{said}");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("a whole report");
        for bytes in batch.iter().step_by(alone) {
            let (code, said) = analyze(bytes);
            assert!(matches!(code, 0 | 5 | 7), "exit {code}: {said}");
        }
    }
}
