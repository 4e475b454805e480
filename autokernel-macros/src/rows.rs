//! What is generated for row-wise kernels.

use autokernel_codegen::build::{Manifest, Plan};
use autokernel_codegen::rows::{self, Kind, Operand, Problem};
use autokernel_codegen::spec::Spec;
use autokernel_core::Role;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Error, Ident, Result};

use crate::descriptor;
use crate::docs::LAUNCH;
use crate::expand::{Parts, element_type, visible_from_inside};

/// A kernel with its typed launches, and its body as a function on one row.
///
/// # Errors
/// There is no body.
pub fn parts(spec: &Spec, problem: &Problem, manifest: &Manifest, plan: &Plan) -> Result<Parts> {
    let name = &spec.function.sig.ident;
    let block = spec.function.body.as_ref().ok_or_else(|| Error::new(name.span(), "the body says what is computed"))?;
    let operands = &problem.body().operands;
    let embedded = descriptor::embedded(spec, manifest, plan, &on_cpu(operands));
    let row = rows::rust_function(block, problem)?;
    let visibility = visible_from_inside(&spec.function.vis);
    let (launch, parameters) = (launches(operands, &spec.parameters, &visibility), &spec.parameters);
    Ok(Parts {
        docs: docs(operands, parameters),
        call: quote_spanned!(Span::mixed_site().located_at(name.span())=> #name::launch(#(#parameters),*)),
        items: quote! {
            /// The kernel itself: ask for its plan, load it ahead of time.
            #visibility static KERNEL: ::autokernel::AnyKernel =
                // SAFETY: the images were compiled by autokernel's own build from the signature and plans stated here.
                unsafe { ::autokernel::AnyKernel::new(#embedded) };

            #launch

            #row
        },
    })
}

/// What computes the kernel on the CPU: hands each row to the function `row`.
fn on_cpu(operands: &[Operand]) -> TokenStream {
    let kinds = operands.iter().map(|operand| match operand.kind {
        Kind::Matrix => quote!(::autokernel::rows::Kind::Matrix),
        Kind::Row => quote!(::autokernel::rows::Kind::Row),
        Kind::Column => quote!(::autokernel::rows::Kind::Column),
        Kind::Scalar => quote!(::autokernel::rows::Kind::Scalar),
    });
    let names: Vec<Ident> = (0..operands.len()).map(|at| format_ident!("operand{at}")).collect();
    let of = |role| operands.iter().zip(&names).filter(move |(it, _)| it.role == role).map(|(_, name)| name);
    let (inputs, outputs) = (of(Role::Input), of(Role::Output));
    let passed =
        operands.iter().zip(&names).map(|(operand, name)| match (operand.role, operand.kind.varies_along_row()) {
            (_, true) => quote!(#name),
            (Role::Input, false) => quote!(#name[0]),
            (Role::Output, false) => quote!(&mut #name[0]),
        });
    quote! {
        |arguments| ::autokernel::rows::on_cpu(arguments, &[#(#kinds),*], |inputs, outputs| {
            if let ([#(#inputs),*], [#(#outputs),*]) = (inputs, outputs) {
                row(#(#passed),*);
            }
        })
    }
}

/// `launch` and `launch_on`, on anything that is a view of the operands' types.
fn launches(operands: &[Operand], names: &[Ident], visibility: &TokenStream) -> TokenStream {
    let parameters: Vec<TokenStream> =
        operands.iter().zip(names).map(|(operand, name)| parameter(operand, name)).collect();
    let arguments = operands.iter().zip(names).map(|(operand, name)| match view(operand) {
        Some(view) => quote!(::core::convert::Into::<#view>::into(#name).into()),
        None => quote!(#name.into()),
    });
    let device = Ident::new("device", Span::mixed_site());
    let first = operands.iter().zip(names).find(|(operand, _)| operand.role == Role::Output);
    let (output, output_view) = first.map(|(operand, name)| (name, view(operand))).unzip();
    quote! {
        /// As the function beside this module, on views too.
        ///
        /// # Errors
        /// As that function.
        #visibility fn launch<'a>(#(#parameters),*) -> ::autokernel::Result<()> {
            let #output: #output_view = #output.into();
            let #device = #output.device();
            self::launch_on(&#device, #(#names),*)
        }

        /// As [`launch`], on the stream of `device` instead of the one that the first output was allocated on.
        ///
        /// # Errors
        /// As [`launch`], and [`DeviceMismatch`](::autokernel::Error::DeviceMismatch) if `device` is not where the
        /// operands are.
        #visibility fn launch_on<'a>(
            #device: &::autokernel::Device,
            #(#parameters),*
        ) -> ::autokernel::Result<()> {
            self::KERNEL.launch(#device, &mut [#(#arguments),*])
        }
    }
}

fn parameter(operand: &Operand, name: &Ident) -> TokenStream {
    match view(operand) {
        Some(view) => quote!(#name: impl ::core::convert::Into<#view>),
        None => quote!(#name: f32),
    }
}

/// The view that a launch takes of an operand; none of a scalar.
fn view(operand: &Operand) -> Option<TokenStream> {
    let name = match (operand.kind, operand.role) {
        (Kind::Matrix, Role::Input) => "MatrixView",
        (Kind::Matrix, Role::Output) => "MatrixViewMut",
        (Kind::Row, Role::Input) => "RowView",
        (Kind::Row, Role::Output) => "RowViewMut",
        (Kind::Column, Role::Input) => "ColumnView",
        (Kind::Column, Role::Output) => "ColumnViewMut",
        (Kind::Scalar, _) => return None,
    };
    let (name, element) = (format_ident!("{name}"), element_type(operand.dtype));
    Some(quote!(::autokernel::#name<'a, #element>))
}

/// The shapes and errors; follows what the user wrote.
fn docs(operands: &[Operand], parameters: &[Ident]) -> String {
    let shape = |(operand, name): (&Operand, &Ident)| {
        let name = name.unraw();
        match operand.kind {
            Kind::Matrix => format!("`{name}: [rows, columns]`"),
            Kind::Row => format!("`{name}: [columns]`"),
            Kind::Column => format!("`{name}: [rows]`"),
            Kind::Scalar => format!("the number `{name}`"),
        }
    };
    let shapes: Vec<String> = operands.iter().zip(parameters).map(shape).collect();
    format!("\nA row-wise kernel on {}, matrices row-major.\n\n{LAUNCH}", shapes.join(", "))
}
