//! What holds for any input.

use super::shown;
use proptest::prelude::*;
use xestack::{
    model::{Address, Frame, Stack},
    parse::{
        input,
        modules::parse_modules,
        stack::{parse_stack, parse_stacks},
        target::parse_targets,
        text::decode,
    },
};

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn texts(stack: &Stack) -> String {
    stack.frames.iter().map(|frame| squeezed(&frame.text)).collect()
}

/// Text of pieces that the readers know, in any order.
fn broken_text() -> impl Strategy<Value = String> {
    const PIECES: [&str; 42] = [
        "<HistogramTarget",
        "</HistogramTarget>",
        "<BucketizerTarget truncated=\"0\">",
        "<Slot count=\"5\">",
        "<Slot",
        "</Slot>",
        "<value>",
        "</value>",
        "<value/>",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<?xml?>",
        "<!DOCTYPE a [",
        "]>",
        "&lt;HistogramTarget&gt;",
        "&lt;",
        "&amp;",
        "&#x0;",
        "<frame id=\"00\" module=\"a\" rva=\"0x1\"/>",
        "<frame ",
        "/>",
        ">",
        "\"",
        "'",
        "sqldk!A::b+0x1",
        "sqldk+0x1",
        "0x1234",
        "00 ",
        "\n",
        "\n\n",
        " ",
        "Module(a+1)",
        "`",
        "(",
        "[ @ ",
        "operator<",
        "Slot_0\t[count:3]:",
        "callstack",
        "<event><action name='callstack'>",
        "é\u{0}\u{1B}",
    ];
    prop::collection::vec(
        prop_oneof![8 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned), 1 => ".{0,6}"],
        0..40,
    )
    .prop_map(|pieces| pieces.concat())
}

/// A name as undname writes it.
fn symbol() -> impl Strategy<Value = String> {
    let name = "[A-Za-z_][A-Za-z0-9_]{0,8}";
    let part = prop_oneof![
        4 => name.prop_map(String::from),
        1 => (name, 0..300u32, 0..9u32).prop_map(|(name, a, b)| format!("{name}<{a},{b},1>")),
        1 => (name, name).prop_map(|(a, b)| format!("{a}<{b}<{a}> >")),
        1 => name.prop_map(|name| format!("{name}<{name} * __ptr64>")),
    ];
    let last = prop_oneof![
        6 => name.prop_map(String::from),
        1 => name.prop_map(|name| format!("~{name}")),
        1 => Just("`vector deleting destructor'".to_owned()),
        1 => Just("operator new".to_owned()),
        1 => Just("operator<".to_owned()),
        1 => Just("operator->".to_owned()),
        1 => Just("operator==".to_owned()),
        1 => Just("operator()".to_owned()),
    ];
    (prop::collection::vec(part, 1..3), last).prop_map(|(parts, last)| format!("{}::{last}", parts.join("::")))
}

fn module() -> impl Strategy<Value = String> {
    "[A-Za-z][A-Za-z0-9_]{1,8}(-[a-z]{1,3})?(\\.[a-z][a-z0-9]{3,5})?".prop_map(String::from)
}

/// A frame and a text that says it.
fn written_frame() -> impl Strategy<Value = (Frame, String)> {
    written(vec![0, 1, 2, 3, 4, 5], prop::option::of(0..100u32))
}

/// A frame in one of the numbered forms, with or without frame number.
fn written(forms: Vec<u8>, number: impl Strategy<Value = Option<u32>>) -> impl Strategy<Value = (Frame, String)> {
    let extension = prop::sample::select(vec!["", ".dll", ".DLL", ".exe", ".sys"]);
    let parts = (module(), extension, symbol(), any::<u64>(), any::<u64>(), number, prop::sample::select(forms));
    parts.prop_map(|(module, extension, symbol, offset, address, number, form)| {
        let base = Frame { module: Some(module.clone()), number, ..Frame::default() };
        let (frame, body) = match form {
            0 => (
                Frame { symbol: Some(symbol.clone()), offset: Some(offset), ..base },
                format!("{module}{extension}!{symbol}+0x{offset:x}"),
            ),
            1 => (Frame { symbol: Some(symbol.clone()), ..base }, format!("{module}{extension}!{symbol}")),
            2 => (Frame { rva: Some(offset), ..base }, format!("{module}.dll+0x{offset:016X}")),
            3 => (
                Frame { rva: Some(offset), address: Some(Address(address)), ..base },
                format!("{address:016X} Module({module}+{offset:016X})"),
            ),
            4 => (Frame { address: Some(Address(address)), module: None, ..base }, format!("0x{address:016x}")),
            _ => (
                Frame { module: None, symbol: Some(symbol.clone()), offset: Some(offset & 0xFFF), ..base },
                format!("{symbol}+{:x}", offset & 0xFFF),
            ),
        };
        let text = number.map_or(body.clone(), |number| format!("{number:02} {body}"));
        (Frame { text: text.clone(), ..frame }, text)
    })
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Slots of a document: count, frames, and how the value is dressed.
fn slots() -> impl Strategy<Value = Vec<(u64, Vec<String>, u8)>> {
    let frames = prop::collection::vec(written_frame().prop_map(|(_, text)| text), 0..4);
    prop::collection::vec((any::<u64>(), frames, 0..3u8), 0..4)
}

/// The document and where each slot ends in it.
fn document(slots: &[(u64, Vec<String>, u8)]) -> (String, Vec<usize>) {
    let mut text = "<HistogramTarget truncated=\"0\" buckets=\"256\">\n".to_owned();
    let mut ends = Vec::new();
    for (count, frames, dress) in slots {
        let value = frames.join("\n");
        let value = match dress {
            0 => escape(&value),
            1 => format!("<![CDATA[{value}]]>"),
            _ => value,
        };
        text += &["  <Slot count=\"", &count.to_string(), "\">\n    <value>", &value, "</value>\n  </Slot>"].concat();
        ends.push(text.len());
        text += "\n";
    }
    (text + "</HistogramTarget>", ends)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        input::read(&bytes);
        parse_modules(&decode(&bytes).text);
    }

    #[test]
    fn any_mixture_of_known_pieces_is_read(text in broken_text()) {
        input::read(text.as_bytes());
        parse_modules(&text);
        for target in parse_targets(&text) {
            for (index, slot) in target.slots.iter().enumerate() {
                prop_assert_eq!(slot.index, index);
                prop_assert!(slot.value.len() <= text.len() * 3);
            }
        }
    }

    #[test]
    fn nothing_of_a_value_is_lost(text in broken_text().prop_filter("no entities", |text| !text.contains('&'))) {
        prop_assert_eq!(texts(&parse_stack(&text)), squeezed(&text));
    }

    #[test]
    fn nothing_of_pasted_text_is_lost(text in "[ -%'-~\n\t]{0,200}") {
        let headings = ["callstack", "Slot_", "Dump", "DUMP", "Event", "Child-SP"];
        prop_assume!(!headings.iter().any(|heading| text.contains(heading)));
        let read: String = parse_stacks(&text).iter().map(|counted| texts(&counted.stack)).collect();
        prop_assert_eq!(read, squeezed(&text));
    }

    #[test]
    fn a_written_frame_reads_back((frame, text) in written_frame()) {
        prop_assert_eq!(parse_stack(&text), Stack::from_iter([frame]));
    }

    #[test]
    fn frames_on_one_line_read_as_on_several(frames in prop::collection::vec(written(vec![0, 1, 2, 5], Just(None)), 1..5)) {
        // Addresses in a row stand for themselves, so no frame here has one.
        let lines: Vec<&str> = frames.iter().map(|(_, text)| text.as_str()).collect();
        let (several, one) = (parse_stack(&lines.join("\n")), parse_stack(&lines.join("  ")));
        prop_assert_eq!(several.frames.iter().map(|frame| shown(frame)).collect::<Vec<_>>(), one.frames.iter().map(|frame| shown(frame)).collect::<Vec<_>>());
    }

    #[test]
    fn a_generated_document_may_end_at_any_byte(slots in slots()) {
        let (text, ends) = document(&slots);
        let whole = parse_targets(&text).remove(0);
        prop_assert!(!whole.cut);
        prop_assert_eq!(whole.slots.len(), slots.len());
        for (slot, (count, frames, _)) in whole.slots.iter().zip(&slots) {
            prop_assert_eq!((slot.count, &slot.value), (*count, &frames.join("\n")));
        }
        for cut in 0..text.len() {
            let read = parse_targets(&decode(&text.as_bytes()[..cut]).text);
            let complete = ends.iter().filter(|&&end| end <= cut).count();
            let survived = read.into_iter().flat_map(|target| target.slots).map(|slot| (slot.count, slot.value));
            let expected = slots.iter().take(complete).map(|(count, frames, _)| (*count, frames.join("\n")));
            prop_assert!(survived.eq(expected), "cut at {}", cut);
        }
    }

    #[test]
    fn dress_does_not_matter(slots in slots()) {
        let (text, _) = document(&slots);
        let undressed: Vec<_> = slots.into_iter().map(|(count, frames, _)| (count, frames, 1)).collect();
        let (cdata, _) = document(&undressed);
        let expected = parse_targets(&cdata);
        prop_assert_eq!(&parse_targets(&text), &expected);
        prop_assert_eq!(&parse_targets(&escape(&text)), &expected);
        prop_assert_eq!(&parse_targets(&escape(&cdata)), &expected);
    }

    #[test]
    fn encoding_does_not_matter(text in broken_text()) {
        let utf16: Vec<u8> = format!("\u{FEFF}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf8 = format!("\u{FEFF}{text}").into_bytes();
        prop_assert_eq!(decode(&utf16), decode(&utf8));
    }
}
