//! Owns files and folders that only their owner may read: files 0600, folders 0700. Statements, host names and counters
//! of a server are nobody else's business.
//!
//! On platforms without such modes the folder's own access rules hold.

use std::{
    ffi::OsString,
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Makes a folder and what is missing above it, each 0700. One that is there keeps its mode: it may be a shared one.
pub fn ensure_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Puts a file of these bytes in place, whole or not at all: written 0600 beside its place, synced, renamed.
/// What stood there before is replaced, its mode with it, and a link is replaced. A pipe or a device is
/// no place for a file: it is written to.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if is_pipe_or_device(path) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let temporary = temporary_beside(path)?;
    let written = write_new(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, path));
    match written {
        Ok(()) => sync_folder_of(path),
        Err(error) => {
            // The first error is the one to tell; a temporary file that was never made cannot be removed.
            std::fs::remove_file(&temporary).ok();
            Err(error)
        }
    }
}

/// Finds out whether [`write_atomic`] can put a file there, and leaves what stands there as it is.
///
/// # Errors
/// Those that the write would meet in making its file, and `IsADirectory`.
pub fn check_writable(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if is_pipe_or_device(path) {
        return Ok(());
    }
    let temporary = temporary_beside(path)?;
    write_new(&temporary, b"").and_then(|()| std::fs::remove_file(&temporary))
}

fn is_pipe_or_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Appends one line and its line feed, and returns when they are on the disk. The file is made 0600 where it is missing.
/// A line that an earlier crash left without its line feed is ended first, so that it cannot spoil this one.
///
/// # Errors
/// `InvalidInput` for text with a line feed in it.
pub fn append_synced(path: &Path, line: &str) -> io::Result<()> {
    if line.contains('\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a line must not hold a line feed"));
    }
    let mut file = private(OpenOptions::new().read(true).append(true).create(true)).open(path)?;
    let is_new = file.metadata()?.len() == 0;
    let start = if is_new || ends_in_line_feed(&mut file)? { "" } else { "\n" };
    file.write_all(format!("{start}{line}\n").as_bytes())?;
    file.sync_all()?;
    if is_new { sync_folder_of(path) } else { Ok(()) }
}

fn ends_in_line_feed(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private(OpenOptions::new().write(true).create_new(true)).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// A name in the same folder that no other writer of this or another process uses.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.{}.tmp", std::process::id(), WRITES.fetch_add(1, Ordering::Relaxed)));
    Ok(path.with_file_name(temporary))
}

/// Makes a new name in a folder outlive a power cut. Only Unix can and needs to sync a folder, and not on every file
/// system.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match File::open(folder)?.sync_all() {
            Err(error) if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}
