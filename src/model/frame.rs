//! Owns call stacks: frames as they were written and what they name.

use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// A virtual address in the server's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address(pub u64);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016X}", self.0)
    }
}

/// The identity by which a PDB belongs to an image: file name, GUID and age.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PdbIdentity {
    /// File name, for example `sqldk.pdb`.
    pub name: String,
    /// 32 upper-case hex digits, without dashes.
    pub guid: String,
    /// Age, decimal as the `age` attribute of a `<frame>` has it.
    pub age: u32,
}

/// One frame of a call stack. `text` is what was read; the other parts are what was understood of it, and all are
/// `None` where nothing was.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Frame {
    /// The frame's own text, unchanged but for entity decoding and surrounding white space.
    pub text: String,
    /// Module name without `.dll`, `.exe` or `.sys`; case kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Undecorated name, for example `SOS_Task::Sleep`; `Ordinal298` where a nearest export was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Bytes from the symbol's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Bytes from the module's base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rva: Option<u64>,
    /// Virtual address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// The PDB that the frame itself names (`<frame pdb= guid= age=>`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdb: Option<PdbIdentity>,
    /// Frame number as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
}

impl Frame {
    /// Text of which nothing was understood.
    pub fn unparsed(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// `module!OrdinalNNN`: the nearest export stands in for a function, because there were no symbols.
    pub fn is_ordinal(&self) -> bool {
        self.symbol.as_deref().is_some_and(|symbol| {
            symbol
                .strip_prefix("Ordinal")
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        })
    }

    /// Whether the frame names a function.
    pub fn is_resolved(&self) -> bool {
        self.symbol.is_some() && !self.is_ordinal()
    }
}

/// A call stack, leaf first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stack {
    /// Leaf first. Stacks of a document share the frames that they have in common.
    pub frames: Vec<Arc<Frame>>,
}

impl FromIterator<Frame> for Stack {
    fn from_iter<I: IntoIterator<Item = Frame>>(frames: I) -> Self {
        Self { frames: frames.into_iter().map(Arc::new).collect() }
    }
}

/// A stack and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedStack {
    /// Events.
    pub count: u64,
    /// The stack.
    pub stack: Stack,
}

/// A module loaded in the server's process (`sys.dm_os_loaded_modules`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Full path as the server reports it.
    pub path: String,
    /// Where it is loaded; valid for one server start only.
    pub base: Address,
    /// File version, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_version: Option<String>,
}
