//! Files that are whole or not there.

use std::io::Write;
use std::path::Path;

/// Replaces the file at `path` in one step: a reader sees the old file or the new one, never half of one.
///
/// # Errors
/// The folder cannot be written.
pub fn replace(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
