//! What a page of the repository links to is there: files, folders and headings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use guide::{links, repository as root};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use walkdir::{DirEntry, WalkDir};

/// A page's links, and the anchors of its headings.
#[derive(Debug)]
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn of(text: &str) -> Page {
        let links = links(text).into_iter().map(|(_, link)| link.to_owned()).collect();
        let (mut anchors, mut heading) = (BTreeSet::new(), None::<String>);
        for event in Parser::new(text) {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|heading| anchor(&heading))),
                _ => {}
            }
        }
        Page { links, anchors }
    }
}

/// What GitHub calls a heading: <https://docs.github.com/get-started/writing-on-github>, section links.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).flat_map(char::to_lowercase).collect()
}

/// The pages, but for what a program wrote and what becomes part of `cargo doc`.
fn pages() -> Vec<PathBuf> {
    let is_ours = |entry: &DirEntry| {
        let name = entry.file_name().to_str().unwrap_or_default();
        let is_hidden = name.starts_with('.') && entry.depth() > 0 && name != ".github";
        !(is_hidden || matches!(name, "target" | "tuner-out" | "llm-session"))
    };
    let entries = WalkDir::new(root()).into_iter().filter_entry(is_ours).map(|entry| entry.unwrap().into_path());
    entries.filter(|path| path.extension().is_some_and(|it| it == "md")).filter(|path| !is_of_cargo_doc(path)).collect()
}

fn is_of_cargo_doc(path: &Path) -> bool {
    path.ancestors().any(|folder| folder.ends_with("src") && folder.with_file_name("Cargo.toml").exists())
}

/// What is wrong with a link that stands on the page at `path`; nothing of one that leaves the repository.
fn fault(path: &Path, page: &Page, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let target = if file.is_empty() { path.to_owned() } else { path.parent().unwrap().join(file) };
    if !target.exists() {
        return Some(format!("{}: {link}: there is no such file", path.display()));
    }
    let heading = heading?;
    let other = (!file.is_empty()).then(|| Page::of(&std::fs::read_to_string(&target).unwrap()));
    let is_there = other.as_ref().unwrap_or(page).anchors.contains(heading);
    (!is_there).then(|| format!("{}: {link}: there is no such heading", path.display()))
}

#[test]
fn every_file_and_heading_that_a_page_links_to_is_there() {
    let pages = pages();
    assert!(pages.len() > 20, "{} pages", pages.len());
    let mut faults = Vec::new();
    for path in pages {
        let page = Page::of(&std::fs::read_to_string(&path).unwrap());
        faults.extend(page.links.iter().filter_map(|link| fault(&path, &page, link)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_link_to_what_is_not_there_is_found() {
    let readme = root().join("README.md");
    let page =
        Page::of("# One `two`: Three\n[a](#one-two-three) [b](#four) [c](nowhere.md) [d](README.md#no-such-heading)");
    let faulty: Vec<bool> = page.links.iter().map(|link| fault(&readme, &page, link).is_some()).collect();
    assert_eq!(faulty, [false, true, true, true]);
}
