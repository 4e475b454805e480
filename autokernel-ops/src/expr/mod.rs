//! Expression trees: pure functions from `f32` to one `f32`, as epilogues and bodies have them.
//!
//! Numbers and conditions are separate types, so a tree that would not type-check cannot be built.

pub mod ball;
mod calls;
mod cost;
pub mod cuda;
mod index;
mod named;
mod precision;
mod short;
mod walk;
mod written;

use serde::{Deserialize, Serialize};

pub use cost::Cost;
pub use index::Axis;
pub use named::Named;
pub use precision::Precision;

/// A function of one accumulated element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Function {
    /// Name of the argument.
    pub parameter: String,
    /// Named intermediate values in order; each may use the parameter and those before it. Names are unique.
    pub bindings: Vec<Binding>,
    /// The value returned.
    pub result: Expr,
}

/// `let name = value;`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Binding {
    /// The name, unique in its function.
    pub name: String,
    /// The value.
    pub value: Expr,
}

/// A number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expr {
    /// The parameter or a binding.
    Variable(String),
    /// A constant.
    Literal(#[serde(with = "written")] f32),
    /// The number of the element's row or column, from 0. As an `f32` it is exact below 2²⁴.
    Index(Axis),
    /// How many rows or columns there are, as an `f32` too.
    Extent(Axis),
    /// `-x`
    Negate(Box<Expr>),
    /// `left op right`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A function from the whitelist.
    Call(Math, Vec<Expr>),
    /// `if condition { then } else { otherwise }`
    If(Box<Condition>, Box<Expr>, Box<Expr>),
}

/// A truth value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// `left op right`
    Compare(CompareOp, Expr, Expr),
    /// `!condition`
    Not(Box<Condition>),
    /// `left && right`
    And(Box<Condition>, Box<Condition>),
    /// `left || right`
    Or(Box<Condition>, Box<Condition>),
}

/// An operator on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the operators")]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the operators")]
pub enum CompareOp {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

macro_rules! math {
    ($($(#[$doc:meta])* $variant:ident $name:literal $arity:literal $eval:expr;)*) => {
        /// The functions an epilogue may call: methods of `f32` or, where it has none, of [`autokernel_core`] in Rust,
        /// `autokernel::math` in CUDA, under one name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs, reason = "the names are those of the functions")]
        pub enum Math { $($variant,)* }

        impl Math {
            /// Every function.
            pub const ALL: &[Math] = &[$(Math::$variant,)*];

            /// Its name in Rust and in CUDA.
            pub fn name(self) -> &'static str {
                match self { $(Math::$variant => $name,)* }
            }

            /// How many numbers it takes, the receiver included.
            pub fn arity(self) -> usize {
                match self { $(Math::$variant => $arity,)* }
            }

            fn eval(self, args: &[f32]) -> f32 {
                match self { $(Math::$variant => ($eval)(args),)* }
            }
        }
    };
}

math! {
    Abs "abs" 1 |v: &[f32]| v[0].abs();
    Max "max" 2 |v: &[f32]| v[0].max(v[1]);
    Min "min" 2 |v: &[f32]| v[0].min(v[1]);
    Exp "exp" 1 |v: &[f32]| v[0].exp();
    Ln "ln" 1 |v: &[f32]| v[0].ln();
    Sqrt "sqrt" 1 |v: &[f32]| v[0].sqrt();
    Tanh "tanh" 1 |v: &[f32]| v[0].tanh();
    Erf "erf" 1 |v: &[f32]| autokernel_core::erf(v[0]);
    Sin "sin" 1 |v: &[f32]| v[0].sin();
    Cos "cos" 1 |v: &[f32]| v[0].cos();
    Recip "recip" 1 |v: &[f32]| v[0].recip();
    MulAdd "mul_add" 3 |v: &[f32]| v[0].mul_add(v[1], v[2]);
    Floor "floor" 1 |v: &[f32]| v[0].floor();
    Ceil "ceil" 1 |v: &[f32]| v[0].ceil();
    Trunc "trunc" 1 |v: &[f32]| v[0].trunc();
    RoundTiesEven "round_ties_even" 1 |v: &[f32]| v[0].round_ties_even();
}

impl Math {
    /// The function called `name`.
    pub fn from_name(name: &str) -> Option<Math> {
        Math::ALL.iter().copied().find(|function| function.name() == name)
    }

    /// Whether Rust writes it as a method, `x.tanh()`, and not as a function, `erf(x)`.
    pub fn is_method(self) -> bool {
        self != Math::Erf
    }
}

impl Function {
    /// The value at `x`, computed by walking the tree: the meaning that Rust and CUDA must both agree with.
    pub fn eval(&self, x: f32) -> f32 {
        let mut scope = vec![(self.parameter.as_str(), x)];
        for binding in &self.bindings {
            let value = binding.value.eval(&scope);
            scope.push((&binding.name, value));
        }
        self.result.eval(&scope)
    }
}

impl Expr {
    /// The value where names have those values, computed by walking the tree: the meaning that Rust and CUDA must both
    /// agree with.
    ///
    /// # Panics
    /// A name has no value.
    pub fn eval(&self, scope: &[(&str, f32)]) -> f32 {
        let value = |name: &str| {
            let found = scope.iter().find(|(bound, _)| *bound == name);
            found.expect("the translator admits only names in scope").1
        };
        match self {
            Expr::Variable(name) => value(name),
            Expr::Literal(value) => *value,
            Expr::Index(axis) => value(axis.call()),
            Expr::Extent(axis) => value(axis.count_call()),
            Expr::Negate(value) => -value.eval(scope),
            Expr::Binary(op, left, right) => op.eval(left.eval(scope), right.eval(scope)),
            Expr::Call(function, args) => {
                let args: Vec<f32> = args.iter().map(|arg| arg.eval(scope)).collect();
                function.eval(&args)
            }
            Expr::If(condition, then, otherwise) => {
                if condition.eval(scope) {
                    then.eval(scope)
                } else {
                    otherwise.eval(scope)
                }
            }
        }
    }
}

impl Condition {
    fn eval(&self, scope: &[(&str, f32)]) -> bool {
        match self {
            Condition::Compare(op, left, right) => op.eval(left.eval(scope), right.eval(scope)),
            Condition::Not(condition) => !condition.eval(scope),
            Condition::And(left, right) => left.eval(scope) && right.eval(scope),
            Condition::Or(left, right) => left.eval(scope) || right.eval(scope),
        }
    }
}

impl BinaryOp {
    /// The operator, the same in Rust and in CUDA.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Remainder => "%",
        }
    }

    fn eval(self, left: f32, right: f32) -> f32 {
        match self {
            BinaryOp::Add => left + right,
            BinaryOp::Subtract => left - right,
            BinaryOp::Multiply => left * right,
            BinaryOp::Divide => left / right,
            BinaryOp::Remainder => left % right,
        }
    }
}

impl CompareOp {
    /// The operator, the same in Rust and in CUDA.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Less => "<",
            CompareOp::LessEqual => "<=",
            CompareOp::Greater => ">",
            CompareOp::GreaterEqual => ">=",
            CompareOp::Equal => "==",
            CompareOp::NotEqual => "!=",
        }
    }

    fn eval(self, left: f32, right: f32) -> bool {
        match self {
            CompareOp::Less => left < right,
            CompareOp::LessEqual => left <= right,
            CompareOp::Greater => left > right,
            CompareOp::GreaterEqual => left >= right,
            CompareOp::Equal => left == right,
            CompareOp::NotEqual => left != right,
        }
    }
}
