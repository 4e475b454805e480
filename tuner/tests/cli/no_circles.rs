//! The module graph of the tuner: arrows point one way, between the folders of `src` and between the files of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

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
fn no_file_of_the_tuner_leads_back_to_itself_among_its_siblings() {
    let arrows = arrows(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(arrows.len() > 100, "{} arrows were read: the test does not see the sources", arrows.len());
    let circles: Vec<String> = folders(&arrows).iter().filter_map(|folder| circle(folder, &arrows)).collect();
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

/// Every arrow between two files of `src`, tests left out.
fn arrows(src: &Path) -> BTreeSet<Arrow> {
    let files = WalkDir::new(src).into_iter().map(Result::unwrap).map(walkdir::DirEntry::into_path);
    let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let sources: BTreeMap<Module, syn::File> = rust
        .filter(|path| !path.ends_with("main.rs") && !path.ends_with("tests.rs"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (module(path.strip_prefix(src).unwrap()), syn::parse_file(&text).unwrap())
        })
        .collect();
    let mut arrows = BTreeSet::new();
    for (from, file) in &sources {
        let mut names = Names { module: from, found: Vec::new() };
        names.visit_file(file);
        let known = names.found.into_iter().map(|mut path| {
            while !sources.contains_key(&path) {
                path.pop();
            }
            path
        });
        arrows.extend(known.filter(|to| to != from).map(|to| Arrow { from: from.clone(), to }));
    }
    arrows
}

/// The module of the file at `path` below `src`.
fn module(path: &Path) -> Module {
    let mut module: Module = path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    module
}

/// The paths that a file names, from the crate's root on.
struct Names<'m> {
    module: &'m Module,
    found: Vec<Vec<String>>,
}

impl Names<'_> {
    /// Notes `path` if it begins in this crate. What begins with a bare name may be a child of this module.
    fn note(&mut self, path: &[String]) {
        let Some((first, mut rest)) = path.split_first() else { return };
        let mut base = self.module.clone();
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
                while let Some(("super", further)) =
                    rest.split_first().map(|(first, further)| (first.as_str(), further))
                {
                    base.pop();
                    rest = further;
                }
            }
            _ => rest = path,
        }
        base.extend(rest.iter().cloned());
        self.found.push(base);
    }

    fn note_tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.note_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_tree(before, tree)),
            syn::UseTree::Name(name) => self.note(&with(&name.ident)),
            syn::UseTree::Rename(rename) => self.note(&with(&rename.ident)),
            _ => self.note(before),
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.note_tree(&[], &item.tree);
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
        if matches!(segments[0].as_str(), "crate" | "self" | "super") {
            self.note(&segments);
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
