//! Folders, recorded spaces and the language model's key.

use std::path::{Path, PathBuf};

use super::check::{Check, Status};
use crate::llm::Key;
use crate::replay::Library;

/// The folders that keep compiled kernels: the tuner's, and that of builds where it is named.
pub fn caches(tuner: &Path) -> Vec<Check> {
    let named = std::env::var_os("AUTOKERNEL_CACHE_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    std::iter::once(tuner.to_owned()).chain(named).map(|folder| writable(&folder)).collect()
}

fn writable(folder: &Path) -> Check {
    const NAME: &str = "kernel cache";
    let created = std::fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder).map(|_| ()));
    match created {
        Ok(()) => Check::ok(NAME, format!("{} is writable", folder.display())),
        Err(error) => {
            let remedy = "make the folder writable, or name another with --out or AUTOKERNEL_CACHE_DIR";
            Check::new(NAME, Status::Broken, format!("{}: {error}", folder.display()), remedy)
        }
    }
}

/// Whether every recorded space of `folder` can be replayed.
pub fn spaces(folder: &Path) -> Check {
    const NAME: &str = "recorded spaces";
    let library = match Library::load(folder) {
        Ok(library) => library,
        Err(error) => return Check::of_error(NAME, Status::Broken, &error),
    };
    let recordings = library.recordings.iter().map(|(_, recording)| recording);
    let shapes: usize = recordings.clone().map(|recording| recording.shapes.len()).sum();
    let rows: usize = recordings.flat_map(|recording| &recording.shapes).map(|shape| shape.rows.len()).sum();
    if shapes == 0 {
        let remedy = "run in the repository, or name a folder with --spaces; needed only to tune without a GPU";
        return Check::new(NAME, Status::Missing, format!("none in {}", folder.display()), remedy);
    }
    let count = library.recordings.len();
    Check::ok(NAME, format!("{count} with {shapes} shapes and {rows} measured schedules in {}", folder.display()))
}

/// Whether there is a key, never which.
pub fn llm_key() -> Check {
    const NAME: &str = "LLM key";
    let variable = Key::DEFAULT_VARIABLE;
    match Key::from_env(variable) {
        Ok(Some(_)) => Check::ok(NAME, format!("{variable} is set")),
        Ok(None) => {
            let remedy = "set it for a server that asks for one; local servers and --llm file:DIR need none";
            Check::new(NAME, Status::Missing, format!("{variable} is not set"), remedy)
        }
        Err(error) => Check::of_error(NAME, Status::Broken, &error),
    }
}
