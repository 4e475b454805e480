//! What must be computed, as CUDA's `struct Problem`.

use std::fmt::Write;

use super::problem::Problem;
use super::score::{Kind, SCALE, Score};
use crate::body::cuda::element;
use crate::expr::cuda::Spelling;

/// The struct, with the functions of a body where there is one.
pub fn problem(problem: &Problem, spelling: Spelling) -> String {
    let &Problem { dtype, head_dim, value_dim, causal, window, scale, log_sum_exp, ref score } = problem;
    let window = window.unwrap_or(0);
    let mut text = format!(
        "// What must be computed.\n\
         struct Problem {{\n  \
         using Input = autokernel::{dtype};\n  \
         static constexpr int kHeadDim = {head_dim};\n  \
         static constexpr int kValueDim = {value_dim};\n  \
         static constexpr bool kCausal = {causal};\n  \
         static constexpr int kWindow = {window};  // 0: none\n  \
         static constexpr float kScale = {scale:?}f;\n  \
         static constexpr bool kLse = {log_sum_exp};\n  \
         static constexpr bool kScored = {};\n",
        score.is_some()
    );
    if let Some(score) = score {
        text += &functions(score, spelling);
    }
    text + "};\n"
}

fn functions(score: &Score, spelling: Spelling) -> String {
    let numbered = || (0..).zip(&score.operands);
    let fields: String = score.operands.iter().map(|operand| format!(" float {};", element(&operand.name))).collect();
    let values: Vec<String> = numbered()
        .map(|(number, operand)| match operand.kind {
            Kind::Number => format!("args.{}", field(number)),
            Kind::PerHead => format!("static_cast<const float*>(args.{})[head]", field(number)),
        })
        .collect();
    let name = |name: &str| match name {
        SCALE => "kScale".to_owned(),
        name if score.operands.iter().any(|operand| operand.name == name) => format!("of_head.{}", element(name)),
        name => element(name),
    };
    let mut text = format!(
        "\n  // What the scores of a head need beside themselves.\n  \
         struct OfHead {{{fields} }};\n  \
         template <typename Args>\n  \
         __device__ __forceinline__ static OfHead of_head(const Args& args, int head) {{\n    \
         return {{{}}};\n  }}\n\n  \
         __device__ __forceinline__ static float score(const OfHead& of_head, float score_, float batch_, float head_, \
         float query_, float key_) {{\n",
        values.join(", ")
    );
    for binding in &score.bindings {
        let value = spelling.number(&binding.value.renamed(&name));
        writeln!(text, "    const float {} = {value};", element(&binding.name)).expect("strings take any text");
    }
    let value = spelling.number(&score.value.renamed(&name));
    write!(text, "    return {value};\n  }}\n").expect("strings take any text");
    text
}

/// The field of the operand with that number among a body's.
pub fn field(number: u8) -> String {
    format!("operand{number}")
}
