//! Row-wise kernels as tokens: the problem that a function states, and the same body as a Rust function for the CPU.

pub use autokernel_ops::Schedule as AnySchedule;
pub use autokernel_ops::backward::differences;
pub use autokernel_ops::body::{Columns, Fetch, InPlace, Reduction};
pub use autokernel_ops::rows::{
    Body, Class, Keep, Kind, Operand, Problem, Schedule, Sm80Schedule, Sm90Schedule, emit, oracle, plan, sm80, sm90,
};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, Result};

use crate::function::{Called, Functions};
use crate::spec::{self, Spec};
use crate::{problem, twin};

/// The body as a Rust function on one row, `fn row(…)`, for the CPU; it calls `called` as rustc finds them.
///
/// # Errors
/// A statement that no body holds.
pub fn rust_function(block: &syn::Block, problem: &Problem, called: &[Called]) -> Result<TokenStream> {
    twin::rust_function(block, problem.body(), called)
}

/// Reads a function whose parameters are operands and whose body is arithmetic on one element of each, as
/// `#[autokernel::rows]` does.
///
/// # Errors
/// Everything that is wrong with it, each at its place with what can be written instead.
pub fn problem(function: &syn::ItemFn) -> Result<Problem> {
    let other = || Error::new_spanned(&function.sig, "no operation has an attribute `rows`");
    let attribute = spec::attribute("rows").ok_or_else(other)?;
    match Spec::parse(attribute, TokenStream::new(), function.to_token_stream(), &Functions::default())?.problem {
        problem::Problem::Rows(problem) => Ok(problem),
        _ => Err(other()),
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
