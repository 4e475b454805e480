//! Which functions a function calls.

use super::{Condition, Expr, Function, Math};

impl Function {
    /// Every call in it, in the order of the text.
    pub fn calls(&self) -> Vec<Math> {
        let mut calls = Vec::new();
        for binding in &self.bindings {
            binding.value.collect_calls(&mut calls);
        }
        self.result.collect_calls(&mut calls);
        calls
    }
}

impl Expr {
    fn collect_calls(&self, calls: &mut Vec<Math>) {
        match self {
            Expr::Variable(_) | Expr::Literal(_) => {}
            Expr::Negate(value) => value.collect_calls(calls),
            Expr::Binary(_, left, right) => [left, right].iter().for_each(|side| side.collect_calls(calls)),
            Expr::Call(function, args) => {
                calls.push(*function);
                args.iter().for_each(|arg| arg.collect_calls(calls));
            }
            Expr::If(condition, then, otherwise) => {
                condition.collect_calls(calls);
                [then, otherwise].iter().for_each(|side| side.collect_calls(calls));
            }
        }
    }
}

impl Condition {
    fn collect_calls(&self, calls: &mut Vec<Math>) {
        match self {
            Condition::Compare(_, left, right) => [left, right].iter().for_each(|side| side.collect_calls(calls)),
            Condition::Not(condition) => condition.collect_calls(calls),
            Condition::And(left, right) | Condition::Or(left, right) => {
                [left, right].iter().for_each(|side| side.collect_calls(calls));
            }
        }
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
