//! Owns event documents: `<event>` elements of a ring buffer or an event file, and actions on their own.

use super::{
    entities,
    markup::{Tag, Walk},
    stack::StackReader,
};
use crate::model::CountedStack;

/// What an event document holds of call stacks.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// One for each complete action or field whose name holds `callstack`, in order.
    pub(super) stacks: Vec<CountedStack>,
    /// Whether the text ends inside an element.
    pub(super) cut: bool,
    /// Characters that XML does not allow.
    pub(super) replaced: u64,
}

const CONTAINERS: [&str; 4] = ["RingBufferTarget", "events", "Events", "event"];

/// Reads the call stacks of events; `None` where the text holds no event and no action.
pub(super) fn read(text: &str) -> Option<Events> {
    let holds = |text: &str, open: &str| {
        ["event ", "event>", "action ", "RingBufferTarget"].iter().any(|name| text.contains(&format!("{open}{name}")))
    };
    if holds(text, "<") {
        return Some(events(text));
    }
    holds(text, "&lt;").then(|| events(&entities::decode_markup(text)))
}

/// An action or field that is being read.
struct Field {
    is_stack: bool,
    value: Option<String>,
}

fn events(text: &str) -> Events {
    let mut found = Events::default();
    let mut reader = StackReader::new(text);
    let mut walk = Walk::new(text);
    let mut open = Vec::new();
    let mut field: Option<Field> = None;
    loop {
        let Some(tag) = walk.next_tag() else {
            found.cut = !open.is_empty() || field.is_some();
            break;
        };
        match tag {
            Tag::Start(tag) if tag.empty => {}
            Tag::Start(tag) if tag.name == "action" || tag.name == "data" => {
                let name = tag.attribute("name").unwrap_or_default().to_ascii_lowercase();
                field = Some(Field { is_stack: name.contains("callstack"), value: None });
            }
            Tag::Start(tag) if tag.name == "value" => {
                let Some(content) = walk.content("value") else {
                    found.cut = true;
                    break;
                };
                if let Some(field) = field.as_mut() {
                    field.value = Some(content.text);
                }
            }
            Tag::Start(tag) if CONTAINERS.contains(&tag.name) => open.push(tag.name),
            Tag::End("action" | "data") => {
                if let Some(Field { is_stack: true, value: Some(value) }) = field.take() {
                    found.stacks.push(CountedStack { count: 1, stack: reader.stack(&value) });
                }
            }
            Tag::End(name) => {
                if let Some(at) = open.iter().rposition(|opened| *opened == name) {
                    open.truncate(at);
                }
            }
            Tag::Start(_) => {}
        }
    }
    found.replaced = walk.replaced.0;
    found
}
