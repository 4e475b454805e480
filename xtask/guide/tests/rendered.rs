//! The book as mdBook renders it: what a reader's browser is given.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// The text of every web page below `folder`, by its path there.
fn web_pages(folder: &Path) -> BTreeMap<PathBuf, String> {
    let files = WalkDir::new(folder).into_iter().map(|entry| entry.unwrap().into_path());
    let pages = files.filter(|path| path.extension().is_some_and(|it| it == "html"));
    pages.map(|path| (path.strip_prefix(folder).unwrap().to_owned(), std::fs::read_to_string(&path).unwrap())).collect()
}

/// The values of an attribute.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let opening = format!(" {attribute}=\"");
    html.match_indices(&opening)
        .filter_map(|(at, opening)| html[at + opening.len()..].split('"').next())
        .collect::<Vec<_>>()
        .into_iter()
}

/// How many blocks of code a page of Markdown has.
fn blocks(markdown: &str) -> usize {
    markdown.lines().filter(|line| line.trim_start().starts_with("```")).count() / 2
}

#[test]
fn every_page_is_rendered_with_its_code_and_every_link_leads_to_a_place_that_is_there() {
    let out = tempfile::tempdir().unwrap();
    guide::build(out.path()).unwrap();
    let rendered = web_pages(out.path());

    let sources = WalkDir::new(guide::pages()).into_iter().map(|entry| entry.unwrap().into_path());
    let mut pages = 0;
    for source in sources.filter(|path| path.extension().is_some_and(|it| it == "md")) {
        let path = source.strip_prefix(guide::pages()).unwrap().with_extension("html");
        if path.ends_with("SUMMARY.html") {
            continue;
        }
        let markdown = std::fs::read_to_string(&source).unwrap();
        let html = rendered.get(&path).unwrap_or_else(|| panic!("{} is not rendered", path.display()));
        let title = markdown.lines().next().unwrap().trim_start_matches("# ");
        assert!(html.contains(&format!(">{title}</a></h1>")), "{} has another title", path.display());
        assert_eq!(html.matches("<pre").count(), blocks(&markdown), "{} has other blocks of code", path.display());
        assert!(!html.contains("{{#"), "{} includes what is not there", path.display());
        pages += 1;
    }
    assert!(pages > 20, "{pages} pages");

    let mut outside = 0;
    // The page of an address that is not there may be shown at any, and so counts from the site's root.
    for (path, html) in rendered.iter().filter(|(path, _)| !path.ends_with("404.html")) {
        for link in values(html, "href").chain(values(html, "src")) {
            outside += usize::from(link.starts_with("https://github.com/autokernel/autokernel/blob/main/"));
            if !link.is_empty() && !link.contains(':') {
                assert!(is_there(out.path(), &rendered, path, link), "{} leads to {link}", path.display());
            }
        }
    }
    assert!(outside > 5, "{outside} links lead to the repository");
}

/// Whether a relative link of the page at `from` leads to a file, and to an element of it where it names one.
fn is_there(folder: &Path, rendered: &BTreeMap<PathBuf, String>, from: &Path, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { folder.join(from) } else { folder.join(from).parent().unwrap().join(path) };
    let Ok(target) = target.canonicalize() else { return false };
    let Ok(target) = target.strip_prefix(folder.canonicalize().unwrap()) else { return false };
    anchor.is_empty() || rendered.get(target).is_some_and(|html| values(html, "id").any(|id| id == anchor))
}
