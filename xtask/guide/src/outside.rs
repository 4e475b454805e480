//! Links that lead out of the book: beside the sources they are paths, on a web page they must lead to the repository.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use mdbook_driver::book::Book;
use mdbook_driver::config::Config;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

use crate::{links, pages, repository};

/// Makes addresses in the repository of paths out of the book.
pub struct Outside {
    /// What a path in the repository is appended to.
    address: String,
}

impl Outside {
    /// For the repository that `book.toml` names.
    pub fn new(config: &Config) -> Result<Self> {
        let html = config.html_config().context("book.toml has no [output.html]")?;
        let repository = html.git_repository_url.context("book.toml names no git-repository-url")?;
        Ok(Self { address: format!("{repository}/blob/main/") })
    }

    /// The address of what `link` leads to from a page in `folder`, if that is a file of the repository out of the book.
    fn address_of(&self, folder: &Path, link: &str) -> Option<String> {
        let (path, anchor) = link.find('#').map_or((link, ""), |at| link.split_at(at));
        let target = without_dots(&folder.join(path));
        if path.is_empty() || target.starts_with(pages()) || !target.exists() {
            return None;
        }
        let in_repository = target.strip_prefix(repository()).ok()?;
        Some(format!("{}{}{anchor}", self.address, in_repository.display()))
    }

    fn rewrite(&self, folder: &Path, text: &str) -> String {
        let mut written = String::with_capacity(text.len());
        let mut end = 0;
        for (at, link) in links(text) {
            if let Some(address) = self.address_of(folder, link) {
                written.push_str(&text[end..at.start]);
                written.push_str(&address);
                end = at.end;
            }
        }
        written.push_str(&text[end..]);
        written
    }
}

impl Preprocessor for Outside {
    fn name(&self) -> &str {
        "outside"
    }

    fn run(&self, _: &PreprocessorContext, mut book: Book) -> Result<Book> {
        book.for_each_chapter_mut(|chapter| {
            if let Some(folder) = chapter.source_path.as_deref().and_then(Path::parent) {
                chapter.content = self.rewrite(&pages().join(folder), &chapter.content);
            }
        });
        Ok(book)
    }
}

/// `a/b/../c` as `a/c`, by its text: no link of the file system is followed.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, component| {
        if component == Component::ParentDir {
            path.pop();
        } else {
            path.push(component);
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_out_of_the_book_become_addresses_and_other_links_stay() {
        let outside = Outside { address: "https://host/blob/main/".to_owned() };
        let text =
            "[r](../../../results/README.md#a), [s](symptoms.md), [h](https://h), [x](../../../no/such.md), [a](#b)";
        assert_eq!(
            outside.rewrite(&pages().join("performance"), text),
            "[r](https://host/blob/main/docs/results/README.md#a), [s](symptoms.md), [h](https://h), \
             [x](../../../no/such.md), [a](#b)"
        );
    }
}
