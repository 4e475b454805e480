//! Folders, recorded spaces and the language model's key.

use std::path::Path;

use super::check::{Check, Status};
use crate::folder;
use crate::llm::Key;
use crate::replay::Library;

/// The folders that keep compiled kernels: the tuner's, and that of builds where it is named.
pub fn caches(tuner: &Path) -> Vec<Check> {
    std::iter::once(tuner.to_owned())
        .chain(folder::named_kernels())
        .map(|folder| writable(&std::path::absolute(&folder).unwrap_or(folder)))
        .collect()
}

fn writable(folder: &Path) -> Check {
    const NAME: &str = "kernel cache";
    // Where it is not there yet, the folder that it would be made in counts, and nothing is made.
    let existing = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    match tempfile::tempfile_in(existing) {
        Ok(_) if existing == folder => Check::ok(NAME, format!("{} is writable", folder.display())),
        Ok(_) => Check::ok(NAME, format!("{} can be made", folder.display())),
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

/// Whether there is a key for either protocol, never which.
pub fn llm_key() -> Check {
    const NAME: &str = "LLM key";
    let variables = [Key::DEFAULT_VARIABLE, Key::ANTHROPIC_VARIABLE];
    let mut set = Vec::new();
    for variable in variables {
        match Key::from_env(variable) {
            Ok(key) => set.extend(key.map(|_| variable)),
            Err(error) => return Check::of_error(NAME, Status::Broken, &error),
        }
    }
    if set.is_empty() {
        let remedy = "set the one of your server; local servers and --llm file:DIR need none";
        return Check::new(NAME, Status::Missing, format!("neither {} is set", variables.join(" nor ")), remedy);
    }
    Check::ok(NAME, format!("{} is set", set.join(" and ")))
}
