//! Every form of a frame, and where stacks begin.

use super::{shown, shown_stack};
use xestack::parse::stack::{parse_stack, parse_stacks};

fn read(text: &str) -> Vec<String> {
    shown_stack(&parse_stack(text))
}

#[test]
fn each_form_of_a_frame_is_understood() {
    for (text, expected) in [
        ("sqldk!SOS_Task::PostWait+0x9e", "sqldk!SOS_Task::PostWait+9e"),
        ("sqldk.dll!SOS_Task::PostWait+0x9E", "sqldk!SOS_Task::PostWait+9e"),
        ("KERNEL32.DLL!BaseThreadInitThunk+0x14", "KERNEL32!BaseThreadInitThunk+14"),
        ("SOS_Task::PostWait+9e", "SOS_Task::PostWait+9e"),
        ("SOS_Task::PostWait + 0x9e", "SOS_Task::PostWait+9e"),
        ("sqlmin!Spinlock<143,7,1>::SpinToAcquire+363", "sqlmin!Spinlock<143,7,1>::SpinToAcquire+16b"),
        ("ntdll!Ordinal298+00000000000004A5", "ntdll!Ordinal298+4a5"),
        ("sqldk.dll!Ordinal699 + 0x5f", "sqldk!Ordinal699+5f"),
        ("sqldk.dll+0x00000000000FD919", "sqldk+fd919"),
        ("KERNEL32.DLL+0x11FE4", "KERNEL32+11fe4"),
        ("Wdf01000.sys+0x17f27", "Wdf01000+17f27"),
        ("libfoo.so+0x10", "libfoo.so+10"),
        ("api-ms-win-core.dll+0x10", "api-ms-win-core+10"),
        ("Microsoft.SqlServer.Types.ni.dll+0x55", "Microsoft.SqlServer.Types.ni+55"),
        ("größe.dll+0x1f", "größe+1f"),
        ("xtp_p_5_597577167_185186125354548_1.dll+0x000000000000E9FC", "xtp_p_5_597577167_185186125354548_1+e9fc"),
        ("sqldk+40609", "sqldk+40609"),
        ("sqldk +0x40609", "sqldk+40609"),
        ("sqldk + 0x40609", "sqldk+40609"),
        ("sqldk+0x123456789ABCDEF0", "sqldk+123456789abcdef0"),
        ("00 sqldk+0x40609", "#0 sqldk+40609"),
        ("0a sqldk!Foo::Bar", "#10 sqldk!Foo::Bar"),
        ("0x00007FFEABD0D919", "@7ffeabd0d919"),
        ("00007FFEABD0D919", "@7ffeabd0d919"),
        ("00000001`0042249f", "@10042249f"),
        ("0x00007FFEABD0D919 sqldk+0xFD919", "@7ffeabd0d919 sqldk+fd919"),
        ("00007FFBAE407057 Module(sqllang+0000000000667057)", "@7ffbae407057 sqllang+667057"),
        (
            "00007FF818405E70      Module(ntdll+0000000000091735) (Ordinal298 + 00000000000004A5)",
            "@7ff818405e70 ntdll+91735 Ordinal298+4a5",
        ),
        ("2022-03-01 10:00:00.10 Server  00007FFF93981D96 Module(sqldk+0000000000011D96)", "@7fff93981d96 sqldk+11d96"),
        (
            "00 000000aa`bb00cc00 00007ff8`12345678 sqldk!SpinlockBase::Backoff+0x12",
            "#0 sqldk!SpinlockBase::Backoff+12",
        ),
        ("000000aa`bb00cc00 00007ff8`12345678 sqldk!SpinlockBase::Backoff+0x12", "sqldk!SpinlockBase::Backoff+12"),
        ("0b (Inline Function) --------`-------- ntdll!Foo+0x3 [minkernel\\a b\\x.cpp @ 12]", "#11 ntdll!Foo+3"),
        ("sqllang!`CX::XretExecute'::`1'::catch$2+0x3d", "sqllang!`CX::XretExecute'::`1'::catch$2+3d"),
        ("NTGroupInfo::`vector deleting destructor'", "NTGroupInfo::`vector deleting destructor'"),
        ("sqlmin!X::`scalar deleting destructor'+0x1c", "sqlmin!X::`scalar deleting destructor'+1c"),
        ("sqldk!operator new+0x1c", "sqldk!operator new+1c"),
        ("sqldk!X::operator Foo * __ptr64+0x1c", "sqldk!X::operator Foo * __ptr64+1c"),
        ("sqldk!X::operator<", "sqldk!X::operator<"),
        ("sqldk!X::operator+", "sqldk!X::operator+"),
        ("sqldk!X::operator++0x10", "sqldk!X::operator++10"),
        ("sqldk!X::operator=+0x10", "sqldk!X::operator=+10"),
        (
            "sqllang!CAutoP<Foo * __ptr64>::~CAutoP<Foo * __ptr64>+0x9",
            "sqllang!CAutoP<Foo * __ptr64>::~CAutoP<Foo * __ptr64>+9",
        ),
        ("sqldk!CMemPartitioned<CMemThread<CMemObj> >::Alloc", "sqldk!CMemPartitioned<CMemThread<CMemObj> >::Alloc"),
        ("qds!A::B<<lambda_b4dbf2de> >+0x2", "qds!A::B<<lambda_b4dbf2de> >+2"),
        ("sqlmin.dll!SequencedObject,0>::WaitUntil+0x160", "sqlmin!SequencedObject,0>::WaitUntil+160"),
        ("sqlmin!Spinlock&lt;1,2,3&gt;::X", "sqlmin!Spinlock<1,2,3>::X"),
        ("Wdf01000!FxPkgPnp::Up+143\t(minkernel\\wdf\\FxPkgPnp.hpp:4127)", "Wdf01000!FxPkgPnp::Up+8f"),
        ("sqldk!A::B+0x1 -- WARNING: could not load symbol file", "sqldk!A::B+1"),
    ] {
        assert_eq!(read(text), [expected], "{text}");
    }
}

#[test]
fn what_is_no_frame_keeps_its_text() {
    for text in [
        "SELECT a + b FROM t",
        "SELECT a+b",
        "a + b",
        "UPDATE t SET x = x + 0x10 WHERE y = 1",
        "WHERE a != b",
        "C++ 11",
        "sqldk+0x",
        "sqldk-0x40609",
        "sqldk+0x12345678901234567",
        "0x0123456789ABCDEF0123456789ABCDEF01234567",
        "m_pmo = 0x000001D7899C4040",
        "see std::vector for details",
        "1287675635",
        "hello",
        "0x00007FFEABD0D919 hello",
        "no stack here!",
        "<frame id=\"00\" pdb=\"ntdll.pdb\" age=\"1\" guid=\"C374E059-5793-9B92-A6525-386A66A2D3F5\" module=\"ntdll.dll\" rva=\"0x9F7E4\" />",
        "<frame id=\"00\" pdb=\"ntdll.pdb\" age=\"1\" gui",
        "* sqldk   00007FFBFF4E0000  00007FFBFF9D8FFF  004f9000",
    ] {
        assert_eq!(read(text), [format!("? {text}")]);
    }
    assert_eq!(read(""), [""; 0]);
    assert_eq!(read(" \r\n\t\n"), [""; 0]);
}

#[test]
fn several_frames_on_a_line_are_told_apart() {
    let line = "SpinlockBase::Sleep+c7 [ @ 0+0x0 SpinlockBase::Backoff Spinlock<144,1,0>::SpinToAcquireOptimistic";
    let stack = parse_stack(line);
    assert_eq!(
        shown_stack(&stack),
        ["SpinlockBase::Sleep+c7", "SpinlockBase::Backoff", "Spinlock<144,1,0>::SpinToAcquireOptimistic"]
    );
    assert_eq!(stack.frames[0].text, "SpinlockBase::Sleep+c7 [ @ 0+0x0");
    assert_eq!(
        read("A::`vector deleting destructor' B::operator new C::D<x y>::e"),
        ["A::`vector deleting destructor'", "B::operator new", "C::D<x y>::e"]
    );
    assert_eq!(
        read("0x00007FFEABD0D919        0x00007FFEABC4D45D  \t 0x00007FFEAC0F7EE0"),
        ["@7ffeabd0d919", "@7ffeabc4d45d", "@7ffeac0f7ee0"]
    );
    assert_eq!(read("sqldk+0x40609 sqldk.dll+0x1 sqlmin!A::b+0x2"), ["sqldk+40609", "sqldk+1", "sqlmin!A::b+2"]);
    assert_eq!(read("01 a!B::c+0x1 03 a!B::d+0x2"), ["#1 a!B::c+1", "#3 a!B::d+2"]);
}

#[test]
fn unmarked_offsets_follow_the_whole_text() {
    assert_eq!(read("sqldk!A::b+182"), ["sqldk!A::b+b6"]);
    assert_eq!(read("sqldk!A::b+182\nsqldk!A::c+9e"), ["sqldk!A::b+182", "sqldk!A::c+9e"]);
    assert_eq!(read("A::b+182"), ["A::b+182"]);
    // Resolver output keeps unresolved frames, whose offsets are hexadecimal and say nothing of the others.
    assert_eq!(read("sqldk!A::b+182\nsqldk+FD919"), ["sqldk!A::b+b6", "sqldk+fd919"]);
    let stacks = parse_stacks("a!B::c+10\n\na!B::c+1f");
    assert_eq!(
        stacks.iter().map(|counted| shown(&counted.stack.frames[0])).collect::<Vec<_>>(),
        ["a!B::c+10", "a!B::c+1f"]
    );
}

#[test]
fn a_name_with_an_offset_is_what_its_stack_makes_of_it() {
    assert_eq!(read("sqldk+40609\nsqlmin+17ee0"), ["sqldk+40609", "sqlmin+17ee0"]);
    assert_eq!(read("SOS_Task::PostWait+9e\nprocess_request+3f7"), ["SOS_Task::PostWait+9e", "process_request+3f7"]);
    assert_eq!(read("sqldk!SOS_Task::PostWait+0x9e\nsqlmin+3f7"), ["sqldk!SOS_Task::PostWait+9e", "sqlmin+3f7"]);
    assert_eq!(read("SOS_Task::PostWait\nOpenSystemTableRowset"), ["SOS_Task::PostWait", "OpenSystemTableRowset"]);
}

#[test]
fn elements_are_found_anywhere_on_a_line() {
    let text = "2025-02-04 17:28:00.55 spid65 * <frame id=\"02\" pdb=\"SqlDK.pdb\" age=\"2\" guid=\"6a193443-3512-464b-8b8e-\r\nd905ad930ee6\" module=\"sqldk.dll\" rva = '0x40609' address = \"0x100440609\"/>   done\nVCRUNTIME140+0xB8F0\n<frame id=\"03\" name=\"sqldk\" address=\"0x10042249f\"/>";
    let stack = parse_stack(text);
    assert_eq!(shown_stack(&stack), ["#2 @100440609 sqldk+40609", "VCRUNTIME140+b8f0", "#3 @10042249f"]);
    let first = &stack.frames[0];
    assert!(first.text.starts_with("2025-02-04") && first.text.ends_with("done"));
    let pdb = first.pdb.as_ref().unwrap();
    assert_eq!((pdb.name.as_str(), pdb.guid.as_str(), pdb.age), ("SqlDK.pdb", "6A1934433512464B8B8ED905AD930EE6", 2));
    assert_eq!(stack.frames[2].module.as_deref(), Some("sqldk"));
    let one_line = parse_stack("sqldk+0x10 <frame rva=\"0x0\" module=\"a\" /> sqlmin+0x20");
    assert_eq!(shown_stack(&one_line), ["sqldk+10", "a+0", "sqlmin+20"]);
}

#[test]
fn pasted_text_is_cut_into_stacks() {
    let counts_and_depths = |text: &str| {
        parse_stacks(text).iter().map(|counted| (counted.count, counted.stack.frames.len())).collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("a!b::c\na!b::d\n\n\na!b::e", vec![(1, 2), (1, 1)]),
        ("Slot_0\t[count:1132435]:\n\na!b::c\na!b::d\n\nSlot_1\t[count:7]:\na!b::e\n", vec![(1_132_435, 2), (7, 1)]),
        ("Slot_0\t[count:5]:\na!b::c\n\na!b::d", vec![(5, 1), (1, 1)]),
        ("Slot_0\t[count:5]:\nSlot_1\t[count:18446744073709551615]:\na!b::d", vec![(5, 0), (u64::MAX, 1)]),
        ("callstack\t 0x00007FFEABD0D919  0x00007FFEABC4D45D\ncallstack\n0x1\n0x2\n0x3", vec![(1, 2), (1, 3)]),
        ("00 a!b::c\n01 a!b::d\n00 a!b::c\n01 a!b::d\n02 a!b::e", vec![(1, 2), (1, 3)]),
        ("00 a!b::c\n00 a!b::d\n00 a!b::e", vec![(1, 3)]),
        (
            " # Child-SP          RetAddr               Call Site\n00 000000aa`bb00cc00 00007ff8`12345678 a!b::c\n",
            vec![(1, 1)],
        ),
        ("* Short Stack Dump\n00007FFBAE407057 Module(sqllang+0000000000667057)\n", vec![(1, 1)]),
        ("", vec![]),
        ("\n \n", vec![]),
    ] {
        assert_eq!(counts_and_depths(text), expected, "{text}");
    }
    // One value is one stack, whatever it holds.
    assert_eq!(parse_stack("00 a!b::c\n01 a!b::d\n\n00 a!b::c").frames.len(), 3);
}

#[test]
fn long_input_takes_time_in_proportion() {
    // Each would take minutes if any part of the reading were quadratic.
    for text in [
        "<frame ".repeat(100_000),
        "<frame a=\"".repeat(100_000),
        "`".repeat(300_000),
        "Foo<".repeat(100_000),
        "a+a".repeat(100_000),
        "a ".repeat(100_000),
        "operator ".repeat(100_000),
        "a!b::operator ".repeat(50_000),
        "(Inline Function) ".repeat(50_000),
        "[ @ ".repeat(50_000),
        "0x1 ".repeat(100_000),
        "[ a!b::c ".repeat(50_000),
        "x a!b::c y ".repeat(50_000),
        "00 ".repeat(100_000),
    ] {
        let stacks = parse_stacks(&text);
        assert!(!stacks.is_empty());
    }
}
