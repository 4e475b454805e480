//! Fingerprints of functions' texts.

use autokernel_ops::hash;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

use super::item::Function;

/// Of the function's own text: signature and block, however they are spaced, whoever reads them.
pub fn own(function: &Function) -> u64 {
    let mut parts = Vec::new();
    collect(function.item().sig.to_token_stream(), &mut parts);
    collect(function.item().block.to_token_stream(), &mut parts);
    let digits = hash::full(parts.iter().map(|part| part.as_bytes()));
    u64::from_str_radix(&digits[..16], 16).expect("a hash is hexadecimal digits")
}

/// Each token by itself: how tokens are printed, and so spaced, differs between rustc and build scripts.
fn collect(tokens: TokenStream, parts: &mut Vec<String>) {
    for token in tokens {
        let TokenTree::Group(group) = token else {
            parts.push(token.to_string());
            continue;
        };
        let [open, close] = match group.delimiter() {
            Delimiter::Parenthesis => ["(", ")"],
            Delimiter::Brace => ["{", "}"],
            Delimiter::Bracket => ["[", "]"],
            Delimiter::None => ["", ""],
        };
        parts.extend(Some(open.to_owned()).filter(|open| !open.is_empty()));
        collect(group.stream(), parts);
        parts.extend(Some(close.to_owned()).filter(|close| !close.is_empty()));
    }
}
