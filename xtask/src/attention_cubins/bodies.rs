//! What scores become in the kernels of `bodies.py`, as a crate declares it.

use anyhow::{Result, anyhow};
use autokernel_codegen::attention::{self, Problem};
use quote::quote;
use syn::{ItemFn, parse_quote};

/// Their names in `bodies.py`, which computes the same in fp64, and their functions.
fn declared() -> [(&'static str, ItemFn); 5] {
    [
        (
            "alibi",
            parse_quote! {
                fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, out: &mut Heads<bf16>) {
                    score = score * scale + slope * (key - query);
                }
            },
        ),
        (
            "cap",
            parse_quote! {
                fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, cap: f32, out: &mut Heads<bf16>) {
                    score = cap * (score * scale / cap).tanh();
                }
            },
        ),
        (
            "capped_alibi",
            parse_quote! {
                fn attend(
                    q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, cap: f32, out: &mut Heads<bf16>,
                ) {
                    score = cap * (score * scale / cap).tanh() + slope * (key - query);
                }
            },
        ),
        (
            "documents",
            parse_quote! {
                fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, second: f32, out: &mut Heads<bf16>) {
                    let together = score * scale;
                    score = if (key < second && query < second) || (key >= second && query >= second) { together } else { -1e30 };
                }
            },
        ),
        (
            "distance",
            parse_quote! {
                fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, out: &mut Heads<bf16>) {
                    score = score * scale - slope * (key - query).abs();
                }
            },
        ),
    ]
}

/// `problem` without a body and with each of them, by name.
pub fn of(problem: &Problem) -> Result<Vec<(&'static str, Problem)>> {
    let mut all = vec![("", problem.clone())];
    for (name, function) in declared() {
        let stated =
            attention::problem(&function, quote!(head_dim = 64)).map_err(|error| anyhow!("{name}: {error}"))?;
        all.push((name, Problem { score: stated.score, ..problem.clone() }));
    }
    Ok(all)
}
