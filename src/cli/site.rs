//! Owns a site's folders: which of their files are read, and the catalogue with them.

use crate::catalog::Catalog;
use crate::catalog::site::{SYMBOLS, WithSite, is_catalog_file};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Printer;
use std::fs::FileType;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Most bytes of a file.
const MAX_BYTES: u64 = 1 << 20;
/// Most scenarios of a folder.
const MAX_SCENARIOS: usize = 200;

/// The built-in catalogue with a site's folders.
pub(super) fn catalog(folders: &[PathBuf], printer: &Printer) -> Result<Catalog, Failure> {
    let catalog = Catalog::embedded().map_err(|error| Failure::new(Exit::Internal, error))?;
    if folders.is_empty() {
        return Ok(catalog);
    }
    let WithSite { catalog, faults, .. } = catalog.with_site(&read(folders, printer)?);
    if faults.is_empty() {
        return Ok(catalog);
    }
    for fault in &faults {
        printer.note(&fault.to_string());
    }
    let count = faults.len();
    Err(Failure::usage(format!(
        "{count} {} in the catalogue of --catalog",
        if count == 1 { "fault" } else { "faults" }
    ))
    .with_hint("xestack catalog check DIR tells them all, and tries the rules on their examples"))
}

/// The files of a site's folders by path and text. What is no catalogue file is left out, and said.
pub(super) fn read(folders: &[PathBuf], printer: &Printer) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    for folder in folders {
        let before = files.len();
        // A link in place of either folder is not followed.
        let [sessions, symbols] = ["sessions", "symbols"].map(|name| folder.join(name));
        let scenarios = if is_real(&sessions, FileType::is_dir) { entries(&sessions)? } else { Vec::new() };
        let names = SYMBOLS.into_iter().map(|stem| symbols.join(format!("{stem}.toml")));
        let names = names.filter(|_| is_real(&symbols, FileType::is_dir));
        if scenarios.len() > MAX_SCENARIOS {
            return Err(Failure::usage(format!("{} holds more than {MAX_SCENARIOS} scenarios", folder.display())));
        }
        let of_scenarios = scenarios.iter().filter(|path| is_real(path, FileType::is_dir));
        let of_scenarios = of_scenarios.flat_map(|path| ["scenario.toml", "verdict.toml"].map(|name| path.join(name)));
        for path in of_scenarios.chain(names) {
            if is_real(&path, FileType::is_file) {
                let text = read_file(&path)?;
                files.push((path.display().to_string(), text));
            }
        }
        tell_ignored(folder, printer)?;
        if files.len() == before {
            return Err(Failure::usage(format!("{} holds no catalogue file", folder.display()))
                .with_hint("expected sessions/<name>/scenario.toml or symbols/rules.toml and its like below it"));
        }
    }
    Ok(files)
}

/// Whether a path is of a kind, and no link to one.
fn is_real(path: &Path, is_kind: fn(&FileType) -> bool) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| is_kind(&metadata.file_type()))
}

/// What a folder holds, in order; nothing where it is absent.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: std::io::Error| {
        let context = format!("could not read {}", folder.display());
        Failure::new(Exit::Usage, anyhow::Error::new(error).context(context))
    };
    let found = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.map_err(unreadable)?,
    };
    let mut paths = found.map(|entry| Ok(entry.map_err(unreadable)?.path())).collect::<Result<Vec<_>, Failure>>()?;
    paths.sort();
    Ok(paths)
}

fn read_file(path: &Path) -> Result<String, Failure> {
    let failed = |what: String| Failure::usage(format!("{} {what}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| failed(format!("could not be read: {error}")))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(format!("could not be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed("is larger than 1 MB, the most that is read of a catalogue file".to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| failed("is not UTF-8".to_owned()))
}

/// Says what stands below a folder, as deep as catalogue files do, and is not read.
fn tell_ignored(folder: &Path, printer: &Printer) -> Result<(), Failure> {
    let in_use = ["sessions", "symbols"].map(|name| folder.join(name));
    let mut ignored = Vec::new();
    for path in entries(folder)? {
        if !in_use.contains(&path) || !is_real(&path, FileType::is_dir) {
            ignored.push(path);
        }
    }
    let [sessions, symbols] = in_use;
    let mut files = entries(&symbols)?;
    for path in entries(&sessions)? {
        if is_real(&path, FileType::is_dir) {
            files.extend(entries(&path)?);
        } else {
            ignored.push(path);
        }
    }
    let is_read = |path: &PathBuf| is_catalog_file(&path.display().to_string()) && is_real(path, FileType::is_file);
    ignored.extend(files.into_iter().filter(|path| !is_read(path)));
    for path in ignored {
        printer.note(&format!("{}: ignored, no catalogue file", path.display()));
    }
    Ok(())
}
