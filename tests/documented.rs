//! What a user must know of is written where they look: on the landing page of `cargo doc`, in README and in the guide.

use std::collections::BTreeSet;
use std::path::Path;

use walkdir::WalkDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What only our own parts say to each other.
const BETWEEN_OURSELVES: [&str; 2] = ["AUTOKERNEL_MANIFEST", "AUTOKERNEL_SKIP_LOG"];

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// The variables that the code of libraries names in string literals.
fn variables() -> BTreeSet<String> {
    let folders =
        ["autokernel-codegen/src", "autokernel-macros/src", "autokernel-runtime/src", "autokernel-candle/src"];
    let files = folders.iter().flat_map(|folder| WalkDir::new(Path::new(ROOT).join(folder)));
    let files =
        files.map(|entry| entry.unwrap().into_path()).filter(|path| path.extension().is_some_and(|it| it == "rs"));
    let texts = files.map(|path| std::fs::read_to_string(path).unwrap());
    let literals = texts.flat_map(|text| text.split('"').map(str::to_owned).collect::<Vec<_>>());
    let names = literals.filter(|text| text.strip_prefix("AUTOKERNEL_").is_some_and(is_a_name));
    names.filter(|name| !BETWEEN_OURSELVES.contains(&name.as_str())).collect()
}

fn is_a_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
}

#[test]
fn every_variable_that_is_read_stands_on_the_landing_page_and_in_the_readme() {
    let mut variables = variables();
    assert!(variables.len() >= 5, "{variables:?}");
    // cudarc's own, which a build of ours asks for.
    variables.insert("CUDARC_CUDA_VERSION".to_owned());
    let (landing_page, readme) = (read("src/lib.rs"), read("README.md"));
    for name in variables {
        assert!(landing_page.contains(&format!("//! | `{name}` |")), "{name} is not on the landing page");
        assert!(readme.contains(&name), "{name} is not in README.md");
    }
}

#[test]
fn the_landing_page_has_cudarc_the_variables_and_a_place_for_each_kind_of_type() {
    let landing_page = read("src/lib.rs");
    for heading in [
        "With cudarc, candle and what else holds GPU memory",
        "Threads, streams, several GPUs",
        "Features",
        "Environment",
        "Where to look",
    ] {
        assert!(landing_page.contains(&format!("//! # {heading}\n")), "{heading}");
    }
    assert!(landing_page.contains("MatrixView::from_cudarc(") && landing_page.contains("[`CompiledKernel`]"));
}

#[test]
fn rows_that_a_product_gathers_itself_stand_in_its_documentation_as_in_the_list_of_what_can_be_written() {
    let page = read("autokernel-macros/src/pages/fused_matmul/batches.md");
    assert!(read("docs/language.md").contains("`dot(x[tokens], w.t())`"));
    assert!(
        page.contains("dot(x[tokens], w.t())") && !page.contains("no index"),
        "the page denies what can be written"
    );
}

#[test]
fn every_feature_stands_on_the_landing_page() {
    let (manifest, landing_page) = (read("Cargo.toml"), read("src/lib.rs"));
    let (_, features) = manifest.split_once("[features]\n").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let names = features.lines().filter_map(|line| line.split_once(" = [")).map(|(name, _)| name);
    let names: Vec<&str> = names.filter(|name| *name != "default").collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(landing_page.contains(&format!("`{name}`")), "{name} is not on the landing page");
    }
}

#[test]
fn an_editors_snippet_sets_the_variable_that_skips_nvcc_and_a_target_folder_of_its_own() {
    let readme = read("README.md");
    let snippet = readme.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let settings: serde_json::Value = serde_json::from_str(snippet.last().unwrap()).unwrap();
    let skip = autokernel_codegen::build::SKIP_NVCC_ENV;
    assert_eq!(settings["rust-analyzer.cargo.extraEnv"][skip], "1", "{settings}");
    assert_eq!(settings["rust-analyzer.cargo.targetDir"], true, "{settings}");
}

#[test]
fn no_feature_is_on_unless_it_is_asked_for_and_the_readme_names_those_of_the_built_in_kernels() {
    let manifest = read("Cargo.toml");
    assert!(manifest.contains("\ndefault = []\n"), "a consumer would compile kernels that they did not declare");
    let readme = read("README.md");
    for feature in ["builtin", "rows"] {
        assert!(manifest.contains(&format!("\n{feature} = [")), "there is no feature {feature}");
        assert!(readme.contains(&format!("`{feature}`")), "README.md does not say what {feature} is");
    }
}

#[test]
fn the_least_toolkit_and_driver_that_are_needed_stand_in_the_readme() {
    let (release, readme) = (autokernel_codegen::nvcc::OLDEST, read("README.md"));
    assert!(readme.contains(&format!("of release {release} or later")), "README.md names no nvcc {release}");
    assert!(readme.contains("525 or later for 12"), "README.md names no driver of that generation");
    let releasing = read("docs/releasing.md");
    assert!(releasing.contains(&format!("nvcc from {release} on")), "docs/releasing.md names another");
}

#[test]
fn whoever_contributes_reports_or_releases_finds_how() {
    for (path, part) in [
        ("CONTRIBUTING.md", "cargo xtask test"),
        ("SECURITY.md", "Report a vulnerability"),
        (".github/pull_request_template.md", "cargo xtask test"),
        (".github/ISSUE_TEMPLATE/wrong-or-broken.md", "about: "),
        (".github/ISSUE_TEMPLATE/slow.md", "about: "),
        ("docs/releasing.md", "**MSRV**"),
        ("docs/releasing.md", "**Semver**"),
        ("docs/releasing.md", "**cudarc is part of the interface**"),
    ] {
        assert!(read(path).contains(part), "{path} lacks {part}");
    }
    // What is promised of versions holds of this one.
    let manifest = read("Cargo.toml");
    let version = env!("CARGO_PKG_VERSION");
    for line in manifest.lines().filter(|line| line.starts_with("autokernel-") && line.contains("version = ")) {
        assert!(line.contains(&format!("version = \"={version}\"")), "{line}");
    }
}
