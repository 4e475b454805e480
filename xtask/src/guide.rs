//! `cargo xtask guide`: the guide as a book, by mdBook, which a crate of its own brings.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use crate::cargo;

/// Build the guide of docs/guide as web pages; a warning of mdBook is an error.
#[derive(Args)]
pub struct Options {
    /// The folder to write to; `target/guide` if it is not named.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Builds it, and prints where it begins.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let out = options.out.as_deref().map(std::path::absolute).transpose()?;
    let mut command = cargo::command(root);
    command.args(["run", "--quiet", "--package", "guide", "--"]).args(out);
    if !command.status()?.success() {
        bail!("the guide is not built, see above");
    }
    Ok(())
}
