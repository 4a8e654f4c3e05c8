//! Owns unpacking a bundle of any origin.
//!
//! What makes the archive as a whole untrustworthy is an error; what is wrong with one member is a problem beside the
//! rest.

use super::{
    Bundle, MAX_MEMBERS, MAX_UNPACKED_BYTES, SCHEMA, StatementRecord, TargetMember,
    layout::{
        AFTER, Assembly, BEFORE, MANIFEST, MODULES, Manifest, PROBLEMS, REPORT, SAMPLES, SERIES, SESSIONS, STATEMENTS,
        TargetOf, is_known, is_safe_name, table_name, target_number,
    },
    write::sha256_hex,
};
use crate::{
    model::{EventContext, Evidence, Problem, SessionEvidence, Severity, Snapshot, Table, UtcMicros},
    store::StoreError,
};
use serde::de::DeserializeOwned;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufReader, Cursor, Read, Seek},
    path::Path,
};
use zip::ZipArchive;

/// Reads a bundle from a file.
pub fn read(path: &Path) -> Result<Bundle, StoreError> {
    let failed = |source| StoreError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    // An archive is smaller than what it unpacks to, but for a little bookkeeping.
    if file.metadata().map_err(failed)?.len() > MAX_UNPACKED_BYTES {
        return Err(StoreError::TooLarge);
    }
    unpack(BufReader::new(file), Limits::default())
}

/// Reads a bundle from memory.
pub fn from_bytes(bytes: &[u8]) -> Result<Bundle, StoreError> {
    unpack(Cursor::new(bytes), Limits::default())
}

#[derive(Clone, Copy)]
struct Limits {
    members: usize,
    unpacked_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { members: MAX_MEMBERS, unpacked_bytes: MAX_UNPACKED_BYTES }
    }
}

fn unpack(reader: impl Read + Seek, limits: Limits) -> Result<Bundle, StoreError> {
    let mut members = Members::unpack(reader, limits)?;
    let manifest = members.manifest()?;
    members.verify(&manifest);
    let assembly: Assembly = members.json(SESSIONS);
    let evidence = Evidence {
        id: manifest.run_id,
        scenario: manifest.scenario,
        server: manifest.server,
        window: manifest.window,
        sessions: assembly.sessions,
        before: members.snapshot(BEFORE, assembly.before_at),
        after: members.snapshot(AFTER, assembly.after_at),
        samples: members.json(SAMPLES),
        series: members.json(SERIES),
        statements: assembly.statements,
        trace_flags: assembly.trace_flags,
        modules: members.json(MODULES),
        map_names: assembly.map_names,
        other_event_sessions: assembly.other_event_sessions,
        other_runs: assembly.other_runs,
        problems: members.json(PROBLEMS),
    };
    let mut bundle = Bundle {
        tool: manifest.tool,
        map_keys: manifest.map_keys,
        statements: members.statements(),
        targets: Vec::new(),
        evidence,
        report_json: members.text(REPORT),
    };
    members.targets(&assembly.targets, &mut bundle);
    bundle.evidence.problems.append(&mut members.problems);
    Ok(bundle)
}

/// Members by name, each taken out once it is understood, and what was wrong with them.
struct Members {
    contents: BTreeMap<String, Vec<u8>>,
    unreadable: BTreeSet<String>,
    problems: Vec<Problem>,
}

impl Members {
    fn unpack(reader: impl Read + Seek, limits: Limits) -> Result<Self, StoreError> {
        let mut archive = ZipArchive::new(reader).map_err(|source| StoreError::Archive { source })?;
        if archive.len() > limits.members {
            return Err(StoreError::TooManyMembers { members: archive.len() });
        }
        if archive.has_duplicate_names() {
            return Err(StoreError::DuplicateNames);
        }
        let mut members = Self { contents: BTreeMap::new(), unreadable: BTreeSet::new(), problems: Vec::new() };
        let mut room = limits.unpacked_bytes;
        for index in 0..archive.len() {
            let name = safe_name(&archive, index)?;
            let mut bytes = Vec::new();
            // One byte more than there is room for tells that there is more.
            let unpacked = archive
                .by_index(index)
                .and_then(|member| Ok(member.take(room.saturating_add(1)).read_to_end(&mut bytes)?));
            room = room.checked_sub(bytes.len() as u64).ok_or(StoreError::TooLarge)?;
            match unpacked {
                Err(error) if name == MANIFEST => return Err(StoreError::BadManifest { reason: error.to_string() }),
                Err(error) => {
                    members.damaged(&name, "bundle_member_unreadable", &format!("cannot be read: {error}"));
                    members.unreadable.insert(name);
                }
                Ok(_) => drop(members.contents.insert(name, bytes)),
            }
        }
        Ok(members)
    }

    fn manifest(&mut self) -> Result<Manifest, StoreError> {
        /// Read first: another schema may have other fields.
        #[derive(serde::Deserialize)]
        struct Kind {
            schema: String,
        }
        let bytes = self.contents.remove(MANIFEST).ok_or(StoreError::NoManifest)?;
        let bad = |error: serde_json::Error| StoreError::BadManifest { reason: error.to_string() };
        let kind: Kind = serde_json::from_slice(&bytes).map_err(bad)?;
        if kind.schema != SCHEMA {
            return Err(StoreError::OtherSchema { found: kind.schema });
        }
        serde_json::from_slice(&bytes).map_err(bad)
    }

    /// Holds the members against the manifest's digests. A changed member is used nevertheless: it is what there is.
    fn verify(&mut self, manifest: &Manifest) {
        for (name, sha256) in &manifest.sha256 {
            match self.contents.get(name) {
                Some(bytes) if sha256_hex(bytes).eq_ignore_ascii_case(sha256) => {}
                Some(_) => self.damaged(name, "bundle_member_changed", "is not what the manifest says it was"),
                None if self.unreadable.contains(name) => {}
                None => self.damaged(name, "bundle_member_missing", "is missing"),
            }
        }
        let unlisted: Vec<String> = self
            .contents
            .keys()
            .filter(|name| is_known(name) && !manifest.sha256.contains_key(*name))
            .cloned()
            .collect();
        for name in unlisted {
            let message = format!("{} is not in the manifest: it was added later", subject(&name));
            self.problems.push(Problem::new("bundle_member_unlisted", Severity::Warning, message));
        }
    }

    fn json<T: DeserializeOwned + Default>(&mut self, name: &str) -> T {
        let Some(bytes) = self.contents.remove(name) else { return T::default() };
        serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            self.damaged(name, "bundle_member_unreadable", &format!("cannot be read: {error}"));
            T::default()
        })
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let text = String::from_utf8(self.contents.remove(name)?);
        if let Err(error) = &text {
            self.damaged(name, "bundle_member_unreadable", &format!("cannot be read: {error}"));
        }
        text.ok()
    }

    fn statements(&mut self) -> Vec<StatementRecord> {
        let bytes = self.contents.remove(STATEMENTS).unwrap_or_default();
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let (read, unreadable): (Vec<_>, Vec<_>) = lines.map(serde_json::from_slice).partition(Result::is_ok);
        if !unreadable.is_empty() {
            let what = format!("has {} lines that cannot be read", unreadable.len());
            self.damaged(STATEMENTS, "bundle_member_unreadable", &what);
        }
        read.into_iter().filter_map(Result::ok).collect()
    }

    fn snapshot(&mut self, folder: &str, taken_at: Option<UtcMicros>) -> Option<Snapshot> {
        let names: Vec<String> =
            self.contents.keys().filter(|member| table_name(folder, member).is_some()).cloned().collect();
        let mut tables: BTreeMap<String, Table> = BTreeMap::new();
        for member in names {
            if let Some(name) = table_name(folder, &member) {
                tables.insert(name.to_owned(), self.json(&member));
            }
        }
        let was_taken = taken_at.is_some() || !tables.is_empty();
        was_taken.then(|| Snapshot { taken_at: taken_at.unwrap_or_default(), tables })
    }

    /// Puts the target documents beside their sessions; one that belongs to none gets a session of its own.
    fn targets(&mut self, targets: &[TargetOf], bundle: &mut Bundle) {
        let mut documents: Vec<(usize, String, Vec<u8>)> = std::mem::take(&mut self.contents)
            .into_iter()
            .filter_map(|(member, bytes)| Some((target_number(&member)?, member, bytes)))
            .collect();
        documents.sort_by_key(|(n, ..)| *n);
        for (n, member, bytes) in documents {
            let known = targets.get(n - 1).filter(|target| target.session < bundle.evidence.sessions.len());
            let TargetOf { session, symbolised } = known.copied().unwrap_or_else(|| {
                let message = format!("{} belongs to no session of {SESSIONS}", subject(&member));
                self.problems.push(Problem::new("bundle_target_without_session", Severity::Warning, message));
                bundle.evidence.sessions.push(session_of(member));
                TargetOf { session: bundle.evidence.sessions.len() - 1, symbolised: false }
            });
            bundle.targets.push(TargetMember { session, symbolised, bytes });
        }
    }

    fn damaged(&mut self, name: &str, code: &str, what: &str) {
        let problem = Problem::new(code, Severity::Partial, format!("{} {what}", subject(name)));
        self.problems.push(problem.with_hint("Take the bundle from where it was made, or capture again."));
    }
}

fn subject(name: &str) -> String {
    format!("Member {name} of the bundle")
}

fn safe_name<R: Read + Seek>(archive: &ZipArchive<R>, index: usize) -> Result<String, StoreError> {
    let name = archive.name_for_index(index).transpose().map_err(|source| StoreError::Archive { source })?;
    let name = name.unwrap_or_default().into_owned();
    if is_safe_name(&name) { Ok(name) } else { Err(StoreError::UnsafeName { name }) }
}

/// A session for a document that came without one.
fn session_of(member: String) -> SessionEvidence {
    SessionEvidence {
        name: member,
        context: EventContext::default(),
        slots_requested: None,
        dropped_events: None,
        dropped_buffers: None,
        buffer_bytes: None,
        event_cap: None,
        live: false,
        target: None,
        pasted: Vec::new(),
        ..SessionEvidence::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Bundle, Limits, Members, StoreError, unpack};
    use crate::store::bundle::to_bytes;
    use std::io::{Cursor, Write};
    use zip::{ZipWriter, write::SimpleFileOptions};

    #[test]
    fn limits_hold_at_their_edge() {
        let archive = to_bytes(&Bundle::default()).unwrap();
        let mut zip = zip::ZipArchive::new(Cursor::new(&archive)).unwrap();
        let members = zip.len();
        let unpacked_bytes = (0..members).map(|index| zip.by_index(index).unwrap().size()).sum();
        let limits = Limits { members, unpacked_bytes };
        assert!(unpack(Cursor::new(&archive), limits).is_ok());
        let fewer = unpack(Cursor::new(&archive), Limits { members: members - 1, ..limits });
        assert!(matches!(fewer, Err(StoreError::TooManyMembers { members: found }) if found == members));
        let smaller = unpack(Cursor::new(&archive), Limits { unpacked_bytes: unpacked_bytes - 1, ..limits });
        assert!(matches!(smaller, Err(StoreError::TooLarge)));
    }

    #[test]
    fn a_bomb_is_stopped_whatever_its_headers_say() {
        const SIZE: u32 = 300_000;
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        archive.start_file("notes.bin", SimpleFileOptions::default()).unwrap();
        archive.write_all(&vec![0; SIZE as usize]).unwrap();
        let honest = archive.finish().unwrap().into_inner();
        assert!(honest.len() < 2000);
        let limits = Limits { members: 1, unpacked_bytes: 100_000 };
        assert!(matches!(unpack(Cursor::new(&honest), limits), Err(StoreError::TooLarge)));

        let mut lying = honest;
        let declared = SIZE.to_le_bytes();
        let places: Vec<usize> = (0..lying.len() - 4).filter(|&at| lying[at..].starts_with(&declared)).collect();
        assert_eq!(places.len(), 2, "local and central header");
        for at in places {
            lying[at..at + 4].copy_from_slice(&7_u32.to_le_bytes());
        }
        let members = Members::unpack(Cursor::new(&lying), limits).unwrap();
        assert!(members.contents.is_empty() && members.unreadable.contains("notes.bin"));
    }
}
