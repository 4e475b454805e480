//! Bodies for the tests of this room.

use std::ops::{Add, Div, Mul, Sub};

use autokernel_core::{Dtype, Role};

use crate::body::{Body, Columns, Fetch, Kind, Operand, Reduction, Step};
use crate::expr::{BinaryOp, Expr, Math};

macro_rules! operator {
    ($($trait:ident $method:ident $op:ident;)+) => {
        $(impl $trait for Expr {
            type Output = Expr;

            fn $method(self, other: Expr) -> Expr {
                Expr::Binary(BinaryOp::$op, Box::new(self), Box::new(other))
            }
        })+
    };
}

operator! { Add add Add; Sub sub Subtract; Mul mul Multiply; Div div Divide; }

pub fn name(name: &str) -> Expr {
    Expr::Variable(name.to_owned())
}

pub fn number(value: f32) -> Expr {
    Expr::Literal(value)
}

pub fn call(function: Math, value: Expr) -> Expr {
    Expr::Call(function, vec![value])
}

pub fn reads(name: &str, kind: Kind, dtype: Dtype) -> Operand {
    Operand { name: name.to_owned(), kind, dtype, role: Role::Input, batched: false }
}

pub fn writes(name: &str, kind: Kind, dtype: Dtype) -> Operand {
    Operand { name: name.to_owned(), kind, dtype, role: Role::Output, batched: false }
}

pub fn bind(name: &str, value: Expr) -> Step {
    Step::Let { name: name.to_owned(), value }
}

pub fn reduce(name: &str, reduction: Reduction, of: Expr) -> Step {
    Step::Reduce { name: name.to_owned(), reduction, of }
}

pub fn store(output: &str, value: Expr) -> Step {
    Step::Store { output: output.to_owned(), row: None, fold: None, value }
}

/// `let e = (x - row_max(x)).exp(); out = e / row_sum(e);`
pub fn softmax() -> Body {
    Body {
        operands: vec![reads("x", Kind::Matrix, Dtype::Bf16), writes("out", Kind::Matrix, Dtype::Bf16)],
        steps: vec![
            reduce("max", Reduction::Max, name("x")),
            bind("e", call(Math::Exp, name("x") - name("max"))),
            reduce("sum", Reduction::Sum, name("e")),
            store("out", name("e") / name("sum")),
        ],
        ..Body::default()
    }
}

/// `let y = x + skip; sum = y; out = y / (row_mean(y * y) + 1e-6).sqrt() * weight;`
pub fn add_rms_norm() -> Body {
    let y = || name("y");
    Body {
        operands: vec![
            reads("x", Kind::Matrix, Dtype::Bf16),
            reads("skip", Kind::Matrix, Dtype::Bf16),
            reads("weight", Kind::Row, Dtype::Bf16),
            writes("sum", Kind::Matrix, Dtype::Bf16),
            writes("out", Kind::Matrix, Dtype::Bf16),
        ],
        steps: vec![
            bind("y", name("x") + name("skip")),
            store("sum", y()),
            reduce("squares", Reduction::Mean, y() * y()),
            store("out", y() / call(Math::Sqrt, name("squares") + number(1e-6)) * name("weight")),
        ],
        ..Body::default()
    }
}

/// `out = table[ids] * scales[ids]; cache[slots] = x;`
pub fn picked() -> Body {
    let fetch = |name: &str, of: &str| Fetch {
        name: name.to_owned(),
        of: of.to_owned(),
        row: Some("ids".to_owned()),
        columns: Columns::Same,
    };
    let scatter =
        Step::Store { output: "cache".to_owned(), row: Some("slots".to_owned()), fold: None, value: name("x") };
    Body {
        operands: vec![
            reads("x", Kind::Matrix, Dtype::Bf16),
            reads("table", Kind::Matrix, Dtype::F16),
            reads("scales", Kind::Column, Dtype::F32),
            reads("ids", Kind::Index, Dtype::I32),
            reads("slots", Kind::Index, Dtype::I32),
            writes("out", Kind::Matrix, Dtype::F16),
            writes("cache", Kind::Matrix, Dtype::Bf16),
        ],
        fetches: vec![fetch("table_at_ids", "table"), fetch("scales_at_ids", "scales")],
        steps: vec![store("out", name("table_at_ids") * name("scales_at_ids")), scatter],
        ..Body::default()
    }
}

/// `out = x * repeat_columns(table[at]) + rotate_half(x, 64) * rotate_pairs(weight);`
pub fn rotary() -> Body {
    let fetch = |name: &str, of: &str, row: Option<&str>, columns| Fetch {
        name: name.to_owned(),
        of: of.to_owned(),
        row: row.map(str::to_owned),
        columns,
    };
    Body {
        operands: vec![
            reads("x", Kind::Matrix, Dtype::Bf16),
            reads("table", Kind::Matrix, Dtype::F32),
            reads("weight", Kind::Row, Dtype::F16),
            reads("at", Kind::Index, Dtype::I32),
            writes("out", Kind::Matrix, Dtype::Bf16),
        ],
        fetches: vec![
            fetch("table_at_at_repeated", "table", Some("at"), Columns::Repeat),
            fetch("x_rotated", "x", None, Columns::RotateHalf(64)),
            fetch("weight_rotated", "weight", None, Columns::RotatePairs),
        ],
        steps: vec![store(
            "out",
            name("x") * name("table_at_at_repeated") + name("x_rotated") * name("weight_rotated"),
        )],
        ..Body::default()
    }
}

/// `total = column_sum(x * scale * weight); most = column_max(x);`
pub fn gradients() -> Body {
    let fold = |output: &str, reduction, value| Step::Store {
        output: output.to_owned(),
        row: None,
        fold: Some(reduction),
        value,
    };
    Body {
        operands: vec![
            reads("x", Kind::Matrix, Dtype::Bf16),
            reads("scale", Kind::Column, Dtype::F32),
            reads("weight", Kind::Row, Dtype::F16),
            writes("total", Kind::Row, Dtype::F32),
            writes("most", Kind::Row, Dtype::Bf16),
        ],
        steps: vec![
            bind("y", name("x") * name("scale")),
            fold("total", Reduction::Sum, name("y") * name("weight")),
            fold("most", Reduction::Max, name("x")),
        ],
        ..Body::default()
    }
}

/// The least, the greatest and the scaled sum of each row.
pub fn statistics() -> Body {
    Body {
        operands: vec![
            reads("x", Kind::Matrix, Dtype::F16),
            reads("scale", Kind::Column, Dtype::F32),
            writes("least", Kind::Column, Dtype::F16),
            writes("span", Kind::Column, Dtype::F32),
            writes("sum", Kind::Column, Dtype::F32),
        ],
        steps: vec![
            reduce("low", Reduction::Min, name("x")),
            reduce("high", Reduction::Max, name("x")),
            reduce("total", Reduction::Sum, name("x") * name("scale")),
            store("least", name("low")),
            store("span", name("high") - name("low")),
            store("sum", name("total")),
        ],
        ..Body::default()
    }
}
