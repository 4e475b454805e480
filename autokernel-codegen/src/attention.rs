//! Attention as tokens: the problem that a function states, and its body as a Rust function for the CPU.

pub use autokernel_ops::attention::{
    Problem, Schedule, Sm80Schedule, Sm90Schedule, emit, oracle, plan, score, sequences, signature,
};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, Result};

use crate::function::Functions;
use crate::problem;
use crate::spec::{self, Spec};
pub use crate::twin::score_function;

/// Reads a function under `#[autokernel::attention(settings)]`.
///
/// # Errors
/// Everything that is wrong with it, each at its place with what can be written instead.
pub fn problem(function: &syn::ItemFn, settings: TokenStream) -> Result<Problem> {
    let other = || Error::new_spanned(&function.sig, "no operation has an attribute `attention`");
    let attribute = spec::attribute("attention").ok_or_else(other)?;
    match Spec::parse(attribute, settings, function.to_token_stream(), &Functions::default())?.problem {
        problem::Problem::Attention(problem) => Ok(problem),
        _ => Err(other()),
    }
}
