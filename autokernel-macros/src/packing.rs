//! What is generated for packing.

use autokernel_codegen::problem::Packing;
use autokernel_codegen::spec::Spec;
use proc_macro2::Span;
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;

use crate::body::{View, launches};
use crate::docs::LAUNCH;
use crate::kernels::Face;
use crate::names::Names;
use crate::parts::Parts;

/// A kernel with its typed launches.
pub fn parts(spec: &Spec, problem: &Packing) -> Parts {
    let (name, parameters) = (&spec.function.sig.ident, spec.given());
    let types = Names::of(spec);
    let of_groups = if problem.group.is_some() { "MatrixViewMut" } else { "RowViewMut" };
    let views = ["MatrixView", "MatrixViewMut", of_groups, of_groups];
    let views = views.iter().take(parameters.len()).enumerate();
    let views: Vec<View> = views.map(|(at, view)| View::new(view, &types.element(at))).collect();
    let group = match problem.group {
        Some(group) => {
            let group = group as usize;
            quote!(::core::option::Option::Some(#group))
        }
        None => quote!(::core::option::Option::None),
    };
    Parts {
        docs: docs(problem, parameters),
        call: quote_spanned!(Span::mixed_site().located_at(name.span())=> #name::launch(#(#parameters),*)),
        face: Face::Any,
        cpu: quote!(|arguments| ::autokernel::__private::packing_on_cpu(arguments, #group)),
        items: launches(spec, &views, Some(1)),
    }
}

/// The shapes and errors; follows what the user wrote.
fn docs(problem: &Packing, parameters: &[Ident]) -> String {
    let Packing { packed, group, zeros, .. } = problem;
    let mut names = parameters.iter().map(IdentExt::unraw);
    let mut name = || names.next().map(|name| name.to_string()).unwrap_or_default();
    let (w, numbers, scales, of_zeros) = (name(), name(), name(), name());
    let columns = if packed.numbers() > 1 { "k / 2" } else { "k" };
    let shape = group.map_or("n".to_owned(), |group| format!("k / {group}, n"));
    let of = group.map_or("row".to_owned(), |group| format!("group of {group} numbers along K"));
    let made = match (packed.numbers(), zeros) {
        (1, _) => "quantise_i8",
        (_, false) => "quantise",
        (_, true) => "quantise_with_zeros",
    };
    let zeros = if *zeros { format!(", and its zero point to `{of_zeros}: [{shape}]`") } else { String::new() };
    format!(
        "\nWrites the weights `{w}: [n, k]` as numbers to `{numbers}: [n, {columns}]`, and of each {of} the scale to \
         `{scales}: [{shape}]`{zeros}: bit for bit what [`{made}`](::autokernel::{made}) makes, scales rounded to their type.\n\n{LAUNCH}"
    )
}
