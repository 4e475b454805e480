//! Finding the attributes in a crate's sources.
//!
//! Sources are read as tokens, not as modules: an attribute is found in every file below a root, in every module,
//! function body and macro call, whatever `cfg` or `mod` lines say. One too many costs a compile; one too few would
//! cost the user an error.

use std::path::{Path, PathBuf};

use autokernel_ops::declaration::Attribute;
use autokernel_ops::registry;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use walkdir::{DirEntry, WalkDir};

use crate::block::Block;
use crate::function::{self, Functions};
use crate::spec::{self, Kernels, Spec};

/// Every `.rs` file at or below `root`, in a fixed order. Folders of other packages are theirs to build.
pub fn rust_files(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let is_ours = |entry: &DirEntry| entry.depth() == 0 || !entry.path().join("Cargo.toml").is_file();
    let is_rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs") && path.is_file();
    let mut files = Vec::new();
    for entry in WalkDir::new(root).follow_links(true).sort_by_file_name().into_iter().filter_entry(is_ours) {
        match entry {
            Ok(entry) if is_rust(entry.path()) => files.push(entry.into_path()),
            Ok(_) => {}
            Err(error) if leads_nowhere(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(files)
}

/// A link back to a folder above it, or to nothing: for example the one by which an editor locks a file.
fn leads_nowhere(error: &walkdir::Error) -> bool {
    let dangles = error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    error.loop_ancestor().is_some() || (dangles && error.depth() > 0)
}

/// A declaration, and the features that `#[cfg(feature = "…")]` on it asks for.
pub struct Scanned {
    /// What it says.
    pub spec: Spec,
    /// Without one of these, rustc does not see it.
    pub features: Vec<String>,
    /// The block that it stands in, where none can stand.
    pub inside: Option<Block>,
}

/// A function that bodies call.
pub struct ScannedFunction {
    /// What stands below the attribute.
    pub text: String,
    /// As those of [`Scanned`].
    pub features: Vec<String>,
    /// The block that it stands in, where that is no module.
    pub inside: Option<Block>,
}

/// The kernels that `file` declares, whose bodies may call `functions`. A declaration that is wrong is left to the attribute,
/// which reports it in place; a file that is not Rust is left to rustc.
pub fn kernels_in(file: &Path, functions: &Functions) -> std::io::Result<Vec<Scanned>> {
    // Most files declare no kernel: not tokenising those keeps a rebuild fast.
    let found = marked_in(file, |text| registry::attributes().any(|attribute| text.contains(attribute.name)))?;
    Ok(found.into_iter().flat_map(|marked| kernels(marked, functions)).collect())
}

fn kernels(marked: Marked, functions: &Functions) -> Vec<Scanned> {
    let Marked { mark: Mark::Kernel(attribute), arguments, item, features, inside } = marked else { return Vec::new() };
    let Kernels { written, derived } = Spec::parse_kernels(attribute, arguments, item, functions).unwrap_or_default();
    let below = written.first().map(|spec| spec.function.attrs.as_slice()).unwrap_or_default();
    let below = below.iter().filter_map(|attribute| feature(&attribute.meta));
    let features: Vec<String> = features.into_iter().chain(below).collect();
    let specs = written.into_iter().chain(derived.into_iter().flatten());
    let inside = inside.filter(|block| !block.holds_modules());
    specs.map(|spec| Scanned { spec, features: features.clone(), inside }).collect()
}

/// The functions in `file` that bodies may call.
pub fn functions_in(file: &Path) -> std::io::Result<Vec<ScannedFunction>> {
    let closed = [']', ')'].map(|close| format!("{}{close}", function::ATTRIBUTE));
    let found = marked_in(file, |text| closed.iter().any(|marked| text.contains(marked)))?;
    let found = found.into_iter().filter(|marked| matches!(marked.mark, Mark::Function));
    Ok(found
        .map(|Marked { item, features, inside, .. }| ScannedFunction {
            text: item.to_string(),
            features: [features, features_below(&item)].concat(),
            inside,
        })
        .collect())
}

/// The features that attributes between this one and the function ask for.
fn features_below(item: &TokenStream) -> Vec<String> {
    let attributes = syn::parse2::<syn::ItemFn>(item.clone()).map(|function| function.attrs).unwrap_or_default();
    attributes.iter().filter_map(|attribute| feature(&attribute.meta)).collect()
}

/// An attribute of ours, with what stands below it.
struct Marked {
    mark: Mark,
    arguments: TokenStream,
    item: TokenStream,
    /// Of the attributes before it.
    features: Vec<String>,
    inside: Option<Block>,
}

/// Which attribute it is.
#[derive(Clone, Copy)]
enum Mark {
    Kernel(&'static Attribute),
    Function,
}

fn marked_in(file: &Path, may_hold_some: impl Fn(&str) -> bool) -> std::io::Result<Vec<Marked>> {
    let bytes = std::fs::read(file)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut found = Vec::new();
    if may_hold_some(&text)
        && let Ok(tokens) = text.parse::<TokenStream>()
    {
        collect(tokens, None, &mut found);
    }
    Ok(found)
}

fn collect(tokens: TokenStream, inside: Option<Block>, found: &mut Vec<Marked>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    // Of the attributes just before.
    let mut features: Vec<String> = Vec::new();
    let mut first_of_item = 0;
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            if matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';') {
                first_of_item = at + 1;
            }
            if !matches!(token, TokenTree::Punct(punct) if punct.as_char() == '#') {
                features.clear();
            }
            continue;
        };
        let after_pound = at > 0 && matches!(&tokens[at - 1], TokenTree::Punct(punct) if punct.as_char() == '#');
        if after_pound && group.delimiter() == Delimiter::Bracket {
            let Ok(meta) = syn::parse2::<syn::Meta>(group.stream()) else { continue };
            features.extend(feature(&meta));
            for (mark, arguments) in attributes(meta) {
                let (item, features) = (declaration(&tokens[at + 1..]), features.clone());
                found.push(Marked { mark, arguments, item, features, inside });
            }
        } else {
            features.clear();
            let is_block = group.delimiter() == Delimiter::Brace;
            let header = &tokens[first_of_item..at];
            let opened = if is_block { Block::opened_by(header, inside) } else { Block::around_others(inside) };
            collect(group.stream(), opened, found);
            if is_block {
                first_of_item = at + 1;
            }
        }
    }
}

/// `name` of `cfg(feature = "name")`. Conditions of any other form are taken for true.
fn feature(meta: &syn::Meta) -> Option<String> {
    let syn::Meta::List(list) = meta else { return None };
    let condition = list.path.is_ident("cfg").then(|| syn::parse2::<syn::MetaNameValue>(list.tokens.clone()).ok());
    let syn::MetaNameValue { path, value, .. } = condition.flatten()?;
    match value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }) if path.is_ident("feature") => Some(name.value()),
        _ => None,
    }
}

/// `autokernel::matmul`, `fused_matmul(…)`, …: the attribute and its arguments; also inside a `cfg_attr(…, …)`.
fn attributes(meta: syn::Meta) -> Vec<(Mark, TokenStream)> {
    let name = meta.path().segments.last().map(|segment| segment.ident.unraw().to_string()).unwrap_or_default();
    let kind =
        if name == function::ATTRIBUTE { Some(Mark::Function) } else { spec::attribute(&name).map(Mark::Kernel) };
    match (kind, meta) {
        (Some(kind), syn::Meta::Path(_)) => vec![(kind, TokenStream::new())],
        (Some(kind), syn::Meta::List(list)) => vec![(kind, list.tokens)],
        (None, syn::Meta::List(list)) if name == "cfg_attr" => {
            let parts = Punctuated::<syn::Meta, Token![,]>::parse_terminated.parse2(list.tokens);
            parts.into_iter().flatten().skip(1).flat_map(attributes).collect()
        }
        _ => Vec::new(),
    }
}

/// The tokens of a function with its further attributes: up to the `;` that stands for its body, or to the body.
fn declaration(tokens: &[TokenTree]) -> TokenStream {
    let ends = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    let end = tokens.iter().position(ends).map_or(tokens.len(), |at| at + 1);
    tokens[..end].iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(source: &str) -> Vec<String> {
        scanned(source).iter().map(|Scanned { spec, .. }| format!("{}: {}", spec.name(), spec.problem)).collect()
    }

    fn scanned(source: &str) -> Vec<Scanned> {
        let mut found = Vec::new();
        collect(source.parse().unwrap(), None, &mut found);
        found.into_iter().flat_map(|marked| kernels(marked, &Functions::default())).collect()
    }

    const PARAMETERS: &str = "(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<f32>);";

    #[test]
    fn attributes_are_found_wherever_they_stand() {
        let source = format!(
            "#[autokernel::matmul] pub fn top{PARAMETERS}
             mod inner {{ #[inline] #[fused_matmul(relu, transpose_b)] #[doc = \"x\"] fn nested{PARAMETERS} }}
             fn body() {{ #[autokernel::matmul(n = 8)] fn local{PARAMETERS} }}
             forward! {{ #[autokernel::matmul(k = 9)] fn passed{PARAMETERS} }}"
        );
        assert_eq!(
            problems(&source),
            [
                "top: matmul nn bf16 -> f32, epilogue identity",
                "nested: matmul nt bf16 -> f32, epilogue relu",
                "local: matmul nn bf16 -> f32, epilogue identity, n = 8",
                "passed: matmul nn bf16 -> f32, epilogue identity, k = 9",
            ]
        );
    }

    #[test]
    fn kernels_in_blocks_that_hold_no_modules_are_told_apart_from_those_in_functions_there() {
        let source = format!(
            "struct S; impl S {{ #[matmul] fn a{PARAMETERS} fn f() {{ #[matmul] fn b{PARAMETERS} }} }}
             pub trait T {{ #[matmul] fn c{PARAMETERS} }} #[link(name = \"x\")] unsafe extern \"C\" {{ #[matmul] fn d{PARAMETERS} }}
             #[matmul] fn e{PARAMETERS}"
        );
        let inside: Vec<Option<Block>> = scanned(&source).into_iter().map(|found| found.inside).collect();
        assert_eq!(inside, [Some(Block::Impl), None, Some(Block::Trait), Some(Block::Extern), None]);
    }

    #[test]
    fn a_declaration_for_several_types_is_a_kernel_for_each_combination() {
        let source = "#[matmul(T = [bf16, half::f16], O = [f32], n = 8)]
            fn a<T, O>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<O>);
            #[cfg(feature = \"x\")] #[rows(A = [f32, f16], B = [bf16, f32])]
            fn b<A, B>(x: &ak::Matrix<A>, s: &Row<f32>, out: &mut Matrix<B>) { out = x * s; }";
        assert_eq!(
            problems(source),
            [
                "a<bf16, f32>: matmul nn bf16 -> f32, epilogue identity, n = 8",
                "a<f16, f32>: matmul nn f16 -> f32, epilogue identity, n = 8",
                "b<f32, bf16>: rows x: Matrix<f32>, s: Row<f32> -> out: Matrix<bf16>",
                "b<f32, f32>: rows x: Matrix<f32>, s: Row<f32> -> out: Matrix<f32>",
                "b<f16, bf16>: rows x: Matrix<f16>, s: Row<f32> -> out: Matrix<bf16>",
                "b<f16, f32>: rows x: Matrix<f16>, s: Row<f32> -> out: Matrix<f32>",
            ]
        );
        assert!(scanned(source)[2..].iter().all(|found| found.features == ["x"]));
    }

    #[test]
    fn wrong_declarations_and_other_attributes_are_left_alone() {
        let source =
            format!("#[derive(Debug)] struct S; #[matmul = 1] fn a{PARAMETERS} #[matmul(huh)] fn b{PARAMETERS}");
        assert!(problems(&source).is_empty());
    }

    #[test]
    fn functions_of_bodies_are_found_in_every_module_with_the_features_that_they_ask_for() {
        let source = "#[autokernel::function] fn one(x: f32) -> f32 { x }
            mod inner { #[cfg(feature = \"a\")] #[function] #[cfg(feature = \"b\")] pub fn two(x: f32) -> f32 { -x } }
            #[cfg_attr(unix, autokernel::function)] fn three(x: f32) -> f32 { x } fn four(x: f32) -> f32 { x }";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("functions.rs");
        std::fs::write(&file, source).unwrap();
        let found = functions_in(&file).unwrap();
        let named = |name: &str| found.iter().find(|it| it.text.contains(name)).map(|found| found.features.concat());
        assert_eq!(
            ["one", "two", "three", "four"].map(named),
            [Some(""), Some("ab"), Some(""), None].map(|it| it.map(String::from))
        );
    }

    #[test]
    fn functions_of_bodies_are_told_apart_by_the_blocks_that_they_stand_in() {
        let function = |name: &str| format!("#[autokernel::function] fn {name}(x: f32) -> f32 {{ x }}");
        let source = format!(
            "{} mod inner {{ {} }} impl S {{ {} fn f() {{ if a {{ run(|| {{ {} }}) }} mod inner {{ {} }} }} }}",
            function("top"),
            function("nested"),
            function("method"),
            function("local"),
            function("in_a_local_module")
        );
        let mut found = Vec::new();
        collect(source.parse().unwrap(), None, &mut found);
        let inside: Vec<Option<Block>> = found.iter().map(|marked| marked.inside).collect();
        assert_eq!(inside, [None, None, Some(Block::Impl), Some(Block::Function), None]);
    }

    #[test]
    fn a_body_ends_a_declaration_as_a_semicolon_does() {
        let source = format!("#[matmul] fn a(a: &Matrix<bf16>) {{ out = 1.0; }} fn b(); #[matmul] fn c{PARAMETERS}");
        assert_eq!(
            problems(&source),
            ["c: matmul nn bf16 -> f32, epilogue identity"],
            "a body is the attribute's to refuse"
        );
        let tokens: Vec<TokenTree> =
            "fn a() { one; two } fn b();".parse::<TokenStream>().unwrap().into_iter().collect();
        assert_eq!(declaration(&tokens).to_string(), "fn a () { one ; two }");
    }

    #[test]
    fn a_declaration_asks_for_the_features_on_it_and_on_no_other() {
        let source = format!(
            "#[cfg(feature = \"a\")] fn other() {{}} #[cfg(unix)] #[matmul] fn plain{PARAMETERS}
             #[doc = \"x\"] #[cfg(feature = \"b\")] #[matmul] #[cfg(feature = \"c\")] fn both{PARAMETERS}
             #[rows] fn last(x: &Matrix<f32>, out: &mut Matrix<f32>) {{ out = x; }}"
        );
        let features: Vec<Vec<String>> = scanned(&source).into_iter().map(|found| found.features).collect();
        assert_eq!(features, [vec![], vec!["b".to_owned(), "c".to_owned()], vec![]]);
    }

    #[test]
    fn an_attribute_inside_cfg_attr_is_found() {
        let source = format!(
            "#[cfg_attr(feature = \"gpu\", inline, autokernel::fused_matmul(relu, n = 8))] fn a{PARAMETERS}
             #[cfg_attr(unix, cfg_attr(test, matmul))] fn b{PARAMETERS}
             #[cfg_attr(matmul, inline)] fn c{PARAMETERS}"
        );
        assert_eq!(
            problems(&source),
            ["a: matmul nn bf16 -> f32, epilogue relu, n = 8", "b: matmul nn bf16 -> f32, epilogue identity"]
        );
    }

    #[test]
    fn a_file_that_is_not_rust_declares_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.rs");
        for content in [b"// matmul in Latin-1: \xe9".as_slice(), b"#[matmul] fn \"", b"\xff\xfe"] {
            std::fs::write(&file, content).unwrap();
            assert!(kernels_in(&file, &Functions::default()).unwrap().is_empty(), "{content:?}");
        }
    }

    #[test]
    fn files_of_other_packages_are_left_to_them() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["b/mine.rs", "a.rs", "b/package/src/theirs.rs", "b/package/Cargo.toml", "b/text.txt"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = rust_files(folder.path()).unwrap();
        assert_eq!(found, ["a.rs", "b/mine.rs"].map(|path| folder.path().join(path)));
    }

    #[cfg(unix)]
    #[test]
    fn dangling_links_and_circles_of_links_do_no_harm() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kernels.rs"), "").unwrap();
        symlink("someone@somewhere.1234", folder.path().join(".#kernels.rs")).unwrap();
        symlink(".", folder.path().join("around")).unwrap();
        assert_eq!(rust_files(folder.path()).unwrap(), [folder.path().join("kernels.rs")]);
    }
}
