//! The cargo that runs this xtask.

use std::path::Path;
use std::process::Command;

/// A command for the cargo that started xtask (`$CARGO`), in the workspace root.
pub fn command(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}
