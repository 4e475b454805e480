//! Which functions a function calls.

use super::{Expr, Function, Math};

impl Function {
    /// Every call in it, in the order of the text.
    pub fn calls(&self) -> Vec<Math> {
        let values = self.bindings.iter().map(|binding| &binding.value).chain([&self.result]);
        values.flat_map(Expr::calls).collect()
    }
}

impl Expr {
    /// Every call in it, in the order of the text.
    pub fn calls(&self) -> Vec<Math> {
        let mut calls = Vec::new();
        self.walk(&mut |expr| {
            if let Expr::Call(function, _) = expr {
                calls.push(*function);
            }
        });
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::Math;
    use crate::epilogue::Epilogue;

    #[test]
    fn a_call_is_found_wherever_it_stands() {
        let calls = |name: &str| name.parse::<Epilogue>().unwrap().function().calls();
        assert_eq!(calls("leaky_relu"), []);
        assert_eq!([calls("gelu"), calls("gelu_tanh"), calls("silu")].concat(), [Math::Erf, Math::Tanh, Math::Exp]);
    }
}
