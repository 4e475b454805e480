/// What the measurement of 8-bit floats runs: read by the build script, which compiles it, and by the measurement. One scale for
/// each factor, as cuBLASLt takes them; and one for each row and column.
pub const TIMED_FP8: [(&str, &str); 2] = [
    (
        "e4m3, a scale each",
        "fn f(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale_x: f32, scale_w: f32, out: &mut Matrix<bf16>) {
            out = dot(x, w.t()) * scale_x * scale_w;
        }",
    ),
    (
        "e4m3, scales of rows and columns",
        "fn f(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale_x: &Column<f32>, scale_w: &Row<f32>, out: &mut Matrix<bf16>) {
            out = dot(x, w.t()) * scale_x * scale_w;
        }",
    ),
];
