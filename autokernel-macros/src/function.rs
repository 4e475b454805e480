//! What is generated for functions that bodies call.

use autokernel_codegen::build::Manifest;
use autokernel_codegen::function::{Function, Functions};
use autokernel_codegen::{check_function, function_items};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Result};

use crate::unread::Unread;

/// The function and its fingerprint; on a mistake its error and the function as it is.
pub fn expand(arguments: &TokenStream, item: TokenStream) -> TokenStream {
    if let Some(unread) = Unread::of(&item) {
        return unread.into_token_stream();
    }
    checked(arguments, &item).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error #item)
    })
}

fn checked(arguments: &TokenStream, item: &TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(arguments, "this attribute has no settings: `#[autokernel::function]`"));
    }
    let function = Function::parse(item.clone())?;
    // Where no build script looked, the kernels say so.
    let functions = Manifest::of_this_crate().map(|manifest| Functions::new(&manifest.functions)).unwrap_or_default();
    functions.check_place(&function)?;
    check_function(&function, &functions)?;
    Ok(function_items(&function))
}
