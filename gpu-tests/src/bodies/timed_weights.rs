/// What the measurement of weights of few bits runs, with the settings of each: read by the build script, which compiles it, and by the
/// measurement. The first is the product of bf16 that the others are measured beside.
pub const TIMED_WEIGHTS: [(&str, &str, &str); 6] = [
    (WEIGHTS_BF16, "", "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Row<f32>, out: &mut Matrix<bf16>) { out = dot(x, w.t()) * scale; }"),
    (
        "weights i8, a scale a column",
        "",
        "fn f(x: &Matrix<bf16>, w: &Matrix<i8>, scale: &Row<f32>, out: &mut Matrix<bf16>) { out = dot(x, w.t()) * scale; }",
    ),
    (
        "weights i8, groups of 128",
        "group = 128",
        "fn f(x: &Matrix<bf16>, w: &Matrix<i8>, scales: &Matrix<f16>, out: &mut Matrix<bf16>) { out = dot(x, (w * scales).t()); }",
    ),
    (
        "weights i4x2, a scale a column",
        "",
        "fn f(x: &Matrix<bf16>, w: &Matrix<i4x2>, scale: &Row<f32>, out: &mut Matrix<bf16>) { out = dot(x, w.t()) * scale; }",
    ),
    (
        "weights i4x2, groups of 128",
        "group = 128",
        "fn f(x: &Matrix<bf16>, w: &Matrix<i4x2>, scales: &Matrix<f16>, out: &mut Matrix<bf16>) { out = dot(x, (w * scales).t()); }",
    ),
    (
        "weights i4x2, groups of 128 with zero points",
        "group = 128",
        "fn f(x: &Matrix<bf16>, w: &Matrix<i4x2>, scales: &Matrix<f16>, zeros: &Matrix<i8>, out: &mut Matrix<bf16>) {
            out = dot(x, ((w - zeros) * scales).t());
        }",
    ),
];
/// The product of bf16 alone.
pub const WEIGHTS_BF16: &str = "weights bf16";
