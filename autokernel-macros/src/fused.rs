//! What is generated for products with a body.

use std::fmt::Write;

use autokernel_codegen::matmul::weights::Scales;
use autokernel_codegen::matmul::{self, Many};
use autokernel_codegen::product::{self, Body, Operands};
use autokernel_codegen::rows::{self, Kind, Operand};
use autokernel_codegen::spec::Spec;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Ident, Result};

use crate::docs::LAUNCH;
use crate::parts::Parts;

/// A kernel with its typed launches, and its body as a function on one row.
///
/// # Errors
/// There is no body.
pub fn parts(spec: &Spec, problem: &matmul::Problem, body: &Body) -> Result<Parts> {
    let row = product::rust_function(crate::body::block(spec)?, body, &spec.called)?;
    let operands = Operands::of(body);
    let on_the_cpu = rows::Body { operands: operands.all(), ..rows::Body::default() };
    let (kinds, of_a_row) = (crate::body::kinds(&operands.others), crate::body::of_a_row(&on_the_cpu));
    let factors = body.factors().into_iter().map(usize::from);
    let layout = crate::product::layout(problem.layout);
    let factors = quote!(&[#(#factors),*]);
    let batched = body.operands().iter().map(|operand| operand.batched);
    let (batched, of_each) = (quote!(&[#(#batched),*]), quote!(#factors, #layout, #kinds, #of_a_row));
    let cpu = match (body.many(), body.offsets().map(usize::from)) {
        (Many::Groups, Some(offsets)) => quote! {
            |arguments| ::autokernel::__private::matmul_body_of_groups_on_cpu(arguments, #offsets, #batched, #of_each)
        },
        (Many::Batch, _) => quote! {
            |arguments| ::autokernel::__private::matmul_body_of_batch_on_cpu(arguments, #batched, #of_each)
        },
        _ => match problem.weights.and_then(|weights| weights.scales) {
            None => quote!(|arguments| ::autokernel::__private::matmul_body_on_cpu(arguments, #of_each)),
            Some(Scales { group, .. }) => {
                let scales = body.scales().into_iter().map(|operand| {
                    let (operand, group) = (usize::from(operand), group as usize);
                    quote!((#operand, #group))
                });
                let scales = quote!(&[#(#scales),*]);
                quote!(|arguments| ::autokernel::__private::matmul_body_scaled_on_cpu(arguments, #scales, #of_each))
            }
        },
    };
    let docs = docs(problem, body, &spec.parameters);
    Ok(crate::body::parts(spec, body.operands(), cpu, &row, docs))
}

/// The shapes and errors; follows what the user wrote.
fn docs(problem: &matmul::Problem, body: &Body, parameters: &[Ident]) -> String {
    let (factors, scales) = (body.factors(), body.scales());
    let of_weights = match problem.weights {
        Some(weights) if weights.dtype.numbers() > 1 => "n, k / 2",
        _ => "n, k",
    };
    let shape = |(number, (operand, name)): (u8, (&Operand, &Ident))| {
        let name = name.unraw();
        let matrices = if body.many() == Many::Groups { "groups" } else { "batch" };
        let of_batch =
            |shape: &str| if operand.batched { format!("[{matrices}, {shape}]") } else { format!("[{shape}]") };
        match (operand.kind, factors.iter().position(|factor| *factor == number)) {
            (Kind::Matrix, Some(0)) if problem.layout.transpose_a() => format!("`{name}: {}`", of_batch("k, m")),
            (Kind::Matrix, Some(0)) => format!("`{name}: {}`", of_batch("m, k")),
            (Kind::Matrix, Some(_)) if problem.layout.transpose_b() => format!("`{name}: {}`", of_batch(of_weights)),
            (Kind::Matrix, Some(_)) => format!("`{name}: {}`", of_batch("k, n")),
            (Kind::Matrix, None) if scales.contains(&number) => {
                format!("`{name}: [k / {}, n]`", problem.class().group().unwrap_or(1))
            }
            (Kind::Matrix, None) => format!("`{name}: {}`", of_batch("m, n")),
            (Kind::Row, _) => format!("`{name}: {}`", of_batch("n")),
            (Kind::Column, _) => format!("`{name}: {}`", of_batch("m")),
            (Kind::Index, _) => format!("where groups of rows begin, `{name}: [groups + 1]`"),
            (Kind::Scalar, _) => format!("the number `{name}`"),
            (Kind::DeviceScalar, _) => format!("the number in memory `{name}`"),
        }
    };
    let shapes: Vec<String> = (0..).zip(body.operands().iter().zip(parameters)).map(shape).collect();
    let (products, follows) = match (factors.len() > 2, body.many()) {
        (false, Many::One) => ("A matrix product", "it"),
        (true, Many::One) => ("Two matrix products", "them"),
        (false, Many::Batch) => ("A batch of matrix products", "each"),
        (true, Many::Batch) => ("A batch of two matrix products each", "them"),
        (false, Many::Groups) => ("A matrix product of each group of rows", "it"),
        (true, Many::Groups) => ("Two matrix products of each group of rows", "them"),
    };
    let mut text = format!("\n{products} with what follows {follows}, on {}, matrices row-major", shapes.join(", "));
    for (name, known) in [("n", problem.known_n), ("k", problem.known_k)] {
        if let Some(size) = known {
            write!(text, ", {name} = {size}").expect("strings take any text");
        }
    }
    write!(text, ".\n\n{LAUNCH}").expect("strings take any text");
    text
}
