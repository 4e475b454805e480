//! A function that bodies call, as rustc sees it.

use proc_macro2::TokenStream;
use quote::quote;

use super::literals;
use crate::function::{Function, own_fingerprint};
use crate::names::imports;

/// The function as rustc sees it, with what it calls of the language's, and beside it in a module of the same name the
/// fingerprint of its text and of what it calls, as rustc resolves that.
pub fn items(function: &Function) -> TokenStream {
    let syn::ItemFn { attrs, vis, sig, block, .. } = function.item();
    let (imports, block) = (imports(block), literals::typed(block));
    let statements = &block.stmts;
    let (name, own, calls) = (function.name(), own_fingerprint(function), function.calls());
    let attributes = attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let inside = match vis {
        syn::Visibility::Inherited => quote!(pub(super)),
        _ => quote!(pub),
    };
    quote! {
        #(#attrs)*
        #vis #sig {
            #(#imports)*
            #(#statements)*
        }

        #(#attributes)*
        #[doc(hidden)]
        #vis mod #name {
            /// Of the function's text: kernels assert that they were compiled from it.
            #inside const FINGERPRINT: u64 = ::autokernel::__private::fingerprint(#own, &[#(super::#calls::FINGERPRINT),*]);
        }
    }
}
