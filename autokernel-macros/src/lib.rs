//! The attributes of autokernel. Use them through the `autokernel` crate, which documents them.

mod attention;
mod body;
mod dependency;
mod descriptor;
mod docs;
mod editor;
mod expand;
mod function;
mod fused;
mod kernels;
mod names;
mod packing;
mod parts;
mod product;
mod routing;
mod rows;
mod unread;

use proc_macro::TokenStream;

#[doc = include_str!("pages/function.md")]
#[proc_macro_attribute]
pub fn function(arguments: TokenStream, item: TokenStream) -> TokenStream {
    dependency::named_as_here(function::expand(&arguments.into(), item.into())).into()
}

#[doc = include_str!("pages/matmul.md")]
#[proc_macro_attribute]
pub fn matmul(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("matmul", arguments, item)
}

#[doc = include_str!("pages/fused_matmul/declaration.md")]
#[doc = include_str!("pages/fused_matmul/body.md")]
#[doc = include_str!("pages/fused_matmul/factors.md")]
#[doc = include_str!("pages/fused_matmul/outputs.md")]
#[doc = include_str!("pages/fused_matmul/reductions.md")]
#[doc = include_str!("pages/fused_matmul/partners.md")]
#[doc = include_str!("pages/fused_matmul/batches.md")]
#[doc = include_str!("pages/fused_matmul/gradients.md")]
#[proc_macro_attribute]
pub fn fused_matmul(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("fused_matmul", arguments, item)
}

#[doc = include_str!("pages/attention.md")]
#[proc_macro_attribute]
pub fn attention(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("attention", arguments, item)
}

#[doc = include_str!("pages/rows/body.md")]
#[doc = include_str!("pages/rows/gradients.md")]
#[doc = include_str!("pages/rows/types.md")]
#[proc_macro_attribute]
pub fn rows(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("rows", arguments, item)
}

#[doc = include_str!("pages/routing.md")]
#[proc_macro_attribute]
pub fn routing(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("routing", arguments, item)
}

#[doc = include_str!("pages/packing.md")]
#[proc_macro_attribute]
pub fn packing(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("packing", arguments, item)
}

fn kernel(attribute: &str, arguments: TokenStream, item: TokenStream) -> TokenStream {
    dependency::named_as_here(expand::expand(attribute, arguments.into(), item.into())).into()
}
