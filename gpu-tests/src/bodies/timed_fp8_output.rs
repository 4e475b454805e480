/// What the measurement of 8-bit results runs: read by the build script, which compiles it, and by the measurement. Each product with its
/// result in 16 bits and in 8, scaled row by row.
pub const TIMED_FP8_OUTPUT: [[(&str, &str); 2]; 2] = [
    [
        (
            "bf16 into bf16",
            "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<bf16>) {
                out = dot(x, w.t()) * scale;
            }",
        ),
        (
            "bf16 into e4m3",
            "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<e4m3>) {
                out = dot(x, w.t()) * scale;
            }",
        ),
    ],
    [
        (
            "e4m3 into bf16",
            "fn f(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale: &Column<f32>, out: &mut Matrix<bf16>) {
                out = dot(x, w.t()) * scale;
            }",
        ),
        (
            "e4m3 into e4m3",
            "fn f(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale: &Column<f32>, out: &mut Matrix<e4m3>) {
                out = dot(x, w.t()) * scale;
            }",
        ),
    ],
];

/// What makes 8 bits of a result in 16, in a kernel of its own.
pub const QUANTISE: (&str, &str) = (
    "quantise",
    "fn f(x: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<e4m3>) {
        out = x * scale;
    }",
);
