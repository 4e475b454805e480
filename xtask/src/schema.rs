//! `cargo xtask schema`: the JSON schema of best_config.json, for editors and for the tuner's
//! prompts; `cargo xtask builtins`: the expression trees of the built-in epilogues.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use autokernel_codegen::{config, epilogue, files};

const FILE: &str = "best_config.schema.json";

/// Writes the schema if it changed.
pub fn run(root: &Path) -> Result<()> {
    let text = format!("{:#}\n", config::json_schema());
    let changed = write_if_changed(&root.join(FILE), &text)?;
    println!("{FILE}: {}", if changed { "written" } else { "up to date" });
    Ok(())
}

/// Writes the expression trees of the built-in epilogues if they changed.
pub fn builtins(root: &Path) -> Result<()> {
    for (file, json) in
        [("builtin.json", epilogue::builtins_json()), ("derivatives.json", epilogue::derivatives_json())]
    {
        let path = Path::new("autokernel-ops/src/epilogue").join(file);
        let changed = write_if_changed(&root.join(&path), &json)?;
        println!("{}: {}", path.display(), if changed { "written" } else { "up to date" });
    }
    Ok(())
}

/// Returns whether the file differed.
fn write_if_changed(path: &Path, text: &str) -> Result<bool> {
    if fs::read_to_string(path).is_ok_and(|current| current == text) {
        return Ok(false);
    }
    files::replace(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
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
        let schema = config::json_schema();
        for field in ["version", "archs", "entries"] {
            assert!(schema["properties"].get(field).is_some(), "no {field} in {schema:#}");
        }
    }
}
