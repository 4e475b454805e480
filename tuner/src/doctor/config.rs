//! The config in use.

use std::path::Path;

use autokernel_codegen::config::{Config, Entry, VERSION};
use serde_json::Value;

use super::check::{Check, Status};

const NAME: &str = "config";

/// Whether the config parses, and every entry of it can be built.
pub fn checks(path: &Path) -> Vec<Check> {
    if !path.exists() {
        let remedy = "run `cargo run --release -p tuner -- --write` to make one; until then kernels use their defaults";
        return vec![Check::new(NAME, Status::Missing, format!("there is no {}", path.display()), remedy)];
    }
    match Config::load(path) {
        Ok(config) => vec![loaded(path, &config)],
        Err(error) => {
            let mut checks = vec![Check::new(NAME, Status::Broken, error.found(), error.remedy())];
            checks.extend(unbuildable(path));
            checks
        }
    }
}

fn loaded(path: &Path, config: &Config) -> Check {
    let Config { entries, archs, .. } = config;
    let listed = archs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let found =
        format!("{}: schema version {VERSION}, {} entries, compiled for {listed}", path.display(), entries.len());
    let unused = entries.iter().filter(|entry| !archs.contains(&entry.arch)).count();
    if unused > 0 {
        let remedy = "add their arch to `archs`, or remove them: no build compiles them";
        return Check::new(NAME, Status::Warn, format!("{found}; {unused} entries are for other archs"), remedy);
    }
    let repeated =
        entries.iter().enumerate().filter(|(index, entry)| entries[..*index].iter().any(|it| serve_alike(it, entry)));
    let repeated: Vec<String> = repeated.map(|(index, _)| (index + 1).to_string()).collect();
    if !repeated.is_empty() {
        let remedy = "keep the faster one of each two: which of them a launch takes is not said";
        let found =
            format!("{found}; for the GPU, class and extents of entries {} there is one before", repeated.join(", "));
        return Check::new(NAME, Status::Warn, found, remedy);
    }
    Check::ok(NAME, found)
}

fn serve_alike(one: &Entry, other: &Entry) -> bool {
    let of = |entry: &Entry| (entry.arch, entry.extents, entry.range);
    of(one) == of(other) && one.problem == other.problem && one.provenance.gpu == other.provenance.gpu
}

/// Each entry that no build can use; loading names only the first.
fn unbuildable(path: &Path) -> Vec<Check> {
    let file: Option<Value> = std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let entries = file.as_ref().and_then(|file| file["entries"].as_array()).map_or(&[][..], Vec::as_slice);
    let refused = |(index, entry): (usize, &Value)| {
        let error = serde_json::from_value::<Entry>(entry.clone()).err()?;
        let found = format!("entry {} cannot be built: {error}", index + 1);
        Some(Check::new(NAME, Status::Broken, found, "tune its shape again with --write, or remove the entry"))
    };
    entries.iter().enumerate().filter_map(refused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../../best_config.json");

    fn check(text: &str) -> Vec<Check> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("best_config.json");
        std::fs::write(&path, text).unwrap();
        checks(&path)
    }

    #[test]
    fn the_shipped_config_is_fine() {
        let checks = check(SHIPPED);
        assert_eq!(checks[0].status, Status::Ok, "{checks:?}");
    }

    #[test]
    fn every_entry_that_cannot_be_built_is_named() {
        let mut file: Value = serde_json::from_str(SHIPPED).unwrap();
        for index in [1, 3] {
            file["entries"][index]["schedule"]["stages"] = 99.into();
        }
        let checks = check(&file.to_string());
        let found: Vec<&str> = checks.iter().map(|check| check.found.as_str()).collect();
        assert_eq!(checks.len(), 3, "{found:?}");
        assert!(found[1].starts_with("entry 2 cannot be built") && found[2].starts_with("entry 4 "), "{found:?}");
        assert!(checks.iter().all(|check| check.status == Status::Broken));
    }

    #[test]
    fn an_entry_for_what_another_serves_is_a_warning() {
        let mut file: Value = serde_json::from_str(SHIPPED).unwrap();
        let first = file["entries"][0].clone();
        file["entries"].as_array_mut().unwrap().push(first);
        let checks = check(&file.to_string());
        let count = file["entries"].as_array().unwrap().len();
        assert!(
            checks[0].status == Status::Warn && checks[0].found.contains(&format!("of entries {count} there")),
            "{checks:?}"
        );
    }

    #[test]
    fn an_entry_of_nothing_cannot_be_built() {
        let mut file: Value = serde_json::from_str(SHIPPED).unwrap();
        file["entries"][0]["extents"]["m"] = 0.into();
        let checks = check(&file.to_string());
        assert!(checks[1].status == Status::Broken && checks[1].found.contains("no kernel runs"), "{checks:?}");
    }

    #[test]
    fn another_schema_version_is_broken_with_the_one_that_is_read() {
        let checks = check(&SHIPPED.replacen("\"version\": 2", "\"version\": 9", 1));
        assert!(checks[0].status == Status::Broken && checks[0].found.contains("reads versions 1 to 2"), "{checks:?}");
    }

    #[test]
    fn entries_for_archs_that_no_build_compiles_are_a_warning() {
        let checks = check(&SHIPPED.replacen("\"sm_80\",\n    \"sm_90a\"", "\"sm_80\"", 1));
        assert_eq!(checks[0].status, Status::Warn, "{checks:?}");
    }
}
