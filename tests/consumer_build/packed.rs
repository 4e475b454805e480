//! The crates as they would be published, and a crate that has nothing but README's lines and those.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::consumer::{Consumer, Toolkit};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What each package must hold beside its sources.
const WITH_EVERY_PACKAGE: [&str; 4] = ["Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT"];

#[test]
fn every_package_has_its_licences_and_its_readme_and_nothing_of_the_workshop() {
    let packages = packed();
    assert!(packages.contains_key("autokernel-cuda") && packages.contains_key("autokernel-codegen"), "{packages:?}");
    for (name, folder) in packages {
        for file in WITH_EVERY_PACKAGE {
            assert!(folder.join(file).is_file(), "{name} lacks {file}");
        }
        for of_the_workshop in [".ci", "docs", "tuner", "xtask", "benches"] {
            assert!(!folder.join(of_the_workshop).exists(), "{name} holds {of_the_workshop}");
        }
    }
}

#[test]
fn a_crate_of_the_readmes_lines_and_the_packed_crates_builds_and_runs() {
    let Some(toolkit) = Toolkit::none("a_crate_of_the_readmes_lines_and_the_packed_crates_builds_and_runs") else {
        return;
    };
    let printed = readmes_crate("from-readme").run(&toolkit);
    assert!(printed.starts_with("the CPU: "), "{printed}");
}

#[test]
fn an_editors_check_runs_no_nvcc_where_it_is_told_to_skip_it() {
    let Some(toolkit) = Toolkit::counting("an_editors_check_runs_no_nvcc_where_it_is_told_to_skip_it") else { return };
    let consumer = readmes_crate("in-an-editor");
    let skipped = [(autokernel_codegen::build::SKIP_NVCC_ENV, "1")];
    consumer.check(&toolkit, &skipped);
    assert_eq!(toolkit.runs(), 0);

    consumer.check(&toolkit, &[]);
    let asked = toolkit.runs();
    assert!(asked > 0, "a check without it compiles the kernel, which the next build finds");

    consumer.check(&toolkit, &skipped);
    consumer.check(&toolkit, &[]);
    assert_eq!(toolkit.runs(), asked, "both find what they had");
}

#[test]
fn the_guides_ten_minutes_without_a_gpu_build_and_run() {
    let Some(toolkit) = Toolkit::none("the_guides_ten_minutes_without_a_gpu_build_and_run") else { return };
    let printed = crate_of(&page("docs/guide/src/start-no-gpu.md"), "rust,ignore", "from-the-guide").run(&toolkit);
    assert_eq!(printed, "[0.84765625, 1.1328125]\n");
}

#[test]
fn the_guides_ten_minutes_with_cudarc_compile() {
    let Some(toolkit) = Toolkit::none("the_guides_ten_minutes_with_cudarc_compile") else { return };
    crate_of(&page("docs/guide/src/start-cudarc.md"), "rust,ignore", "on-cudarc").check(&toolkit, &[]);
}

#[test]
#[ignore = "compiles candle from scratch, which takes minutes: the checklist of a release asks for it"]
fn every_library_compiles_with_all_that_it_offers_from_the_packed_files_alone() {
    let Some(toolkit) = Toolkit::none("every_library_compiles_with_all_that_it_offers") else { return };
    let dependencies = "[dependencies]\nautokernel-candle = { version = \"0.1\", features = [\"gradients\"] }\n\
         autokernel-cuda = { version = \"0.1\", features = [\"builtin\", \"rows\", \"emulator\"] }\n\n\
         [build-dependencies]\nautokernel-codegen = { version = \"0.1\", features = [\"schema\"] }\n";
    let program = "use {autokernel as _, autokernel_candle as _};\nfn main() {}\n";
    let consumer = Consumer::with("everything", &on_packages(dependencies), "fn main() {}", program);
    consumer.check(&toolkit, &[]);
}

/// What a registry shows of a package and searches it by.
#[test]
fn every_package_says_what_a_registry_asks() {
    for (name, folder) in packed() {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for field in [
            "description = ",
            "license = \"MIT OR Apache-2.0\"",
            "repository = ",
            "homepage = ",
            "readme = ",
            "keywords = ",
            "categories = ",
            "rust-version = ",
        ] {
            assert!(manifest.lines().any(|line| line.starts_with(field)), "{name} has no {field}");
        }
        // What is not published cannot be depended on, though it may help to test.
        assert!(!manifest.contains("autokernel-baseline"), "{name} depends on a crate that is not published");
    }
    let facade = std::fs::read_to_string(packed()["autokernel-cuda"].join("Cargo.toml")).unwrap();
    assert!(facade.contains("[package.metadata.docs.rs]"), "docs.rs would show no built-in kernel");
}

/// What marks a page's dependencies.
const BUILD_DEPENDENCIES: &str = "[build-dependencies]";

/// A page of the repository.
pub fn page(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// README's dependencies, build script and first program, on packed crates.
pub fn readmes_crate(name: &'static str) -> Consumer {
    crate_of(&page("README.md"), "rust", name)
}

/// A page's dependencies, build script and first program, on packed crates.
fn crate_of(page: &str, rust: &str, name: &'static str) -> Consumer {
    let dependencies = on_packages(&block(page, "toml", BUILD_DEPENDENCIES));
    Consumer::with(name, &dependencies, &block(page, rust, "// build.rs"), &block(page, rust, "fn main() -> "))
}

/// These dependencies, of which ours are the packed crates.
pub fn on_packages(dependencies: &str) -> String {
    let patches: String = packed().iter().map(|(name, folder)| format!("{name} = {{ path = {folder:?} }}\n")).collect();
    format!("{dependencies}\n[patch.crates-io]\n{patches}")
}

/// A page's first block of code in this language that has `mark` in it.
pub fn block(page: &str, language: &str, mark: &str) -> String {
    let opening = format!("```{language}\n");
    let blocks = page.split(&opening).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.into_iter().find(|block| block.contains(mark)).expect("the page has it").to_owned()
}

/// Every crate that is published, packed and unpacked: the folder of each by its name.
fn packed() -> &'static BTreeMap<String, PathBuf> {
    static PACKED: LazyLock<BTreeMap<String, PathBuf>> = LazyLock::new(pack);
    &PACKED
}

fn pack() -> BTreeMap<String, PathBuf> {
    let target = tempfile::Builder::new().prefix("packages-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let names = published();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--no-verify", "--allow-dirty", "--offline", "--quiet", "--target-dir"]).arg(target.path());
    cargo.args(names.iter().flat_map(|name| ["--package", name]));
    let output = cargo.current_dir(ROOT).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let version = env!("CARGO_PKG_VERSION");
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packed");
    // What an earlier run left would hide what is missing now.
    let _ = std::fs::remove_dir_all(&unpacked);
    let unpack = |name: String| {
        let file = std::fs::File::open(target.path().join(format!("package/{name}-{version}.crate"))).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
        // A package's files are all of one date, by which cargo would take what changed for what it has built.
        archive.set_preserve_mtime(false);
        archive.unpack(&unpacked).unwrap();
        let folder = unpacked.join(format!("{name}-{version}"));
        (name, folder)
    };
    names.into_iter().map(unpack).collect()
}

/// The members of the workspace that `publish = false` does not keep back.
fn published() -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(ROOT);
    let metadata: serde_json::Value = serde_json::from_slice(&cargo.output().unwrap().stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let published = packages.filter(|package| package["publish"].is_null());
    published.map(|package| package["name"].as_str().unwrap().to_owned()).collect()
}
