//! The swap of toolkits, with a shell script in the place of pip.

use super::*;

/// An installer whose `nvcc` is the shell script `nvcc`, and the site it installs to.
fn site_and_installer(dir: &Path, nvcc: &str) -> (PathBuf, Installer) {
    let script = dir.join("pip.sh");
    let text = format!(
        r#"while [ "$1" != --target ]; do shift; done
mkdir -p "$2/nvidia/cu13/bin" && printf '%s' '{nvcc}' > "$2/{NVCC_IN_SITE}""#
    );
    fs::write(&script, text).unwrap();
    let site = dir.join(SITE);
    fs::create_dir_all(site.parent().unwrap()).unwrap();
    (site, Installer::new(&["sh", script.to_str().unwrap()]))
}

/// Writes "cubin" to the file after `-o`, as nvcc would.
const WORKING_NVCC: &str = "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nprintf cubin > \"$2\"\n";
const BROKEN_NVCC: &str = "#!/bin/sh\necho no host compiler >&2\nexit 1\n";

fn entries(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn an_installed_toolkit_is_current_and_leaves_nothing_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let (site, installer) = site_and_installer(dir.path(), WORKING_NVCC);
    assert!(!is_current(&site));
    install(&site, &installer).unwrap();
    assert!(is_current(&site));
    assert_eq!(entries(site.parent().unwrap()), ["site"]);
}

#[test]
fn a_second_install_replaces_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let (site, installer) = site_and_installer(dir.path(), WORKING_NVCC);
    install(&site, &installer).unwrap();
    fs::write(site.join("old"), "").unwrap();
    install(&site, &installer).unwrap();
    assert!(is_current(&site) && !site.join("old").exists());
    assert_eq!(entries(site.parent().unwrap()), ["site"]);
}

#[test]
fn an_nvcc_that_compiles_nothing_does_not_replace_a_good_one() {
    let dir = tempfile::tempdir().unwrap();
    let (site, installer) = site_and_installer(dir.path(), WORKING_NVCC);
    install(&site, &installer).unwrap();
    let (_, broken) = site_and_installer(dir.path(), BROKEN_NVCC);
    let text = install(&site, &broken).unwrap_err().to_string();
    assert!(text.contains("no host compiler") && text.contains("install g++"), "{text}");
    assert_eq!(fs::read_to_string(site.join(NVCC_IN_SITE)).unwrap(), WORKING_NVCC);
    assert!(is_current(&site));
}

#[test]
fn other_pins_make_an_installed_toolkit_stale() {
    let dir = tempfile::tempdir().unwrap();
    let (site, installer) = site_and_installer(dir.path(), WORKING_NVCC);
    install(&site, &installer).unwrap();
    fs::write(site.join(STAMP), "nvidia-cuda-nvcc==12.0.0").unwrap();
    assert!(!is_current(&site));
}

#[test]
fn what_a_killed_run_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["incoming-ab", "replaced-cd", "site"] {
        fs::create_dir_all(dir.path().join(name).join("nvidia")).unwrap();
    }
    remove_leftovers(dir.path()).unwrap();
    assert_eq!(entries(dir.path()), ["site"]);
}

#[test]
fn every_pin_is_exact_and_has_a_hash_for_both_processors() {
    assert_eq!(packages().count(), 5);
    assert!(packages().all(|package| package.contains("==")));
    assert_eq!(PINS.matches("--hash=sha256:").count(), 2 * packages().count());
}

#[test]
fn another_platform_gets_the_remedy() {
    let text = require_supported_platform("macos", "aarch64").unwrap_err().to_string();
    assert!(text.contains("not on macos for aarch64") && text.contains("AUTOKERNEL_NVCC"), "{text}");
    assert!(require_supported_platform("linux", "aarch64").is_ok());
}
