//! Owns the binaries loaded into the simulated process: where they lie, and where their functions lie in them.

use crate::simulator::seeded;
use crate::simulator::versions::VersionData;

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

/// File, PDB, size, whether it is Windows's, description. Sizes are invented.
const FILES: [(&str, &str, u32, bool, &str); 17] = [
    ("sqlservr.exe", "sqlservr.pdb", 0x0008_0000, false, "SQL Server Windows NT - 64 Bit"),
    ("ntdll.dll", "ntdll.pdb", 0x001f_0000, true, "NT Layer DLL"),
    ("KERNEL32.DLL", "kernel32.pdb", 0x000b_0000, true, "Windows NT BASE API Client DLL"),
    ("KERNELBASE.dll", "kernelbase.pdb", 0x002a_0000, true, "Windows NT BASE API Client DLL"),
    ("ADVAPI32.dll", "advapi32.pdb", 0x000a_0000, true, "Advanced Windows 32 Base API"),
    ("OLEAUT32.dll", "oleaut32.pdb", 0x000c_0000, true, "OLEAUT32.DLL"),
    ("CRYPTSP.dll", "cryptsp.pdb", 0x0002_0000, true, "Cryptographic Service Provider API"),
    ("dbghelp.dll", "dbghelp.pdb", 0x001a_0000, true, "Windows Image Helper"),
    ("SQLOS.dll", "SQLOS.pdb", 0x0000_8000, false, "SQLOS Dynamic Link Library"),
    ("sqldk.dll", "SqlDK.pdb", 0x004e_0000, false, "SQLDK Dynamic Link Library"),
    ("sqllang.dll", "sqllang.pdb", 0x0279_0000, false, "SQL Server Language Processing"),
    ("sqlmin.dll", "sqlmin.pdb", 0x027b_0000, false, "SQL Server Minimum Engine"),
    ("sqltses.dll", "sqltses.pdb", 0x0088_0000, false, "SQL Server Type System and Expression Services"),
    ("qds.dll", "qds.pdb", 0x000d_0000, false, "Query Data Store"),
    ("opends60.dll", "opends60.pdb", 0x0000_9000, false, "SQL Open Data Services"),
    ("svl.dll", "svl.pdb", 0x0002_b000, false, "SQL Server Visual Library"),
    ("secforwarder.dll", "secforwarder.pdb", 0x0000_a000, false, "Security Forwarder"),
];

const WINDOWS_VERSION: &str = "10.0.17763.1697";

/// The modules of a version, loaded where the seed says, by ascending address.
pub fn loaded(version: &VersionData, seed: u64) -> Vec<Module> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x006d_6f64);
    let mut order: Vec<_> = FILES.iter().collect();
    random.shuffle(&mut order);
    let mut next = 0x7ff8_0000_0000 + random.u64(0..0x4000) * 0x1_0000;
    let build = version.product_version();
    let mut modules: Vec<Module> = Vec::with_capacity(order.len());
    for &&(file, pdb, size, windows, description) in &order {
        let base = next;
        next += u64::from(size.next_multiple_of(0x1_0000)) + random.u64(1..64) * 0x1_0000;
        let file_version = if windows {
            WINDOWS_VERSION.to_owned()
        } else {
            let (major, _, build, revision) = version.build;
            format!("{}.{major}0.{build}.{revision}", version.year)
        };
        let path = if windows {
            format!(r"C:\Windows\System32\{file}")
        } else {
            format!(r"C:\Program Files\Microsoft SQL Server\MSSQL{}.MSSQLSERVER\MSSQL\Binn\{file}", version.path_number)
        };
        let of = if windows { WINDOWS_VERSION } else { &build };
        modules.push(Module {
            file,
            path,
            file_version,
            product_version: of.to_owned(),
            company: "Microsoft Corporation",
            description,
            base,
            size,
            pdb,
            pdb_guid: seeded::guid(&[of, file]),
            pdb_age: if windows { 1 } else { 2 },
        });
    }
    modules
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
        let version = VersionData::of(ServerVersion::V2019).unwrap();
        let first = loaded(version, 1);
        for pair in first.windows(2) {
            assert!(pair[0].base + u64::from(pair[0].size) <= pair[1].base);
        }
        assert_eq!(first, loaded(version, 1));
        let other = loaded(version, 2);
        let base = |modules: &[super::Module]| modules.iter().find(|m| m.file == "sqldk.dll").map(|m| m.base);
        assert_ne!(base(&first), base(&other));
    }
}
