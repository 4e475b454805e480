//! What is generated for matrix products.

use std::fmt::Write;

use autokernel_codegen::build::{Manifest, Plan};
use autokernel_codegen::matmul;
use autokernel_codegen::problem::Layout;
use autokernel_codegen::spec::Spec;
use proc_macro2::Span;
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;

use crate::descriptor;
use crate::docs::LAUNCH;
use crate::parts::{Parts, element_type, visible_from_inside};

/// A kernel that reads two matrices and writes one, with its epilogue.
pub fn parts(
    spec: &Spec,
    product: &matmul::Problem,
    parameters: [&Ident; 3],
    manifest: &Manifest,
    plan: &Plan,
) -> Parts {
    let (name, [a, b, out]) = (&spec.function.sig.ident, parameters);
    let (input_type, output_type) = (element_type(product.input), element_type(product.output));
    let transpose_b = product.layout.transpose_b();
    let cpu = quote!(|arguments| ::autokernel::__private::matmul_on_cpu(arguments, #transpose_b, epilogue));
    let embedded = descriptor::embedded(spec, manifest, plan, &cpu);
    let epilogue = autokernel_codegen::epilogue::rust_function(&product.epilogue);
    let visibility = visible_from_inside(&spec.function.vis);
    Parts {
        docs: docs(parameters, product),
        call: quote_spanned!(Span::mixed_site().located_at(name.span())=> #name::KERNEL.launch(#a, #b, #out)),
        items: quote! {
            /// The kernel itself: launch it on views and other streams, ask for its plan, load it ahead of time.
            #visibility static KERNEL: ::autokernel::Kernel<#input_type, #output_type> =
                // SAFETY: the images were compiled by autokernel's own build from the signature and plans stated here.
                unsafe { ::autokernel::Kernel::new(#embedded) };

            /// What is applied to each `f32` sum: the source of the CUDA function, of the CPU backend and of tests.
            #epilogue
        },
    }
}

/// What the function computes, its shapes and errors; follows what the user wrote.
fn docs(parameters: [&Ident; 3], problem: &matmul::Problem) -> String {
    let [a, b, out] = parameters.map(|name| name.unraw());
    let (b_shape, product) = match problem.layout {
        Layout::Nn => ("[k, n]", format!("{a} · {b}")),
        Layout::Nt => ("[n, k]", format!("{a} · {b}ᵀ")),
    };
    let epilogue = &problem.epilogue;
    let computed = if epilogue.name() == "identity" { product } else { format!("{epilogue} of {product}") };
    let mut text = format!(
        "\nComputes `{out} = {computed}`, with `{a}: [m, k]`, `{b}: {b_shape}`, `{out}: [m, n]`, all row-major"
    );
    for (name, known) in [("n", problem.known_n), ("k", problem.known_k)] {
        if let Some(size) = known {
            write!(text, ", {name} = {size}").expect("strings take any text");
        }
    }
    write!(text, ".\n\n{LAUNCH}").expect("strings take any text");
    text
}
