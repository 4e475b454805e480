//! What methods of `f32` that bodies do not have can be written as.

/// A method, what can be written in the place of its call, and what of that a reader should know.
const METHODS: &[(&str, &str, &str)] = &[
    ("powi", "x.powi(3)", ", and so on"),
    ("powf", "(y * x.ln()).exp()", ", of a positive `x`; a square is `x * x`"),
    ("exp2", "(x * 0.693_147_2).exp()", ""),
    ("exp_m1", "x.exp() - 1.0", ""),
    ("ln_1p", "(1.0 + x).ln()", ""),
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

/// The advice for a call of `name`.
pub fn instead_of(name: &str) -> Option<String> {
    let (_, code, note) = METHODS.iter().find(|(method, ..)| *method == name)?;
    Some(format!("write `{code}`{note}"))
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    use super::METHODS;
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
        for (method, code, _) in METHODS {
            assert!(is_understood(code), "{method}: {code}");
        }
    }
}
