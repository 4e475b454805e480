//! The recordings of a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::RecordingError;
use super::recording::Recording;

/// The recordings of a folder, by file name.
#[derive(Clone, Debug)]
pub struct Library {
    /// The folder.
    pub folder: PathBuf,
    /// File names and recordings, in the order of the names.
    pub recordings: Vec<(String, Arc<Recording>)>,
}

/// How a recording's file name ends.
pub const SUFFIX: &str = ".json.gz";

impl Library {
    /// Reads every `*.json.gz` of `folder`. A folder that does not exist holds none.
    ///
    /// # Errors
    /// A recording cannot be used.
    pub fn load(folder: &Path) -> Result<Self, RecordingError> {
        let io = |source| RecordingError::Io { path: folder.to_owned(), source };
        let mut names = Vec::new();
        if folder.is_dir() {
            for entry in std::fs::read_dir(folder).map_err(io)? {
                names.push(entry.map_err(io)?.file_name().to_string_lossy().into_owned());
            }
        }
        names.retain(|name| name.ends_with(SUFFIX));
        names.sort();
        let load = |name: String| {
            let recording = Recording::load(&folder.join(&name))?;
            Ok((name, Arc::new(recording)))
        };
        let recordings = names.into_iter().map(load).collect::<Result<_, _>>()?;
        Ok(Library { folder: folder.to_owned(), recordings })
    }
}
