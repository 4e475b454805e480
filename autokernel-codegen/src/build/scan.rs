//! Finding the attributes in a crate's sources.
//!
//! Sources are read as tokens, not as modules: an attribute is found in every file below a root, in every module,
//! function body and macro call, whatever `cfg` or `mod` lines say. One too many costs a compile; one too few would
//! cost the user an error.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::spec::{AttributeKind, Spec};

/// Every `.rs` file at or below `root`, in a fixed order.
pub fn rust_files(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    if root.is_file() {
        return Ok(vec![root.to_owned()]);
    }
    let mut files = Vec::new();
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(root)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// The kernels that `file` declares. A declaration that is wrong is left to the attribute, which reports it in place;
/// a file that is not Rust is left to rustc.
pub fn kernels_in(file: &Path) -> std::io::Result<Vec<Spec>> {
    let text = std::fs::read_to_string(file)?;
    // Most files declare no kernel: not tokenising those keeps a rebuild fast.
    if !text.contains("matmul") {
        return Ok(Vec::new());
    }
    let mut specs = Vec::new();
    if let Ok(tokens) = text.parse::<TokenStream>() {
        collect(tokens, &mut specs);
    }
    Ok(specs)
}

fn collect(tokens: TokenStream, specs: &mut Vec<Spec>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let after_pound = at > 0 && matches!(&tokens[at - 1], TokenTree::Punct(punct) if punct.as_char() == '#');
        if after_pound && group.delimiter() == Delimiter::Bracket {
            if let Some((kind, arguments)) = attribute(group.stream()) {
                let item = declaration(&tokens[at + 1..]);
                specs.extend(Spec::parse(kind, arguments, item).ok());
            }
        } else {
            collect(group.stream(), specs);
        }
    }
}

/// `autokernel::matmul`, `fused_matmul(…)`, …: the attribute and its arguments.
fn attribute(tokens: TokenStream) -> Option<(AttributeKind, TokenStream)> {
    let meta: syn::Meta = syn::parse2(tokens).ok()?;
    let kind = AttributeKind::from_name(&meta.path().segments.last()?.ident.to_string())?;
    match meta {
        syn::Meta::Path(_) => Some((kind, TokenStream::new())),
        syn::Meta::List(list) => Some((kind, list.tokens)),
        syn::Meta::NameValue(_) => None,
    }
}

/// The tokens up to and with the first `;`: a body-less function with its further attributes.
fn declaration(tokens: &[TokenTree]) -> TokenStream {
    let semicolon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
    let end = tokens.iter().position(semicolon).map_or(tokens.len(), |at| at + 1);
    tokens[..end].iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(source: &str) -> Vec<String> {
        let mut specs = Vec::new();
        collect(source.parse().unwrap(), &mut specs);
        specs.iter().map(|spec| format!("{}: {}", spec.function.sig.ident, spec.problem)).collect()
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
    fn wrong_declarations_and_other_attributes_are_left_alone() {
        let source =
            format!("#[derive(Debug)] struct S; #[matmul = 1] fn a{PARAMETERS} #[matmul(huh)] fn b{PARAMETERS}");
        assert!(problems(&source).is_empty());
    }
}
