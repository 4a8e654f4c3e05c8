//! Tests of parse.

mod known;
mod modules;
mod properties;
mod seeds;
mod stacks;
mod targets;

use xestack::model::{Frame, Stack};

/// What a frame was understood to be, in one line: `[number] [@address] module!symbol+offset` or `module+rva`.
fn shown(frame: &Frame) -> String {
    let mut parts = Vec::new();
    if let Some(number) = frame.number {
        parts.push(format!("#{number}"));
    }
    if let Some(address) = frame.address {
        parts.push(format!("@{:x}", address.0));
    }
    let module = frame.module.as_deref();
    if let Some(rva) = frame.rva {
        parts.push(format!("{}+{rva:x}", module.unwrap_or("?")));
    }
    if let Some(symbol) = &frame.symbol {
        let module = module.filter(|_| frame.rva.is_none()).map(|module| format!("{module}!")).unwrap_or_default();
        let offset = frame.offset.map(|offset| format!("+{offset:x}")).unwrap_or_default();
        parts.push(format!("{module}{symbol}{offset}"));
    }
    if parts.is_empty() { format!("? {}", frame.text) } else { parts.join(" ") }
}

fn shown_stack(stack: &Stack) -> Vec<String> {
    stack.frames.iter().map(|frame| shown(frame)).collect()
}
