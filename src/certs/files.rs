//! Writing keys and certificates.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::CertsError;

/// Who may read a file.
#[derive(Clone, Copy)]
pub(super) enum Secrecy {
    /// Its owner.
    Secret,
    /// Everybody.
    Public,
}

/// Writes a file beside its place and moves it there: whoever reads it meanwhile sees the old or the new one, and nobody sees a
/// key that others may still read.
pub(super) fn write(path: &Path, content: &str, secrecy: Secrecy) -> Result<(), CertsError> {
    let failed = |source| CertsError::Write { path: path.to_owned(), source };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = Path::new(&name);
    let written = create(beside, content, secrecy).and_then(|()| fs::rename(beside, path));
    written.map_err(|error| {
        // What was half written is of no use to anybody.
        let _ = fs::remove_file(beside);
        failed(error)
    })
}

fn create(path: &Path, content: &str, secrecy: Secrecy) -> io::Result<()> {
    let mode = match secrecy {
        Secrecy::Secret => 0o600,
        Secrecy::Public => 0o644,
    };
    // A leftover of an interrupted run may have another mode.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}
