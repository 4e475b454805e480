//! What operations put into the generated items.

use autokernel_codegen::dtype::Dtype;
use proc_macro2::TokenStream;
use quote::quote;

/// What an operation puts into the generated items.
pub struct Parts {
    /// What the function computes, its shapes and errors.
    pub docs: String,
    /// The launch that the function makes.
    pub call: TokenStream,
    /// What stands in the module.
    pub items: TokenStream,
}

/// An item in the generated module that is as visible as the function beside it.
pub fn visible_from_inside(visibility: &syn::Visibility) -> TokenStream {
    match visibility {
        syn::Visibility::Inherited => quote!(pub(super)),
        _ => quote!(pub),
    }
}

/// The type of an element in Rust.
pub fn element_type(dtype: Dtype) -> TokenStream {
    match dtype {
        Dtype::Bf16 => quote!(::autokernel::bf16),
        Dtype::F16 => quote!(::autokernel::f16),
        Dtype::F32 => quote!(f32),
        Dtype::E4m3 => quote!(::autokernel::e4m3),
        Dtype::E5m2 => quote!(::autokernel::e5m2),
    }
}
