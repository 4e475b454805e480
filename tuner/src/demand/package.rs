//! The crate whose kernels are tuned.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use autokernel_codegen::{Build, BuildError};
use cargo_metadata::{Metadata, MetadataCommand, TargetKind};

/// A crate that declares kernels.
#[derive(Clone, Debug)]
pub struct Package {
    /// The folder of its Cargo.toml.
    pub root: PathBuf,
    /// Its build script, if it has one.
    pub script: Option<PathBuf>,
    /// What the build script asks for.
    pub build: Build,
}

/// Why a crate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// There is no Cargo.toml.
    #[error("{} has no Cargo.toml; name the folder of a crate with --crate", .0.display())]
    NoManifest(PathBuf),
    /// cargo cannot read it.
    #[error("{}: {reason}; `cargo metadata` there says more", .root.display())]
    Cargo {
        /// The folder.
        root: PathBuf,
        /// What cargo said.
        reason: String,
    },
    /// It is a workspace.
    #[error("{} is a workspace of {}; name one of its crates with --crate: {}", .root.display(), .members.len(), .members.join(", "))]
    Workspace {
        /// The folder.
        root: PathBuf,
        /// The folders of the crates that declare kernels, or of all if none does.
        members: Vec<String>,
    },
    /// Its build script cannot be read.
    #[error(transparent)]
    Script(#[from] BuildError),
}

impl Package {
    /// The crate at `path`: its folder or its Cargo.toml. Of a workspace without a crate of its own, the one member
    /// that declares kernels.
    ///
    /// # Errors
    /// There is none, cargo cannot read it, or it is one of several.
    pub fn open(path: &Path) -> Result<Package, PackageError> {
        let manifest = if path.is_dir() { path.join("Cargo.toml") } else { path.to_owned() };
        let no_manifest = || PackageError::NoManifest(path.to_owned());
        let manifest = manifest.canonicalize().map_err(|_| no_manifest())?;
        let root = manifest.parent().ok_or_else(no_manifest)?;
        let metadata = match MetadataCommand::new().manifest_path(&manifest).no_deps().exec() {
            Ok(metadata) => metadata,
            Err(cargo_metadata::Error::Io(error)) if error.kind() == ErrorKind::NotFound => return without_cargo(root),
            Err(error) => {
                let reason = error.to_string().trim().to_owned();
                return Err(PackageError::Cargo { root: root.to_owned(), reason });
            }
        };
        let mut packages = packages(&metadata)?;
        if let Some(at) = packages.iter().position(|package| package.root == root) {
            return Ok(packages.swap_remove(at));
        }
        let folders =
            |packages: &[Package]| packages.iter().map(|package| package.root.display().to_string()).collect();
        let all = folders(&packages);
        packages.retain(|package| package.build.declared(&package.root).is_ok_and(|kernels| !kernels.is_empty()));
        match packages.len() {
            1 => Ok(packages.swap_remove(0)),
            0 => Err(PackageError::Workspace { root: root.to_owned(), members: all }),
            _ => Err(PackageError::Workspace { root: root.to_owned(), members: folders(&packages) }),
        }
    }

    /// The config that its build reads first, whether or not it exists.
    pub fn config(&self) -> PathBuf {
        self.build.config_of(&self.root)
    }
}

/// The crate at `root` where there is no cargo to ask, as on a GPU machine without Rust: by cargo's default names.
fn without_cargo(root: &Path) -> Result<Package, PackageError> {
    let script = Some(root.join("build.rs")).filter(|script| script.is_file());
    let build = script.as_deref().map_or(Ok(Build::new()), Build::of_script)?;
    Ok(Package { root: root.to_owned(), script, build })
}

fn packages(metadata: &Metadata) -> Result<Vec<Package>, PackageError> {
    let packages = metadata.packages.iter().map(|package| {
        let script = package.targets.iter().find(|target| target.kind.contains(&TargetKind::CustomBuild));
        let script = script.map(|target| target.src_path.clone().into_std_path_buf());
        let root = package.manifest_path.parent().map(|folder| folder.as_std_path().to_owned()).unwrap_or_default();
        let build = script.as_deref().map_or(Ok(Build::new()), Build::of_script)?;
        Ok(Package { root, script, build })
    });
    packages.collect()
}
