//! The module graph of each crate: arrows point one way, between the folders of `src` and between the files of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use walkdir::WalkDir;

/// A module by its path below the crate: `["llm", "prompt"]`; the crate itself is empty.
type Module = Vec<String>;

/// One file that names another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrow {
    from: Module,
    to: Module,
}

/// Which sibling names which, and the first arrow that says so.
type Siblings = BTreeMap<String, BTreeMap<String, Arrow>>;

#[test]
fn no_file_leads_back_to_itself_among_its_siblings() {
    let crates = crates();
    assert!(crates.len() > 10, "{} crates were found", crates.len());
    let mut read = 0;
    let mut circles = Vec::new();
    for src in crates {
        let arrows = arrows(&src);
        read += arrows.len();
        let found = folders(&arrows).into_iter().filter_map(|folder| circle(&folder, &arrows));
        circles.extend(found.map(|circle| format!("{}: {circle}", src.display())));
    }
    assert!(read > 1000, "{read} arrows were read: the test does not see the sources");
    assert!(
        circles.is_empty(),
        "{}\nlet what both sides need be a file of its own, which both name; a file names its siblings, never what its \
         folder's mod.rs re-exports",
        circles.join("\n")
    );
}

#[test]
fn a_circle_is_found_and_told_with_the_files_that_close_it() {
    let arrow = |from: &[&str], to: &[&str]| Arrow {
        from: from.iter().map(ToString::to_string).collect(),
        to: to.iter().map(ToString::to_string).collect(),
    };
    let arrows = [arrow(&["a", "x"], &["b"]), arrow(&["b"], &["c", "y"]), arrow(&["c"], &["a"]), arrow(&["d"], &["a"])];
    let told = circle(&[], &BTreeSet::from(arrows.clone())).unwrap();
    assert_eq!(told, "src: a → b → c → a (a::x names b, b names c::y, c names a)");
    assert_eq!(circle(&[], &BTreeSet::from_iter(arrows[1..].iter().cloned())), None);
    let through_the_folder = BTreeSet::from([arrow(&["a"], &["a", "x"]), arrow(&["a", "x"], &["a"])]);
    assert!(circle(&["a".to_owned()], &through_the_folder).unwrap().contains("mod.rs → x → mod.rs"));
}

/// The `src` of every crate of the workspace.
fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = WalkDir::new(root).max_depth(2).into_iter().filter_entry(|entry| entry.file_name() != "target");
    let manifests = folders.map(Result::unwrap).filter(|entry| entry.file_name() == "Cargo.toml");
    manifests.map(|manifest| manifest.path().with_file_name("src")).filter(|src| src.is_dir()).collect()
}

/// A crate's sources by their modules, tests left out.
struct Sources {
    files: BTreeMap<Module, syn::File>,
    /// What the folders' own files pass on: a name, and the path from the crate's root that it stands for.
    passed_on: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
}

impl Sources {
    fn below(src: &Path) -> Self {
        let files = WalkDir::new(src).into_iter().map(Result::unwrap).map(walkdir::DirEntry::into_path);
        let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        let is_test = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
        let files: BTreeMap<Module, syn::File> = rust
            .filter(|path| !path.ends_with("main.rs") && !is_test(path))
            .map(|path| {
                let text = std::fs::read_to_string(&path).unwrap();
                (module(path.strip_prefix(src).unwrap()), syn::parse_file(&text).unwrap())
            })
            .collect();
        let passed_on = files.iter().map(|(module, file)| (module.clone(), passed_on(module, file))).collect();
        Sources { files, passed_on }
    }

    /// The file that a path from the crate's root leads to, through what other files pass on.
    fn file_of(&self, path: &[String]) -> Module {
        let mut module = Module::new();
        for (at, name) in path.iter().enumerate() {
            module.push(name.clone());
            if self.files.contains_key(&module) {
                continue;
            }
            module.pop();
            return match self.passed_on.get(&module).and_then(|names| names.get(name)) {
                Some(target) if target.as_slice() != path => self.file_of(&[target, &path[at + 1..]].concat()),
                _ => module,
            };
        }
        module
    }
}

/// Every arrow between two files of `src`. A re-export is the face of a folder and no arrow, unless its file uses the name too.
fn arrows(src: &Path) -> BTreeSet<Arrow> {
    let sources = Sources::below(src);
    let mut arrows = BTreeSet::new();
    for (from, file) in &sources.files {
        let mut names = Names { module: from, found: Vec::new(), bare: BTreeSet::new() };
        names.visit_file(file);
        let own = sources.passed_on[from].iter().filter(|(name, _)| names.bare.contains(*name));
        let known = names.found.iter().chain(own.map(|(_, target)| target)).map(|path| sources.file_of(path));
        arrows.extend(known.filter(|to| to != from).map(|to| Arrow { from: from.clone(), to }));
    }
    arrows
}

/// What a file re-exports, by name.
fn passed_on(module: &Module, file: &syn::File) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::new();
    for item in &file.items {
        if let syn::Item::Use(item) = item
            && is_passed_on(item)
        {
            leaves(&[], &item.tree, &mut |path, name| {
                names.insert(name.to_owned(), from_root(module, path));
            });
        }
    }
    names
}

fn is_passed_on(item: &syn::ItemUse) -> bool {
    !matches!(item.vis, syn::Visibility::Inherited)
}

/// The paths that a `use` names, each with the name that it gives them.
fn leaves(before: &[String], tree: &syn::UseTree, leaf: &mut impl FnMut(&[String], &str)) {
    let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
    match tree {
        syn::UseTree::Path(path) => leaves(&with(&path.ident), &path.tree, leaf),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(before, tree, leaf)),
        syn::UseTree::Name(name) => leaf(&with(&name.ident), &name.ident.to_string()),
        syn::UseTree::Rename(rename) => leaf(&with(&rename.ident), &rename.rename.to_string()),
        _ => leaf(before, "*"),
    }
}

/// `path`, named in `module`, from the crate's root on. What begins with a bare name may be a child of the module.
fn from_root(module: &Module, path: &[String]) -> Vec<String> {
    let mut base = module.clone();
    let mut rest = path;
    match path[0].as_str() {
        "crate" => (base, rest) = (Module::new(), &path[1..]),
        "self" => rest = &path[1..],
        _ => {}
    }
    while let Some(("super", further)) = rest.split_first().map(|(first, further)| (first.as_str(), further)) {
        base.pop();
        rest = further;
    }
    [base, rest.to_vec()].concat()
}

/// The module of the file at `path` below `src`.
fn module(path: &Path) -> Module {
    let mut module: Module = path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    module
}

/// The paths that a file names, from the crate's root on, and the names that it uses as they are.
struct Names<'m> {
    module: &'m Module,
    found: Vec<Vec<String>>,
    bare: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_passed_on(item) {
            leaves(&[], &item.tree, &mut |path, _| self.found.push(from_root(self.module, path)));
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = item.attrs.iter().any(|attribute| attribute.path().is_ident("cfg"));
        if !is_test {
            visit::visit_item_mod(self, item);
        }
    }

    /// `pub(super)` names nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.bare.insert(segments[0].clone());
        if segments.len() > 1 {
            self.found.push(from_root(self.module, &segments));
        }
        visit::visit_path(self, path);
    }
}

/// Every folder that holds one end of an arrow.
fn folders(arrows: &BTreeSet<Arrow>) -> BTreeSet<Module> {
    let modules = arrows.iter().flat_map(|arrow| [&arrow.from, &arrow.to]);
    modules.flat_map(|module| (0..=module.len()).map(|depth| module[..depth].to_vec())).collect()
}

/// A circle among what lies in `folder`, its own file among it, in words.
fn circle(folder: &[String], arrows: &BTreeSet<Arrow>) -> Option<String> {
    let mut siblings = Siblings::new();
    for arrow in arrows {
        if let (Some(from), Some(to)) = (inside(folder, &arrow.from), inside(folder, &arrow.to))
            && from != to
        {
            siblings.entry(from).or_default().entry(to).or_insert_with(|| arrow.clone());
        }
    }
    let way = siblings.keys().find_map(|start| way_back(start, &siblings))?;
    let steps = way.iter().zip(way.iter().cycle().skip(1));
    let proofs: Vec<String> = steps.map(|(from, to)| siblings[from][to].to_string()).collect();
    let place = std::iter::once("src").chain(folder.iter().map(String::as_str)).collect::<Vec<_>>().join("/");
    Some(format!("{place}: {} → {} ({})", way.join(" → "), way[0], proofs.join(", ")))
}

/// What `module` is called in `folder`, if it lies there: a file, a folder, or the folder's own file.
fn inside(folder: &[String], module: &Module) -> Option<String> {
    let below = module.strip_prefix(folder)?;
    Some(below.first().cloned().unwrap_or_else(|| "mod.rs".to_owned()))
}

/// The shortest way from `start` back to itself, without its end.
fn way_back(start: &str, siblings: &Siblings) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut ways = vec![vec![start.to_owned()]];
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for next in way.last().and_then(|last| siblings.get(last)).into_iter().flat_map(BTreeMap::keys) {
                if next == start {
                    return Some(way);
                }
                if seen.insert(next) {
                    longer.push([way.as_slice(), std::slice::from_ref(next)].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

impl fmt::Display for Arrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |module: &Module| if module.is_empty() { "lib.rs".to_owned() } else { module.join("::") };
        write!(f, "{} names {}", name(&self.from), name(&self.to))
    }
}
