//! The name by which a crate knows autokernel.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Group, Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// The package that users depend on.
const PACKAGE: &str = "autokernel-cuda";
/// The name that generated code uses: the package's library.
const LIBRARY: &str = "autokernel";

/// `generated` with the paths that begin with `::autokernel` as this crate's Cargo.toml has it: `ak = { package =
/// "autokernel-cuda" }` makes them `::ak`.
pub fn named_as_here(generated: TokenStream) -> TokenStream {
    match renamed() {
        Some(name) => with_name(generated, &name),
        None => generated,
    }
}

/// The other name, where there is one.
fn renamed() -> Option<String> {
    match crate_name(PACKAGE) {
        // Without a name of its own a dependency has that of its library.
        Ok(FoundCrate::Name(name)) => (name != PACKAGE.replace('-', "_")).then_some(name),
        // Its own tests and benches; and where it is not found, rustc says so better.
        Ok(FoundCrate::Itself) | Err(_) => None,
    }
}

fn with_name(tokens: TokenStream, name: &str) -> TokenStream {
    let mut before = Before::Other;
    let renamed = tokens.into_iter().map(|token| {
        let begins = before == Before::LeadingColons;
        before = before.then(&token);
        match token {
            TokenTree::Ident(ident) if begins && ident == LIBRARY => Ident::new(name, ident.span()).into(),
            // One that is made anew has lost where its delimiters stand, and with that rustc's messages their places.
            TokenTree::Group(group) if mentions_library(group.stream()) => {
                let mut inner = Group::new(group.delimiter(), with_name(group.stream(), name));
                inner.set_span(group.span());
                inner.into()
            }
            other => other,
        }
    });
    renamed.collect()
}

fn mentions_library(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == LIBRARY,
        TokenTree::Group(group) => mentions_library(group.stream()),
        _ => false,
    })
}

/// What stands before a token, as far as it decides whether a path begins.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// A path may begin.
    Other,
    /// A minus, with which `>` is an arrow.
    Minus,
    /// The first of two colons that lead a path.
    Colon,
    LeadingColons,
    /// A name or `>`: two colons go on with its path.
    Path,
    /// The first of those.
    InPath,
}

impl Before {
    fn then(self, token: &TokenTree) -> Before {
        match (token, self) {
            (TokenTree::Punct(punct), _) if punct.as_char() == ':' => match (self, punct.spacing()) {
                (Before::Path, Spacing::Joint) => Before::InPath,
                (_, Spacing::Joint) => Before::Colon,
                (Before::Colon, Spacing::Alone) => Before::LeadingColons,
                (Before::InPath, Spacing::Alone) => Before::Path,
                // One that a type follows.
                (_, Spacing::Alone) => Before::Other,
            },
            (TokenTree::Punct(punct), _) if punct.as_char() == '-' => Before::Minus,
            (TokenTree::Punct(punct), Before::Minus) if punct.as_char() == '>' => Before::Other,
            (TokenTree::Punct(punct), _) if punct.as_char() == '>' => Before::Path,
            (TokenTree::Ident(ident), _) if !is_keyword_before_paths(ident) => Before::Path,
            _ => Before::Other,
        }
    }
}

/// Whether this is a keyword that is no part of a path: `use`, `as`, `impl`, …
fn is_keyword_before_paths(ident: &Ident) -> bool {
    let is_keyword = syn::parse2::<Ident>(ident.to_token_stream()).is_err();
    is_keyword && !["self", "Self", "super", "crate"].iter().any(|part| ident == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[test]
    fn paths_that_begin_with_autokernel_take_the_other_name_and_no_others_do() {
        let generated = quote! {
            use ::autokernel::Matrix;
            fn up(x: &::autokernel::Matrix<::autokernel::bf16>, scale: ::autokernel::f16) -> ::autokernel::Result<()> {
                let autokernel = crate::autokernel::new::<::autokernel::bf16>();
                a::autokernel(&autokernel) as ::autokernel::f16;
                <T as ::autokernel::Element>::autokernel()
            }
        };
        let expected = quote! {
            use ::ak::Matrix;
            fn up(x: &::ak::Matrix<::ak::bf16>, scale: ::ak::f16) -> ::ak::Result<()> {
                let autokernel = crate::autokernel::new::<::ak::bf16>();
                a::autokernel(&autokernel) as ::ak::f16;
                <T as ::ak::Element>::autokernel()
            }
        };
        assert_eq!(with_name(generated, "ak").to_string(), expected.to_string());
    }
}
