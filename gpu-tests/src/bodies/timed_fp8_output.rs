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

/// Columns of the rows that a tile holds whole, in what is timed.
pub const WHOLE_ROWS: u32 = 256;

/// Results of 8 bits beside which scales are made, by how the attribute says so: of factors of 16 bits and of 8. The scales of rows and the
/// one of all are those of the next launch; blocks, and rows that a tile holds whole, have their own.
pub const TIMED_FP8_SCALES: [[(&str, &str, &str); 4]; 2] = [
    [
        ("bf16 into e4m3, next scales of rows", "", NEXT_OF_ROWS_BF16),
        ("bf16 into e4m3, next scale of all", "", NEXT_OF_ALL_BF16),
        ("bf16 into e4m3, own scales of blocks", "block = 128", OWN_OF_BLOCKS_BF16),
        ("bf16 into e4m3, own scales of rows of 256", "n = 256", OWN_OF_ROWS_BF16),
    ],
    [
        ("e4m3 into e4m3, next scales of rows", "", NEXT_OF_ROWS_E4M3),
        ("e4m3 into e4m3, next scale of all", "", NEXT_OF_ALL_E4M3),
        ("e4m3 into e4m3, own scales of blocks", "block = 128", OWN_OF_BLOCKS_E4M3),
        ("e4m3 into e4m3, own scales of rows of 256", "n = 256", OWN_OF_ROWS_E4M3),
    ],
];

const NEXT_OF_ROWS_BF16: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<e4m3>, next: &mut Column<f32>) {
        let y = dot(x, w.t());
        out = y * scale;
        next = row_max(y.abs()) / 448.0;
    }";
const NEXT_OF_ROWS_E4M3: &str =
    "fn f(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale: &Column<f32>, out: &mut Matrix<e4m3>, next: &mut Column<f32>) {
        let y = dot(x, w.t());
        out = y * scale;
        next = row_max(y.abs()) / 448.0;
    }";
const NEXT_OF_ALL_BF16: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<e4m3>, next: &mut Scalar<f32>) {
        let y = dot(x, w.t());
        out = y * scale;
        next = column_max(row_max(y.abs()) / 448.0);
    }";
const NEXT_OF_ALL_E4M3: &str =
    "fn f(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale: &Column<f32>, out: &mut Matrix<e4m3>, next: &mut Scalar<f32>) {
        let y = dot(x, w.t());
        out = y * scale;
        next = column_max(row_max(y.abs()) / 448.0);
    }";
const OWN_OF_BLOCKS_BF16: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<e4m3>, own: &mut Matrix<f32>) {
        out * own = dot(x, w.t()) * scale;
    }";
const OWN_OF_BLOCKS_E4M3: &str =
    "fn f(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale: &Column<f32>, out: &mut Matrix<e4m3>, own: &mut Matrix<f32>) {
        out * own = dot(x, w.t()) * scale;
    }";
const OWN_OF_ROWS_BF16: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<e4m3>, own: &mut Column<f32>) {
        out * own = dot(x, w.t()) * scale;
    }";
const OWN_OF_ROWS_E4M3: &str =
    "fn f(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale: &Column<f32>, out: &mut Matrix<e4m3>, own: &mut Column<f32>) {
        out * own = dot(x, w.t()) * scale;
    }";

/// What makes 8 bits of a result in 16 with a scale for each row of its own, in a kernel of its own.
pub const QUANTISE_ROWS: (&str, &str) = (
    "quantise rows",
    "fn f(x: &Matrix<bf16>, own: &mut Column<f32>, out: &mut Matrix<e4m3>) {
        let of_row = row_max(x.abs()).max(1e-12) / 448.0;
        own = of_row;
        out = x / of_row;
    }",
);

/// What makes 8 bits of a result in 16, in a kernel of its own.
pub const QUANTISE: (&str, &str) = (
    "quantise",
    "fn f(x: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<e4m3>) {
        out = x * scale;
    }",
);
