//! The blocks that declarations stand in, where these are no modules.

use std::fmt;

use proc_macro2::{Delimiter, TokenTree};
use serde::{Deserialize, Serialize};

/// What holds functions and is no module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// Methods and associated functions of a type.
    Impl,
    /// Those of a trait.
    Trait,
    /// Foreign functions.
    Extern,
    /// The body of a function.
    Function,
}

impl Block {
    /// Whether a module can stand here, as the one that a kernel comes with.
    pub fn holds_modules(self) -> bool {
        self == Block::Function
    }

    /// What the braces behind `header` are, the tokens since the item before it, where these stand in `around`; none in a module.
    pub(crate) fn opened_by(header: &[TokenTree], around: Option<Self>) -> Option<Self> {
        let mut is_extern = false;
        for token in header {
            match token {
                TokenTree::Ident(word) if word == "impl" => return Some(Block::Impl),
                TokenTree::Ident(word) if word == "trait" => return Some(Block::Trait),
                TokenTree::Ident(word) if word == "fn" => return Some(Block::Function),
                TokenTree::Ident(word) if word == "mod" => return None,
                // `extern "C" fn` goes on, and `extern "C" { … }` ends here.
                TokenTree::Ident(word) if word == "extern" => is_extern = true,
                TokenTree::Literal(_) if is_extern => {}
                TokenTree::Ident(word) if is_before_items(&word.to_string()) => {}
                // `#[…]`, and `#![…]` where a file begins.
                TokenTree::Punct(punct) if ['#', '!'].contains(&punct.as_char()) => {}
                TokenTree::Group(group) if group.delimiter() != Delimiter::Brace => {}
                _ => return Block::around_others(around),
            }
        }
        if is_extern { Some(Block::Extern) } else { Block::around_others(around) }
    }

    /// What holds what stands in parentheses, or in braces of no item, within `around`: the function whose statements and
    /// expressions they are.
    pub(crate) fn around_others(around: Option<Self>) -> Option<Self> {
        around.filter(|block| *block == Block::Function)
    }
}

fn is_before_items(word: &str) -> bool {
    ["pub", "unsafe", "default", "auto", "const", "async"].contains(&word)
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Block::Impl => "an `impl` block",
            Block::Trait => "a trait",
            Block::Extern => "an `extern` block",
            Block::Function => "a function",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened_by(header: &str, around: Option<Block>) -> Option<Block> {
        Block::opened_by(&header.parse::<proc_macro2::TokenStream>().unwrap().into_iter().collect::<Vec<_>>(), around)
    }

    #[test]
    fn a_block_is_known_by_what_stands_before_its_braces() {
        for (header, block) in [
            ("impl Layer", Some(Block::Impl)),
            ("#[derive(x)] unsafe impl<T: Clone> Run for Layer<T> where T: Copy", Some(Block::Impl)),
            ("pub(crate) unsafe trait Run: Clone", Some(Block::Trait)),
            ("unsafe extern \"C\"", Some(Block::Extern)),
            ("extern", Some(Block::Extern)),
            ("extern \"C\" fn f()", Some(Block::Function)),
            ("fn f() -> impl Fn()", Some(Block::Function)),
            ("pub(crate) async fn f()", Some(Block::Function)),
            ("pub const fn f()", Some(Block::Function)),
            ("mod inner", None),
            ("#![allow(x)] impl Layer", Some(Block::Impl)),
            ("forward!", None),
            ("", None),
        ] {
            assert_eq!(opened_by(header, None), block, "{header}");
        }
    }

    #[test]
    fn braces_of_no_item_belong_to_the_function_around_them() {
        for (header, within_a_function) in [
            ("if a", Some(Block::Function)),
            ("let f = |x|", Some(Block::Function)),
            ("", Some(Block::Function)),
            ("impl Layer", Some(Block::Impl)),
            ("mod inner", None),
        ] {
            assert_eq!(opened_by(header, Some(Block::Function)), within_a_function, "{header}");
        }
        assert_eq!(opened_by("const A: f32 =", Some(Block::Impl)), None);
    }
}
