//! Products with a body as tokens: the problem that a function states, and the same body as a Rust function for the CPU.

use autokernel_core::{Dtype, Role};
use autokernel_ops::body::{Kind, Operand};
pub use autokernel_ops::matmul::Problem;
pub use autokernel_ops::matmul::body::{Body, oracle};
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Error, Ident, Result};

use crate::function::{Called, Functions};
use crate::spec::{self, Spec};
use crate::translate::DOT;
use crate::{problem, twin};

/// Reads a function whose body multiplies two of its operands, as `#[autokernel::fused_matmul]` does.
///
/// # Errors
/// Everything that is wrong with it, each at its place with what can be written instead.
pub fn problem(function: &syn::ItemFn) -> Result<Problem> {
    let other = || Error::new_spanned(&function.sig, "no operation has an attribute `fused_matmul`");
    let attribute = spec::attribute("fused_matmul").ok_or_else(other)?;
    match Spec::parse(attribute, TokenStream::new(), function.to_token_stream(), &Functions::default())?.problem {
        problem::Problem::Matmul(problem) => Ok(problem),
        _ => Err(other()),
    }
}

/// What stands for an element of the product; no name of a user's does.
const PRODUCT: &str = "product_of_factors";

/// What the body reads and writes on the CPU, where the product is a matrix that is there already: that one first, then the
/// operands that are no factors.
pub fn operands(body: &Body) -> Vec<Operand> {
    let product = Operand { name: PRODUCT.to_owned(), kind: Kind::Matrix, dtype: Dtype::F32, role: Role::Input };
    let factors = body.factors().map(usize::from);
    let others = body.operands().iter().enumerate().filter(|(number, _)| !factors.contains(number));
    [product].into_iter().chain(others.map(|(_, operand)| operand.clone())).collect()
}

/// The body as a Rust function on one row, `fn row(…)`, whose parameters are [`operands`]; it calls `called` as rustc finds them.
///
/// # Errors
/// A statement that no body holds.
pub fn rust_function(block: &syn::Block, body: &Body, called: &[Called]) -> Result<TokenStream> {
    let mut block = block.clone();
    Named.visit_block_mut(&mut block);
    twin::rust_function(&block, &operands(body), called)
}

/// Puts the product's name in the place of each `dot(…)`.
struct Named;

impl VisitMut for Named {
    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let syn::Expr::Call(call) = expr else { return };
        let syn::Expr::Path(path) = &*call.func else { return };
        if path.path.is_ident(DOT) {
            let name = Ident::new(PRODUCT, Span::call_site());
            *expr = syn::Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: name.into() });
        }
    }
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
