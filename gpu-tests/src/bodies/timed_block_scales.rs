/// What the measurement of blocks that have scales runs, by its name: read by the build script, which compiles it, and by the measurement.
pub const BLOCK_SCALES: (&str, &str) = (
    "e4m3, scales of blocks",
    "fn f(x: &Matrix<e4m3>, xs: &Matrix<f32>, w: &Matrix<e4m3>, ws: &Matrix<f32>, out: &mut Matrix<bf16>) {
        out = dot(x * xs, (w * ws).t());
    }",
);
