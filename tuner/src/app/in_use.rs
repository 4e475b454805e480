//! The configs that a build reads: what winners are held against and where they are written.

use std::fs::File;
use std::path::{Path, PathBuf};

use autokernel_codegen::config::{Config, ConfigError, Entry};

use super::args::TuneArgs;
use super::error::AppError;
use crate::checkout::{DEFAULT_CONFIG, shipped_config};
use crate::demand::Package;
use crate::output::OutputError;

/// The configs that a build reads.
#[derive(Clone, Debug)]
pub struct InUse {
    /// The file that promoted entries belong in.
    pub path: PathBuf,
    /// What it holds.
    pub own: Config,
    /// The file shipped with autokernel, which serves a crate's build where its own has nothing.
    shipped: Option<Config>,
}

impl InUse {
    /// What `args` name, or the config of `package`, or that of the folder. Without one, every kernel uses its default
    /// schedule.
    ///
    /// # Errors
    /// A config cannot be read.
    pub fn load(args: &TuneArgs, package: Option<&Package>) -> Result<InUse, AppError> {
        let default = || package.map_or(PathBuf::from(DEFAULT_CONFIG), Package::config);
        let path = args.config.clone().unwrap_or_else(default);
        let shipped = package.map(|_| shipped_config()).filter(|file| file.is_file() && *file != path);
        let shipped = shipped.as_deref().map(Config::load).transpose()?;
        let instead = if shipped.is_some() { "autokernel's own" } else { "the default schedules" };
        let own = load_own(&path, args.config.is_some(), instead)?;
        Ok(InUse { path, own, shipped })
    }

    /// What a build uses once the file holds `entries` too.
    pub fn with(&self, entries: &[Entry]) -> Config {
        let mut own = self.own.clone();
        put(&mut own, entries);
        match &self.shipped {
            Some(shipped) => own.or(shipped.clone()),
            None => own,
        }
    }
}

/// The config at `path`, or that of the folder. Without one, every kernel uses its default schedule.
///
/// # Errors
/// The config cannot be read, or a named one is not there.
pub fn load(named: Option<&Path>) -> Result<Config, AppError> {
    load_own(named.unwrap_or(Path::new(DEFAULT_CONFIG)), named.is_some(), "the default schedules")
}

/// The config at `path`; an empty one if it is not there and need not be, saying what winners meet `instead`.
fn load_own(path: &Path, is_named: bool, instead: &str) -> Result<Config, AppError> {
    if is_named && !path.exists() {
        return Err(AppError::NoConfig { config: path.to_owned() });
    }
    if path.exists() {
        return Ok(Config::load(path)?);
    }
    errln!("there is no {}: winners are held against {instead}", path.display());
    Ok(Config::default())
}

/// Puts `entries` into `config`, and their archs among those that are compiled for.
pub fn put(config: &mut Config, entries: &[Entry]) {
    for entry in entries {
        if !config.archs.contains(&entry.arch) {
            config.archs.push(entry.arch);
        }
        config.upsert(entry.clone());
    }
}

/// Replaces the file at `path` by itself with `entries`. It is read again first, so that what others changed meanwhile
/// stays; another tuner that writes it waits until this one has.
pub fn write(path: &Path, entries: &[Entry]) -> Result<(), AppError> {
    let _held = hold_folder(path);
    let mut config = if path.exists() { Config::load(path)? } else { Config::default() };
    put(&mut config, entries);
    save(&config, path)
}

/// The folder of `path`, locked until this is dropped: the file itself is another one after each writing. None where a
/// folder cannot be locked, as on some network file systems: two tuners that end at once may lose an entry there.
fn hold_folder(path: &Path) -> Option<File> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Replaces the file at `path` by `config`.
pub fn save(config: &Config, path: &Path) -> Result<(), AppError> {
    config.save(path).map_err(|error| match error {
        // What helps who reads a config does not help who writes one.
        ConfigError::Io { path, source } => AppError::Output(OutputError { path, source }),
        other => other.into(),
    })
}
