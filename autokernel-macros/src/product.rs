//! What is generated for matrix products.

use std::fmt::Write;

use autokernel_codegen::matmul;
use autokernel_codegen::problem::Layout;
use autokernel_codegen::spec::Spec;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;

use crate::docs::LAUNCH;
use crate::kernels::Face;
use crate::names::Names;
use crate::parts::Parts;

/// A kernel that reads two matrices and writes one, with its epilogue.
pub fn parts(spec: &Spec, product: &matmul::Problem, parameters: [&Ident; 3]) -> Parts {
    let (name, [a, b, out]) = (&spec.function.sig.ident, parameters);
    let kernel = Names::of(spec).kernel();
    let layout = layout(product.layout);
    let along_row = autokernel_codegen::epilogue::along_row(&product.epilogue);
    let cpu = quote!(|arguments| ::autokernel::__private::matmul_on_cpu(arguments, #layout, #along_row));
    let epilogue = autokernel_codegen::epilogue::rust_function(&product.epilogue);
    Parts {
        docs: docs(parameters, product),
        call: quote_spanned!(Span::mixed_site().located_at(name.span())=> #name::#kernel.launch(#a, #b, #out)),
        face: Face::Product,
        cpu,
        items: quote! {
            /// What is applied to each `f32` sum: the source of the CUDA function, and what the CPU backend and tests compute.
            #epilogue
        },
    }
}

/// How the factors lie, for the CPU backend.
pub fn layout(layout: Layout) -> TokenStream {
    let variant = match layout {
        Layout::Nn => quote!(Nn),
        Layout::Nt => quote!(Nt),
        Layout::Tn => quote!(Tn),
        Layout::Tt => quote!(Tt),
    };
    quote!(::autokernel::__private::Layout::#variant)
}

/// What the function computes, its shapes and errors; follows what the user wrote.
fn docs(parameters: [&Ident; 3], problem: &matmul::Problem) -> String {
    let [a, b, out] = parameters.map(|name| name.unraw());
    let (a_shape, a_as_multiplied) =
        if problem.layout.transpose_a() { ("[k, m]", format!("{a}ᵀ")) } else { ("[m, k]", a.to_string()) };
    let (b_shape, b_as_multiplied) =
        if problem.layout.transpose_b() { ("[n, k]", format!("{b}ᵀ")) } else { ("[k, n]", b.to_string()) };
    let product = format!("{a_as_multiplied} · {b_as_multiplied}");
    let epilogue = &problem.epilogue;
    let computed = if epilogue.name() == "identity" { product } else { format!("{epilogue} of {product}") };
    let mut text = format!(
        "\nComputes `{out} = {computed}`, with `{a}: {a_shape}`, `{b}: {b_shape}`, `{out}: [m, n]`, all row-major"
    );
    for (name, known) in [("n", problem.known_n), ("k", problem.known_k)] {
        if let Some(size) = known {
            write!(text, ", {name} = {size}").expect("strings take any text");
        }
    }
    write!(text, ".\n\n{LAUNCH}").expect("strings take any text");
    text
}
