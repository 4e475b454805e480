//! Where compiled kernels are kept.

use std::path::{Path, PathBuf};

/// Names the folder in place of the user's.
const CACHE_ENV: &str = "AUTOKERNEL_CACHE_DIR";
/// Its name below a target folder, where the user has no folder for caches.
const IN_TARGET: &str = "autokernel-cache";
/// Its name below the user's.
const OF_USER: &str = "autokernel";

/// Where a build script whose `OUT_DIR` is `out` keeps compiled kernels: the folder that `AUTOKERNEL_CACHE_DIR` names, a
/// relative one below cargo's target folder; else `autokernel` in the user's folder for caches (`~/.cache`,
/// `~/Library/Caches`), so that all their crates share it and `cargo clean` costs no kernel; else, where that cannot be
/// written, `autokernel-cache` in the target folder.
pub fn cache_folder(out: &Path) -> PathBuf {
    println!("cargo::rerun-if-env-changed={CACHE_ENV}");
    let named = std::env::var_os(CACHE_ENV).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    choose(named, dirs::cache_dir(), target_folder(out))
}

fn choose(named: Option<PathBuf>, of_user: Option<PathBuf>, target: &Path) -> PathBuf {
    if let Some(named) = named {
        return target.join(named); // an absolute path replaces it
    }
    let of_user = of_user.map(|folder| folder.join(OF_USER)).filter(|folder| is_writable(folder));
    of_user.unwrap_or_else(|| target.join(IN_TARGET))
}

/// Cargo's target folder: `OUT_DIR` is `target/[triple/]profile/build/package-hash/out`.
fn target_folder(out: &Path) -> &Path {
    let profile = out.ancestors().find(|folder| folder.ends_with("build")).and_then(Path::parent);
    profile.and_then(Path::parent).unwrap_or(out)
}

fn is_writable(folder: &Path) -> bool {
    std::fs::create_dir_all(folder).is_ok() && tempfile::tempfile_in(folder).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_kept_where_the_variable_says_else_by_the_user_else_in_the_target_folder() {
        let folder = tempfile::tempdir().unwrap();
        let target = target_folder(Path::new("/w/target/debug/build/crate-0123/out/autokernel"));
        assert_eq!(target, Path::new("/w/target"));

        let of_user = Some(folder.path().to_owned());
        assert_eq!(choose(Some("/kernels".into()), of_user.clone(), target), Path::new("/kernels"));
        assert_eq!(choose(Some("kernels".into()), of_user.clone(), target), Path::new("/w/target/kernels"));
        assert_eq!(choose(None, of_user, target), folder.path().join("autokernel"));
        assert_eq!(choose(None, None, target), Path::new("/w/target/autokernel-cache"));
        std::fs::write(folder.path().join("file"), "").unwrap();
        let no_folder = Some(folder.path().join("file"));
        assert_eq!(choose(None, no_folder, target), Path::new("/w/target/autokernel-cache"));
    }
}
