//! The functions of a body as it is written, which round as Rust's do.

use std::fmt::Write;

use super::operands::{fields, kind_of, operands};
use crate::attention::score::{Kind, SCALE, Score};
use crate::body::cuda::element;
use crate::expr::Expr;
use crate::expr::cuda::Spelling;

/// What a head needs, and a score of it.
pub fn functions(score: &Score) -> String {
    let name = |name: &str| match (name, kind_of(score, name)) {
        (SCALE, _) => "kScale".to_owned(),
        (_, Some(Kind::PerDistance)) => format!("of_head.{}.at(static_cast<int>(key_ - query_))", element(name)),
        (_, Some(_)) => format!("of_head.{}", element(name)),
        (_, None) => element(name),
    };
    let number = |expr: &Expr| Spelling::Exact.number(&expr.renamed(&name));
    let mut text = format!(
        "\n  // What the scores of a head need beside themselves.\n  \
         struct OfHead {{{} }};\n  \
         template <typename Args>\n  \
         __device__ __forceinline__ static OfHead of_head(const Args& args, int head) {{\n    \
         return {{{}}};\n  }}\n\n  \
         __device__ __forceinline__ static float score(const OfHead& of_head, float score_, float batch_, float head_, \
         float query_, float key_) {{\n",
        fields(score),
        operands(score),
    );
    for binding in &score.bindings {
        writeln!(text, "    const float {} = {};", element(&binding.name), number(&binding.value))
            .expect("strings take any text");
    }
    write!(text, "    return {};\n  }}\n", number(&score.value)).expect("strings take any text");
    text
}
