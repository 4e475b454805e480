// The bodies of the tests: read by the build script, which compiles them, and by the tests.

/// A body, and the element types that its `TYPE` stands for.
pub struct NamedBody {
    /// What it is called in reports.
    pub name: &'static str,
    /// The function; `TYPE` is an element type.
    pub source: &'static str,
}

/// Every body.
pub const BODIES: [NamedBody; 7] = [
    NamedBody {
        name: "softmax",
        source: "fn softmax(x: &Matrix<TYPE>, out: &mut Matrix<TYPE>) {
            let e = (x - row_max(x)).exp();
            out = e / row_sum(e);
        }",
    },
    NamedBody {
        name: "rms_norm",
        source: "fn rms_norm(x: &Matrix<TYPE>, weight: &Row<TYPE>, out: &mut Matrix<TYPE>) {
            out = x / (row_mean(x * x) + 1e-6).sqrt() * weight;
        }",
    },
    NamedBody {
        name: "layer_norm",
        source: "fn layer_norm(x: &Matrix<TYPE>, weight: &Row<TYPE>, bias: &Row<TYPE>, out: &mut Matrix<TYPE>) {
            let centred = x - row_mean(x);
            out = centred / (row_mean(centred * centred) + 1e-5).sqrt() * weight + bias;
        }",
    },
    NamedBody {
        name: "add_rms_norm",
        source: "fn add_rms_norm(
            x: &Matrix<TYPE>, skip: &Matrix<TYPE>, weight: &Row<TYPE>, sum: &mut Matrix<TYPE>, out: &mut Matrix<TYPE>
        ) {
            let y = x + skip;
            sum = y;
            out = y / (row_mean(y * y) + 1e-6).sqrt() * weight;
        }",
    },
    NamedBody {
        name: "silu_mul",
        source: "fn silu_mul(gate: &Matrix<TYPE>, up: &Matrix<TYPE>, out: &mut Matrix<TYPE>) {
            out = gate / (1.0 + (-gate).exp()) * up;
        }",
    },
    NamedBody {
        name: "row_sum",
        source: "fn sum(x: &Matrix<TYPE>, out: &mut Column<f32>) { out = row_sum(x); }",
    },
    NamedBody {
        name: "statistics",
        source: "fn statistics(
            x: &Matrix<TYPE>, scale: &Column<f32>, least: &mut Column<TYPE>, log: &mut Column<f32>, out: &mut Matrix<f32>
        ) {
            let shifted = x - row_max(x);
            least = row_min(x);
            log = row_sum(shifted.exp()).ln() * scale;
            out = if shifted < -1.0 { shifted * scale } else { x.abs() };
        }",
    },
];

/// The widths for which a schedule is compiled.
pub const WIDTHS: [u32; 2] = [1024, 65_536];
