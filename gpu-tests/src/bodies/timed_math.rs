/// What the measurements of gradients and of reductions along rows run, likewise.
pub const TIMED_MATH: [(&str, &str); 4] = [
    ("dy.t() * x", "fn f(dy: &Matrix<bf16>, x: &Matrix<bf16>, dw: &mut Matrix<bf16>) { dw = dot(dy.t(), x); }"),
    ("dy * x", "fn f(dy: &Matrix<bf16>, x: &Matrix<bf16>, dw: &mut Matrix<bf16>) { dw = dot(dy, x); }"),
    (
        "dot + skip",
        "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>) {
            out = dot(x, w.t()) + skip;
        }",
    ),
    (
        "dot + skip and its norm",
        "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>, scale: &mut Column<f32>) {
            let y = dot(x, w.t()) + skip;
            out = y;
            scale = 1.0 / (row_mean(y * y) + 1e-6).sqrt();
        }",
    ),
];

/// What reads the result again where its norm is not computed beside it.
pub const NORM_BEHIND: (&str, &str) = (
    "norm of y",
    "fn f(y: &Matrix<bf16>, scale: &mut Column<f32>) { scale = 1.0 / (row_mean(y * y) + 1e-6).sqrt(); }",
);
