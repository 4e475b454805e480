//! What is generated for row-wise kernels.

use autokernel_codegen::rows::{self, Kind, Operand, Problem};
use autokernel_codegen::spec::Spec;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Ident, Result};

use crate::body;
use crate::docs::LAUNCH;
use crate::parts::Parts;

/// A kernel with its typed launches, and its body as a function on one row.
///
/// # Errors
/// There is no body.
pub fn parts(spec: &Spec, problem: &Problem) -> Result<Parts> {
    let operands = &problem.body().operands;
    let row = rows::rust_function(body::block(spec)?, problem, &spec.called)?;
    let (kinds, of_a_row) = (body::kinds(operands), body::of_a_row(operands));
    let cpu = quote!(|arguments| ::autokernel::rows::on_cpu(arguments, #kinds, #of_a_row));
    Ok(body::parts(spec, operands, cpu, &row, docs(operands, &spec.parameters)))
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
            Kind::DeviceScalar => format!("the number in memory `{name}`"),
        }
    };
    let shapes: Vec<String> = operands.iter().zip(parameters).map(shape).collect();
    format!("\nA row-wise kernel on {}, matrices row-major.\n\n{LAUNCH}", shapes.join(", "))
}
