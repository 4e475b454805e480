//! What is generated for attention.

use std::fmt::Write;

use autokernel_codegen::attention::Problem;
use autokernel_codegen::attention::score::Kind;
use autokernel_codegen::attention::sequences::{Keys, Locator, Sequences};
use autokernel_codegen::spec::Spec;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Ident, Result};

use crate::body::{self, View, launches};
use crate::docs::LAUNCH;
use crate::kernels::Face;
use crate::names::Names;
use crate::parts::Parts;

/// A kernel with its typed launches.
///
/// # Errors
/// A statement that no body holds.
pub fn parts(spec: &Spec, problem: &Problem) -> Result<Parts> {
    let (name, parameters) = (&spec.function.sig.ident, &spec.parameters);
    let types = Names::of(spec);
    let operands = || problem.score.iter().flat_map(|score| &score.operands).map(|operand| operand.kind);
    let heads = |number| View::new("HeadsView", &types.element(number));
    let mut views: Vec<View> = (0..3).map(heads).collect();
    views.extend(problem.sequences.locators().map(|locator| match locator {
        Locator::Table => View::of(quote!(::autokernel::PageTableView<'a>)),
        Locator::QueryBounds | Locator::KeyBounds | Locator::Lengths => View::of(quote!(::autokernel::IndexView<'a>)),
    }));
    let first = views.len();
    views.extend(operands().map(|kind| match kind {
        Kind::Number => View::BY_VALUE,
        Kind::DeviceScalar => View::new("ScalarView", &quote!(f32)),
        Kind::PerHead => View::new("RowView", &quote!(f32)),
        Kind::PerDistance => View::new("MatrixView", &quote!(f32)),
    }));
    let out = views.len();
    views.push(View::new("HeadsViewMut", &types.element(out)));
    views.extend(problem.log_sum_exp.then(|| View::new("HeadsViewMut", &quote!(f32))));
    let launch = launches(spec, &views, Some(out));
    let &Problem { causal, window, scale, .. } = problem;
    let window = match window {
        Some(window) => quote!(::core::option::Option::Some(#window)),
        None => quote!(::core::option::Option::None),
    };
    let sequences = sequences(problem.sequences);
    let kinds = operands().map(|kind| match kind {
        Kind::Number => quote!(::autokernel::__private::ScoreKind::Number),
        Kind::DeviceScalar => quote!(::autokernel::__private::ScoreKind::DeviceScalar),
        Kind::PerHead => quote!(::autokernel::__private::ScoreKind::PerHead),
        Kind::PerDistance => quote!(::autokernel::__private::ScoreKind::PerDistance),
    });
    let settings = quote! {
        ::autokernel::__private::AttentionSettings {
            causal: #causal, window: #window, scale: #scale, sequences: #sequences, operands: &[#(#kinds),*],
        }
    };
    let (cpu, score) = match &problem.score {
        None => {
            (quote!(|arguments| ::autokernel::__private::attention_on_cpu(arguments, #settings)), TokenStream::new())
        }
        Some(_) => {
            let block = body::block(spec)?;
            let passed = (0..out - first).map(|number| quote!(operands[#number]));
            let cpu = quote! {
                |arguments| ::autokernel::__private::scored_attention_on_cpu(arguments, #settings, |at, operands| {
                    score(at.score, #scale, at.batch, at.head, at.query, at.key, #(#passed),*)
                })
            };
            (cpu, autokernel_codegen::attention::score_function(block, &parameters[first..out], &spec.called)?)
        }
    };
    Ok(Parts {
        docs: docs(problem, parameters, out),
        call: quote_spanned!(Span::mixed_site().located_at(name.span())=> #name::launch(#(#parameters),*)),
        face: Face::Any,
        cpu,
        items: quote!(#launch #score),
    })
}

/// How sequences lie, as the CPU's loops are told.
fn sequences(Sequences { packed_queries, keys }: Sequences) -> TokenStream {
    let keys = match keys {
        Keys::Whole => quote!(Whole),
        Keys::Counted => quote!(Counted),
        Keys::Paged(page) => quote!(Paged(#page)),
        Keys::Packed => quote!(Packed),
    };
    quote! {
        ::autokernel::__private::Sequences { packed_queries: #packed_queries, keys: ::autokernel::__private::Keys::#keys }
    }
}

const ANY_TEXT: &str = "strings take any text";

/// The shapes and errors; follows what the user wrote.
fn docs(problem: &Problem, parameters: &[Ident], out: usize) -> String {
    let Problem { head_dim, value_dim, causal, window, scale, .. } = problem;
    let names: Vec<String> = parameters.iter().map(|name| name.unraw().to_string()).collect();
    let ([q, k, v, ..], Some(out)) = (&names[..], names.get(out)) else { return String::new() };
    let Sequences { packed_queries, keys } = problem.sequences;
    let of_queries = if packed_queries { "1, heads, queries" } else { "batch, heads, queries" };
    let of_keys = match keys {
        Keys::Whole | Keys::Counted => "batch, groups, keys".to_owned(),
        Keys::Paged(page) => format!("pages, groups, {page}"),
        Keys::Packed => "1, groups, keys".to_owned(),
    };
    let mut text = format!(
        "\nComputes `{out} = softmax({scale} · {q} {k}ᵀ) {v}` for every head, with `{q}: [{of_queries}, {head_dim}]`, \
         `{k}: [{of_keys}, {head_dim}]`, `{v}: [{of_keys}, {value_dim}]`, \
         `{out}: [{of_queries}, {value_dim}]`; `heads` is a multiple of `groups`. "
    );
    for (locator, name) in problem.sequences.locators().zip(&names[3..]) {
        let meaning = match locator {
            Locator::QueryBounds => "where the queries of each sequence begin, and those of the last end",
            Locator::KeyBounds => "where the keys of each sequence begin, and those of the last end",
            Locator::Table => "the pages of each sequence in order",
            Locator::Lengths => "the keys of each sequence",
        };
        write!(text, "`{name}`, in device memory: {meaning}. ").expect(ANY_TEXT);
    }
    text += "Queries and keys are aligned at their ends";
    match (causal, window) {
        (false, None) => {}
        (true, None) => text += ": a query sees no key behind its place",
        (true, Some(window)) => {
            write!(text, ": a query sees no key behind its place, and none {window} or more away").expect(ANY_TEXT);
        }
        (false, Some(window)) => {
            write!(text, ": a query sees no key {window} or more away from its place").expect(ANY_TEXT);
        }
    }
    if let (true, Some(lse)) = (problem.log_sum_exp, names.last()) {
        write!(text, ", and in `{lse}: [1, {}, heads, queries]` the logarithm of each query's sum of exponentials, −∞ of one that sees no key", if packed_queries { "1" } else { "batch" })
            .expect(ANY_TEXT);
    }
    if problem.score.is_some() {
        text += ". Before the softmax a score becomes what the body says";
    }
    write!(text, ".\n\n{LAUNCH}").expect(ANY_TEXT);
    text
}
