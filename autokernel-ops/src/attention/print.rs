//! What must be computed, as CUDA's `struct Problem`.

use std::fmt::Write;

use super::problem::Problem;
use super::score::{Kind, SCALE, Score};
use crate::body::cuda::element;
use crate::expr::cuda::Spelling;
use crate::expr::{BinaryOp, Expr, Math};

/// The struct, with the functions of a body where there is one.
pub fn problem(problem: &Problem, spelling: Spelling) -> String {
    let &Problem { dtype, head_dim, value_dim, causal, window, scale, log_sum_exp, ref score, sequences: _ } = problem;
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
    let mut divisors = Vec::new();
    let mut fast = |expr: &Expr| match spelling {
        Spelling::Exact => expr.clone(),
        Spelling::Fast(_) => straight(&of_head_divided(expr, score, &mut divisors)),
    };
    let bindings: Vec<_> =
        score.bindings.iter().map(|binding| (element(&binding.name), fast(&binding.value))).collect();
    let value = fast(&score.value);

    let fields = score.operands.iter().map(|operand| element(&operand.name));
    let fields: String =
        fields.chain((0..divisors.len()).map(reciprocal)).map(|name| format!(" float {name};")).collect();
    let values: Vec<String> = numbered()
        .map(|(number, operand)| match operand.kind {
            Kind::Number => format!("args.{}", field(number)),
            Kind::PerHead => format!("static_cast<const float*>(args.{})[head]", field(number)),
        })
        .collect();
    let name = |name: &str| match (name, name.strip_prefix(RECIPROCAL)) {
        (_, Some(number)) => format!("of_head.{RECIPROCAL_NAME}{number}"),
        (SCALE, _) => "kScale".to_owned(),
        _ if score.operands.iter().any(|operand| operand.name == name) => format!("of_head.{}", element(name)),
        _ => element(name),
    };
    let mut text = format!(
        "\n  // What the scores of a head need beside themselves.\n  \
         struct OfHead {{{fields} }};\n  \
         template <typename Args>\n  \
         __device__ __forceinline__ static OfHead of_head(const Args& args, int head) {{\n    \
         OfHead of_head{{{}}};\n",
        values.join(", ")
    );
    for (number, divisor) in divisors.iter().enumerate() {
        let divisor = spelling.number(&divisor.renamed(&name));
        writeln!(text, "    of_head.{} = 1.0f / {divisor};", reciprocal(number)).expect("strings take any text");
    }
    text += "    return of_head;\n  }\n\n  \
             __device__ __forceinline__ static float score(const OfHead& of_head, float score_, float batch_, float head_, \
             float query_, float key_) {\n";
    for (binding, value) in &bindings {
        let value = spelling.number(&value.renamed(&name));
        writeln!(text, "    const float {binding} = {value};").expect("strings take any text");
    }
    let value = spelling.number(&value.renamed(&name));
    write!(text, "    return {value};\n  }}\n").expect("strings take any text");
    text
}

/// What stands for the reciprocal of a divisor in an expression, before its number: in no name of a body.
const RECIPROCAL: char = '/';
const RECIPROCAL_NAME: &str = "reciprocal";

fn reciprocal(number: usize) -> String {
    format!("{RECIPROCAL_NAME}{number}")
}

/// The same with a product in the place of each division by what is the same for a whole head, whose divisor is put to the others.
fn of_head_divided(expr: &Expr, score: &Score, divisors: &mut Vec<Expr>) -> Expr {
    let of_head = |name: &str| name == SCALE || score.operands.iter().any(|operand| operand.name == name);
    match expr.map_children(&mut |child| of_head_divided(child, score, divisors)) {
        Expr::Binary(BinaryOp::Divide, left, right) if right.variables().into_iter().all(of_head) => {
            let number = divisors.len();
            divisors.push(*right);
            let reciprocal = Expr::Variable(format!("{RECIPROCAL}{number}"));
            Expr::Binary(BinaryOp::Multiply, left, Box::new(reciprocal))
        }
        other => other,
    }
}

/// The same with `(1 + tanh(x)) - 1` for `tanh(x)`, which fast kernels compute without a branch. It is off by some units of 2⁻²⁴: of a
/// score that counts, as exponentials see differences.
fn straight(expr: &Expr) -> Expr {
    let one = || Box::new(Expr::Literal(1.0));
    match expr.map_children(&mut straight) {
        tanh @ Expr::Call(Math::Tanh, _) => {
            let sum = Expr::Binary(BinaryOp::Add, one(), Box::new(tanh));
            Expr::Binary(BinaryOp::Subtract, Box::new(sum), one())
        }
        other => other,
    }
}

/// The field of the operand with that number among a body's.
pub fn field(number: u8) -> String {
    format!("operand{number}")
}
