//! The build-script entry: from a crate's attributes to compiled kernels and the manifest that the attributes read.

mod archs;
mod cache_folder;
mod cudarc;
mod declared;
mod error;
mod images;
mod input;
mod kernels;
mod manifest;
mod progress;
mod scan;
mod script;
mod unserved;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::arch::Arch;
use crate::config::Config;
use crate::function::Functions;
use crate::nvcc::{COMPILE_ENV, Compiler, Nvcc, SEARCH_ENV};
use crate::problem::Problem;
use error::env;

pub use crate::block::Block;
pub use cache_folder::cache_folder;
pub use declared::Declared;
pub use error::BuildError;
pub use input::Build;
pub use manifest::{ImageFiles, MANIFEST_ENV, Manifest, ManifestError, Misplaced, Plan, Variant};

/// The config of the `autokernel` crate, which its build script hands to those of the crates that depend on it.
const SHIPPED_CONFIG_ENV: &str = "DEP_AUTOKERNEL_CONFIG";
/// Set to `1`, no kernel is compiled: for editors, whose `cargo check` is like any other to a build script.
pub const SKIP_NVCC_ENV: &str = "AUTOKERNEL_SKIP_NVCC";
/// Kernels that no build asked for in so long are removed.
const UNUSED: Duration = Duration::from_secs(90 * 24 * 60 * 60);

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
        let (config, requested) = self.read_config(root)?;
        let functions = self.functions(root)?;
        let (problems, misplaced) = self.problems(root, &Functions::new(&functions))?;
        let cache = cache_folder(out);
        let (compiler, not_compiled) = if problems.is_empty() { (None, None) } else { find_compiler(root, &cache)? };

        unserved::warn(problems.values(), &requested);
        let asked = images::from_environment()?;
        let most_of = |problem: &Problem, arch| {
            let most = asked.most(arch).or(self.most_images);
            most.filter(|_| !self.is_whole.is_some_and(|is_whole| is_whole(problem)))
        };
        let plans = kernels::build(&problems, &config, most_of, compiler.as_ref(), out)?;
        let nvcc = compiler.map(|compiler| {
            compiler.remove_unused(UNUSED);
            compiler.nvcc().version.clone()
        });
        let codegen = env!("CARGO_PKG_VERSION").to_owned();
        let manifest =
            Manifest { codegen, crate_root: root.to_owned(), nvcc, not_compiled, functions, misplaced, plans };
        let path = out.join("manifest.json");
        let text = serde_json::to_string_pretty(&manifest).map_err(BuildError::unwritten(&path))?;
        kernels::write_if_changed(&path, text.as_bytes()).map_err(BuildError::io(&path))?;
        println!("cargo::rustc-env={MANIFEST_ENV}={}", path.display());
        Ok(manifest)
    }

    /// The config, and the archs that were asked for beside it.
    fn read_config(&self, root: &Path) -> Result<(Config, Vec<Arch>), BuildError> {
        let own = self.config_of(root);
        let shipped = std::env::var_os(SHIPPED_CONFIG_ENV).map(PathBuf::from);
        let mut config = None;
        for path in std::iter::once(own.clone()).chain(shipped) {
            let asked_for = self.config.is_some() && path == own;
            // A file that is not there is not watched: cargo would run the build script every time.
            if asked_for || is_there(&path) {
                println!("cargo::rerun-if-changed={}", path.display());
                let found = Config::load(&path)?;
                config = Some(config.map_or(found.clone(), |config: Config| config.or(found)));
            }
        }
        let mut config = config.unwrap_or_default();
        let requested = archs::from_environment()?.or(self.archs.clone());
        config.archs = archs::each_once(requested.clone().unwrap_or(config.archs))?;
        Ok((config, requested.unwrap_or_default()))
    }

    /// The problems to compile by their keys, and the kernels that cannot be compiled where they stand.
    fn problems(
        &self,
        root: &Path,
        functions: &Functions,
    ) -> Result<(BTreeMap<String, Problem>, Vec<Misplaced>), BuildError> {
        for source in self.sources_of(root) {
            println!("cargo::rerun-if-changed={}", source.display());
        }
        let (seen, others): (Vec<_>, Vec<_>) =
            self.declared_beside(root, functions)?.into_iter().partition(Declared::is_seen);
        // The attribute knows a kernel by its name and problem, and so cannot tell it from one like it elsewhere.
        let has_twin = |it: &Declared| seen.iter().any(|other| other.name == it.name && other.problem == it.problem);
        let misplaced = others.iter().filter(|it| !has_twin(it)).filter_map(|it| {
            let (name, key) = (it.name.clone(), it.problem.key());
            it.inside.map(|inside| Misplaced { name, key, inside })
        });
        let misplaced = misplaced.collect();
        Ok((seen.into_iter().map(|kernel| (kernel.problem.key(), kernel.problem)).collect(), misplaced))
    }
}

/// Whether something stands there, and be it what cannot be read: that is told.
fn is_there(path: &Path) -> bool {
    !path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn find_compiler(root: &Path, cache: &Path) -> Result<(Option<Compiler>, Option<String>), BuildError> {
    for name in SEARCH_ENV.into_iter().chain(COMPILE_ENV).chain([SKIP_NVCC_ENV]) {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if std::env::var_os(SKIP_NVCC_ENV).is_some_and(|skip| !skip.is_empty() && skip != "0") {
        return Ok((None, Some(format!("{SKIP_NVCC_ENV} was set; build again without it"))));
    }
    match Nvcc::locate(root, cache) {
        Ok(nvcc) => {
            println!("cargo::rerun-if-changed={}", nvcc.path.display());
            cudarc::warn_of_newer_functions(&nvcc, cache);
            Ok((Some(Compiler::new(nvcc, cache.to_owned())), None))
        }
        Err(missing) if missing.is_none_here() => {
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
    fn what_stands_in_the_place_of_the_config_and_cannot_be_read_ends_the_build() {
        let crate_of = |put: fn(&Path)| {
            let folder = tempfile::tempdir().unwrap();
            put(&folder.path().join("best_config.json"));
            Build::new().read_config(folder.path()).map(|_| ()).map_err(|error| error.to_string())
        };
        crate_of(|_| ()).unwrap();
        let folder = crate_of(|path| std::fs::create_dir(path).unwrap()).unwrap_err();
        assert!(folder.contains("a folder stands in the place of the file"), "{folder}");
        #[cfg(unix)]
        {
            let nowhere = crate_of(|path| std::os::unix::fs::symlink("nowhere", path).unwrap()).unwrap_err();
            assert!(nowhere.contains("best_config.json: No such file"), "{nowhere}");
        }
    }
}
