//! `cargo xtask schema`: the JSON schema of best_config.json, for editors and for the tuner's
//! prompts.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

const FILE: &str = "best_config.schema.json";

/// Writes the schema if it changed.
pub fn run(root: &Path) -> Result<()> {
    let text = format!("{:#}\n", autokernel_codegen::config::json_schema());
    let changed = write_if_changed(&root.join(FILE), &text)?;
    println!("{FILE}: {}", if changed { "written" } else { "up to date" });
    Ok(())
}

/// Replaces the file at once, so that a reader never sees half of it. Returns whether it differed.
fn write_if_changed(path: &Path, text: &str) -> Result<bool> {
    if fs::read_to_string(path).is_ok_and(|current| current == text) {
        return Ok(false);
    }
    let dir = path.parent().context("the schema's path has no parent")?;
    let mut file = NamedTempFile::new_in(dir).with_context(|| format!("cannot write in {}", dir.display()))?;
    file.write_all(text.as_bytes())?;
    make_readable(file.as_file())?;
    file.persist(path).with_context(|| format!("cannot replace {}", path.display()))?;
    Ok(true)
}

/// Temporary files are private to their owner; a checked-in file is not.
#[cfg(unix)]
fn make_readable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_file: &fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_written_once_and_then_up_to_date() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        assert!(write_if_changed(&path, "{}\n").unwrap());
        assert!(!write_if_changed(&path, "{}\n").unwrap());
        assert!(write_if_changed(&path, "{\"type\": \"object\"}\n").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"type\": \"object\"}\n");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_schema_describes_the_fields_of_best_config() {
        let schema = autokernel_codegen::config::json_schema();
        for field in ["version", "archs", "entries"] {
            assert!(schema["properties"].get(field).is_some(), "no {field} in {schema:#}");
        }
    }
}
