//! Files that are whole or not there.

use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

/// Replaces the file at `path` in one step: a reader sees the old file or the new one, never half of one.
///
/// # Errors
/// The folder cannot be written.
pub fn replace(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = temporary(folder)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// A temporary file with the permissions of an ordinary one, since it will become one.
fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The system takes the umask off.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
