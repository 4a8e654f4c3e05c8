//! Target documents in every dress, broken ones included.

use super::shown_stack;
use xestack::{
    model::{Slot, Target, TargetRoot},
    parse::{input, target::parse_targets},
};

fn one(text: &str) -> Target {
    let mut targets = parse_targets(text);
    assert_eq!(targets.len(), 1, "{text}");
    targets.remove(0)
}

fn counts(target: &Target) -> Vec<u64> {
    target.slots.iter().map(|slot| slot.count).collect()
}

fn values(target: &Target) -> Vec<&str> {
    target.slots.iter().map(|slot| slot.value.as_str()).collect()
}

/// A document with one slot that counts 5.
fn document(value: &str) -> String {
    format!(
        "<HistogramTarget truncated=\"0\" buckets=\"256\"><Slot count=\"5\"><value>{value}</value></Slot></HistogramTarget>"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[test]
fn attributes_are_read_in_any_dress() {
    let plain = one(
        "<?xml version=\"1.0\"?><!DOCTYPE HistogramTarget [<!ENTITY a \"b\">]><!-- x --><HistogramTarget truncated=\"3\" buckets=\"512\"><Slot count=\"7\" trunc=\"9\"><value>a!b::c</value></Slot></HistogramTarget>",
    );
    assert_eq!((plain.truncated, plain.buckets, plain.cut), (Some(3), Some(512), false));
    assert_eq!((plain.annotation.as_deref(), plain.problems.len()), (None, 0));
    assert_eq!((plain.slots[0].index, plain.slots[0].count, plain.slots[0].truncated_bytes), (0, 7, Some(9)));
    let dressed = one(
        "\u{FEFF}<x:HistogramTarget xmlns:x='urn:x' buckets = '512'\n truncated='3' ><!-- <Slot count='1'> --><extra a='>'>y</extra><x:Slot other='1' trunc='9' count=' 7 '>\n<x:value >a!b::c</x:value\n></x:Slot ></x:HistogramTarget>",
    );
    assert_eq!(dressed, plain);
}

#[test]
fn counts_beyond_reason_are_reported_and_the_slot_stays() {
    for (count, expected, problem) in [
        ("count=\"2147483648\"", 2_147_483_648, None),
        ("count=\"9223372036854775807\"", 9_223_372_036_854_775_807, None),
        ("count=\"18446744073709551615\"", u64::MAX, None),
        ("count=\"18446744073709551616\"", u64::MAX, Some("exceeds 64 bits")),
        ("count=\"-1\"", 0, Some("is no number")),
        ("count=\"many\"", 0, Some("is no number")),
        ("count=\"\"", 0, Some("is no number")),
        ("", 0, Some("has no count")),
    ] {
        let target =
            one(&format!("<HistogramTarget truncated=\"1\"><Slot {count}><value>v</value></Slot></HistogramTarget>"));
        assert_eq!((counts(&target), values(&target)), (vec![expected], vec!["v"]), "{count}");
        assert_eq!(target.problems.len(), usize::from(problem.is_some()), "{count}");
        assert!(problem.is_none_or(|words| target.problems[0].contains(words)), "{:?}", target.problems);
    }
}

#[test]
fn values_may_be_empty_missing_or_many() {
    let target = one(
        "<HistogramTarget><Slot count=\"1\"><value></value></Slot><Slot count=\"2\"><value/></Slot><Slot count=\"3\"></Slot><Slot count=\"4\"/><Slot count=\"5\"><value>a</value><value>b</value></Slot></HistogramTarget>",
    );
    assert_eq!((counts(&target), values(&target)), (vec![1, 2, 3, 4, 5], vec!["", "", "", "", "a\nb"]));
    assert_eq!(
        target.problems,
        ["slot 2 has no value", "slot 3 has no value", "slot 4 has more than one value: they are joined"]
    );
    assert!(target.slots[..4].iter().all(|slot| slot.stack.frames.is_empty()));
    let empty = one("<HistogramTarget truncated=\"0\" buckets=\"8\"/>");
    assert_eq!((empty.slots.len(), empty.cut, empty.buckets), (0, false, Some(8)));
}

#[test]
fn escaped_cdata_and_raw_are_the_same_document() {
    let frames = "<frame id=\"00\" pdb=\"sqldk.pdb\" age=\"2\" guid=\"1D3FA75E-B355-40E2-87B2-E012D69785DF\" module=\"sqldk.dll\" rva=\"0xFD919\" /><frame id=\"01\" module=\"sqlmin.dll\" rva=\"0x1\" />";
    let names = "sqlmin!Spinlock<143,7,1>::SpinToAcquire+0x1\nsqldk!A<B * __ptr64>::operator<\nsqldk!A & B::operator->+0x2\n`vector deleting destructor'";
    for value in [frames, names, "sqldk.dll+0x1\nsqldk.dll+0x2", "1287675635", "a\r\nb"] {
        let cdata = one(&document(&format!("<![CDATA[{value}]]>")));
        assert_eq!(cdata.problems, [""; 0]);
        assert_eq!(values(&cdata), [value.replace("\r\n", "\n")]);
        for variant in [
            document(&escape(value)),
            document(value),
            escape(&document(&escape(value))),
            escape(&document(value)),
            escape(&escape(&document(value))),
            document(&format!("\n  <![CDATA[{value}]]>\n  ")),
            document(&format!("<!-- <value> -->{}", escape(value))),
        ] {
            assert_eq!(one(&variant), cdata, "{variant}");
        }
    }
    let pretty = one(&document(&format!("\n    {}\n  ", frames.replace("/><", "/>\n    <"))));
    assert_eq!(pretty.slots[0].stack, one(&document(frames)).slots[0].stack);
    let mixed = one(&document(&frames.replace("/><frame", "/&gt;&lt;frame")));
    assert_eq!(shown_stack(&mixed.slots[0].stack), ["#0 sqldk+fd919", "#1 sqlmin+1"]);
}

#[test]
fn illegal_characters_are_replaced_and_reported() {
    for value in ["a\u{1B}b\u{FFFF}c", "a&#x1B;b&#xFFFF;c", "a&#0;b&#xD800;c", "<![CDATA[a\u{0}b\u{8}c]]>"] {
        let target = one(&document(value));
        assert_eq!(values(&target), ["a\u{FFFD}b\u{FFFD}c"], "{value:?}");
        assert_eq!(target.problems, ["2 characters that XML does not allow were replaced by U+FFFD"]);
    }
}

#[test]
fn entities_of_a_doctype_are_never_expanded() {
    let mut text = "<!DOCTYPE HistogramTarget [<!ENTITY l0 \"lol\">".to_owned();
    for level in 1..20 {
        text += &["<!ENTITY l", &level.to_string(), " \"", &format!("&l{};", level - 1).repeat(10), "\">"].concat();
    }
    text += "]>";
    text += &document("&l19;&l19;");
    let target = one(&text);
    assert_eq!((values(&target), target.annotation.as_deref()), (vec!["&l19;&l19;"], None));
}

#[test]
fn several_documents_keep_what_was_written_before_them() {
    let text = format!(
        "first a < b &lt; c\n{}\nsecond\n{}trailing",
        document("sqldk+0x1"),
        document("sqldk+0x2").replace("Histogram", "Bucketizer")
    );
    let targets = parse_targets(&text);
    let annotations: Vec<_> = targets.iter().map(|target| target.annotation.as_deref().unwrap()).collect();
    assert_eq!(annotations, ["first a < b &lt; c", "second"]);
    assert_eq!(targets[1].root, TargetRoot::BucketizerTarget);
    let read = input::read(text.as_bytes());
    assert_eq!(read.targets, targets);
    assert_eq!(read.problems.iter().map(|problem| problem.code.as_str()).collect::<Vec<_>>(), ["text_not_read"]);
    // A document that is cut does not swallow the next one.
    for cut in [
        "<HistogramTarget><Slot count=\"1\"><value><![CDATA[x",
        "<HistogramTarget trunc",
        "<HistogramTarget><Slot count=\"1",
    ] {
        let targets = parse_targets(&format!("{cut}\n{}", document("sqldk+0x1")));
        assert_eq!(
            targets.iter().map(|target| (target.cut, target.slots.len())).collect::<Vec<_>>(),
            [(true, 0), (false, 1)]
        );
    }
    let escaped = parse_targets(&format!("{} between {}", escape(&document("a")), escape(&document("b"))));
    assert_eq!(escaped.iter().map(|target| values(target)[0]).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(escaped[1].annotation.as_deref(), Some("between"));
}

#[test]
fn broken_tags_do_not_take_complete_slots_with_them() {
    let good = "<Slot count=\"7\"><value>kept</value></Slot>";
    for (broken, before, problems) in [
        ("<Slot count=\"5><value>a</value></Slot>", vec![(0, "a")], 1),
        ("<Slot count=\"5\"><value>a</Slot>", vec![(5, "a")], 1),
        ("<Slot count=\"5\"><value>a</value>", vec![(5, "a")], 1),
        ("<Slot count=\"5\"><value>a", vec![(5, "a")], 2),
        ("</value></value><junk><!x><![y", vec![], 0),
        ("text < & > text", vec![], 0),
        ("<<<<", vec![], 0),
        ("<!-- never closed", vec![], 0),
    ] {
        let target = one(&format!("<HistogramTarget>{broken}{good}</HistogramTarget>"));
        let read: Vec<_> = target.slots.iter().map(|slot| (slot.count, slot.value.as_str())).collect();
        assert_eq!(read, [before, vec![(7, "kept")]].concat(), "{broken}");
        assert_eq!(target.problems.len(), problems, "{broken}: {:?}", target.problems);
        assert!(!target.cut, "{broken}");
    }
}

/// A document with all kinds of values, and its slots.
fn varied() -> (String, Vec<Slot>) {
    let text = "<HistogramTarget truncated=\"0\" buckets=\"256\">\r\n  <Slot count=\"11\">\r\n    <value>sqldk.dll+0x1\r\nsqlmin!A&lt;1&gt;::b</value>\r\n  </Slot>\r\n<Slot count='22' trunc='1'><value><![CDATA[<frame id=\"00\" module=\"é.dll\" rva=\"0x1\" />]]></value></Slot><Slot count=\"33\"><value><frame id=\"00\" module=\"a\" rva=\"0x1\"/></value></Slot><Slot count=\"44\"/><Slot count=\"55\"><value>Spinlock<1,2,3>::X</value></Slot></HistogramTarget>";
    let slots = one(text).slots;
    assert_eq!(slots.iter().map(|slot| slot.count).collect::<Vec<_>>(), [11, 22, 33, 44, 55]);
    (text.to_owned(), slots)
}

#[test]
fn a_document_may_end_at_any_byte() {
    let (text, slots) = varied();
    for dressed in [text.clone(), escape(&text)] {
        let end_tag = if dressed == text { "</Slot>" } else { "&lt;/Slot&gt;" };
        let empty_tag = if dressed == text { "<Slot count=\"44\"/>" } else { "&lt;Slot count=&quot;44&quot;/&gt;" };
        let mut ends: Vec<usize> = dressed.match_indices(end_tag).map(|(at, tag)| at + tag.len()).collect();
        ends.extend(dressed.find(empty_tag).map(|at| at + empty_tag.len()));
        ends.sort_unstable();
        for cut in 0..dressed.len() {
            let read = input::read(&dressed.as_bytes()[..cut]);
            let complete = ends.iter().filter(|&&end| end <= cut).count();
            let read_slots = read.targets.iter().flat_map(|target| target.slots.clone()).collect::<Vec<_>>();
            assert_eq!(read_slots, slots[..complete], "cut at {cut}");
            assert!(read.targets.iter().all(|target| target.cut), "cut at {cut}");
        }
    }
}

#[test]
fn events_may_end_at_any_byte() {
    let event = "<event name=\"wait_info\" package=\"sqlos\"><data name=\"duration\"><value>4</value></data><action name=\"callstack\" package=\"package0\"><value>sqldk.dll+0x1\nsqldk.dll+0x2</value></action><action name=\"sql_text\"><value>SELECT 1 < 2</value></action></event>";
    let text = format!("<RingBufferTarget truncated=\"0\">{event}{event}</RingBufferTarget>");
    let end = "</value></action><action name=\"sql_text\">".find("<action").unwrap();
    let ends: Vec<usize> =
        text.match_indices("</value></action><action name=\"sql_text\">").map(|(at, _)| at + end).collect();
    for cut in "<RingBufferTarget ".len()..=text.len() {
        let read = input::read(&text.as_bytes()[..cut]);
        assert_eq!(read.pasted.len(), ends.iter().filter(|&&end| end <= cut).count(), "cut at {cut}");
        assert!(read.pasted.iter().all(|counted| counted.count == 1 && counted.stack.frames.len() == 2));
        if !read.pasted.is_empty() {
            let is_cut = read.problems.iter().any(|problem| problem.code == "document_cut");
            assert_eq!(is_cut, cut < text.len(), "cut at {cut}");
        }
    }
    assert_eq!(input::read(escape(&text).as_bytes()).pasted.len(), 2);
}

#[test]
fn slots_under_a_foreign_root_are_read_and_said_to_be() {
    let target = one(&document("sqldk+0x1").replace("HistogramTarget", "Slots"));
    assert_eq!((counts(&target), target.buckets, target.cut, target.problems.len()), (vec![5], Some(256), false, 1));
    let fragment = one("<Slot count=\"5\"><value>a</value></Slot><Slot count=\"6\"><value>b</value></Slot>");
    assert_eq!((counts(&fragment), fragment.cut), (vec![5, 6], true));
}

#[test]
fn what_is_nothing_is_said_to_be_nothing() {
    for text in ["", "  \n", "hello world", "SELECT a + b FROM t", "{\"a\": 1}", "Target", "<xml/>", "\u{0}\u{1}"] {
        let read = input::read(text.as_bytes());
        assert!(read.is_empty(), "{text}");
        assert_eq!(read.problems.last().unwrap().code, "nothing_recognised");
    }
}

#[test]
fn hundred_thousand_slots_and_twenty_megabytes_are_read() {
    let slot =
        |count: usize| format!("<Slot count=\"{count}\"><value>{}</value></Slot>", "sqlmin.dll+0x1F\n".repeat(12));
    let text = format!("<HistogramTarget>{}</HistogramTarget>", (0..100_000).map(slot).collect::<String>());
    assert!(text.len() > 20_000_000);
    let target = one(&text);
    assert_eq!((target.slots.len(), target.events()), (100_000, 99_999 * 50_000));
    assert!(target.slots.iter().all(|slot| slot.stack.frames.len() == 12));
}

#[test]
fn hostile_documents_take_time_in_proportion() {
    for unit in [
        "<HistogramTarget>",
        "&lt;HistogramTarget",
        "<!--<HistogramTarget/>",
        "<!--",
        "<?",
        "<![CDATA[",
        "<!DOCTYPE [",
        "<a ",
        "<a \"",
        "<Slot count=\"",
        "<Slot><value><!--",
        "<Slot><value>",
        "<value>",
        "</Slot",
        "&amp;",
        "&#x",
        "<frame ",
        "<",
        "Target",
        "a:Target",
        "<HistogramTarget><!--",
        "<Slot><value><![CDATA[",
        "<event><action>",
        "<Slot/>",
    ] {
        for prefix in [
            "",
            "<HistogramTarget>",
            "<HistogramTarget><Slot><value>",
            "<event name='a'><action name='callstack'><value>",
        ] {
            let text = format!("{prefix}{}", unit.repeat(200_000 / unit.len()));
            input::read(text.as_bytes());
        }
    }
}
