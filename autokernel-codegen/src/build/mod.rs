//! The build-script entry: from a crate's attributes to compiled kernels and the manifest that the attributes read.

mod declared;
mod error;
mod input;
mod kernels;
mod manifest;
mod scan;
mod script;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::config::Config;
use crate::function::Functions;
use crate::nvcc::{Compiler, LocateError, Nvcc, SEARCH_ENV};
use crate::problem::Problem;
use error::{ARCHS_ENV, env};

pub use declared::Declared;
pub use error::BuildError;
pub use input::Build;
pub use manifest::{ImageFiles, MANIFEST_ENV, Manifest, ManifestError, Plan, Variant};

/// The config of the `autokernel` crate, which its build script hands to those of the crates that depend on it.
const SHIPPED_CONFIG_ENV: &str = "DEP_AUTOKERNEL_CONFIG";
/// Where compiled kernels are kept; `autokernel-cache` in the target folder if unset.
const CACHE_ENV: &str = "AUTOKERNEL_CACHE_DIR";
const CACHE_FOLDER: &str = "autokernel-cache";

impl Build {
    /// Builds; on failure prints why and ends the build script.
    pub fn run(self) {
        if let Err(error) = self.compile() {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }

    /// Builds.
    ///
    /// # Errors
    /// The config is broken, a kernel does not compile, or a file cannot be read or written. A missing nvcc is no
    /// error.
    pub fn compile(self) -> Result<Manifest, BuildError> {
        let root = PathBuf::from(env("CARGO_MANIFEST_DIR")?);
        let out = PathBuf::from(env("OUT_DIR")?).join("autokernel");
        self.compile_crate(&root, &out)
    }

    /// Builds the kernels of the crate at `root` into the folder `out`, outside of a build script.
    ///
    /// # Errors
    /// As for [`compile`](Self::compile).
    pub fn compile_crate(&self, root: &Path, out: &Path) -> Result<Manifest, BuildError> {
        std::fs::create_dir_all(out).map_err(BuildError::io(out))?;
        let config = self.read_config(root)?;
        let functions = self.functions(root)?;
        let problems = self.problems(root, &Functions::new(&functions))?;
        let cache = cache_folder(out);
        let (compiler, not_compiled) = if problems.is_empty() { (None, None) } else { find_compiler(root, &cache)? };

        let plans = kernels::build(&problems, &config, compiler.as_ref(), out)?;
        let nvcc = compiler.map(|compiler| compiler.nvcc().version.clone());
        let codegen = env!("CARGO_PKG_VERSION").to_owned();
        let manifest = Manifest { codegen, crate_root: root.to_owned(), nvcc, not_compiled, functions, plans };
        let path = out.join("manifest.json");
        let text = serde_json::to_string_pretty(&manifest).expect("a manifest has only string keys");
        kernels::write_if_changed(&path, text.as_bytes()).map_err(BuildError::io(&path))?;
        println!("cargo::rustc-env={MANIFEST_ENV}={}", path.display());
        Ok(manifest)
    }

    fn read_config(&self, root: &Path) -> Result<Config, BuildError> {
        let own = self.config_of(root);
        let shipped = std::env::var_os(SHIPPED_CONFIG_ENV).map(PathBuf::from);
        let mut config = None;
        for path in std::iter::once(own.clone()).chain(shipped) {
            let asked_for = self.config.is_some() && path == own;
            // A file that is not there is not watched: cargo would run the build script every time.
            if asked_for || path.is_file() {
                println!("cargo::rerun-if-changed={}", path.display());
                let found = Config::load(&path)?;
                config = Some(config.map_or(found.clone(), |config: Config| config.or(found)));
            }
        }
        let mut config = config.unwrap_or_default();
        println!("cargo::rerun-if-env-changed={ARCHS_ENV}");
        if let Ok(archs) = std::env::var(ARCHS_ENV) {
            config.archs = archs.split(',').map(|arch| arch.trim().parse()).collect::<Result<Vec<Arch>, _>>()?;
        }
        Ok(config)
    }

    fn problems(&self, root: &Path, functions: &Functions) -> Result<BTreeMap<String, Problem>, BuildError> {
        for source in self.sources_of(root) {
            println!("cargo::rerun-if-changed={}", source.display());
        }
        let declared = self.declared_beside(root, functions)?.into_iter().filter(Declared::is_seen);
        Ok(declared.map(|kernel| (kernel.problem.key(), kernel.problem)).collect())
    }
}

/// Where a build script whose `OUT_DIR` is `out` keeps compiled kernels: `autokernel-cache` in the target folder, so that
/// all profiles and crates share it and `cargo clean` empties it. A target folder inside another, as trybuild makes for the
/// crates of its tests, shares the outer one's.
pub fn cache_folder(out: &Path) -> PathBuf {
    println!("cargo::rerun-if-env-changed={CACHE_ENV}");
    if let Some(folder) = std::env::var_os(CACHE_ENV).filter(|folder| !folder.is_empty()) {
        return folder.into();
    }
    cache_below(out)
}

fn cache_below(out: &Path) -> PathBuf {
    // OUT_DIR is target/[triple/]profile/build/package-hash/out.
    let profile = out.ancestors().find(|folder| folder.ends_with("build")).and_then(Path::parent);
    let target = profile.and_then(Path::parent).unwrap_or(out);
    // Cargo marks its target folders: no other folder's cache is taken.
    let outer = target.ancestors().skip(1).filter(|folder| folder.join("CACHEDIR.TAG").is_file());
    let shared = outer.map(|folder| folder.join(CACHE_FOLDER)).find(|cache| cache.is_dir());
    shared.unwrap_or_else(|| target.join(CACHE_FOLDER))
}

fn find_compiler(root: &Path, cache: &Path) -> Result<(Option<Compiler>, Option<String>), BuildError> {
    for name in SEARCH_ENV {
        println!("cargo::rerun-if-env-changed={name}");
    }
    match Nvcc::locate(root, cache) {
        Ok(nvcc) => Ok((Some(Compiler::new(nvcc, cache.to_owned())), None)),
        Err(missing @ LocateError::NotFound) => {
            println!("cargo::warning=autokernel: kernels will run on the CPU backend: {missing}");
            Ok((None, Some(missing.to_string())))
        }
        Err(error) => Err(BuildError::Nvcc(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_folder_inside_another_shares_its_kernels() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let out = |target: &Path| target.join("debug/build/crate-0123/out/autokernel");
        let nested = target.join("tests/trybuild");
        std::fs::create_dir_all(&nested).unwrap();
        assert_eq!(cache_below(&out(&target)), target.join(CACHE_FOLDER));

        std::fs::create_dir(target.join(CACHE_FOLDER)).unwrap();
        std::fs::create_dir(folder.path().join(CACHE_FOLDER)).unwrap();
        assert_eq!(cache_below(&out(&nested)), nested.join(CACHE_FOLDER), "not cargo's folder, as far as one can tell");
        std::fs::write(target.join("CACHEDIR.TAG"), "").unwrap();
        assert_eq!(cache_below(&out(&nested)), target.join(CACHE_FOLDER));
        assert_eq!(cache_below(&out(&target)), target.join(CACHE_FOLDER), "the outermost keeps to itself");
    }
}
