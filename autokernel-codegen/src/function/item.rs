//! A function that bodies call, as it is written.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Error, Ident, Result};

use crate::conditions::refuse_conditions;
use crate::groups;
use crate::mistakes::Mistakes;
use crate::names;
use crate::words::{expect_f32, is_intrinsic, refuse_count, refuse_intrinsic};

/// What a function looks like, for messages.
const EXAMPLE: &str = "#[autokernel::function] fn hard_swish(x: f32) -> f32 { x * (x + 3.0).max(0.0).min(6.0) / 6.0 }";

/// A function that bodies call: of `f32`, and pure.
#[derive(Clone)]
pub struct Function {
    item: syn::ItemFn,
    parameters: Vec<Ident>,
}

impl Function {
    /// Reads the function below the attribute; what stands in its block is read where it is called, and by
    /// [`check_function`](crate::check_function).
    ///
    /// # Errors
    /// Everything that is wrong with its signature, each at its place with its remedy.
    pub fn parse(item: TokenStream) -> Result<Self> {
        let not_a_function =
            |_| Error::new_spanned(&item, format!("this attribute belongs on a function: `{EXAMPLE}`"));
        let mut function: syn::ItemFn = syn::parse2(item.clone()).map_err(not_a_function)?;
        groups::open(&mut function.sig, Some(&mut function.block));
        let mut mistakes = Mistakes::default();
        mistakes.note(check_form(&function.sig));
        mistakes.note(refuse_conditions(&function.sig, Some(&function.block)));
        mistakes.note(refuse_intrinsic(&function.sig.ident, "a function of this name"));
        mistakes.note(refuse_count(&function.sig.ident));
        let parameters: Vec<_> =
            function.sig.inputs.iter().filter_map(|input| mistakes.note(parameter(input))).collect();
        mistakes.into_result()?;
        Ok(Function { item: function, parameters })
    }

    /// Its name.
    pub fn name(&self) -> &Ident {
        &self.item.sig.ident
    }

    /// The names of its parameters.
    pub fn parameters(&self) -> &[Ident] {
        &self.parameters
    }

    /// What it computes.
    pub fn block(&self) -> &syn::Block {
        &self.item.block
    }

    /// The function as it is written.
    pub fn item(&self) -> &syn::ItemFn {
        &self.item
    }

    /// The functions that it calls by a plain name and that the language does not have, in the order of their names.
    pub fn calls(&self) -> Vec<Ident> {
        calls_in(self.block())
    }
}

/// The functions that a text calls by a plain name and that the language does not have, in the order of their names.
pub(crate) fn calls_in(block: &syn::Block) -> Vec<Ident> {
    let mut calls = names::calls(block);
    calls.sort();
    calls.dedup();
    calls.retain(|name| !is_intrinsic(&name.to_string()) && refuse_count(name).is_ok());
    calls
}

fn parameter(input: &syn::FnArg) -> Result<Ident> {
    let syn::FnArg::Typed(typed) = input else {
        return Err(Error::new(input.span(), "a function of bodies is a free one; remove `self`"));
    };
    expect_f32(&typed.ty)?;
    match &*typed.pat {
        syn::Pat::Ident(pattern)
            if pattern.mutability.is_none() && pattern.by_ref.is_none() && pattern.subpat.is_none() =>
        {
            refuse_intrinsic(&pattern.ident, "a parameter of this name")?;
            Ok(pattern.ident.clone())
        }
        other => Err(Error::new_spanned(other, "a parameter is a plain, immutable name: `x: f32`")),
    }
}

fn check_form(signature: &syn::Signature) -> Result<()> {
    if !signature.generics.params.is_empty() || signature.generics.where_clause.is_some() {
        let message = "bodies compute in `f32`; remove the generics";
        return Err(Error::new(signature.generics.span(), message));
    }
    let plain = signature.asyncness.is_none() && signature.abi.is_none() && signature.variadic.is_none();
    if !plain || signature.constness.is_some() || matches!(signature.safety, syn::Safety::Unsafe(_)) {
        let message = "a function of bodies is a plain one: remove `async`, `const`, `unsafe` and `extern`";
        return Err(Error::new(signature.span(), message));
    }
    match &signature.output {
        syn::ReturnType::Type(_, ty) => expect_f32(ty),
        syn::ReturnType::Default => {
            let message = format!("a function of bodies gives one number: `{} -> f32`", signature.to_token_stream());
            Err(Error::new_spanned(signature, message))
        }
    }
}
