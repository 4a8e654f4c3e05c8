//! Owns bucketing targets: `HistogramTarget` and `BucketizerTarget` documents anywhere in a text.
//!
//! A document may be plain, or escaped as a whole; its values may be escaped, CDATA, raw `<frame/>` elements, or C++ names
//! that nobody escaped. It may end anywhere (in-memory targets are cut at about 4 MB of text): slots whose end tag was
//! read survive, exactly.

use super::{
    entities::{self, Replaced},
    markup::{Start, Tag, Walk},
    stack::StackReader,
};
use crate::model::{Slot, Target, TargetRoot};
use memchr::memmem;

/// Sentences kept for a document; the rest is counted.
const PROBLEMS_LISTED: usize = 50;

/// A text taken apart: its documents and what stands outside of them.
pub(super) struct Documents<'t> {
    pub(super) targets: Vec<Target>,
    /// Text before, between and behind the documents.
    pub(super) outside: Vec<Outside<'t>>,
}

/// Text that belongs to no document.
pub(super) struct Outside<'t> {
    pub(super) text: &'t str,
    /// Whether a target keeps it as its annotation.
    pub(super) kept: bool,
}

/// Every bucketing target in a text, in order.
pub fn parse_targets(text: &str) -> Vec<Target> {
    documents(text).targets
}

pub(super) fn documents(text: &str) -> Documents<'_> {
    let mut found = Documents { targets: Vec::new(), outside: Vec::new() };
    let mut at = 0;
    let last_comment = if text.contains("<!--") { text.rfind("-->").unwrap_or(0) } else { 0 };
    while let Some(root) = next_root(text, at, last_comment) {
        let before = text.get(at..root.start).unwrap_or_default();
        let limit = root_after(text, root.name_end).map_or(text.len(), |next| next.start);
        let segment = text.get(root.start..limit).unwrap_or_default();
        let (mut target, length) = if root.escapes == 0 {
            read(segment, root.kind)
        } else {
            let length = escaped_length(segment, root.name());
            let mut decoded = segment.get(..length).unwrap_or_default().to_owned();
            for _ in 0..root.escapes {
                decoded = entities::decode(&decoded, &mut Replaced::default());
            }
            (read(&decoded, root.kind).0, length)
        };
        target.annotation = annotation(before);
        found.targets.push(target);
        found.outside.push(Outside { text: before, kept: true });
        at = root.start + length;
    }
    let rest = text.get(at..).unwrap_or_default();
    if found.targets.is_empty()
        && let Some(target) = without_root(rest)
    {
        found.targets.push(target);
    } else {
        found.outside.push(Outside { text: rest, kept: false });
    }
    found
}

/// A root element's start tag in the text.
struct Root {
    start: usize,
    name_end: usize,
    kind: TargetRoot,
    /// How many times its `<` is escaped.
    escapes: usize,
}

impl Root {
    fn name(&self) -> &'static str {
        match self.kind {
            TargetRoot::HistogramTarget => "HistogramTarget",
            TargetRoot::BucketizerTarget => "BucketizerTarget",
        }
    }
}

const SUFFIX: &str = "Target";
const OPENINGS: [(&str, usize); 6] =
    [("<", 0), ("&lt;", 1), ("&#60;", 1), ("&#x3c;", 1), ("&#x3C;", 1), ("&amp;lt;", 2)];

/// The next root that does not stand in a comment; `last_comment` is where the text's last comment ends.
fn next_root(text: &str, from: usize, last_comment: usize) -> Option<Root> {
    let mut from = from;
    loop {
        let root = root_after(text, from)?;
        let before = text.get(from..root.start)?;
        let in_comment = root.start < last_comment
            && before.rfind("<!--").is_some_and(|open| !before.get(open..).is_some_and(|rest| rest.contains("-->")));
        if !in_comment {
            return Some(root);
        }
        from = root.start + text.get(root.start..)?.find("-->")?;
    }
}

fn root_after(text: &str, from: usize) -> Option<Root> {
    let mut from = from;
    loop {
        let name_end = from + memmem::find(text.as_bytes().get(from..)?, SUFFIX.as_bytes())? + SUFFIX.len();
        let before = text.get(..name_end)?;
        let after = text.get(name_end..)?;
        let named =
            [("HistogramTarget", TargetRoot::HistogramTarget), ("BucketizerTarget", TargetRoot::BucketizerTarget)]
                .into_iter()
                .find_map(|(name, root)| Some((before.strip_suffix(name)?, root)));
        if let Some((before, kind)) = named
            && !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'))
        {
            let before = without_prefix(before);
            let opening =
                OPENINGS.iter().find_map(|(open, escapes)| Some((before.strip_suffix(open)?.len(), *escapes)));
            if let Some((start, escapes)) = opening {
                return Some(Root { start, name_end, kind, escapes });
            }
        }
        from = name_end;
    }
}

/// Text without a namespace prefix (`x:`) at its end.
fn without_prefix(text: &str) -> &str {
    const LONGEST: usize = 64;
    let Some(named) = text.strip_suffix(':') else { return text };
    let prefix =
        named.bytes().rev().take(LONGEST).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    named.get(..named.len() - prefix).unwrap_or(text)
}

/// Length of an escaped document: up to its escaped end tag, or all of the segment.
fn escaped_length(segment: &str, name: &str) -> usize {
    let mut at = name.len();
    while let Some(found) = segment.get(at..).and_then(|rest| rest.find(name)) {
        let (name_start, name_end) = (at + found, at + found + name.len());
        let is_end = segment.get(..name_start).is_some_and(|before| without_prefix(before).ends_with('/'));
        if is_end && let Some(after) = segment.get(name_end..) {
            let trimmed = after.trim_start();
            let close = ["&gt;", "&#62;", "&#x3e;", "&#x3E;", "&amp;gt;", ">"]
                .into_iter()
                .find(|close| trimmed.starts_with(close));
            return name_end + after.len() - trimmed.len() + close.map_or(0, str::len);
        }
        at = name_end;
    }
    segment.len()
}

/// What a text outside of documents says: without processing instructions, comments and `DOCTYPE`.
pub(super) fn annotation(before: &str) -> Option<String> {
    let mut kept = String::new();
    let mut rest = before.trim_start_matches('\u{FEFF}');
    while let Some((open, _)) =
        rest.match_indices('<').find(|&(at, _)| rest.get(at + 1..).is_some_and(|after| after.starts_with(['!', '?'])))
    {
        let Some((text, markup)) = rest.split_at_checked(open) else { break };
        let close = if markup.starts_with("<!--") {
            "-->"
        } else if markup.find(['[', '>']).is_some_and(|at| markup.get(at..).is_some_and(|rest| rest.starts_with('['))) {
            "]>"
        } else {
            ">"
        };
        let Some((_, after)) = markup.split_once(close) else { break };
        kept.push_str(text);
        rest = after;
    }
    kept.push_str(rest);
    let kept = kept.trim();
    (!kept.is_empty()).then(|| kept.to_owned())
}

/// Slots under another root, or under none: the file is a fragment, or its author renamed the element.
fn without_root(text: &str) -> Option<Target> {
    let slot = text.find("<Slot").filter(|_| text.contains("<value"))?;
    let before = text.get(..slot)?.trim_end();
    let start = before.rfind('<').filter(|_| before.ends_with('>')).unwrap_or(slot);
    let mut target = read(text.get(start..)?, TargetRoot::HistogramTarget).0;
    target.annotation = annotation(text.get(..start)?);
    let message = "the slots do not stand in a HistogramTarget or BucketizerTarget element";
    target.problems.insert(0, message.to_owned());
    Some(target)
}

/// What is known of a slot before its end tag.
struct OpenSlot {
    count: Option<String>,
    truncated: Option<String>,
    value: Option<String>,
}

struct Building {
    target: Target,
    reader: StackReader,
    unlisted: usize,
}

/// Reads one document; the second part is how many bytes of the text belong to it.
fn read(text: &str, root: TargetRoot) -> (Target, usize) {
    let target = Target {
        root,
        buckets: None,
        truncated: None,
        slots: Vec::new(),
        cut: true,
        annotation: None,
        problems: Vec::new(),
    };
    let mut building = Building { target, reader: StackReader::new(text), unlisted: 0 };
    let mut walk = Walk::new(text);
    building.fill(&mut walk);
    if walk.replaced.0 > 0 {
        let count = walk.replaced.0;
        building.problem(format!("{count} characters that XML does not allow were replaced by U+FFFD"));
    }
    if building.unlisted > 0 {
        let unlisted = building.unlisted;
        building.target.problems.push(format!("{unlisted} more problems of this document are not listed"));
    }
    let length = if building.target.cut { text.len() } else { walk.position() };
    (building.target, length)
}

impl Building {
    fn fill(&mut self, walk: &mut Walk<'_>) {
        let mut open = None;
        self.tags(walk, &mut open);
        if let Some(OpenSlot { count, .. }) = open {
            let (index, count) = (self.target.slots.len(), count.unwrap_or_default());
            self.problem(format!("the document ends inside slot {index} (count \"{count}\"), which is left out"));
        }
    }

    /// Returns at the end of the root or of the text; a slot that is still open then was cut.
    fn tags(&mut self, walk: &mut Walk<'_>, open: &mut Option<OpenSlot>) {
        let mut root_name = None;
        while let Some(tag) = walk.next_tag() {
            match tag {
                Tag::Start(tag) if tag.name == "Slot" => {
                    self.unclosed(open.take());
                    let slot =
                        OpenSlot { count: tag.attribute("count"), truncated: tag.attribute("trunc"), value: None };
                    if tag.empty {
                        self.slot(slot);
                    } else {
                        *open = Some(slot);
                    }
                    root_name.get_or_insert("");
                }
                Tag::Start(tag) if tag.name == "value" => {
                    if !self.value(walk, &tag, open.as_mut()) {
                        return;
                    }
                }
                Tag::Start(tag) if root_name.is_none() => {
                    root_name = Some(tag.name);
                    self.target.buckets = tag.attribute("buckets").and_then(|text| self.number("buckets", &text));
                    self.target.truncated = tag.attribute("truncated").and_then(|text| self.number("truncated", &text));
                    if tag.empty {
                        self.target.cut = false;
                        return;
                    }
                }
                Tag::End("Slot") => {
                    if let Some(slot) = open.take() {
                        self.slot(slot);
                    }
                }
                Tag::End(name) if Some(name) == root_name => {
                    self.unclosed(open.take());
                    self.target.cut = false;
                    return;
                }
                Tag::Start(_) | Tag::End(_) => {}
            }
        }
    }

    fn unclosed(&mut self, slot: Option<OpenSlot>) {
        if let Some(slot) = slot {
            self.problem(format!("slot {} was not closed", self.target.slots.len()));
            self.slot(slot);
        }
    }

    /// Reads a value into the open slot; false where the text ends inside of it.
    fn value(&mut self, walk: &mut Walk<'_>, tag: &Start<'_>, slot: Option<&mut OpenSlot>) -> bool {
        let index = self.target.slots.len();
        let text = if tag.empty {
            String::new()
        } else {
            let Some(content) = walk.content("value") else { return false };
            if !content.closed {
                self.problem(format!("the value of slot {index} was not closed"));
            }
            content.text
        };
        match slot {
            None => self.problem(format!("a value outside of any slot is left out: {text}")),
            Some(OpenSlot { value: Some(value), .. }) => {
                value.push('\n');
                value.push_str(&text);
                self.problem(format!("slot {index} has more than one value: they are joined"));
            }
            Some(slot) => slot.value = Some(text),
        }
        true
    }

    fn slot(&mut self, slot: OpenSlot) {
        let index = self.target.slots.len();
        if slot.count.is_none() {
            self.problem(format!("slot {index} has no count: read as 0"));
        }
        let count = slot.count.and_then(|text| self.number("count", &text)).unwrap_or_default();
        let truncated_bytes = slot.truncated.and_then(|text| self.number("trunc", &text));
        let value = slot.value.unwrap_or_else(|| {
            self.problem(format!("slot {index} has no value"));
            String::new()
        });
        let stack = self.reader.stack(&value);
        self.target.slots.push(Slot { index, count, truncated_bytes, value, stack });
    }

    /// A number of an attribute: more than 64 bits is the greatest number, anything else none, both with a problem.
    fn number(&mut self, attribute: &str, text: &str) -> Option<u64> {
        let digits = text.trim();
        if let Ok(number) = digits.parse() {
            return Some(number);
        }
        let index = self.target.slots.len();
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            self.problem(format!("{attribute} \"{digits}\" at slot {index} exceeds 64 bits: read as {}", u64::MAX));
            return Some(u64::MAX);
        }
        self.problem(format!("{attribute} \"{text}\" at slot {index} is no number"));
        None
    }

    fn problem(&mut self, sentence: String) {
        if self.target.problems.len() < PROBLEMS_LISTED {
            self.target.problems.push(sentence);
        } else {
            self.unlisted += 1;
        }
    }
}
