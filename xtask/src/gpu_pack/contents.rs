//! What goes into the pack: a table of programs, and one of data files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, Package, PackageId, Target, TargetKind};

/// One row of the table: which targets of which packages go to which folder.
struct Row {
    /// Folder in the pack; run.sh runs what lies in it.
    folder: &'static str,
    /// Said when no target matches.
    what: &'static str,
    kind: TargetKind,
    package: fn(&Package, &Path) -> bool,
    target: fn(&str) -> bool,
}

const FACADE: &str = "autokernel-cuda";
const TUNER: &str = "tuner";

const PROGRAMS: [Row; 5] = [
    Row {
        folder: "tests",
        what: "GPU tests: integration tests whose names start with `gpu`",
        kind: TargetKind::Test,
        // Most of the tuner's tests start the binary that cargo built beside them.
        package: |package, _| package.name.as_str() != TUNER,
        target: |name| name.starts_with("gpu"),
    },
    Row {
        folder: "tests",
        what: "the tuner's GPU tests, whose names start with `gpu_real`: they start the pack's tuner",
        kind: TargetKind::Test,
        package: |package, _| package.name.as_str() == TUNER,
        target: |name| name.starts_with("gpu_real"),
    },
    Row {
        folder: "benches",
        what: "benches of the package `autokernel-cuda`",
        kind: TargetKind::Bench,
        package: |package, _| package.name.as_str() == FACADE,
        target: |_| true,
    },
    Row {
        folder: "bin",
        what: "the tuner: the binary `tuner` of the package `tuner`",
        kind: TargetKind::Bin,
        package: |package, _| package.name.as_str() == TUNER,
        target: |name| name == TUNER,
    },
    Row {
        folder: "examples",
        what: "consumer crates: binaries of packages under examples/",
        kind: TargetKind::Bin,
        package: |package, root| package.manifest_path.starts_with(root.join("examples")),
        target: |_| true,
    },
];

/// Files and folders that programs read at run time, at the same path in the pack.
const DATA: [(&str, &str); 3] = [
    ("best_config.json", "the tuned winners"),
    ("tuner/spaces", "the recorded spaces of the tuner's replay"),
    ("autokernel-emulator/tests/programs", "the emulator's programs"),
];

/// A target to build and pack.
#[derive(Debug, PartialEq)]
pub struct Program {
    pub folder: &'static str,
    pub package: String,
    pub package_id: PackageId,
    pub target: String,
    pub kind: TargetKind,
    /// Features of the package without which cargo does not build the target.
    pub features: Vec<String>,
}

impl Program {
    /// Unique in the pack: two packages may both have a test `gpu`.
    pub fn path_in_pack(&self) -> String {
        let Self { folder, package, target, .. } = self;
        if package == target { format!("{folder}/{target}") } else { format!("{folder}/{package}-{target}") }
    }
}

#[derive(Debug, Default)]
pub struct Selection {
    pub programs: Vec<Program>,
    /// What the table asks for and the workspace lacks.
    pub missing: Vec<String>,
}

#[derive(Debug, Default)]
pub struct DataFiles {
    /// Relative to the workspace root.
    pub files: Vec<PathBuf>,
    pub missing: Vec<String>,
}

/// The targets of the workspace that the table of programs names.
pub fn select(metadata: &Metadata) -> Selection {
    let root = metadata.workspace_root.as_std_path();
    let packages = metadata.workspace_packages();
    let mut selection = Selection::default();
    for row in &PROGRAMS {
        let of_row = packages
            .iter()
            .filter(|package| (row.package)(package, root))
            .flat_map(|package| package.targets.iter().map(move |target| (package, target)))
            .filter(|(_, target)| row.takes(target));
        let before = selection.programs.len();
        selection.programs.extend(of_row.map(|(package, target)| Program {
            folder: row.folder,
            package: package.name.to_string(),
            package_id: package.id.clone(),
            target: target.name.clone(),
            kind: row.kind.clone(),
            features: target.required_features.clone(),
        }));
        if selection.programs.len() == before {
            selection.missing.push(row.what.to_owned());
        }
    }
    selection
}

impl Row {
    fn takes(&self, target: &Target) -> bool {
        target.kind.contains(&self.kind) && (self.target)(&target.name)
    }
}

/// The files that the table of data names.
pub fn data_files(root: &Path) -> Result<DataFiles> {
    let mut data = DataFiles::default();
    for (path, what) in DATA {
        let before = data.files.len();
        collect(root, Path::new(path), &mut data.files).with_context(|| format!("cannot read {path}"))?;
        if data.files.len() == before {
            data.missing.push(format!("{path}: {what}"));
        }
    }
    Ok(data)
}

/// Adds `path` if it is a file, or the files below it.
fn collect(root: &Path, path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let full = root.join(path);
    if full.is_file() {
        files.push(path.to_owned());
    } else if full.is_dir() {
        for entry in fs::read_dir(full)? {
            collect(root, &path.join(entry?.file_name()), files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_metadata::MetadataCommand;

    /// A workspace on disk: each line of `files` is a path, each Cargo.toml gets its folder's name.
    fn workspace(files: &[&str]) -> (tempfile::TempDir, Metadata) {
        let dir = tempfile::tempdir().unwrap();
        // A glob that matches nothing is an error.
        let has_files = |dir: &&str| files.iter().any(|file| file.starts_with(dir));
        let globs = ["crates", "examples"].into_iter().filter(has_files).map(|dir| format!("\"{dir}/*\""));
        let members = globs.collect::<Vec<_>>().join(", ");
        fs::write(dir.path().join("Cargo.toml"), format!("[workspace]\nmembers = [{members}]\nresolver = \"3\"\n"))
            .unwrap();
        for file in files {
            let path = dir.path().join(file);
            let parent = path.parent().unwrap();
            fs::create_dir_all(parent).unwrap();
            let name = parent.file_name().unwrap().to_string_lossy();
            let text = if file.ends_with("Cargo.toml") {
                format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n")
            } else {
                "fn main() {}\n".to_owned()
            };
            fs::write(path, text).unwrap();
        }
        let metadata = MetadataCommand::new().manifest_path(dir.path().join("Cargo.toml")).no_deps().exec().unwrap();
        (dir, metadata)
    }

    fn packed(selection: &Selection) -> Vec<String> {
        selection.programs.iter().map(Program::path_in_pack).collect()
    }

    #[test]
    fn gpu_tests_benches_the_tuner_and_examples_are_packed_and_nothing_else() {
        let (_dir, metadata) = workspace(&[
            "crates/autokernel-cuda/Cargo.toml",
            "crates/autokernel-cuda/src/lib.rs",
            "crates/autokernel-cuda/tests/gpu_shapes.rs",
            "crates/autokernel-cuda/tests/cpu_shapes.rs",
            "crates/autokernel-cuda/benches/matmul.rs",
            "crates/autokernel-cuda/examples/linear.rs",
            "crates/tuner/Cargo.toml",
            "crates/tuner/src/main.rs",
            "crates/tuner/tests/gpu_worker.rs",
            "crates/tuner/tests/gpu_real_faults.rs",
            "crates/xtask/Cargo.toml",
            "crates/xtask/src/main.rs",
            "examples/consumer/Cargo.toml",
            "examples/consumer/src/main.rs",
        ]);
        let selection = select(&metadata);
        assert_eq!(
            packed(&selection),
            [
                "tests/autokernel-cuda-gpu_shapes",
                "tests/tuner-gpu_real_faults",
                "benches/autokernel-cuda-matmul",
                "bin/tuner",
                "examples/consumer",
            ]
        );
        assert!(selection.missing.is_empty(), "{:?}", selection.missing);
    }

    #[test]
    fn what_the_workspace_lacks_is_named() {
        let (_dir, metadata) = workspace(&["crates/tuner/Cargo.toml", "crates/tuner/src/main.rs"]);
        let selection = select(&metadata);
        assert_eq!(packed(&selection), ["bin/tuner"]);
        assert_eq!(selection.missing.len(), PROGRAMS.len() - 1);
        assert!(selection.missing[0].contains("start with `gpu`"), "{}", selection.missing[0]);
    }

    #[test]
    fn data_files_keep_their_paths_and_missing_ones_are_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("tuner/spaces/h200")).unwrap();
        fs::write(dir.path().join("tuner/spaces/h200/bf16.jsonl.gz"), "x").unwrap();
        let data = data_files(dir.path()).unwrap();
        assert_eq!(data.files, [Path::new("tuner/spaces/h200/bf16.jsonl.gz")]);
        let missing =
            ["best_config.json: the tuned winners", "autokernel-emulator/tests/programs: the emulator's programs"];
        assert_eq!(data.missing, missing);
    }
}
