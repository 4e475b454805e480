//! `cargo xtask setup`: NVIDIA's CUDA compiler from PyPI wheels, in an ignored folder.
//!
//! The layout is stable, since autokernel's build scripts look for it:
//! `.toolchain/site/nvidia/cu13/bin/nvcc`. Everything is prepared in a folder beside `site`,
//! compiles a kernel there, and only then takes its place; a run that is killed leaves the last
//! good toolkit as it was.

mod check;
mod installer;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;

use self::installer::Installer;
use crate::size;
use crate::toolkit::{NVCC_IN_SITE, SITE};

/// Exact versions and hashes, in pip's requirements format.
const PINS: &str = include_str!("setup/pins.txt");
/// The copy of [`PINS`] that says what a finished `site` holds.
const STAMP: &str = "autokernel-pins.txt";
/// Prefix of unfinished folders beside `site`.
const INCOMING: &str = "incoming-";
const REPLACED: &str = "replaced-";

/// Install nvcc from NVIDIA's PyPI wheels, pinned, into .toolchain/ (about 100 MiB to download).
#[derive(Args, Default)]
pub struct Options {
    /// Install again even if the pinned toolkit is there.
    #[arg(long)]
    force: bool,
}

/// Installs the toolkit, or says that it is there already.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    require_supported_platform(std::env::consts::OS, std::env::consts::ARCH)?;
    let site = root.join(SITE);
    let toolchain = site.parent().context("the toolkit's folder has no parent")?;
    fs::create_dir_all(toolchain)
        .with_context(|| format!("cannot create {}: make the checkout writable", toolchain.display()))?;
    // Held until the process ends, so that two setups cannot interleave.
    let lock = File::create(toolchain.join("lock"))?;
    lock.lock().context("cannot lock .toolchain/lock: use a file system with file locks")?;

    if is_current(&site) && !options.force {
        println!("nvcc is installed: {SITE}/{NVCC_IN_SITE}");
        return Ok(());
    }
    remove_leftovers(toolchain)?;
    install(&site, &Installer::find()?)?;
    rerun_build_scripts(root)
}

/// Makes the workspace's build scripts look for nvcc again. Cargo cannot watch a toolkit that is not there yet without
/// building everything anew each time, so kernels that were left out would stay left out.
fn rerun_build_scripts(root: &Path) -> Result<()> {
    let now = std::time::SystemTime::now();
    let metadata = cargo_metadata::MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let targets = metadata.packages.iter().flat_map(|package| &package.targets);
    for script in targets.filter(|target| target.kind.contains(&cargo_metadata::TargetKind::CustomBuild)) {
        let file = File::options().append(true).open(&script.src_path)?;
        file.set_modified(now)
            .with_context(|| format!("cannot touch {}: make the checkout writable", script.src_path))?;
    }
    Ok(())
}

fn install(site: &Path, installer: &Installer) -> Result<()> {
    let started = Instant::now();
    println!("Installing into {SITE} with {installer}, about 100 MiB to download:");
    for package in packages() {
        println!("  {package}");
    }
    let incoming = tempfile::Builder::new()
        .prefix(INCOMING)
        .tempdir_in(site.parent().context("the toolkit's folder has no parent")?)?;
    let prepared = incoming.path().join("site");
    installer.install(PINS, &prepared)?;
    let nvcc = prepared.join(NVCC_IN_SITE);
    if !nvcc.is_file() {
        bail!(
            "the wheels hold no {NVCC_IN_SITE}: another release was installed than xtask/src/setup/pins.txt \
             names; check pip's configuration, or install a CUDA toolkit and name its nvcc in AUTOKERNEL_NVCC"
        );
    }
    make_executable(&prepared)?;
    let cubin_bytes = check::compile(&nvcc)?;
    println!("nvcc compiled a kernel for {}: {cubin_bytes} bytes of cubin", check::ARCH);
    fs::write(prepared.join(STAMP), PINS)?;
    replace(site, &prepared)?;
    println!(
        "Installed {SITE}/{NVCC_IN_SITE} ({} on disk, {:.1} s)",
        size::mib(size::of_dir(site)?),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Whether NVIDIA's wheels exist for a platform, named as in [`std::env::consts`].
pub fn is_supported(os: &str, arch: &str) -> bool {
    os == "linux" && matches!(arch, "x86_64" | "aarch64")
}

fn require_supported_platform(os: &str, arch: &str) -> Result<()> {
    if is_supported(os, arch) {
        return Ok(());
    }
    bail!(
        "setup installs nvcc on Linux for x86_64 and aarch64, not on {os} for {arch}: install a CUDA \
         toolkit from https://developer.nvidia.com/cuda-downloads and name its nvcc in AUTOKERNEL_NVCC. \
         Without one everything still builds, and kernels run on the CPU backend"
    )
}

/// "nvidia-cuda-nvcc==13.0.88" and so on.
fn packages() -> impl Iterator<Item = &'static str> {
    PINS.lines().filter(|line| line.starts_with("nvidia-")).filter_map(|line| line.split(' ').next())
}

fn is_current(site: &Path) -> bool {
    let same_pins = fs::read_to_string(site.join(STAMP)).is_ok_and(|stamp| stamp == PINS);
    same_pins && site.join(NVCC_IN_SITE).is_file()
}

/// Removes what killed runs left beside `site`.
fn remove_leftovers(toolchain: &Path) -> Result<()> {
    for entry in fs::read_dir(toolchain)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(INCOMING) || name.starts_with(REPLACED) {
            fs::remove_dir_all(entry.path())
                .with_context(|| format!("cannot remove {}: remove it by hand", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Puts `prepared` in the place of `site` by two renames on one file system.
fn replace(site: &Path, prepared: &Path) -> Result<()> {
    if site.exists() {
        let replaced = tempfile::Builder::new()
            .prefix(REPLACED)
            .tempdir_in(site.parent().context("the toolkit's folder has no parent")?)?;
        fs::rename(site, replaced.path().join("site"))?;
    }
    fs::rename(prepared, site).with_context(|| format!("cannot move the toolkit to {}", site.display()))
}

/// Some installers drop the executable bits of wheel files.
#[cfg(unix)]
fn make_executable(site: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;

    for program in programs(site)? {
        let mut permissions = fs::metadata(&program)?.permissions();
        permissions.set_mode(permissions.mode() | 0o111);
        fs::set_permissions(&program, permissions)
            .with_context(|| format!("cannot make {} executable", program.display()))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_executable(_site: &Path) -> Result<()> {
    Ok(())
}

/// The files of nvcc's two folders of programs.
fn programs(site: &Path) -> Result<Vec<PathBuf>> {
    let toolkit = site.join("nvidia/cu13");
    let mut programs = Vec::new();
    for dir in ["bin", "nvvm/bin"] {
        let dir = toolkit.join(dir);
        if !dir.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                programs.push(entry.path());
            }
        }
    }
    Ok(programs)
}

#[cfg(test)]
mod tests;
