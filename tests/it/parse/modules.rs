//! Module lists, hostile rows included.

use xestack::parse::modules::parse_modules;

/// Path, base and file version.
type Row = (String, u64, Option<String>);

fn read(text: &str) -> (Vec<Row>, Vec<String>) {
    let list = parse_modules(text);
    let modules = list.modules.into_iter().map(|module| (module.path, module.base.0, module.file_version)).collect();
    (modules, list.problems.into_iter().map(|problem| problem.code).collect())
}

#[test]
fn rows_of_every_layout_are_read() {
    let text = "name\tbase_address\r\nC:\\Program Files\\a b\\sqldk.dll\t0x00007FFEABC10000\r\nsqlmin.DLL 00000001`00400000\n* sqllang   00007FFBADDA0000  00007FFBAF9D8FFF  004f9000\n2025-02-04 17:28:00.55 spid65      * SQLVDI   0000000D5DC50000  0000000D5DC8FFFF  00040000\nC:\\x.rll\t0x0000000300000000\t2019.150.4198.2\n*  MODULE   BASE  END  SIZE\n-----\n";
    let (modules, problems) = read(text);
    assert_eq!(problems, [""; 0]);
    assert_eq!(
        modules,
        [
            ("C:\\Program Files\\a b\\sqldk.dll".to_owned(), 0x7FFE_ABC1_0000, None),
            ("sqlmin.DLL".to_owned(), 0x1_0040_0000, None),
            ("sqllang".to_owned(), 0x7FFB_ADDA_0000, None),
            ("SQLVDI".to_owned(), 0xD_5DC5_0000, None),
            ("C:\\x.rll".to_owned(), 0x3_0000_0000, Some("2019.150.4198.2".to_owned())),
        ]
    );
}

#[test]
fn hostile_rows_are_reported_and_the_others_stay() {
    let good = "sqldk.dll 0x0000000100400000";
    for hostile in [
        "hello world",
        "0x0000000100400000",
        "a.dll",
        "a.dll 0x0000000100500000 0x0000000100600000",
        "<<a>>\t0x0000000100500000",
        "a.dll\t0x00000001005000000",
        "a.dll\t0x0x00500000",
        "a.dll\t-0x0000000100500000",
        "* a 00007FFBADDA0000 00007FFBADD9FFFF 00001000",
        "a\u{0}.dll 0x0000000100500000",
    ] {
        for text in [format!("{good}\n{hostile}"), format!("{hostile}\r\n{good}")] {
            let (modules, problems) = read(&text);
            assert_eq!(modules.len(), 1, "{hostile}");
            assert_eq!(problems, ["module_row_unread"], "{hostile}");
        }
    }
    assert_eq!(read(&"x y\n".repeat(1000)).1.len(), 21);
}

#[test]
fn two_modules_at_one_base_are_both_left_out() {
    let text = "a.dll 0x0000000100400000\nb.dll 0x0000000100400000\nc.dll 0x0000000100500000\nC.DLL 0x0000000100500000";
    let (modules, problems) = read(text);
    assert_eq!(modules, [("c.dll".to_owned(), 0x1_0050_0000, None)]);
    assert_eq!(problems, ["module_base_ambiguous"]);
}
