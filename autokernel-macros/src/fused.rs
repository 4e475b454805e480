//! What is generated for products with a body.

use std::fmt::Write;

use autokernel_codegen::build::{Manifest, Plan};
use autokernel_codegen::matmul;
use autokernel_codegen::problem::Layout;
use autokernel_codegen::product::{self, Body};
use autokernel_codegen::rows::{Kind, Operand};
use autokernel_codegen::spec::Spec;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Ident, Result};

use crate::docs::LAUNCH;
use crate::expand::Parts;

/// A kernel with its typed launches, and its body as a function on one row.
///
/// # Errors
/// There is no body.
pub fn parts(spec: &Spec, problem: &matmul::Problem, body: &Body, built: (&Manifest, &Plan)) -> Result<Parts> {
    let row = product::rust_function(crate::body::block(spec)?, body, &spec.called)?;
    let operands = product::operands(body);
    let (kinds, of_a_row) = (crate::body::kinds(&operands[1..]), crate::body::of_a_row(&operands));
    let [a, b] = body.factors().map(usize::from);
    let transpose_b = problem.layout.transpose_b();
    let cpu = quote! {
        |arguments| ::autokernel::__private::matmul_body_on_cpu(arguments, [#a, #b], #transpose_b, #kinds, #of_a_row)
    };
    let docs = docs(problem, body, &spec.parameters);
    Ok(crate::body::parts(spec, body.operands(), [&cpu, &row], docs, built))
}

/// The shapes and errors; follows what the user wrote.
fn docs(problem: &matmul::Problem, body: &Body, parameters: &[Ident]) -> String {
    let [a, b] = body.factors().map(usize::from);
    let shape = |(number, (operand, name)): (usize, (&Operand, &Ident))| {
        let name = name.unraw();
        match operand.kind {
            Kind::Matrix if number == a => format!("`{name}: [m, k]`"),
            Kind::Matrix if number == b && problem.layout == Layout::Nt => format!("`{name}: [n, k]`"),
            Kind::Matrix if number == b => format!("`{name}: [k, n]`"),
            Kind::Matrix => format!("`{name}: [m, n]`"),
            Kind::Row => format!("`{name}: [n]`"),
            Kind::Column => format!("`{name}: [m]`"),
            Kind::Scalar => format!("the number `{name}`"),
        }
    };
    let shapes: Vec<String> = body.operands().iter().zip(parameters).enumerate().map(shape).collect();
    let mut text = format!("\nA matrix product with what follows it, on {}, matrices row-major", shapes.join(", "));
    for (name, known) in [("n", problem.known_n), ("k", problem.known_k)] {
        if let Some(size) = known {
            write!(text, ", {name} = {size}").expect("strings take any text");
        }
    }
    write!(text, ".\n\n{LAUNCH}").expect("strings take any text");
    text
}
