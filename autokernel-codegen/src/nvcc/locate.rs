//! Finding nvcc.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use crate::{files, hash};

/// The environment variables that decide which nvcc is used: a build script watches them.
pub const SEARCH_ENV: [&str; 6] = ["AUTOKERNEL_NVCC", "CUDA_HOME", "CUDA_PATH", "PATH", "VIRTUAL_ENV", "CONDA_PREFIX"];

/// Where NVIDIA's wheels put nvcc below a `site-packages`.
const IN_SITE_PACKAGES: &str = "nvidia/cu13/bin/nvcc";
/// Where `cargo xtask setup` puts it below the workspace.
const IN_WORKSPACE: &str = ".toolchain/site/nvidia/cu13/bin/nvcc";

/// The oldest release that compiles what is emitted.
pub const OLDEST: &str = "12.0";
const OLDEST_MAJOR: u32 = 12;

/// An nvcc that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    /// The program.
    pub path: PathBuf,
    /// Its release, for example `13.0.88`.
    pub version: String,
}

/// Why there is no nvcc.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// It is nowhere.
    #[error(
        "nvcc was not found in AUTOKERNEL_NVCC, CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda, .toolchain or the Python \
         environment; install the CUDA toolkit, or run `cargo xtask setup` in an autokernel checkout, then touch build.rs and build \
         again"
    )]
    NotFound,
    /// `AUTOKERNEL_NVCC` points nowhere.
    #[error("AUTOKERNEL_NVCC is `{}`, and there is no such file; correct it or unset it", .0.display())]
    BadOverride(PathBuf),
    /// `AUTOKERNEL_NVCC` names a folder.
    #[error("AUTOKERNEL_NVCC is the folder `{}`; name the program itself: AUTOKERNEL_NVCC={}", .folder.display(), .program.display())]
    FolderOverride {
        /// What it names.
        folder: PathBuf,
        /// The program in that folder, or where it would be in a toolkit's.
        program: PathBuf,
    },
    /// It knows no tensor maps and no `sm_90a`.
    #[error(
        "{} is nvcc {version}, and autokernel's kernels need {OLDEST} or later; install a newer CUDA toolkit, or run \
         `cargo xtask setup` in an autokernel checkout, then touch build.rs and build again",
        .path.display()
    )]
    TooOld {
        /// The program.
        path: PathBuf,
        /// Its release.
        version: String,
    },
    /// It does not run.
    #[error("`{} --version` failed: {reason}; reinstall the CUDA toolkit or point AUTOKERNEL_NVCC at another", .path.display())]
    Broken {
        /// The program.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
}

impl LocateError {
    /// Whether there is simply none to compile with, rather than one that is broken: a crate builds without.
    pub fn is_none_here(&self) -> bool {
        matches!(self, LocateError::NotFound | LocateError::TooOld { .. })
    }
}

impl Nvcc {
    /// Looks in `AUTOKERNEL_NVCC`, `CUDA_HOME`, `CUDA_PATH`, `PATH`, `/usr/local/cuda`, the `.toolchain` of a workspace
    /// above `start`, and the Python environment, in this order, for one of release 12.0 or later. The version found is
    /// remembered in `cache`, so that a later call runs nothing.
    ///
    /// # Errors
    /// There is none, or none that is new enough, or it does not run.
    pub fn locate(start: &Path, cache: &Path) -> Result<Nvcc, LocateError> {
        if let Some(chosen) = std::env::var_os("AUTOKERNEL_NVCC").filter(|value| !value.is_empty()) {
            return identify(program_at(PathBuf::from(chosen))?, cache)?.if_new_enough();
        }
        let mut missing = LocateError::NotFound;
        for path in candidates(start).into_iter().filter(|path| path.is_file()) {
            match identify(path, cache)?.if_new_enough() {
                Ok(found) => return Ok(found),
                Err(old) => missing = old,
            }
        }
        Err(missing)
    }

    /// The nvcc that a program which looks in `PATH` only would find, as cudarc's build script does.
    pub fn in_path(cache: &Path) -> Option<Nvcc> {
        let path = std::env::var_os("PATH")?;
        let found = std::env::split_paths(&path).map(|folder| folder.join(program())).find(|path| path.is_file())?;
        identify(found, cache).ok()
    }

    /// Major and minor release as cudarc counts them: 1000 × major + 10 × minor.
    pub fn release(&self) -> u32 {
        let mut parts = self.version.split('.').map(|part| part.parse().unwrap_or(0));
        1000 * parts.next().unwrap_or(0) + 10 * parts.next().unwrap_or(0)
    }

    fn if_new_enough(self) -> Result<Nvcc, LocateError> {
        let major = self.version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
        if major >= OLDEST_MAJOR {
            return Ok(self);
        }
        Err(LocateError::TooOld { path: self.path, version: self.version })
    }
}

/// What `AUTOKERNEL_NVCC` names, if it is a program.
fn program_at(chosen: PathBuf) -> Result<PathBuf, LocateError> {
    if chosen.is_file() {
        return Ok(chosen);
    }
    if !chosen.is_dir() {
        return Err(LocateError::BadOverride(chosen));
    }
    let [inside, in_bin] = [chosen.join(program()), chosen.join("bin").join(program())];
    let program = if inside.is_file() { inside } else { in_bin };
    Err(LocateError::FolderOverride { folder: chosen, program })
}

fn program() -> String {
    format!("nvcc{}", std::env::consts::EXE_SUFFIX)
}

fn candidates(start: &Path) -> Vec<PathBuf> {
    let env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut found: Vec<PathBuf> =
        ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env).map(|d| d.join("bin")).collect();
    found.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    found.push("/usr/local/cuda/bin".into());
    for folder in &mut found {
        folder.push(program());
    }
    found.extend(start.ancestors().map(|folder| folder.join(IN_WORKSPACE)));
    let python = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(env);
    found.extend(python.flat_map(|prefix| site_packages(&prefix)).map(|site| site.join(IN_SITE_PACKAGES)));
    found
}

/// `lib/python3.*/site-packages` of a Python environment.
fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    let versions = std::fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    let mut sites: Vec<PathBuf> = versions.map(|version| version.path().join("site-packages")).collect();
    // The folder's own order is arbitrary.
    sites.sort();
    sites
}

/// Asks nvcc for its version, once for each file: its path, size and time of change are the key.
pub(super) fn identify(path: PathBuf, cache: &Path) -> Result<Nvcc, LocateError> {
    // A compile starts it from another folder.
    let path = std::path::absolute(&path).unwrap_or(path);
    let broken = |reason: String| LocateError::Broken { path: path.clone(), reason };
    let metadata = std::fs::metadata(&path).map_err(|error| broken(error.to_string()))?;
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let key = hash::short(&format!("{}\n{}\n{}", path.display(), metadata.len(), changed.as_nanos()));
    let remembered = cache.join(format!("nvcc-version-{key}"));
    if let Some(version) = std::fs::read_to_string(&remembered).ok().filter(|version| !version.is_empty()) {
        return Ok(Nvcc { path, version });
    }

    let output = Command::new(&path).arg("--version").output().map_err(|error| broken(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = parse_version(&text).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        broken(format!("it ended with {}, and printed `{}`", output.status, format!("{text}{said}").trim()))
    })?;
    // A cache that cannot be written costs a later call of nvcc, nothing else.
    let _ = std::fs::create_dir_all(cache).and_then(|()| files::replace(&remembered, version.as_bytes()));
    Ok(Nvcc { path, version })
}

/// `… release 13.0, V13.0.88` → `13.0.88`.
fn parse_version(text: &str) -> Option<String> {
    let (_, version) = text.split_once(", V")?;
    let version: String = version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    (!version.is_empty()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_nvcc_prints() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\nBuild x\n";
        assert_eq!(parse_version(text).as_deref(), Some("13.0.88"));
        assert_eq!(parse_version("command not found"), None);
    }

    #[test]
    fn a_chosen_folder_is_refused_with_the_path_of_the_program_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let (root, bin) = (folder.path(), folder.path().join("bin"));
        std::fs::create_dir(&bin).unwrap();
        let nvcc = bin.join(program());
        std::fs::write(&nvcc, "").unwrap();
        for chosen in [root, &bin] {
            let said = program_at(chosen.to_owned()).unwrap_err().to_string();
            let expected = format!(
                "is the folder `{}`; name the program itself: AUTOKERNEL_NVCC={}",
                chosen.display(),
                nvcc.display()
            );
            assert!(said.contains(&expected), "{said}");
        }
        assert_eq!(program_at(nvcc.clone()).unwrap(), nvcc);
        assert!(matches!(program_at(root.join("missing")), Err(LocateError::BadOverride(_))));
    }

    #[test]
    fn a_release_is_counted_as_cudarc_counts_it() {
        let release = |version: &str| Nvcc { path: "nvcc".into(), version: version.to_owned() }.release();
        assert_eq!((release("13.0.88"), release("12.4.131"), release("12")), (13_000, 12_040, 12_000));
    }

    #[test]
    fn a_release_that_cannot_compile_the_kernels_is_none() {
        let found = |version: &str| Nvcc { path: "/usr/bin/nvcc".into(), version: version.to_owned() }.if_new_enough();
        assert!(found("12.0.140").is_ok() && found("13.0.88").is_ok() && OLDEST.starts_with(&OLDEST_MAJOR.to_string()));
        let old = found("11.8.89").unwrap_err();
        assert!(old.is_none_here());
        assert!(old.to_string().contains("nvcc 11.8.89") && old.to_string().contains("12.0 or later"), "{old}");
    }
}
