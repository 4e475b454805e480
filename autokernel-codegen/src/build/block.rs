//! Blocks in which no kernel can stand, as it comes with a module of its own.

use std::fmt;

use proc_macro2::{Delimiter, TokenTree};
use serde::{Deserialize, Serialize};

/// What holds functions and no modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// Methods and associated functions of a type.
    Impl,
    /// Those of a trait.
    Trait,
    /// Foreign functions.
    Extern,
}

impl Block {
    /// The block whose braces come behind `header`, the tokens since the item before it; none where those open something else.
    pub(super) fn opened_by(header: &[TokenTree]) -> Option<Self> {
        for token in header {
            match token {
                TokenTree::Ident(word) if word == "impl" => return Some(Block::Impl),
                TokenTree::Ident(word) if word == "trait" => return Some(Block::Trait),
                // `extern "C" fn` goes on, and `extern "C" { … }` ends here.
                TokenTree::Ident(word) if word == "extern" => {
                    let follows = |token: &TokenTree| !matches!(token, TokenTree::Literal(_));
                    let rest = header.iter().skip_while(|token| !matches!(token, TokenTree::Ident(it) if it == word));
                    return (!rest.skip(1).any(follows)).then_some(Block::Extern);
                }
                TokenTree::Ident(word) if is_before_items(&word.to_string()) => {}
                // `#[…]`, and `#![…]` where a file begins.
                TokenTree::Punct(punct) if ['#', '!'].contains(&punct.as_char()) => {}
                TokenTree::Group(group) if group.delimiter() != Delimiter::Brace => {}
                _ => return None,
            }
        }
        None
    }
}

fn is_before_items(word: &str) -> bool {
    ["pub", "unsafe", "default", "auto", "const"].contains(&word)
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Block::Impl => "an `impl` block",
            Block::Trait => "a trait",
            Block::Extern => "an `extern` block",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened_by(header: &str) -> Option<Block> {
        Block::opened_by(&header.parse::<proc_macro2::TokenStream>().unwrap().into_iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_block_is_known_by_what_stands_before_its_braces() {
        for (header, block) in [
            ("impl Layer", Some(Block::Impl)),
            ("#[derive(x)] unsafe impl<T: Clone> Run for Layer<T> where T: Copy", Some(Block::Impl)),
            ("pub(crate) unsafe trait Run: Clone", Some(Block::Trait)),
            ("unsafe extern \"C\"", Some(Block::Extern)),
            ("extern", Some(Block::Extern)),
            ("extern \"C\" fn f()", None),
            ("fn f() -> impl Fn()", None),
            ("pub const fn f()", None),
            ("mod inner", None),
            ("#![allow(x)] impl Layer", Some(Block::Impl)),
            ("forward!", None),
            ("", None),
        ] {
            assert_eq!(opened_by(header), block, "{header}");
        }
    }
}
