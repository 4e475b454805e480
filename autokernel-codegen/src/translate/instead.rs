//! What methods of `f32` that bodies do not have can be written as.

/// A method, what can be written in the place of its call, and what of that a reader should know.
const METHODS: &[(&str, &str, &str)] = &[
    ("powi", "x.powi(3)", ", and so on"),
    ("powf", "(y * x.ln()).exp()", ", of a positive `x`; a square is `x * x`"),
    ("exp2", "(x * 0.693_147_2).exp()", ""),
    ("exp_m1", "x.exp() - 1.0", ", of which near 0 few digits are left; there `x + 0.5 * x * x` has them"),
    ("ln_1p", "(1.0 + x).ln()", ", of which near 0 few digits are left; there `x - 0.5 * x * x` has them"),
    ("round", "(x + 0.5).floor()", ", which rounds halves up"),
    ("fract", "x - x.trunc()", ""),
    ("rem_euclid", "x - y * (x / y).floor()", ", of a positive `y`"),
    ("log2", "x.ln() * 1.442_695", ""),
    ("log10", "x.ln() * 0.434_294_5", ""),
    ("hypot", "(x * x + y * y).sqrt()", ""),
    ("tan", "x.sin() / x.cos()", ""),
    ("clamp", "x.clamp(-1.0, 1.0)", ""),
    ("signum", "if x < 0.0 { -1.0 } else { 1.0 }", ""),
    ("is_nan", "if x.is_nan() { 1.0 } else { 0.0 }", ", as it is a condition"),
    ("is_finite", "if x.is_finite() { 1.0 } else { 0.0 }", ", as it is a condition"),
    ("is_infinite", "if x.is_infinite() { 1.0 } else { 0.0 }", ", as it is a condition"),
];

/// Reductions that a body spells out, as above.
const REDUCTIONS: &[(&str, &str, &str)] = &[
    (
        "row_argmax",
        "row_min(if x == row_max(x) { column_index() } else { f32::INFINITY })",
        ", the first of the greatest",
    ),
    ("row_argmin", "row_min(if x == row_min(x) { column_index() } else { f32::INFINITY })", ", the first of the least"),
    ("row_var", "row_mean((x - row_mean(x)) * (x - row_mean(x)))", ""),
    ("row_std", "row_mean((x - row_mean(x)) * (x - row_mean(x))).sqrt()", ""),
    ("row_norm", "row_sum(x * x).sqrt()", ""),
    ("row_any", "row_max(if x > 0.0 { 1.0 } else { 0.0 })", ""),
    ("row_all", "row_min(if x > 0.0 { 1.0 } else { 0.0 })", ""),
    ("row_prod", "row_sum(x.abs().ln()).exp()", ", of numbers that are not 0, and but for its sign"),
];

/// The advice for a call of the method `name`.
pub fn instead_of(name: &str) -> Option<String> {
    advice(METHODS, name)
}

/// The advice for a call of the function `name`.
pub fn instead_of_reduction(name: &str) -> Option<String> {
    advice(REDUCTIONS, name)
}

fn advice(of: &[(&str, &str, &str)], name: &str) -> Option<String> {
    let (_, code, note) = of.iter().find(|(known, ..)| *known == name)?;
    Some(format!("write `{code}`{note}"))
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    use super::{METHODS, REDUCTIONS};
    use crate::function::Functions;
    use crate::spec::{Spec, attribute};

    fn is_understood(value: &str) -> bool {
        let item = format!(
            "fn kernel(x: &Matrix<f32>, y: f32, low: f32, high: f32, out: &mut Matrix<f32>) {{ out = (y + low * high) * ({value}); }}"
        );
        let rows = attribute("rows").unwrap();
        Spec::parse(rows, TokenStream::new(), item.parse().unwrap(), &Functions::new(&[])).is_ok()
    }

    #[test]
    fn what_is_advised_is_understood() {
        for (method, code, _) in METHODS.iter().chain(REDUCTIONS) {
            assert!(is_understood(code), "{method}: {code}");
        }
    }
}
