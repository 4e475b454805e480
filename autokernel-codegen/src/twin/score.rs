//! A body on the score of attention as a Rust function of one.

use autokernel_ops::attention::score::{NAMES, SCORE};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Error, Ident, Result};

use super::{literals, own_function, places};
use crate::function::Called;
use crate::names::imports;

/// `fn score(score: f32, scale: f32, …, slope: f32) -> f32 { … }`: the names of every body, then those of its operands.
///
/// # Errors
/// A statement that no body holds.
pub fn rust_function(block: &syn::Block, operands: &[Ident], called: &[Called]) -> Result<TokenStream> {
    let mut block = literals::typed(block);
    places::beside_generated(&mut block, NAMES.iter().copied());
    let names = NAMES.iter().map(|name| Ident::new(name, Span::call_site()));
    let parameters = names.chain(operands.iter().cloned());
    let (imports, own) = (imports(&block), called.iter().map(own_function));
    let statements = block.stmts.iter().map(statement).collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        #[allow(clippy::all, clippy::pedantic, clippy::nursery, unused_variables)]
        fn score(#(#parameters: f32),*) -> f32 {
            #(#imports)*
            #(#own)*
            #(#statements)*
        }
    })
}

/// A statement as it stands; the score, which is the last, as the function's value.
fn statement(statement: &syn::Stmt) -> Result<TokenStream> {
    match statement {
        syn::Stmt::Local(_) | syn::Stmt::Item(syn::Item::Const(_)) => Ok(quote!(#statement)),
        syn::Stmt::Expr(syn::Expr::Assign(assign), _) if matches!(&*assign.left, syn::Expr::Path(path) if path.path.is_ident(SCORE)) =>
        {
            let value = &assign.right;
            Ok(quote!(#value))
        }
        _ => Err(Error::new_spanned(statement, "this statement is none of a body on the score")),
    }
}
