/// What the measurement of bodies runs: read by the build script, which compiles it, and by the measurement. `plain` is the
/// product alone, which the others are compared with.
pub const TIMED: [(&str, &str); 4] = [
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
];

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
