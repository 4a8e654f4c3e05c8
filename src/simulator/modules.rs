//! Owns the binaries loaded into the simulated process: where they lie, and where their functions lie in them.

use crate::model::ServerVersion;
use crate::simulator::seeded;
use crate::simulator::versions::{VersionData, VersionRange};

/// A loaded module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// File name, `sqldk.dll`.
    pub file: &'static str,
    /// Full path.
    pub path: String,
    /// File version, `2019.150.4123.1` for the product's own.
    pub file_version: String,
    /// Product version, `15.0.4123.1` for the product's own.
    pub product_version: String,
    /// Whose it is.
    pub company: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Where it is loaded; depends on the seed, as address-space randomisation makes it.
    pub base: u64,
    /// Its size in bytes.
    pub size: u32,
    /// Name of its PDB.
    pub pdb: &'static str,
    /// GUID of its PDB; a property of the build.
    pub pdb_guid: [u8; 16],
    /// Age of its PDB.
    pub pdb_age: u32,
}

/// A file of the process.
struct File {
    name: &'static str,
    pdb: &'static str,
    size: u32,
    windows: bool,
    description: &'static str,
    versions: VersionRange,
}

const fn file(name: &'static str, pdb: &'static str, size: u32, description: &'static str) -> File {
    File { name, pdb, size, windows: false, description, versions: VersionRange::ALL }
}

impl File {
    const fn windows(self) -> Self {
        Self { windows: true, ..self }
    }

    const fn in_versions(self, versions: VersionRange) -> Self {
        Self { versions, ..self }
    }
}

/// Where the engine is before its parts have files of their own (2008 R2), and then.
const ENGINE: &str = "sqlservr.exe";
const WHOLE_ENGINE: VersionRange = VersionRange::until(ServerVersion::V2008R2);
const DIVIDED_ENGINE: VersionRange = VersionRange::since(ServerVersion::V2012);
const QUERY_STORE: VersionRange = VersionRange::since(ServerVersion::V2016);

/// Sizes are invented.
const FILES: &[File] = &[
    file(ENGINE, "sqlservr.pdb", 0x03a0_0000, "SQL Server Windows NT - 64 Bit").in_versions(WHOLE_ENGINE),
    file(ENGINE, "sqlservr.pdb", 0x0008_0000, "SQL Server Windows NT - 64 Bit").in_versions(DIVIDED_ENGINE),
    file("ntdll.dll", "ntdll.pdb", 0x001f_0000, "NT Layer DLL").windows(),
    file("KERNEL32.DLL", "kernel32.pdb", 0x000b_0000, "Windows NT BASE API Client DLL").windows(),
    file("KERNELBASE.dll", "kernelbase.pdb", 0x002a_0000, "Windows NT BASE API Client DLL").windows(),
    file("ADVAPI32.dll", "advapi32.pdb", 0x000a_0000, "Advanced Windows 32 Base API").windows(),
    file("OLEAUT32.dll", "oleaut32.pdb", 0x000c_0000, "OLEAUT32.DLL").windows(),
    file("CRYPTSP.dll", "cryptsp.pdb", 0x0002_0000, "Cryptographic Service Provider API").windows(),
    file("dbghelp.dll", "dbghelp.pdb", 0x001a_0000, "Windows Image Helper").windows(),
    file("SQLOS.dll", "SQLOS.pdb", 0x0000_8000, "SQLOS Dynamic Link Library"),
    file("sqldk.dll", "SqlDK.pdb", 0x004e_0000, "SQLDK Dynamic Link Library").in_versions(DIVIDED_ENGINE),
    file("sqllang.dll", "sqllang.pdb", 0x0279_0000, "SQL Server Language Processing").in_versions(DIVIDED_ENGINE),
    file("sqlmin.dll", "sqlmin.pdb", 0x027b_0000, "SQL Server Minimum Engine").in_versions(DIVIDED_ENGINE),
    file("sqltses.dll", "sqltses.pdb", 0x0088_0000, "SQL Server Type System and Expression Services")
        .in_versions(DIVIDED_ENGINE),
    file("qds.dll", "qds.pdb", 0x000d_0000, "Query Data Store").in_versions(QUERY_STORE),
    file("opends60.dll", "opends60.pdb", 0x0000_9000, "SQL Open Data Services"),
    file("svl.dll", "svl.pdb", 0x0002_b000, "SQL Server Visual Library").in_versions(DIVIDED_ENGINE),
    file("secforwarder.dll", "secforwarder.pdb", 0x0000_a000, "Security Forwarder").in_versions(QUERY_STORE),
];

/// The modules of a version, loaded where the seed says, by ascending address.
pub fn loaded(version: &VersionData, seed: u64) -> Vec<Module> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x006d_6f64);
    let mut order: Vec<_> = FILES.iter().filter(|file| file.versions.contains(version.version)).collect();
    random.shuffle(&mut order);
    let low = 0x0040_0000 + random.u64(0..0x100) * 0x1_0000;
    let mut next = 0x7ff8_0000_0000 + random.u64(0..0x4000) * 0x1_0000;
    let mut modules = Vec::with_capacity(order.len());
    for file in order {
        let base = next;
        next += u64::from(file.size.next_multiple_of(0x1_0000)) + random.u64(1..64) * 0x1_0000;
        // Published addresses of 2008 R2 are low: 0x0000000001CD4F55.
        let is_low = version.engine_in_one_binary && file.name == ENGINE;
        modules.push(module(version, file, if is_low { low } else { base }));
    }
    modules
}

fn module(version: &VersionData, file: &File, base: u64) -> Module {
    let (_, _, build, revision) = version.build;
    let product = version.product_version();
    let name = file.name;
    let (path, file_version, product_version) = if file.windows {
        let windows = version.windows.version;
        (format!(r"C:\Windows\System32\{name}"), windows.to_owned(), windows.to_owned())
    } else {
        let folder = version.folder;
        let path = format!(r"C:\Program Files\Microsoft SQL Server\{folder}.MSSQLSERVER\MSSQL\Binn\{name}");
        (path, format!("{}.{build}.{revision}", version.file_version), product)
    };
    Module {
        file: name,
        path,
        pdb_guid: seeded::guid(&[&product_version, name]),
        file_version,
        product_version,
        company: "Microsoft Corporation",
        description: file.description,
        base,
        size: file.size,
        pdb: file.pdb,
        pdb_age: if file.windows { 1 } else { 2 },
    }
}

/// The binary that holds a part of the engine in a version: `sqlmin` is sqlmin.dll, and sqlservr.exe on 2008 R2.
pub fn holding<'m>(version: &VersionData, modules: &'m [Module], part: &str) -> Option<&'m Module> {
    let named = |stem: &str| {
        modules
            .iter()
            .find(|known| known.file.rsplit_once('.').is_some_and(|(known, _)| known.eq_ignore_ascii_case(stem)))
    };
    let is_engine = ["sqldk", "sqllang", "sqlmin", "sqltses"].contains(&part);
    named(if version.engine_in_one_binary && is_engine { "sqlservr" } else { part })
}

/// Where a function begins in its module: a property of the build, not of the seed.
pub fn function_rva(version: &VersionData, module: &Module, function: &str) -> u32 {
    let room = module.size.saturating_sub(0x4000).max(0x1000);
    let place = seeded::hash(&[&version.product_version(), module.file, function]) % u64::from(room / 16);
    0x1000 + 16 * place as u32
}

#[cfg(test)]
mod tests {
    use super::loaded;
    use crate::model::ServerVersion;
    use crate::simulator::versions::VersionData;

    #[test]
    fn modules_do_not_overlap_and_move_with_the_seed() {
        for version in VersionData::all() {
            let mut sorted = loaded(version, 1);
            sorted.sort_by_key(|module| module.base);
            for pair in sorted.windows(2) {
                assert!(pair[0].base + u64::from(pair[0].size) <= pair[1].base, "{}", version.product);
            }
        }
        let version = VersionData::of(ServerVersion::V2019).unwrap();
        let first = loaded(version, 1);
        assert_eq!(first, loaded(version, 1));
        let other = loaded(version, 2);
        let base = |modules: &[super::Module]| modules.iter().find(|m| m.file == "sqldk.dll").map(|m| m.base);
        assert_ne!(base(&first), base(&other));
    }
}
