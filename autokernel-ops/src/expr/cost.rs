//! What a function costs the thread that computes it.

use serde::{Deserialize, Serialize};

use super::{BinaryOp, Expr, Function, Math, Precision};

/// What a function costs the thread that computes it, beside its argument and result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Registers that its temporaries need while the argument's neighbours are live.
    pub registers: u32,
    /// Calls of functions that are more than an instruction or two.
    pub special_functions: u32,
}

impl Cost {
    /// Nothing beside the arithmetic.
    pub const NONE: Cost = Cost { registers: 0, special_functions: 0 };
    /// As much as any function: what an unknown one is taken for.
    pub const MOST: Cost = Cost { registers: WIDE, special_functions: 1 };

    pub(crate) fn and(self, other: Cost) -> Cost {
        Cost {
            registers: self.registers.max(other.registers),
            special_functions: self.special_functions.saturating_add(other.special_functions),
        }
    }

    /// Registers of the constants of functions, which are there once however often a function is called.
    pub(crate) fn constants(self) -> u32 {
        FUNCTION_REGISTERS * self.special_functions.min(Math::special()).saturating_sub(1)
    }
}

/// Registers of each function beyond the first, whose constants are there beside those of the others.
const FUNCTION_REGISTERS: u32 = 4;
/// Registers of a function with branches of its own, such as `tanhf` and `erff`, whose sides are live together.
const WIDE: u32 = 16;

impl Math {
    pub(crate) fn cost(self) -> Cost {
        match self {
            Math::Tanh | Math::Erf => Cost { registers: WIDE, special_functions: 1 },
            // Large arguments are reduced by a path of its own.
            Math::Sin | Math::Cos => Cost { registers: 4 * WIDE, special_functions: 1 },
            Math::Exp | Math::Ln | Math::Sqrt | Math::Recip => Cost { registers: 0, special_functions: 1 },
            Math::Abs | Math::Max | Math::Min | Math::MulAdd => Cost::NONE,
            Math::Floor | Math::Ceil | Math::Trunc | Math::RoundTiesEven => Cost::NONE,
        }
    }
}

impl Math {
    fn cost_to(self, precision: Precision) -> Cost {
        match self {
            // One instruction.
            Math::Tanh if precision == Precision::Exponent => Cost { registers: 0, special_functions: 1 },
            other => other.cost(),
        }
    }

    /// How many functions are more than an instruction or two.
    fn special() -> u32 {
        Math::ALL.iter().map(|function| function.cost().special_functions).sum()
    }
}

impl Expr {
    /// Operators, calls and branches in it.
    pub fn operations(&self) -> u32 {
        let mut count = 0;
        self.walk(&mut |expr| {
            count +=
                u32::from(!matches!(expr, Expr::Variable(_) | Expr::Literal(_) | Expr::Index(_) | Expr::Extent(_)));
        });
        count
    }

    /// What it costs the thread that computes it.
    pub fn cost(&self) -> Cost {
        self.calls().into_iter().map(Math::cost).fold(self.cost_of_remainders(), Cost::and)
    }

    /// What remainders cost, which divide in a loop.
    fn cost_of_remainders(&self) -> Cost {
        let mut cost = Cost::NONE;
        self.walk(&mut |expr| {
            if matches!(expr, Expr::Binary(BinaryOp::Remainder, ..)) {
                cost = cost.and(Cost { registers: WIDE, special_functions: 1 });
            }
        });
        cost
    }
}

impl Expr {
    /// The same of one that is computed so finely.
    pub fn cost_to(&self, precision: Precision) -> Cost {
        self.calls().into_iter().map(|function| function.cost_to(precision)).fold(self.cost_of_remainders(), Cost::and)
    }
}

impl Function {
    /// What it costs the thread that computes it.
    pub fn cost(&self) -> Cost {
        self.calls().into_iter().map(Math::cost).fold(Cost::NONE, Cost::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epilogue::cost_of;

    #[test]
    fn what_calls_tanh_or_erf_needs_registers_and_what_only_adds_needs_none() {
        assert_eq!([cost_of("identity"), cost_of("leaky_relu")], [Cost::NONE; 2]);
        let wide = Cost { registers: WIDE, special_functions: 1 };
        assert_eq!(["tanh", "gelu", "gelu_tanh"].map(cost_of), [wide; 3]);
        assert_eq!(cost_of("silu"), Cost { registers: 0, special_functions: 1 });
        assert_eq!(cost_of("a body that no one has seen"), Cost::MOST);
    }
}
