/// What the measurement of bodies runs: read by the build script, which compiles it, and by the measurement. `plain` is the
/// product alone, which the others are compared with.
pub const TIMED: [(&str, &str); 5] = [
    ("plain", "fn plain(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = dot(x, w.t()); }"),
    (
        "gelu_tanh(dot + bias)",
        "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, out: &mut Matrix<bf16>) {
            out = gelu_tanh(dot(x, w.t()) + bias);
        }",
    ),
    (
        "dot + bias + skip",
        "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>) {
            out = dot(x, w.t()) + bias + skip;
        }",
    ),
    (
        "gelu(dot + bias) + skip",
        "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>) {
            out = gelu(dot(x, w.t()) + bias) + skip;
        }",
    ),
    (
        TWENTY,
        "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<bf16>) {
            let y = scale * dot(x, w.t()) + bias;
            let gate = 1.0 / (1.0 + (-y).exp());
            let bent = if y > 0.0 { y } else { 0.2 * y };
            let mixed = gate * bent + (1.0 - gate) * skip;
            out = mixed.max(-6.0).min(6.0) + 0.5 * (y - skip).abs() + scale * skip;
        }",
    ),
];

/// The body of so many operations, whose bytes beside the product's go by at the bandwidth of [`COPY`] at best.
pub const TWENTY: &str = "twenty operations";

/// What tells how fast bytes go by.
pub const COPY: (&str, &str) = ("copy", "fn f(skip: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = skip; }");

/// What follows a product where `gelu(dot + bias) + skip` is not fused into it.
pub const BEHIND: (&str, &str) = (
    "gelu(product + bias) + skip",
    "fn f(product: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        out = gelu(product + bias) + skip;
    }",
);

/// Two products in one kernel, by schedules of its own.
pub const SWIGLU: (&str, &str) = (
    "silu(dot) * dot",
    "fn f(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        out = silu(dot(x, gate.t())) * dot(x, up.t());
    }",
);
