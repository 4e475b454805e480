//! The documentation of the generated items.

use std::fmt::Write;

use autokernel_codegen::build::{Plan, Variant};
use autokernel_codegen::spec::Spec;

use crate::kernels;

/// What every launch may do and refuse.
pub const LAUNCH: &str = "On a GPU the launch is asynchronous, on the stream of the output's device.\n\n\
                          # Errors\n\nThe shapes do not fit together, the operands are on different devices, or the GPU \
                          cannot run the kernel; the error says what to do.";

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
