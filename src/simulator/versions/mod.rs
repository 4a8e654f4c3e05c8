//! Owns what differs from version to version of the simulated server, as data: builds, call-stack forms, map keys.
//!
//! One file a version. Numbers marked *invented* stand where no source gives one; they differ between versions on
//! purpose, because real map keys do (they must be looked up, never known).

mod azure;
mod range;
mod v2008r2;
mod v2012;
mod v2014;
mod v2016;
mod v2017;
mod v2019;
mod v2022;
mod v2025;

use crate::model::ServerVersion;

pub use range::VersionRange;

/// How the `package0.callstack` action is written while no symbols are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawStackForm {
    /// One `0x%016X` virtual address a line (documented for versions up to 2017).
    Address,
    /// One `module.dll+0x%016X` a line (seen in call stacks of 2019 and later).
    ModuleOffset,
}

/// How a frame is written with symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolForm {
    /// `Class::Function+c7 [ @ 0+0x0`: no module, no `0x`, and where a line number would stand an opened bracket
    /// (documented output of 2008 R2).
    Function,
    /// `module.dll!Class::Function+0xc7` (published captures of 2014 and later).
    Module,
}

/// The Windows that a version runs on.
#[derive(Debug)]
pub struct Windows {
    /// As `@@VERSION` ends.
    pub text: &'static str,
    /// `host_distribution` of sys.dm_os_host_info.
    pub distribution: &'static str,
    /// Version of its modules.
    pub version: &'static str,
}

/// From one name of an ordered map on, keys run up from this number, until the next anchor.
pub type Anchor = (&'static str, u32);

/// Everything that one version does in its own way.
#[derive(Debug)]
pub struct VersionData {
    /// Which version.
    pub version: ServerVersion,
    /// Marketing name, for `@@VERSION`: `2008 R2`.
    pub product: &'static str,
    /// Major, minor, build, revision.
    pub build: (u8, u8, u16, u16),
    /// `ProductLevel`: `RTM` or a service pack.
    pub level: &'static str,
    /// `ProductUpdateLevel`; NULL without one.
    pub update_level: Option<&'static str>,
    /// Whether SERVERPROPERTY knows ProductMajorVersion, ProductUpdateLevel and the default paths: documented for
    /// builds from late 2015 on.
    pub knows_product_parts: bool,
    /// First numbers of the engine's file versions: `2015.130` on 2016.
    pub file_version: &'static str,
    /// The Windows it runs on.
    pub windows: &'static Windows,
    /// Start of its folder's name: `MSSQL15` of `MSSQL15.MSSQLSERVER`.
    pub folder: &'static str,
    /// Whether the whole engine is in sqlservr.exe, as before 2012; later it is in sqldk, sqlmin, sqllang and others.
    pub engine_in_one_binary: bool,
    /// Frames that a call stack holds at most: documented as 16 for 2008 R2; 24 in every capture of 2016 and 2017, 25
    /// later.
    pub stack_depth: usize,
    /// Unsymbolised form of a call stack.
    pub raw_stack: RawStackForm,
    /// Symbolised form of a call stack.
    pub symbol_form: SymbolForm,
    /// Trace flags that must all be on for symbols in call stacks.
    pub symbol_flags: &'static [u32],
    /// Whether a predicate takes the text of a map value (`wait_type = 'WRITELOG'`).
    pub map_text_in_predicates: bool,
    /// Keys of the map `wait_types`.
    pub wait_type_keys: &'static [Anchor],
    /// Keys of the map `spinlock_types`.
    pub spinlock_keys: &'static [Anchor],
    /// Keys of the map `latch_class`.
    pub latch_class_keys: &'static [Anchor],
    /// SQLOS's frames under every task, leaf first. Names and offsets that differ between versions follow published
    /// stacks: SystemThread::RunWorker is gone in 2019, Worker::EntryPoint and ThreadScheduler::RunWorker are 2022's.
    pub task_frames: &'static [&'static str],
    /// First template argument of LOCK_HASH's `Spinlock<…>` in stacks; not the map key (2016: 143 beside key 151).
    pub lock_hash_template: &'static str,
}

impl VersionData {
    /// The data of a version.
    pub fn of(version: ServerVersion) -> Option<&'static Self> {
        VERSIONS.iter().copied().find(|data| data.version == version)
    }

    /// All versions there are data for, oldest first.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        VERSIONS.iter().copied()
    }

    /// Their names, separated by commas.
    pub fn known() -> String {
        VERSIONS.iter().map(|data| data.version.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// `ProductVersion`, `15.0.4123.1`.
    pub fn product_version(&self) -> String {
        let (major, minor, build, revision) = self.build;
        format!("{major}.{minor}.{build}.{revision}")
    }

    /// Whether it is one of the Azure services.
    pub fn is_azure(&self) -> bool {
        self.version >= ServerVersion::AzureMi
    }

    /// Whether it is Azure SQL Database.
    pub fn is_azure_database(&self) -> bool {
        self.version == ServerVersion::AzureDb
    }

    /// The compatibility level of its databases.
    pub fn compatibility_level(&self) -> i32 {
        if self.is_azure() { 170 } else { i32::from(self.build.0) * 10 }
    }

    /// Whether permissions on event sessions are finer than ALTER ANY EVENT SESSION, and VIEW SERVER PERFORMANCE STATE
    /// exists (documented from 2022 on).
    pub fn has_fine_permissions(&self) -> bool {
        self.version >= ServerVersion::V2022
    }
}

static VERSIONS: [&VersionData; 10] = [
    &v2008r2::DATA,
    &v2012::DATA,
    &v2014::DATA,
    &v2016::DATA,
    &v2017::DATA,
    &v2019::DATA,
    &v2022::DATA,
    &v2025::DATA,
    &azure::MANAGED_INSTANCE,
    &azure::DATABASE,
];

/// The Windows of 2008 R2 and 2012.
static WINDOWS_2008R2: Windows = Windows {
    text: "Windows NT 6.1 <X64> (Build 7601: Service Pack 1)",
    distribution: "Windows Server 2008 R2 Standard",
    version: "6.1.7601.17514",
};

/// The Windows of 2014.
static WINDOWS_2012R2: Windows = Windows {
    text: "Windows NT 6.3 <X64> (Build 9600: )",
    distribution: "Windows Server 2012 R2 Standard",
    version: "6.3.9600.17415",
};

/// The Windows of 2016 to 2019.
static WINDOWS_2019: Windows = Windows {
    text: "Windows Server 2019 Standard 10.0 <X64> (Build 17763: )",
    distribution: "Windows Server 2019 Standard",
    version: "10.0.17763.1697",
};

/// The Windows of 2022 and 2025.
static WINDOWS_2022: Windows = Windows {
    text: "Windows Server 2022 Standard 10.0 <X64> (Build 20348: )",
    distribution: "Windows Server 2022 Standard",
    version: "10.0.20348.1",
};
