//! The guide of `docs/guide` as a book: mdBook builds it, links out of it lead to the repository, and a warning is an error.

mod links;
mod outside;
mod warnings;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mdbook_driver::MDBook;

pub use links::links;

/// The folder of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("xtask/guide lies in it").to_owned()
}

/// Where the book's pages are.
pub fn pages() -> PathBuf {
    repository().join("docs/guide/src")
}

/// Builds the book into the folder `out`.
///
/// # Errors
/// mdBook cannot build it, or warns of something.
pub fn build(out: &Path) -> Result<()> {
    let root = repository().join("docs/guide");
    let (built, warnings) = warnings::of(|| {
        let mut book = MDBook::load(&root)?;
        book.config.build.build_dir = out.to_owned();
        book.with_preprocessor(outside::Outside::new(&book.config)?);
        book.build()
    });
    built.with_context(|| format!("mdBook cannot build {}", root.display()))?;
    if !warnings.is_empty() {
        bail!("mdBook warns, and a reader would find what of:\n{}", warnings.join("\n"));
    }
    Ok(())
}
