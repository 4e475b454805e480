//! What rust-analyzer sees of a body while it is written, which the build script has not seen, and which may be none yet: the text
//! on numbers, so that names are completed and have types. rustc is given none of it.

use autokernel_codegen::spec::Function;
use proc_macro2::TokenStream;
use quote::quote;

/// Whether an editor asks, whose server expands attributes in a program of its own.
pub fn asks() -> bool {
    let program = std::env::current_exe();
    program.is_ok_and(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rust-analyzer")))
}

/// The body as a function of numbers; nothing where there is no body.
pub fn sketch(item: &TokenStream) -> TokenStream {
    let Ok(Function { sig, body: Some(body), .. }) = syn::parse2(item.clone()) else { return TokenStream::new() };
    let names = sig.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(typed) => Some(&typed.pat),
        syn::FnArg::Receiver(_) => None,
    });
    quote! {
        #[allow(unused, clippy::all)]
        const _: () = {
            use ::autokernel::__private::epilogues::*;
            use ::autokernel::__private::*;
            fn dot(a: f32, b: f32) -> f32 {
                a * b
            }
            trait Transposed {
                fn t(self) -> Self;
            }
            impl Transposed for f32 {
                fn t(self) -> Self {
                    self
                }
            }
            fn row(#(mut #names: f32),*) #body
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_being_written_is_a_function_of_numbers() {
        let item = quote! {
            fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<f32>, out: &mut Matrix<bf16>) {
                out = dot(x, w.t()) + bi;
            }
        };
        let text = sketch(&item).to_string();
        assert!(text.contains("fn row (mut x : f32 , mut w : f32 , mut bias : f32 , mut out : f32)"), "{text}");
        assert!(text.contains("out = dot (x , w . t ()) + bi ;"), "{text}");
        assert!(syn::parse2::<syn::File>(text.parse().unwrap()).is_ok());
    }

    #[test]
    fn what_has_no_body_is_not_sketched_and_rustc_is_no_editor() {
        assert!(
            sketch(&quote!(
                fn f(a: &Matrix<bf16>);
            ))
            .is_empty()
        );
        assert!(!asks());
    }
}
