//! What is generated for attention.

use std::fmt::Write;

use autokernel_codegen::attention::Problem;
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
pub fn parts(spec: &Spec, problem: &Problem) -> Parts {
    let (name, parameters) = (&spec.function.sig.ident, &spec.parameters);
    let types = Names::of(spec);
    let view = |(number, name): (usize, &str)| View::new(name, &types.element(number));
    let views: Vec<View> =
        ["HeadsView", "HeadsView", "HeadsView", "HeadsViewMut"].into_iter().enumerate().map(view).collect();
    let launch = launches(spec, &views, Some(views.len() - 1));
    let &Problem { causal, window, scale, .. } = problem;
    let window = match window {
        Some(window) => quote!(::core::option::Option::Some(#window)),
        None => quote!(::core::option::Option::None),
    };
    let settings = quote!(::autokernel::attention::Settings { causal: #causal, window: #window, scale: #scale });
    Parts {
        docs: docs(problem, parameters),
        call: quote_spanned!(Span::mixed_site().located_at(name.span())=> #name::launch(#(#parameters),*)),
        face: Face::Any,
        cpu: quote!(|arguments| ::autokernel::attention::on_cpu(arguments, #settings)),
        items: launch,
    }
}

/// The shapes and errors; follows what the user wrote.
fn docs(problem: &Problem, parameters: &[Ident]) -> String {
    let Problem { head_dim, value_dim, causal, window, scale, .. } = problem;
    let names: Vec<String> = parameters.iter().map(|name| name.unraw().to_string()).collect();
    let [q, k, v, out] = &names[..] else { return String::new() };
    let mut text = format!(
        "\nComputes `{out} = softmax({scale} · {q} {k}ᵀ) {v}` for every head, with `{q}: [batch, heads, queries, {head_dim}]`, \
         `{k}: [batch, groups, keys, {head_dim}]`, `{v}: [batch, groups, keys, {value_dim}]`, \
         `{out}: [batch, heads, queries, {value_dim}]`; `heads` is a multiple of `groups`. Queries and keys are aligned at their ends"
    );
    if *causal {
        text += ": a query sees no key behind its place";
    }
    if let Some(window) = window {
        write!(text, ", and none {window} or more away from it").expect("strings take any text");
    }
    write!(text, ".\n\n{LAUNCH}").expect("strings take any text");
    text
}
