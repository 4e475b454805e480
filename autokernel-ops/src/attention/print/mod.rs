//! What must be computed, as CUDA's `struct Problem`.

mod exact;
mod lowered;
mod operands;

use super::lower::lower;
use super::problem::Problem;
use crate::expr::cuda::Spelling;

pub use operands::{columns_of, field, row_of};

/// The struct, with the functions of a body where there is one.
pub fn problem(problem: &Problem, spelling: Spelling) -> String {
    let &Problem { dtype, head_dim, value_dim, causal, window, scale, log_sum_exp, ref score, sequences: _ } = problem;
    let window = window.unwrap_or(0);
    // Of a lowered body the scale is a part, as a number.
    let of_scale = match (score, spelling) {
        (Some(_), Spelling::Fast(_) | Spelling::Straight(_)) => String::new(),
        _ => format!("  static constexpr float kScale = {scale:?}f;\n"),
    };
    let mut text = format!(
        "// What must be computed.\n\
         struct Problem {{\n  \
         using Input = autokernel::{dtype};\n  \
         static constexpr int kHeadDim = {head_dim};\n  \
         static constexpr int kValueDim = {value_dim};\n  \
         static constexpr bool kCausal = {causal};\n  \
         static constexpr int kWindow = {window};  // 0: none\n{of_scale}  \
         static constexpr bool kLse = {log_sum_exp};\n  \
         static constexpr bool kScored = {};\n",
        score.is_some()
    );
    if let Some(score) = score {
        text += &match spelling {
            Spelling::Exact => exact::functions(score),
            Spelling::Fast(_) | Spelling::Straight(_) => lowered::functions(score, &lower(score, scale), spelling),
        };
    }
    text + "};\n"
}
