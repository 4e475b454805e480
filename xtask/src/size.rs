//! Sizes on disk, for messages.

use std::fs;
use std::io;
use std::path::Path;

pub const MIB: u64 = 1024 * 1024;

/// `bytes` in MiB with one decimal: "12.3 MiB".
pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}

/// The sum of the lengths of all files under `dir`, in bytes.
pub fn of_dir(dir: &Path) -> io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() { of_dir(&entry.path())? } else { metadata.len() };
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_counts_the_files_of_its_subfolders() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("a"), [0; 10]).unwrap();
        fs::write(dir.path().join("sub/b"), [0; 5]).unwrap();
        assert_eq!(of_dir(dir.path()).unwrap(), 15);
    }

    #[test]
    fn sizes_are_shown_in_mib_with_one_decimal() {
        assert_eq!(mib(3 * MIB / 2), "1.5 MiB");
    }
}
