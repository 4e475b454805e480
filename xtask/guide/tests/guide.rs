//! The guide: every page is in its table of contents, every link leads somewhere, every page on performance ends in a command of ours, and
//! no figure is in it that docs/results does not have.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use guide::{links, pages as guide, repository as root};
use walkdir::WalkDir;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// The pages, without the table of contents, with their text.
fn pages() -> Vec<(PathBuf, String)> {
    let files = WalkDir::new(guide()).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    let pages = files.filter(|path| is_markdown(path) && !path.ends_with("SUMMARY.md"));
    pages.map(|path| (path.clone(), read(&path))).collect()
}

/// The targets of a text's links, without their anchors.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    links(text).into_iter().map(|(_, link)| link.split('#').next().unwrap_or(link))
}

/// The lines of each block of `sh`.
fn commands(text: &str) -> Vec<&str> {
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).filter(|line| !line.trim().is_empty()).collect()
}

#[test]
fn every_page_is_in_the_table_of_contents_and_every_link_leads_somewhere() {
    let contents: BTreeSet<PathBuf> =
        targets(&read(&guide().join("SUMMARY.md"))).map(|link| guide().join(link)).collect();
    let pages = pages();
    assert_eq!(contents, pages.iter().map(|(path, _)| path.clone()).collect::<BTreeSet<_>>());
    assert!(pages.len() > 20, "{} pages", pages.len());
    for (page, text) in &pages {
        for link in targets(text).filter(|link| !link.starts_with("http") && !link.is_empty()) {
            let target = page.parent().unwrap().join(link);
            assert!(target.exists(), "{} leads to {link}, which is not there", page.display());
        }
    }
}

#[test]
fn every_page_on_performance_ends_in_a_command_of_ours_with_options_that_it_has() {
    let pages = pages();
    for (page, text) in pages.iter().filter(|(page, _)| page.starts_with(guide().join("performance"))) {
        assert!(
            text.trim_end().ends_with("```") && !commands(text).is_empty(),
            "{} ends in no command",
            page.display()
        );
    }
    let options = options_of_the_tuner();
    let all = pages.iter().flat_map(|(_, text)| commands(text)).filter(|line| line.starts_with("tuner "));
    let mut read = 0;
    for option in all.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix("--")) {
        assert!(options.contains(option), "the tuner has no --{option}");
        read += 1;
    }
    assert!(read > 20, "{read} options were read");
}

/// Options by the fields of the tuner's arguments.
fn options_of_the_tuner() -> BTreeSet<String> {
    let sources = WalkDir::new(root().join("tuner/src")).into_iter().map(|entry| entry.unwrap().into_path());
    let sources = sources.filter(|path| path.extension().is_some_and(|it| it == "rs"));
    let fields = |text: String| {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
        let named = text.split("long = \"").skip(1).filter_map(|rest| rest.split_once('"'));
        let found = lines.map(|(name, _)| name.replace('_', "-")).chain(named.map(|(name, _)| name.to_owned()));
        found.collect::<Vec<_>>()
    };
    sources.flat_map(|path| fields(read(&path))).collect()
}

#[test]
fn every_figure_is_one_of_docs_results() {
    let results = WalkDir::new(root().join("docs/results")).max_depth(1).into_iter();
    let results = results.map(|entry| entry.unwrap().into_path());
    let results: String = results.filter(|path| is_markdown(path)).map(|path| read(&path)).collect();
    let mut figures = 0;
    for (page, text) in pages() {
        let words: Vec<&str> = text.split_whitespace().collect();
        for pair in words.windows(2) {
            let unit = pair[1].trim_end_matches(['.', ',', ';', ':', ')']);
            let figure = pair[0].trim_start_matches(['(', '+']);
            if ["ms", "×", "%", "TFLOP/s", "TB/s"].contains(&unit) && figure.parse::<f64>().is_ok() {
                // Without its unit, which a table has in its head.
                assert!(results.contains(figure), "{}: {figure} {unit}", page.display());
                figures += 1;
            }
        }
    }
    assert!(figures >= 5, "{figures} figures were read");
}
