//! What is generated for products with a body.

use std::fmt::Write;

use autokernel_codegen::matmul::{self, Many};
use autokernel_codegen::product::{self, Body, Operands};
use autokernel_codegen::rows::{self, Kind, Operand};
use autokernel_codegen::spec::Spec;
use autokernel_codegen::weights::Scales;
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
pub fn parts(spec: &Spec, problem: &matmul::Problem, body: &Body) -> Result<Parts> {
    let row = product::rust_function(crate::body::block(spec)?, body, &spec.called)?;
    let operands = Operands::of(body);
    let on_the_cpu = operands.body();
    let (kinds, of_a_row) = (crate::body::kinds(&operands.others), crate::body::of_a_row(&on_the_cpu));
    // The CPU multiplies what is gathered already, without the index that picks it.
    let gathers = body.gathers().map(usize::from);
    let numbered = |number: u8| usize::from(number) - usize::from(gathers.is_some_and(|index| index < number.into()));
    let factors = body.factors().into_iter().map(numbered);
    let layout = crate::product::layout(problem.layout);
    let factors = quote!(&[#(#factors),*]);
    let others = body.operands().iter().enumerate().filter(|(number, _)| Some(*number) != gathers);
    let batched = others.map(|(_, operand)| operand.batched);
    let (batched, of_each) = (quote!(&[#(#batched),*]), quote!(#factors, #layout, #kinds, #of_a_row));
    let groups = match body.many() {
        Many::One | Many::Batch => None,
        Many::Masked => Some(quote!(Counted)),
        Many::Groups => Some(quote!(OfRows)),
        Many::GroupsAlongK => Some(quote!(AlongK)),
    };
    let of_tables = || tables(problem, body, &operands);
    let cpu = match (body.many(), groups.zip(body.sizes().map(numbered))) {
        (_, Some((groups, sizes))) => {
            let tables = of_tables();
            quote! {
                |arguments| ::autokernel::__private::matmul_body_of_groups_on_cpu(
                    arguments, (::autokernel::__private::Groups::#groups, #sizes), (#batched, #tables), #of_each,
                )
            }
        }
        (Many::Batch, _) => {
            let tables = of_tables();
            quote! {
                |arguments| ::autokernel::__private::matmul_body_of_batch_on_cpu(
                    arguments, (#batched, #tables), #of_each,
                )
            }
        }
        _ if problem.weights.and_then(|weights| weights.scales).is_none()
            && problem.block.is_none()
            && operands.tables.is_empty()
            && operands.made_scales.is_empty()
            && operands.folds.iter().all(Option::is_none) =>
        {
            quote!(|arguments| ::autokernel::__private::matmul_body_on_cpu(arguments, #of_each))
        }
        _ => {
            let tables = of_tables();
            quote!(|arguments| ::autokernel::__private::matmul_body_with_tables_on_cpu(arguments, #tables, #of_each))
        }
    };
    let cpu = match (gathers, body.factors().first()) {
        (Some(index), Some(&a)) => {
            let a = usize::from(a);
            quote! {
                |arguments| ::autokernel::__private::matmul_gathered_on_cpu(arguments, (#index, #a), #cpu)
            }
        }
        _ => cpu,
    };
    let docs = docs(problem, body, spec);
    Ok(crate::body::parts(spec, body.operands(), cpu, &row, docs))
}

/// Scales of groups and what repeats, as the CPU's loops are told.
fn tables(problem: &matmul::Problem, body: &Body, operands: &Operands) -> TokenStream {
    let group = problem.weights.and_then(|weights| weights.scales).map_or(0, |Scales { group, .. }| group as usize);
    let of_groups = body.scales().into_iter().filter(|_| problem.block.is_none()).map(usize::from);
    let zeros: Vec<usize> = body.zeros().into_iter().map(usize::from).collect();
    let scales = of_groups.enumerate().map(|(product, operand)| {
        let zeros = zeros.get(product).map_or_else(|| quote!(None), |zeros| quote!(Some(#zeros)));
        quote!(::autokernel::__private::GroupScales { scales: #operand, zeros: #zeros, group: #group })
    });
    let of_blocks = body.a_scales().into_iter().chain(body.scales()).map(usize::from);
    let blocks = match problem.block.map(|block| block as usize) {
        None => quote!(None),
        Some(block) => quote!(Some((&[#(#of_blocks),*], #block))),
    };
    // Where a row has one scale, that lies as other numbers of rows do.
    let is_of_blocks = |operand: &Operand| operand.kind == Kind::Matrix;
    let number = |name: &str| operands.others.iter().position(|it| it.name == name && is_of_blocks(it));
    let made = operands.made_scales.iter().find_map(|made| Some((number(&made.scales)?, made.block as usize)));
    let made_scales = match made {
        None => quote!(None),
        Some((operand, block)) => quote!(Some((#operand, #block))),
    };
    let picks = crate::rows::picks(&rows::Body { operands: operands.others.clone(), ..operands.body() });
    let folds = crate::body::folds(operands.folds.iter().copied());
    quote! {
        ::autokernel::__private::Tables {
            scales: &[#(#scales),*], blocks: #blocks, picks: #picks, made_scales: #made_scales, folds: #folds,
        }
    }
}

/// `[n, k]` of `[m, k]`, and the other way round.
fn turned(shape: &str) -> String {
    let other = |part: &str| match part {
        "m" => "n".to_owned(),
        "n" => "m".to_owned(),
        other => other.to_owned(),
    };
    let parts = shape.trim_matches(['[', ']']).split(", ").map(other).collect::<Vec<_>>();
    format!("[{}]", parts.join(", "))
}

/// The shapes and errors; follows what the user wrote.
fn docs(problem: &matmul::Problem, body: &Body, spec: &Spec) -> String {
    let parameters = spec.given();
    // Of what lies transposed the rows that are stored are columns of what is written.
    let as_written = |shape: String| if spec.is_transposed { turned(&shape) } else { shape };
    let (factors, scales, zeros, a_scales) = (body.factors(), body.scales(), body.zeros(), body.a_scales());
    let (block, made) = (problem.block.unwrap_or(1), body.made());
    let of_weights = match problem.weights {
        Some(weights) if weights.dtype.numbers() > 1 => "n, k / 2",
        _ => "n, k",
    };
    let shape = |(number, (operand, name)): (u8, (&Operand, &Ident))| {
        let name = name.unraw();
        let matrices = if body.many().has_offsets() { "groups" } else { "batch" };
        let of_batch = |shape: &str| {
            let shape = if operand.batched { format!("[{matrices}, {shape}]") } else { format!("[{shape}]") };
            as_written(shape)
        };
        match (operand.kind, factors.iter().position(|factor| *factor == number)) {
            (Kind::Matrix, Some(0)) if body.gathers().is_some() => format!("`{name}: [any, k]`"),
            (Kind::Matrix, Some(0)) if problem.layout.transpose_a() => format!("`{name}: {}`", of_batch("k, m")),
            (Kind::Matrix, Some(0)) => format!("`{name}: {}`", of_batch("m, k")),
            (Kind::Matrix, Some(_)) if problem.layout.transpose_b() => format!("`{name}: {}`", of_batch(of_weights)),
            (Kind::Matrix, Some(_)) => format!("`{name}: {}`", of_batch("k, n")),
            (Kind::Matrix, None) if a_scales == Some(number) => {
                format!("`{name}: {}`", of_batch(&format!("m, ⌈k / {block}⌉")))
            }
            (Kind::Matrix, None) if scales.contains(&number) && problem.block.is_some() => {
                format!("`{name}: {}`", of_batch(&format!("⌈n / {block}⌉, ⌈k / {block}⌉")))
            }
            (Kind::Matrix, None) if scales.contains(&number) || zeros.contains(&number) => {
                let groups = format!("k / {}, n", problem.class().group().unwrap_or(1));
                format!("`{name}: {}`", of_batch(&groups))
            }
            (Kind::Matrix, None) if made.is_some_and(|made| made.scales == number) => {
                format!("`{name}: [m, ⌈n / {}⌉]`", made.map_or(1, |made| made.block))
            }
            (Kind::Matrix, None) if body.is_repeated(&operand.name) => format!("`{name}: [m, any]`"),
            (Kind::Row, _) if body.is_repeated(&operand.name) => format!("`{name}: [any]`"),
            (Kind::Matrix, None) => format!("`{name}: {}`", of_batch("m, n")),
            (Kind::Row, _) => format!("`{name}: {}`", of_batch("n")),
            (Kind::Column, _) => format!("`{name}: {}`", of_batch("m")),
            (Kind::Index, _) if body.gathers() == Some(number) => {
                format!("the row of it that each row is of, zeros where it has none, `{name}: [m]`")
            }
            (Kind::Index, _) => match body.many() {
                Many::Masked => format!("how many rows count, `{name}: [batch]`"),
                Many::GroupsAlongK => format!("where groups along k begin, `{name}: [groups + 1]`"),
                _ => format!("where groups of rows begin, `{name}: [groups + 1]`"),
            },
            (Kind::Scalar, _) => format!("the number `{name}`"),
            (Kind::DeviceScalar, _) if operand.batched => {
                format!("a number in memory for each, `{name}: [{matrices}]`")
            }
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
        (false, Many::Masked) => ("A batch of matrix products of the rows that count", "each"),
        (true, Many::Masked) => ("A batch of two matrix products each of the rows that count", "them"),
        (false, Many::GroupsAlongK) => ("A matrix product of each group along k", "it"),
        (true, Many::GroupsAlongK) => ("Two matrix products of each group along k", "them"),
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
