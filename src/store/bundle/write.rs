//! Owns packing a bundle.

use super::{
    Bundle, MAX_MEMBERS, MAX_UNPACKED_BYTES, SCHEMA,
    layout::{
        AFTER, Assembly, BEFORE, MANIFEST, MODULES, Manifest, PROBLEMS, REPORT, SAMPLES, SERIES, SESSIONS, STATEMENTS,
        TargetOf, table_member, target_member,
    },
};
use crate::{
    model::{SessionEvidence, Snapshot},
    store::{StoreError, private_file::write_atomic},
};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    io::{Cursor, Write as _},
    path::Path,
};
use zip::{ZipWriter, write::SimpleFileOptions};

/// Puts the bundle in place, whole or not at all, as a private file. Its folder must exist.
pub fn write(path: &Path, bundle: &Bundle) -> Result<(), StoreError> {
    let bytes = to_bytes(bundle)?;
    write_atomic(path, &bytes).map_err(|source| StoreError::Write { path: path.to_owned(), source })
}

/// The bundle's archive. Equal bundles give equal bytes.
///
/// # Errors
/// What a reader would refuse is not written: too many members, too many bytes, a table name that is no file name.
pub fn to_bytes(bundle: &Bundle) -> Result<Vec<u8>, StoreError> {
    let members = members(bundle)?;
    if members.len() + 1 > MAX_MEMBERS {
        return Err(StoreError::TooManyMembers { members: members.len() + 1 });
    }
    let manifest = json(MANIFEST, &manifest(bundle, &members))?;
    let all = || std::iter::once(&manifest).chain(&members);
    if all().map(|member| member.bytes.len() as u64).sum::<u64>() > MAX_UNPACKED_BYTES {
        return Err(StoreError::TooLarge);
    }
    pack(all()).map_err(|source| StoreError::Pack { source })
}

struct Member {
    name: String,
    bytes: Vec<u8>,
}

fn members(bundle: &Bundle) -> Result<Vec<Member>, StoreError> {
    let evidence = &bundle.evidence;
    let mut members = vec![statements(bundle)?, json(SESSIONS, &assembly(bundle))?];
    for (at, target) in bundle.targets.iter().enumerate() {
        members.push(Member { name: target_member(at + 1), bytes: target.bytes.clone() });
    }
    for (folder, snapshot) in [(BEFORE, &evidence.before), (AFTER, &evidence.after)] {
        for (name, table) in snapshot.iter().flat_map(|snapshot| &snapshot.tables) {
            let member = table_member(folder, name).ok_or_else(|| StoreError::TableName { name: name.clone() })?;
            members.push(json(&member, table)?);
        }
    }
    members.push(json(SAMPLES, &evidence.samples)?);
    if !evidence.series.is_empty() {
        members.push(json(SERIES, &evidence.series)?);
    }
    members.push(json(MODULES, &evidence.modules)?);
    members.push(json(PROBLEMS, &evidence.problems)?);
    if let Some(report) = &bundle.report_json {
        members.push(Member { name: REPORT.to_owned(), bytes: report.clone().into_bytes() });
    }
    Ok(members)
}

fn manifest(bundle: &Bundle, members: &[Member]) -> Manifest {
    let evidence = &bundle.evidence;
    Manifest {
        schema: SCHEMA.to_owned(),
        run_id: evidence.id.clone(),
        tool: bundle.tool.clone(),
        server: evidence.server.clone(),
        scenario: evidence.scenario.clone(),
        window: evidence.window,
        map_keys: bundle.map_keys.clone(),
        sha256: members.iter().map(|member| (member.name.clone(), sha256_hex(&member.bytes))).collect(),
    }
}

fn assembly(bundle: &Bundle) -> Assembly {
    let evidence = &bundle.evidence;
    let taken_at = |snapshot: &Option<Snapshot>| snapshot.as_ref().map(|snapshot| snapshot.taken_at);
    Assembly {
        sessions: evidence.sessions.iter().map(|session| SessionEvidence { target: None, ..session.clone() }).collect(),
        targets: bundle
            .targets
            .iter()
            .map(|target| TargetOf { session: target.session, symbolised: target.symbolised })
            .collect(),
        trace_flags: evidence.trace_flags.clone(),
        map_names: evidence.map_names.clone(),
        other_event_sessions: evidence.other_event_sessions.clone(),
        other_runs: evidence.other_runs.clone(),
        statements: evidence.statements.clone(),
        before_at: taken_at(&evidence.before),
        after_at: taken_at(&evidence.after),
    }
}

fn statements(bundle: &Bundle) -> Result<Member, StoreError> {
    let mut bytes = Vec::new();
    for statement in &bundle.statements {
        serde_json::to_writer(&mut bytes, statement)
            .map_err(|source| StoreError::Encode { member: STATEMENTS.to_owned(), source })?;
        bytes.push(b'\n');
    }
    Ok(Member { name: STATEMENTS.to_owned(), bytes })
}

fn json(name: &str, value: &impl Serialize) -> Result<Member, StoreError> {
    let bytes =
        serde_json::to_vec_pretty(value).map_err(|source| StoreError::Encode { member: name.to_owned(), source })?;
    Ok(Member { name: name.to_owned(), bytes })
}

fn pack<'a>(members: impl Iterator<Item = &'a Member>) -> zip::result::ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().unix_permissions(0o600);
    for member in members {
        archive.start_file(&member.name, options)?;
        archive.write_all(&member.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// The digest that a manifest gives for a member.
pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").ok();
        hex
    })
}
