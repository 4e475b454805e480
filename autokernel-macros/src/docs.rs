//! The documentation of the generated items.

use std::fmt::Write;

use autokernel_codegen::build::{Plan, Variant};
use autokernel_codegen::spec::Spec;
use quote::ToTokens;

use crate::kernels;

/// What every launch may do and refuse.
pub const LAUNCH: &str = "On a GPU the launch is asynchronous, on the stream of the output's device.\n\n\
                          # Errors\n\nThe shapes do not fit together, the operands are on different devices, or the GPU \
                          cannot run the kernel; the error says what to do.";

/// What a body computes, as it is written.
pub fn formula(spec: &Spec) -> String {
    let Some(body) = &spec.function.body else { return String::new() };
    let written = body.brace_token.span.join().source_text().unwrap_or_else(|| spelled(body));
    let inside = written.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(&written);
    let lines: Vec<&str> = inside.lines().filter(|line| !line.trim().is_empty()).collect();
    let indent = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let lines: String = lines.iter().map(|line| format!("{}\n", line[indent..].trim_end())).collect();
    format!("\n```text\n{lines}```\n")
}

/// The statements of a body that has no text of its own, as a derived one, a line each.
fn spelled(body: &syn::Block) -> String {
    let close = |text: String, (wide, narrow): &(&str, &str)| text.replace(wide, narrow);
    const SPACES: [(&str, &str); 6] = [(" (", "("), ("( ", "("), (" )", ")"), (" ,", ","), (" . ", "."), (" ;", ";")];
    let line = |statement: &syn::Stmt| SPACES.iter().fold(statement.to_token_stream().to_string(), close);
    body.stmts.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The types that the kernels of a declaration for several are compiled for, in a line.
pub fn types(specs: &[(Spec, Plan)]) -> String {
    if specs[0].0.choices.is_empty() { String::new() } else { format!("\nFor {}.\n", kernels::listed(specs)) }
}

/// The schedules that were compiled.
pub fn module(specs: &[(Spec, Plan)]) -> String {
    let kernels = specs.iter().map(|(spec, plan)| {
        let mut text = format!("The kernel of `{}`: {}.\n\nCompiled:", spec.name(), spec.problem);
        for variant in &plan.variants {
            write!(text, "\n- {}", schedule(variant)).expect("strings take any text");
        }
        text
    });
    kernels.collect::<Vec<_>>().join("\n\n")
}

fn schedule(variant: &Variant) -> String {
    let Variant { arch, schedule, tuned, portfolio, image, plan, .. } = variant;
    let source = match (tuned, portfolio) {
        (Some(tuned), _) => {
            let from = &tuned.provenance;
            format!("tuned at {} for {} on {}, {}", tuned.extents, tuned.class, from.gpu, from.date)
        }
        (None, Some(_)) => "of the portfolio, for shapes that were not tuned".to_owned(),
        (None, None) => "the default, as nothing was tuned".to_owned(),
    };
    let resources = match image {
        Some(image) => {
            let shared_bytes = plan.kernels.iter().map(|kernel| kernel.shared_bytes).max().unwrap_or(0);
            format!("{} registers, {shared_bytes} bytes of shared memory", image.report.registers)
        }
        None => "not compiled: there was no nvcc".to_owned(),
    };
    format!("`{arch}`: `{schedule}`, {source}; {resources}")
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::function::Functions;
    use autokernel_codegen::spec::{Spec, attribute};
    use quote::quote;

    use super::*;

    #[test]
    fn the_page_of_a_body_has_its_formula() {
        let item = quote! {
            fn f(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<bf16>) {
                let gated = silu(dot(x, gate.t()));
                out = gated * dot(x, up.t());
            }
        };
        let attribute = attribute("fused_matmul").unwrap();
        let spec = Spec::parse(attribute, quote!(), item, &Functions::default()).unwrap();
        assert_eq!(
            formula(&spec),
            "\n```text\nlet gated = silu(dot(x, gate.t()));\nout = gated * dot(x, up.t());\n```\n"
        );
    }
}
