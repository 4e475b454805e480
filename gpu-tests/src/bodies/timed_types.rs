/// What the measurement of whole numbers and of tf32 runs: read by the build script, which compiles it, and by the measurement. The
/// product of whole numbers alone, in words of 32 bits as cuBLASLt leaves it.
pub const I8_SUMS: &str = "i8, sums in f32";
/// That of f32 as tf32.
pub const TF32_SUMS: &str = "tf32, sums in f32";
/// Whole numbers with the scales of rows and columns, in bf16.
pub const I8_SCALED: (&str, &str) = (
    "i8, scales of rows and columns",
    "fn f(x: &Matrix<i8>, w: &Matrix<i8>, scale_x: &Column<f32>, scale_w: &Row<f32>, out: &mut Matrix<bf16>) {
        out = dot(x, w.t()) * scale_x * scale_w;
    }",
);
/// What takes sums of whole numbers to that behind a product that leaves them; of f32, which are as many bytes.
pub const SCALED_BEHIND: (&str, &str) = (
    "scales of rows and columns behind a product",
    "fn f(sums: &Matrix<f32>, scale_x: &Column<f32>, scale_w: &Row<f32>, out: &mut Matrix<bf16>) {
        out = sums * scale_x * scale_w;
    }",
);
