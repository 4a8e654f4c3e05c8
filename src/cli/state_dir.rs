//! Owns where journals and bundles are kept.

use crate::cli::exit::{Exit, Failure};
use crate::store::private_file;
use std::path::{Path, PathBuf};

/// The state folder, made and private. Not writable is a usage error, before anything is changed on a server.
pub(super) fn resolve(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = match given {
        Some(folder) => folder.to_owned(),
        None => platform_folder().ok_or_else(|| {
            Failure::usage("no state folder: neither --state-dir nor XESTACK_STATE_DIR nor a home folder is given")
        })?,
    };
    let failed = |error: std::io::Error| {
        let text = format!("the state folder {} cannot be written", folder.display());
        Failure::new(Exit::Usage, anyhow::Error::new(error).context(text))
            .with_hint("choose another with --state-dir or XESTACK_STATE_DIR")
    };
    private_file::ensure_private_dir(&folder).map_err(failed)?;
    // A folder can exist and still refuse files.
    let probe = folder.join(format!(".probe-{}", std::process::id()));
    private_file::write_atomic(&probe, b"").and_then(|()| std::fs::remove_file(&probe)).map_err(failed)?;
    Ok(folder)
}

fn platform_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_STATE_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/state")))
    };
    base.map(|base| base.join("xestack"))
}
