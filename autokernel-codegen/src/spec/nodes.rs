//! Where the parts of a declaration stand in the source.

use autokernel_ops::body::Fault;
use autokernel_ops::declaration::{Complaint, Node};
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

use super::refused::Refused;
use crate::mistakes::Mistakes;

/// The tokens of a declaration's nodes, none for the attribute's arguments as a whole: an error marks them from the first to
/// the last, which on stable Rust no span of theirs does.
#[derive(Clone, Default)]
pub struct Nodes(Vec<TokenStream>);

impl Nodes {
    /// A node of these tokens.
    pub fn add(&mut self, tokens: impl ToTokens) -> Node {
        self.0.push(tokens.into_token_stream());
        Node(self.0.len() - 1)
    }

    /// The complaints, each at its span, and what they are all about.
    pub fn refusal(&self, complaints: Vec<Complaint>) -> Refused {
        let is_large = !complaints.is_empty() && complaints.iter().all(|complaint| complaint.fault == Fault::TooLarge);
        let refused = if is_large { Refused::TooLarge } else { Refused::Wrong };
        refused(self.error(complaints))
    }

    /// The complaints, each at its span.
    pub fn error(&self, complaints: Vec<Complaint>) -> Error {
        let mut mistakes = Mistakes::default();
        for Complaint { node, message, .. } in complaints {
            mistakes.push(Error::new_spanned(self.0.get(node.0), message));
        }
        let unnamed = || Error::new(Span::call_site(), "the declaration cannot be read");
        mistakes.into_result().err().unwrap_or_else(unnamed)
    }
}
