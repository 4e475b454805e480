//! What is generated for row-wise kernels.

use autokernel_codegen::rows::{self, Body, Kind, Operand, Problem};
use autokernel_codegen::spec::Spec;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Ident, Result};

use crate::docs::LAUNCH;
use crate::parts::Parts;

/// A kernel with its typed launches, and its body as a function on one row.
///
/// # Errors
/// There is no body.
pub fn parts(spec: &Spec, problem: &Problem) -> Result<Parts> {
    let body = problem.body();
    let operands = &body.operands;
    let row = rows::rust_function(crate::body::block(spec)?, problem, &spec.called)?;
    let (kinds, picks, of_a_row) = (crate::body::kinds(operands), picks(body), crate::body::of_a_row(body));
    let cpu = quote!(|arguments| ::autokernel::rows::on_cpu(arguments, #kinds, #picks, #of_a_row));
    Ok(crate::body::parts(spec, operands, cpu, &row, docs(body, &spec.parameters)))
}

/// Which operands indices pick rows of, as the CPU's loops are told.
fn picks(body: &Body) -> TokenStream {
    let number = |name: &str| body.operands.iter().position(|operand| operand.name == name);
    let picks = body.picked().filter_map(|(operand, index)| {
        let (operand, index) = (number(operand)?, number(index)?);
        Some(quote!(::autokernel::rows::Pick { operand: #operand, index: #index }))
    });
    quote!(&[#(#picks),*])
}

/// The shapes and errors; follows what the user wrote.
fn docs(body: &Body, parameters: &[Ident]) -> String {
    let operands = &body.operands;
    let shape = |(operand, name): (&Operand, &Ident)| {
        let name = name.unraw();
        match operand.kind {
            Kind::Matrix if body.is_picked(&operand.name) => format!("`{name}: [any, columns]`"),
            Kind::Column if body.is_picked(&operand.name) => format!("`{name}: [any]`"),
            Kind::Index => format!("the index `{name}: [rows]`"),
            Kind::Matrix => format!("`{name}: [rows, columns]`"),
            Kind::Row => format!("`{name}: [columns]`"),
            Kind::Column => format!("`{name}: [rows]`"),
            Kind::Scalar => format!("the number `{name}`"),
            Kind::DeviceScalar => format!("the number in memory `{name}`"),
        }
    };
    let shapes: Vec<String> = operands.iter().zip(parameters).map(shape).collect();
    format!("\nA row-wise kernel on {}, matrices row-major.\n\n{LAUNCH}", shapes.join(", "))
}
