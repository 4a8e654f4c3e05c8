//! Owns how a call stack is written: raw, with symbols, with nearest exports, as `<frame>` elements.

use crate::simulator::events::xml;
use crate::simulator::faults::switches::Switches;
use crate::simulator::seeded;
use crate::simulator::versions::{RawStackForm, SymbolForm, VersionData};
use crate::simulator::workload::stacks::{Frame, StackTable};

/// What symbols are at hand when a stack is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbols {
    /// The flags are off.
    None,
    /// The flags are on and the PDBs are there.
    Public,
    /// The flags are on and the PDBs are not: the nearest export stands in.
    ExportsOnly,
}

/// Writes stacks as one version does.
#[derive(Debug, Clone, Copy)]
pub struct StackWriter<'a> {
    /// Which version.
    pub version: &'static VersionData,
    /// The stacks.
    pub stacks: &'a StackTable,
    depth: usize,
    raw: RawStackForm,
    with_addresses: bool,
}

/// Names in the export tables of the engine's binaries, by ascending address and at even distances: sparse, as the real
/// tables are, so that one name stands for many functions. Names follow published stacks without symbols; some speak of
/// spinlocks and latches. `OrdinalNNN` is an export without a name.
const EXPORTS: [(&str, &[&str]); 4] = [
    ("sqldk.dll", &["SOS_DispatcherBase::GetTrack", "SpinlockBase::Sleep", "Ordinal947", "SOS_OS::TriggerDump"]),
    ("sqlmin.dll", &["LatchBase::Suspend", "Ordinal1206", "BPool::Discard", "SpinlockBase::Backoff"]),
    // Where one binary holds the whole engine.
    ("sqlservr.exe", &["LatchBase::Suspend", "Ordinal947", "BPool::Discard", "SpinlockBase::Backoff"]),
    ("sqllang.dll", &["Ordinal318", "LatchBase::AcquireInternal", "CRiLeaf::FIdentifiersOnly"]),
];

/// Bytes that an export of any other module stands for; it has no name.
const BYTES_PER_ORDINAL: u32 = 0x1_0000;

impl<'a> StackWriter<'a> {
    /// In the version's form, but for what the faults change.
    pub fn new(version: &'static VersionData, stacks: &'a StackTable, switches: &Switches) -> Self {
        Self {
            version,
            stacks,
            depth: switches.stack_depth.unwrap_or(version.stack_depth),
            raw: switches.raw_stack.unwrap_or(version.raw_stack),
            with_addresses: switches.frame_addresses_shown,
        }
    }

    /// What an event carries of a stack: its leaf end, as deep as the version goes.
    pub fn frames(self, stack: usize) -> &'a [Frame] {
        let frames = self.stacks.get(stack);
        frames.get(..self.depth).unwrap_or(frames)
    }

    /// The value of `package0.callstack`, one frame a line.
    pub fn callstack(self, stack: usize, symbols: Symbols) -> String {
        let lines: Vec<String> = self.frames(stack).iter().map(|frame| self.frame(frame, symbols)).collect();
        lines.join("\n")
    }

    fn frame(self, frame: &Frame, symbols: Symbols) -> String {
        match (symbols, self.raw) {
            (Symbols::Public, _) => self.named(frame.module, &frame.function, frame.offset),
            (Symbols::ExportsOnly, _) => self.nearest_export(frame),
            (Symbols::None, RawStackForm::Address) => format!("0x{:016X}", frame.address),
            (Symbols::None, RawStackForm::ModuleOffset) => format!("{}+0x{:016X}", frame.module, frame.rva),
        }
    }

    fn named(self, module: &str, symbol: &str, offset: u32) -> String {
        match self.version.symbol_form {
            SymbolForm::Function => format!("{symbol}+{offset:x} [ @ 0+0x0"),
            SymbolForm::Module => format!("{module}!{symbol}+0x{offset:x}"),
        }
    }

    /// The export before a frame, and how far behind it the frame lies.
    fn nearest_export(self, frame: &Frame) -> String {
        let size = self.stacks.module(frame.module).map_or(0, |module| module.size);
        let (_, names) = EXPORTS.iter().find(|(file, _)| *file == frame.module).copied().unwrap_or_default();
        let apart = size / (names.len() as u32).max(1);
        if let Some(name) = frame.rva.checked_div(apart).and_then(|place| names.get(place as usize)) {
            return self.named(frame.module, name, frame.rva % apart);
        }
        let ordinal = format!("Ordinal{}", frame.rva / BYTES_PER_ORDINAL + 100);
        self.named(frame.module, &ordinal, frame.rva % BYTES_PER_ORDINAL)
    }

    /// The value of `package0.callstack_rva`: elements without addresses in published histograms, with addresses in
    /// published events.
    pub fn callstack_rva(self, stack: usize) -> String {
        let mut text = String::new();
        for (id, frame) in self.frames(stack).iter().enumerate() {
            let Some(module) = self.stacks.module(frame.module) else { continue };
            let stem = module.file.rsplit_once('.').map_or(module.file, |(stem, _)| stem);
            let (pdb, age, guid) = (module.pdb, module.pdb_age, seeded::guid_text(module.pdb_guid));
            let rva = frame.rva;
            let address =
                if self.with_addresses { format!(" address=\"0x{:X}\"", frame.address) } else { String::new() };
            xml::push(
                &mut text,
                format_args!(
                    "<frame id=\"{id:02}\"{address} pdb=\"{pdb}\" age=\"{age}\" guid=\"{guid}\" module=\"{stem}\" rva=\"0x{rva:X}\" />"
                ),
            );
        }
        text
    }
}
