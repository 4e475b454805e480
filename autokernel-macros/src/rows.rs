//! What is generated for row-wise kernels.

use autokernel_codegen::rows::{self, Body, Columns, Fetch, Kind, Operand, Problem};
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
    let folds = crate::body::folds(body.outputs().map(|output| body.fold_of(&output.name)));
    let cpu = quote!(|arguments| ::autokernel::__private::rows_on_cpu(arguments, #kinds, #picks, #folds, #of_a_row));
    Ok(crate::body::parts(spec, operands, cpu, &row, docs(body, spec.given())))
}

/// What is read and written elsewhere than in its row and column, as the CPU's loops are told: fetches, in order, and then outputs.
pub fn picks(body: &Body) -> TokenStream {
    let number = |name: &str| body.operands.iter().position(|operand| operand.name == name);
    let fetches = body.fetches.iter().map(|Fetch { of, row, columns, .. }| (of.as_str(), row.as_deref(), *columns));
    let outputs = body.outputs().filter_map(|output| {
        let row = body.row_of_output(&output.name)?;
        Some((output.name.as_str(), Some(row), Columns::Same))
    });
    let picks = fetches.chain(outputs).filter_map(|(operand, index, columns)| {
        let operand = number(operand)?;
        let index = match index.and_then(number) {
            Some(index) => quote!(::core::option::Option::Some(#index)),
            None => quote!(::core::option::Option::None),
        };
        let columns = match columns {
            Columns::Same => quote!(Same),
            Columns::RotateHalf(head) => quote!(RotateHalf(#head)),
            Columns::RotatePairs => quote!(RotatePairs),
            Columns::Repeat => quote!(Repeat),
        };
        let columns = quote!(::autokernel::__private::Columns::#columns);
        Some(quote!(::autokernel::__private::Pick { operand: #operand, index: #index, columns: #columns }))
    });
    quote!(&[#(#picks),*])
}

/// The shapes and errors; follows what the user wrote.
fn docs(body: &Body, parameters: &[Ident]) -> String {
    let operands = &body.operands;
    let shape = |(operand, name): (&Operand, &Ident)| {
        let name = name.unraw();
        match operand.kind {
            Kind::Matrix if body.is_picked(&operand.name) && body.is_repeated(&operand.name) => {
                format!("`{name}: [any, any]`")
            }
            Kind::Matrix if body.is_picked(&operand.name) => format!("`{name}: [any, columns]`"),
            Kind::Matrix if body.is_repeated(&operand.name) => format!("`{name}: [rows, any]`"),
            Kind::Row if body.is_repeated(&operand.name) => format!("`{name}: [any]`"),
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
