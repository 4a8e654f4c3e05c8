//! Owns lists of loaded modules: `sys.dm_os_loaded_modules` as pasted, and the table of a dump or an error log.

use crate::model::{Address, Module, Problem, Severity};
use std::collections::BTreeMap;

/// Modules and what was odd about their rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModuleList {
    /// Modules in order of the text.
    pub modules: Vec<Module>,
    /// `module_row_unread` for each row that is none, `module_base_ambiguous` where two modules claim one base.
    pub problems: Vec<Problem>,
}

/// Rows quoted in problems; the rest is counted.
const ROWS_QUOTED: usize = 20;
/// Characters of a row that are quoted.
const QUOTED: usize = 120;

/// Reads rows of `path base [file version]` (separated by a tab or blanks, the base hexadecimal with or without `0x`, a
/// backtick allowed) and of `name BASE END SIZE` with any prefix that ends in `* `. Rows that are neither are reported.
/// Two modules cannot have one base: both are left out, so that no address gets a wrong name.
pub fn parse_modules(text: &str) -> ModuleList {
    let mut list = ModuleList::default();
    let mut unread = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(module) = dump_row(line).or_else(|| catalogue_row(line)) {
            list.modules.push(module);
        } else if !is_heading(line) {
            unread += 1;
            if unread <= ROWS_QUOTED {
                let quoted: String = line.chars().take(QUOTED).collect();
                let message = format!("no module with a base address: {quoted}");
                list.problems.push(Problem::new("module_row_unread", Severity::Warning, message));
            }
        }
    }
    if unread > ROWS_QUOTED {
        let message = format!("{} more rows are no modules with a base address", unread - ROWS_QUOTED);
        list.problems.push(Problem::new("module_row_unread", Severity::Warning, message));
    }
    list.without_ambiguous()
}

impl ModuleList {
    fn without_ambiguous(mut self) -> Self {
        let mut paths: BTreeMap<Address, Option<String>> = BTreeMap::new();
        let modules = std::mem::take(&mut self.modules);
        for module in &modules {
            let path = paths.entry(module.base).or_insert_with(|| Some(module.path.clone()));
            if path.as_ref().is_some_and(|path| !path.eq_ignore_ascii_case(&module.path)) {
                *path = None;
            }
        }
        for (base, _) in paths.iter().filter(|(_, path)| path.is_none()) {
            let message = format!("more than one module is said to be loaded at {base}: none of them is used");
            self.problems.push(Problem::new("module_base_ambiguous", Severity::Warning, message));
        }
        for module in modules {
            // The first of equal rows takes the entry.
            if paths.get_mut(&module.base).and_then(Option::take).is_some() {
                self.modules.push(module);
            }
        }
        self
    }
}

/// `* sqldk   00007FFBFF4E0000  00007FFBFF9D8FFF  004f9000`.
fn dump_row(line: &str) -> Option<Module> {
    let row = line.rsplit_once("* ").map_or(line, |(_, row)| row);
    let mut words = row.split_whitespace().rev();
    let (size, end, base) = (words.next()?, words.next()?, words.next()?);
    let name = words.next().filter(|_| words.next().is_none())?;
    let (base, end) = (base_address(base)?, base_address(end)?);
    u64::from_str_radix(size, 16).ok()?;
    (base <= end && is_path(name)).then(|| Module { path: name.to_owned(), base, file_version: None })
}

/// `C:\...\sqldk.dll<TAB>0x00007FFEABC10000`, a file version may follow.
fn catalogue_row(line: &str) -> Option<Module> {
    let (rest, last) = split_last(line)?;
    let (rest, base, file_version) = match base_address(last) {
        Some(base) => (rest, base, None),
        None if is_version(last) => {
            let (rest, base) = split_last(rest)?;
            (rest, base_address(base)?, Some(last.to_owned()))
        }
        None => return None,
    };
    let path = rest.trim().trim_matches('"').trim();
    let second_address = split_last(path).is_some_and(|(_, word)| base_address(word).is_some());
    (is_path(path) && !second_address).then(|| Module { path: path.to_owned(), base, file_version })
}

fn split_last(text: &str) -> Option<(&str, &str)> {
    text.trim_end().rsplit_once(char::is_whitespace)
}

/// A base has at least eight digits, so that no word or small number is taken for one.
fn base_address(text: &str) -> Option<Address> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let digits = match digits.split_once('`') {
        Some((high, low)) if low.len() == 8 => format!("{high}{low}"),
        Some(_) => return None,
        None => digits.to_owned(),
    };
    let is_number = (8..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(&digits, 16).ok().filter(|_| is_number).map(Address)
}

fn is_version(text: &str) -> bool {
    text.contains('.') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Characters that no file name holds make it something else.
fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|c| matches!(c, '<' | '>' | '"' | '|' | '*') || c.is_control())
}

fn is_heading(line: &str) -> bool {
    let line = line.trim_start_matches(['*', ' ']).to_ascii_lowercase();
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(words.as_slice(), ["name", "base_address", ..] | ["module", "base", "end", "size"])
        || (!line.is_empty() && line.chars().all(|c| c == '-' || c.is_whitespace()))
}
