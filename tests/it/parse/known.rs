//! Real captures and published samples with known content.

use super::{shown, shown_stack};
use std::{collections::BTreeMap, fs, path::PathBuf, sync::Arc};
use xestack::{
    model::{Stack, Target, TargetRoot},
    parse::{input, modules::parse_modules, stack, target::parse_targets, text::decode},
};

/// The bytes of a shared data file; `None`, said aloud, where the data is not there.
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn shared(path: &str) -> Option<Vec<u8>> {
    let file = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data")).join(path);
    match fs::read(&file) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            eprintln!("skipped: {}: {error}", file.display());
            None
        }
    }
}

fn shared_text(path: &str) -> Option<String> {
    shared(path).map(|bytes| decode(&bytes).text.into_owned())
}

fn single_target(bytes: &[u8]) -> Target {
    let read = input::read(bytes);
    assert_eq!(read.problems, vec![]);
    assert_eq!(read.targets.len(), 1);
    read.targets.into_iter().next().expect("one target")
}

fn all_understood(stack: &Stack) -> bool {
    stack.frames.iter().all(|frame| !shown(frame).starts_with('?'))
}

#[test]
fn demo_captures_are_read_exactly() {
    for (path, slots, events) in [
        ("callstackresolver/fork-demos/LOCK_HASH/SpinlockData.xml", 4, 2_181_498),
        ("callstackresolver/fork-demos/PAGELATCH_EX/waitdata.xml", 104, 22_614),
        ("callstackresolver/fork-demos/Memobj/MemObjData.xml", 195, 27_039),
    ] {
        let Some(bytes) = shared(path) else { return };
        let target = single_target(&bytes);
        assert_eq!((target.slots.len(), target.events()), (slots, events), "{path}");
        assert_eq!((target.root, target.buckets, target.truncated), (TargetRoot::HistogramTarget, Some(256), Some(0)));
        assert!(!target.cut && target.annotation.is_none() && target.problems.is_empty(), "{path}");
        for slot in &target.slots {
            assert_eq!(slot.value.lines().count(), slot.stack.frames.len());
            for (line, frame) in slot.value.lines().zip(&slot.stack.frames) {
                assert_eq!(frame.text, line);
                let (module, offset) = line.split_once("+0x").unwrap();
                let bare = module.strip_suffix(".dll").or_else(|| module.strip_suffix(".DLL")).unwrap();
                assert_eq!(frame.module.as_deref(), Some(bare));
                assert_eq!(frame.rva, u64::from_str_radix(offset, 16).ok());
            }
        }
    }
}

#[test]
fn depths_of_the_memory_capture_are_as_counted() {
    let Some(bytes) = shared("callstackresolver/fork-demos/Memobj/MemObjData.xml") else { return };
    let mut depths = BTreeMap::new();
    for slot in single_target(&bytes).slots {
        *depths.entry(slot.stack.frames.len()).or_insert(0) += 1;
    }
    assert_eq!(depths, BTreeMap::from([(24, 143), (23, 24), (18, 8), (20, 6), (22, 6), (19, 4), (21, 2), (17, 2)]));
}

#[test]
fn resolved_listings_hold_the_same_counts() {
    for (path, stacks, events, depth) in [
        ("callstackresolver/fork-demos/LOCK_HASH/resolved.txt", 4, 2_181_498, 24),
        ("callstackresolver/fork-demos/PAGELATCH_EX/resolved.txt", 104, 22_614, 24),
        ("callstackresolver/fork-demos/Memobj/Resolved.txt", 195, 27_039, 24),
    ] {
        let Some(bytes) = shared(path) else { return };
        let read = input::read(&bytes);
        assert_eq!(read.pasted.len(), stacks, "{path}");
        assert_eq!(read.pasted.iter().map(|counted| counted.count).sum::<u64>(), events);
        assert_eq!(read.pasted.iter().map(|counted| counted.stack.frames.len()).max(), Some(depth));
        for counted in &read.pasted {
            assert!(all_understood(&counted.stack), "{path}: {:?}", shown_stack(&counted.stack));
        }
    }
}

#[test]
fn published_samples_that_no_xml_parser_accepts_are_read() {
    for (number, counts) in [(1, [35_668, 752]), (2, [8_506, 190])] {
        let path = format!("sqlserver/histogram_2008r2_bucketizer_T3656_spinlock_backoff_output{number}.xml");
        let Some(bytes) = shared(&path) else { return };
        let target = single_target(&bytes);
        assert_eq!(target.root, TargetRoot::BucketizerTarget);
        assert!(target.cut, "the samples lack their end tag");
        assert_eq!(target.slots.iter().map(|slot| slot.count).collect::<Vec<_>>(), counts);
        assert!(target.slots.iter().all(|slot| slot.truncated_bytes == Some(0)));
        for slot in &target.slots {
            let frames = shown_stack(&slot.stack);
            assert_eq!(frames.len(), 16, "{frames:#?}");
            assert!(all_understood(&slot.stack), "{frames:#?}");
            assert!(frames.contains(&"Spinlock<144,1,0>::SpinToAcquireOptimistic".to_owned()));
            assert!(frames.contains(&"OpenSystemTableRowset".to_owned()));
        }
    }
}

#[test]
fn frame_elements_are_the_same_in_cdata_and_half_escaped() {
    let (Some(cdata), Some(malformed)) = (
        shared("sqlserver/histogram_2022_callstack_rva_cdata.xml"),
        shared("sqlserver/histogram_2022_callstack_rva_escaped_MALFORMED.xml"),
    ) else {
        return;
    };
    let (cdata, malformed) = (single_target(&cdata), single_target(&malformed));
    let expected = [
        vec!["#0 ntdll+9f7e4", "#1 KERNELBASE+38973", "#2 sqldk+40609"],
        vec!["#0 VCRUNTIME140+b8f0", "#1 sqldk+2249f"],
    ];
    for target in [&cdata, &malformed] {
        let mut frames: Vec<Vec<String>> = Vec::new();
        for slot in &target.slots {
            let mut stack = slot.stack.clone();
            stack.frames.iter_mut().for_each(|frame| Arc::make_mut(frame).address = None);
            frames.push(shown_stack(&stack));
        }
        assert_eq!(frames, expected);
        assert_eq!(target.slots.iter().map(|slot| slot.count).collect::<Vec<_>>(), [5, 3]);
        assert!(target.slots.iter().flat_map(|slot| &slot.stack.frames).all(|frame| frame.pdb.is_some()));
    }
}

#[test]
fn other_published_documents_hold_what_they_say() {
    let cases: [(&str, &[u64], usize); 3] = [
        ("histogram_2012plus_slots10000_buckets16384.xml", &[36, 3, 2], 1),
        ("histogram_2016_rawaddr_singleline.xml", &[5], 24),
        ("histogram_2025cu7_measured.xml", &[9], 1),
    ];
    for (name, counts, depth) in cases {
        let Some(bytes) = shared(&format!("sqlserver/{name}")) else { return };
        let target = single_target(&bytes);
        assert!(!target.cut);
        assert_eq!(target.slots.iter().map(|slot| slot.count).collect::<Vec<_>>(), counts, "{name}");
        assert!(target.slots.iter().all(|slot| slot.stack.frames.len() == depth), "{name}");
    }
}

#[test]
fn events_give_their_stacks() {
    let Some(bytes) = shared("callstackresolver/fork-demos/OOM/CallStack.xml") else { return };
    let read = input::read(&bytes);
    assert_eq!((read.targets.len(), read.pasted.len()), (0, 6));
    assert!(read.problems.is_empty());
    for counted in &read.pasted {
        assert_eq!(counted.count, 1);
        assert!(counted.stack.frames.len() > 10 && all_understood(&counted.stack));
    }
    let Some(bytes) = shared("sqlserver/action_callstack_rva_2025.xml") else { return };
    let read = input::read(&bytes);
    assert_eq!(read.pasted.len(), 1);
    let stack = &read.pasted[0].stack;
    assert_eq!(shown(&stack.frames[0]), "#0 @7ff8b60f8ac7 sqllang+7f8ac7");
    assert_eq!(shown(&stack.frames[10]).split(' ').next(), Some("#10"));
}

#[test]
fn a_dump_gives_its_short_stack_and_its_module_table() {
    let Some(bytes) = shared("callstackresolver/fork-demos/AV/SQLDump0011.txt") else { return };
    let read = input::read(&bytes);
    let stack = read.pasted.iter().map(|counted| &counted.stack).find(|stack| stack.frames.len() == 22);
    let stack = stack.unwrap_or_else(|| panic!("{:#?}", read.pasted));
    assert_eq!(shown(&stack.frames[0]), "@7ffbae407057 sqllang+667057");
    assert_eq!(shown(&stack.frames[21]), "@7ffc255defb1 ntdll+6efb1");
    assert_eq!(read.pasted.len(), 1);
    let list = parse_modules(&decode(&bytes).text);
    let sqldk = list.modules.iter().find(|module| module.path == "sqldk").unwrap();
    assert_eq!(sqldk.base.0, 0x7FFB_FF4E_0000);
    assert!(list.modules.len() > 100);
}

#[test]
fn the_resolver_cases_are_read() {
    for (case, expected) in [
        ("BlockResolution.arg1", vec![vec!["@7ff830d4cda4 KERNELBASE+9cda4"]]),
        ("CorruptPDBWarning.arg1", vec![vec!["sqldk+40609"]]),
        ("RegularSymbolHexOffset.arg1", vec![vec!["sqldk+40609", "sqldk+40609"]]),
        ("RegularSymbolHexOffsetNoOutputOffsetWithFrameNums.arg1", vec![vec!["#0 sqldk+40609"]]),
        ("RegularSymbolVirtualAddress.arg1", vec![vec!["@10042249f"]]),
        ("RegularSymbolVirtualAddressDupeModules.arg1", vec![vec!["@10042249f", "sqldk+40609"]]),
        ("OrdinalBasedSymbol.arg1", vec![vec!["ntdll!Ordinal298+4a5", "@7ff818405e70 ntdll+91735 Ordinal298+4a5"]]),
        (
            "InlineFrameResolutionNoSourceInfoWithInputFrameNums.arg1",
            vec![vec!["#0 sqldk+40609", "#1 Wdf01000+17f27", "#2 sqldk+40609"]],
        ),
        (
            "RelookupSourceInformation.arg2",
            vec![vec![
                "#1 Wdf01000!FxPkgPnp::PowerPolicyCanChildPowerUp+8f",
                "#3 Wdf01000!FxPkgPnp::PowerPolicyCanChildPowerUp+8f",
            ]],
        ),
        (
            "E2ESymSrvXMLFrames.1",
            vec![vec![
                "#0 ntdll+9f7e4",
                "#1 KERNELBASE+38973",
                "#2 sqldk+40609",
                "#3 VCRUNTIME140+b8f0",
                "#4 sqldk+2249f",
            ]],
        ),
        (
            "E2ESymSrvXMLFramesEncoded.1",
            vec![vec![
                "#0 ntdll+9f7e4",
                "#1 KERNELBASE+38973",
                "#2 sqldk+40609",
                "#3 VCRUNTIME140+b8f0",
                "#4 sqldk+2249f",
            ]],
        ),
        (
            "E2ESymSrvXMLFramesComboSymbolPath.1",
            vec![vec![
                "#0 ntdll+9f7e4",
                "#1 KERNELBASE+38973",
                "#2 sqldk+40609",
                "VCRUNTIME140+b8f0",
                "#4 sqldk+2249f",
                "#5 onnxruntime+4fd50",
            ]],
        ),
        ("E2ESymSrvXMLFramesWithCalcBaseAddress.1", vec![vec!["#2 @100440609 sqldk+40609", "#3 @10042249f"]]),
        (
            "E2ESymSrvXMLFramesWithMultiplePDBVersions.1",
            vec![vec!["#0 sqldk+106c7c", "#1 sqldk+59204"], vec!["#0 sqldk+fd919", "#1 sqldk+3d45d"]],
        ),
    ] {
        let Some(text) = shared_text(&format!("callstackresolver/cases/{case}.input.txt")) else { return };
        let read: Vec<_> = stack::parse_stacks(&text).iter().map(|counted| shown_stack(&counted.stack)).collect();
        assert_eq!(read, expected, "{case}");
    }
    let Some(text) = shared_text("callstackresolver/cases/SingleLineCallStack.1.input.txt") else { return };
    let stacks = stack::parse_stacks(&text);
    assert_eq!(stacks.iter().map(|counted| counted.stack.frames.len()).collect::<Vec<_>>(), [24]);
    let Some(text) = shared_text("callstackresolver/cases/E2ESymSrvXMLSingleFrame.2.input.txt") else { return };
    let malformed = stack::parse_stack(&text);
    assert_eq!(malformed.frames.len(), 1);
    assert_eq!(shown(&malformed.frames[0]), format!("? {}", text.trim()));
}

#[test]
fn histograms_among_annotations_are_found() {
    for (case, annotations, slots) in [
        (
            "E2ESymSrvXMLFramesMultiHistogram",
            vec!["Annotation for histogram \r\n#1", "Annotation for histogram \r\n#2"],
            vec![1, 2],
        ),
        (
            "E2ESymSrvXMLFramesMultiHistogramAddressesSingleLine",
            vec!["Annotation for histogram #1", "Annotation for histogram #2"],
            vec![1, 1],
        ),
    ] {
        let Some(text) = shared_text(&format!("callstackresolver/cases/{case}.1.input.txt")) else { return };
        let targets = parse_targets(&text);
        assert_eq!(targets.iter().map(|target| target.annotation.as_deref().unwrap()).collect::<Vec<_>>(), annotations);
        assert_eq!(targets.iter().map(|target| target.slots.len()).collect::<Vec<_>>(), slots);
    }
    for number in [1, 2] {
        let Some(text) = shared_text(&format!("callstackresolver/cases/E2EHistogramAddressesFuzz.{number}.input.txt"))
        else {
            return;
        };
        let targets = parse_targets(&text);
        assert_eq!(targets.len(), 1);
        assert_eq!((targets[0].slots[0].count, targets[0].slots[0].stack.frames.len()), (5, 4));
    }
    let (Some(plain), Some(escaped)) = (
        shared_text("callstackresolver/cases/E2EHistogramAddresses.1.input.txt"),
        shared_text("callstackresolver/cases/E2EHistogramAddresses.2.input.txt"),
    ) else {
        return;
    };
    assert_eq!(parse_targets(&plain), parse_targets(&escaped));
}

#[test]
fn every_stack_of_the_corpus_is_understood_frame_by_frame() {
    let Some(text) = shared_text("stacks/corpus.jsonl") else { return };
    let mut frames = 0;
    let mut unparsed = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let lines: Vec<&str> = row["frames"].as_array().unwrap().iter().filter_map(|frame| frame.as_str()).collect();
        let stack = stack::parse_stack(&lines.join("\n"));
        assert_eq!(stack.frames.len(), lines.len(), "{}: {:#?}", row["id"], shown_stack(&stack));
        frames += lines.len();
        unparsed
            .extend(stack.frames.iter().filter(|frame| shown(frame).starts_with('?')).map(|frame| frame.text.clone()));
    }
    assert!(frames > 0);
    assert!(unparsed.is_empty(), "{unparsed:#?}");
}

#[test]
fn base_tables_are_accepted_and_refused_row_by_row() {
    let Some(text) = shared_text("callstackresolver/base_address_cases.jsonl") else { return };
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let list = parse_modules(case["input"].as_str().unwrap());
        assert_eq!(list.problems.is_empty(), case["accepted"].as_bool().unwrap(), "{line}: {list:?}");
        if !list.problems.is_empty() {
            assert!(list.modules.is_empty());
        }
    }
    for (path, rows) in [
        ("callstackresolver/fork-demos/LOCK_HASH/base_addresses.txt", 156),
        ("callstackresolver/ImportXEL/base_addresses.txt", 20),
        ("callstackresolver/ImportXEL/xe_wait_base_addresses.txt", 15),
        ("callstackresolver/linux_errorlog_modules.txt", 7),
    ] {
        let Some(text) = shared_text(path) else { return };
        let list = parse_modules(&text);
        assert_eq!((list.modules.len(), list.problems), (rows, vec![]), "{path}");
    }
}

#[test]
fn linux_frames_with_all_ids_zero_are_one_stack() {
    let Some(text) = shared_text("callstackresolver/linux_dump_frames.txt") else { return };
    let stacks = stack::parse_stacks(&text);
    assert_eq!(stacks.len(), 1);
    let frames = &stacks[0].stack.frames;
    assert_eq!(frames.len(), 3);
    for frame in frames {
        assert_eq!(frame.address.unwrap().0 - frame.rva.unwrap(), 0x6_821A_0000);
        assert_eq!(frame.pdb.as_ref().unwrap().guid, "FA6D584431974687B1013D41DF1E308F");
    }
}
