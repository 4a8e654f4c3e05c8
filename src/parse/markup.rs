//! Owns walking through markup that is mostly XML: tags by quick-xml, values by a scan that any content survives.
//!
//! Values are read apart, because they hold C++ names (`Spinlock<1,2,3>`, `operator<`) that a server or an author did not
//! always escape. A walk ends where the text ends; a tag or value that the end cuts is not reported.

use super::entities::{self, Replaced};
use memchr::{memchr, memmem};
use quick_xml::{
    Reader,
    errors::{Error, SyntaxError},
    events::{BytesStart, Event, attributes::Attributes},
};

/// How often the length of a text may be read in vain before the rest of it counts as unreadable. Broken markup makes
/// the reader look far ahead for an end that is not there; this bound keeps the work linear.
const WASTE_FACTOR: usize = 32;

/// Names that cannot occur as tags inside a value: one of them ends a value that was not closed.
const STRUCTURE: [&str; 6] = ["Slot", "HistogramTarget", "BucketizerTarget", "event", "action", "data"];

/// A tag, by its name without namespace prefix.
#[derive(Debug)]
pub(super) enum Tag<'t> {
    Start(Start<'t>),
    End(&'t str),
}

#[derive(Debug)]
pub(super) struct Start<'t> {
    pub(super) name: &'t str,
    /// Everything between `<` and `>` (or `/>`).
    content: &'t str,
    /// `<name/>`.
    pub(super) empty: bool,
}

/// The content of an element that holds text.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) text: String,
    /// Whether its own end tag closed it.
    pub(super) closed: bool,
}

pub(super) struct Walk<'t> {
    text: &'t str,
    /// Where `reader` started.
    base: usize,
    reader: Reader<&'t [u8]>,
    wasted: usize,
    /// Whether a comment that starts here may still have an end; none has behind one that had none.
    comments_end: bool,
    pub(super) replaced: Replaced,
}

impl<'t> Start<'t> {
    /// A tag that lacks a quote or its `>`.
    fn broken(content: &'t str) -> Self {
        Self { name: name_of(content), content, empty: content.ends_with('/') }
    }

    /// An attribute's value, references decoded, by its name without prefix.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        attributes(self.content).find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// Attributes of a tag's content (`name a="1" b='2'`), keys without prefix; what is no attribute is passed over.
pub(super) fn attributes(content: &str) -> impl Iterator<Item = (&str, String)> {
    let name_end = content.find(|c: char| c.is_whitespace()).unwrap_or(content.len());
    let mut attributes = Attributes::new(content, name_end);
    attributes.with_checks(false);
    attributes.filter_map(Result::ok).filter_map(|attribute| {
        let key = std::str::from_utf8(attribute.key.into_inner()).ok()?;
        let value = entities::decode(std::str::from_utf8(&attribute.value).ok()?, &mut Replaced::default());
        Some((local(key), value))
    })
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

fn name_of(content: &str) -> &str {
    local(content.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or(content))
}

impl<'t> Walk<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, base: 0, reader: reader(text), wasted: 0, comments_end: true, replaced: Replaced::default() }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.base.saturating_add(usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX))
    }

    /// The next tag; `None` at the end of the text, also where the end cuts a tag.
    pub(super) fn next_tag(&mut self) -> Option<Tag<'t>> {
        loop {
            let before = self.position();
            match self.reader.read_event() {
                Ok(Event::Start(tag)) => return Some(self.start(&tag, false)),
                Ok(Event::Empty(tag)) => return Some(self.start(&tag, true)),
                Ok(Event::End(tag)) => {
                    let end = self.position().saturating_sub(1);
                    let content = self.text.get(end.saturating_sub(tag.len())..end).unwrap_or_default();
                    if let Some(inner) = content.find('<') {
                        self.step_back(end - content.len() + inner);
                    }
                    return Some(Tag::End(name_of(content)));
                }
                Ok(Event::Eof) => return None,
                Ok(_) => {}
                Err(error) => {
                    let far = !matches!(error, Error::Syntax(SyntaxError::InvalidBangMarkup) | Error::IllFormed(_));
                    let rest = self.text.get(before..)?;
                    let length = rest.char_indices().skip(1).find(|&(_, c)| c == '<')?.0;
                    if far {
                        self.waste(rest.len())?;
                    }
                    self.seek(before + length);
                    // A start tag with a quote that nothing closes.
                    let inside = rest.get(1..length).filter(|inside| inside.starts_with(char::is_alphabetic));
                    if let Some((own, _)) = inside.and_then(|inside| inside.split_once('>')) {
                        return Some(Tag::Start(Start::broken(own)));
                    }
                }
            }
        }
    }

    /// A tag that holds a `<` was not closed, or lacks a quote: it ends there.
    fn start(&mut self, tag: &BytesStart<'_>, empty: bool) -> Tag<'t> {
        let end = self.position().saturating_sub(if empty { 2 } else { 1 });
        let content = self.text.get(end.saturating_sub(tag.len())..end).unwrap_or_default();
        let Some(inner) = content.find('<') else {
            return Tag::Start(Start { name: name_of(content), content, empty });
        };
        self.step_back(end - content.len() + inner);
        let own = content.get(..inner).unwrap_or_default();
        Tag::Start(Start::broken(own.split_once('>').map_or(own, |(own, _)| own)))
    }

    /// The content of the element whose start tag was read last, up to its end tag `name`; `None` where the text ends
    /// first. References are decoded, CDATA is unwrapped, well-formed `<frame/>` tags and everything else stay as written.
    pub(super) fn content(&mut self, name: &str) -> Option<Content> {
        let mut content = Content::default();
        let (mut outside, mut has_cdata) = (String::new(), false);
        let mut at = self.position();
        let mut run = at;
        let end = loop {
            let open = at + memchr(b'<', self.text.as_bytes().get(at..)?)?;
            let rest = self.text.get(open..)?;
            let (cdata, comment) = (rest.strip_prefix("<![CDATA["), rest.strip_prefix("<!--"));
            if let Some(inside) = cdata {
                let inside = inside.get(..memmem::find(inside.as_bytes(), b"]]>")?)?;
                self.decode_into(&mut outside, run, open);
                // Text between CDATA sections keeps its place unless it is only layout.
                if !outside.trim().is_empty() {
                    content.text.push_str(&outside);
                }
                outside.clear();
                entities::clean_into(inside, &mut content.text, &mut self.replaced);
                has_cdata = true;
                at = open + "<![CDATA[]]>".len() + inside.len();
                run = at;
            } else if let Some(inside) = comment.filter(|_| self.comments_end) {
                if let Some((inside, _)) = inside.split_once("-->") {
                    self.decode_into(&mut outside, run, open);
                    at = open + "<!---->".len() + inside.len();
                    run = at;
                } else {
                    self.comments_end = false;
                    at = open + 1;
                }
            } else if let Some(length) = frame_tag(rest) {
                self.decode_into(&mut outside, run, open);
                entities::clean_into(rest.get(..length)?, &mut outside, &mut self.replaced);
                at = open + length;
                run = at;
            } else if let Some((own, length)) = ending(rest, name) {
                self.decode_into(&mut outside, run, open);
                content.closed = own;
                break open + if own { length } else { 0 };
            } else {
                at = open + 1;
            }
        };
        if !has_cdata {
            content.text = outside;
        } else if !outside.trim().is_empty() {
            content.text.push_str(&outside);
        }
        content.text.shrink_to_fit();
        self.seek(end);
        Some(content)
    }

    fn decode_into(&mut self, out: &mut String, from: usize, to: usize) {
        entities::decode_into(self.text.get(from..to).unwrap_or_default(), out, &mut self.replaced);
    }

    fn seek(&mut self, to: usize) {
        self.base = to;
        self.reader = reader(self.text.get(to..).unwrap_or_default());
    }

    /// Goes back to a place that was read already; at the bound on waste to the end of the text.
    fn step_back(&mut self, to: usize) {
        let back = self.position().saturating_sub(to);
        let to = if self.waste(back).is_some() { to } else { self.text.len() };
        self.seek(to);
    }

    fn waste(&mut self, bytes: usize) -> Option<()> {
        self.wasted = self.wasted.saturating_add(bytes);
        (self.wasted <= self.text.len().saturating_mul(WASTE_FACTOR)).then_some(())
    }
}

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    reader
}

/// Length of a `<frame ...>` tag at the start of `rest`, where it is written as XML.
fn frame_tag(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix("<frame")?;
    if !inside.starts_with(|c: char| c.is_whitespace() || c == '/') {
        return None;
    }
    let end = inside.find(['<', '>'])?;
    let tag = inside.get(..end)?;
    (inside.get(end..)?.starts_with('>') && !tag.contains("&gt;")).then_some("<frame>".len() + end)
}

/// Whether the tag at the start of `rest` ends the content of `name`: (its own end tag, the tag's length).
fn ending(rest: &str, name: &str) -> Option<(bool, usize)> {
    let inside = rest.get(1..)?;
    let (tag, is_end) = inside.strip_prefix('/').map_or((inside, false), |tag| (tag, true));
    let length = tag.find(|c: char| !(c.is_alphanumeric() || matches!(c, ':' | '_' | '-' | '.')))?;
    let (own, after) = (local(tag.get(..length)?), tag.get(length..)?);
    let blanks = after.len() - after.trim_start().len();
    if is_end {
        let closed = after.get(blanks..)?.starts_with('>');
        let length = "</>".len() + length + blanks;
        (closed && (own == name || STRUCTURE.contains(&own))).then_some((own == name, length))
    } else {
        // A start tag of structure: the value was never closed.
        let is_tag = after.starts_with(['>', '/']) || blanks > 0;
        (is_tag && own != "data" && own != "event" && own != "action" && STRUCTURE.contains(&own))
            .then_some((false, length))
    }
}
