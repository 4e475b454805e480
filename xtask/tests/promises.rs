//! `docs/promises.md`: every test that it names is there, in the program that its command runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder).into_iter().filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    entries.filter(|path| path.extension().is_some_and(|it| it == extension)).collect()
}

/// The folder of each package of the workspace.
fn packages() -> BTreeMap<String, PathBuf> {
    let is_ours = |entry: &walkdir::DirEntry| {
        !entry.file_name().to_str().is_some_and(|name| name == "target" || (name.starts_with('.') && name.len() > 1))
    };
    let entries = WalkDir::new(root()).max_depth(4).into_iter().filter_entry(is_ours).map(Result::unwrap);
    let manifests = entries.map(walkdir::DirEntry::into_path).filter(|path| path.ends_with("Cargo.toml"));
    let package = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"').map(str::to_owned));
        Some((name?, path.parent().unwrap().to_owned()))
    };
    manifests.filter_map(package).collect()
}

/// The commands in backticks.
fn commands(page: &str) -> Vec<&str> {
    page.split('`')
        .skip(1)
        .step_by(2)
        .filter(|text| text.starts_with("cargo test ") && !text.contains("promises"))
        .collect()
}

/// What a command runs.
#[derive(Debug, Default)]
struct Run<'c> {
    package: &'c str,
    /// The program of this name below `tests`; else the library or the program.
    test: Option<&'c str>,
    is_doc: bool,
    name: Option<&'c str>,
}

fn read(command: &str) -> Run<'_> {
    let mut run = Run::default();
    let mut words = command.split_whitespace().skip(2);
    while let Some(word) = words.next() {
        match word {
            "-p" => run.package = words.next().unwrap(),
            "--test" => run.test = words.next(),
            "--features" => {
                words.next();
            }
            "--doc" => run.is_doc = true,
            "--lib" | "--bins" | "--release" | "--" | "--ignored" => {}
            name => run.name = Some(name),
        }
    }
    run
}

/// What stands before the name of a message's case.
const CASE: &str = "trybuild=";

/// Whether the test is there.
fn is_there(run: &Run<'_>, packages: &BTreeMap<String, PathBuf>) -> bool {
    let Some(folder) = packages.get(run.package) else { return false };
    let sources = match run.test {
        Some(test) => {
            [files(&folder.join("tests").join(test), "rs"), vec![folder.join(format!("tests/{test}.rs"))]].concat()
        }
        None => files(&folder.join("src"), "rs"),
    };
    let texts: Vec<(PathBuf, String)> =
        sources.into_iter().filter_map(|path| Some((path.clone(), std::fs::read_to_string(path).ok()?))).collect();
    match run.name {
        None => run.is_doc && texts.iter().any(|(_, text)| text.contains("```") || text.contains("doc = include_str!")),
        Some(name) if name.starts_with(CASE) => {
            let case = folder.join("tests/ui").join(name.trim_start_matches(CASE));
            case.with_extension("rs").is_file() && case.with_extension("stderr").is_file()
        }
        Some(path) => {
            let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
            let is_of_module = |file: &Path| module.is_empty() || file.file_stem().is_some_and(|stem| stem == module);
            texts.iter().any(|(file, text)| is_of_module(file) && is_a_test(text, name))
        }
    }
}

/// Whether `text` has a test of that name: the attribute stands above it, perhaps with others between.
fn is_a_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let opening = format!("fn {name}(");
    let above =
        |at: usize| lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    lines.iter().enumerate().any(|(at, line)| line.starts_with(&opening) && above(at).any(|line| *line == "#[test]"))
}

#[test]
fn every_test_that_is_promised_is_there() {
    let page = std::fs::read_to_string(root().join("docs/promises.md")).unwrap();
    let packages = packages();
    let commands = commands(&page);
    assert!(commands.len() > 80, "{} commands were read", commands.len());
    let missing: Vec<&&str> = commands.iter().filter(|command| !is_there(&read(command), &packages)).collect();
    assert!(missing.is_empty(), "no such test: {missing:#?}");
    // Each line of a table ends with the command that shows it.
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what holds |"));
    for row in rows {
        assert!(row.contains("`cargo test "), "nothing shows it: {row}");
    }
}

#[test]
fn a_name_that_is_no_test_is_not_taken_for_one() {
    let text = "#[test]\n#[ignore = \"slow\"]\nfn a_test() {}\n\nfn helper() {}\n#[test]\nfn a_test_of_more() {}\n";
    assert!(is_a_test(text, "a_test") && is_a_test(text, "a_test_of_more"));
    assert!(!is_a_test(text, "helper") && !is_a_test(text, "a_tes"));
    let packages = packages();
    assert!(packages.len() > 20, "{packages:?}");
    let run = read("cargo test -p xtask --test promises a_name_that_is_no_test_is_not_taken_for_one");
    assert!(is_there(&run, &packages), "{run:?}");
    assert!(!is_there(&Run { name: Some("is_there"), ..run }, &packages));
}
