//! A layer of experts in bf16: each token goes to the 6 of 64 experts that score it highest, `down(silu(gate(x)) ∘ up(x))` each, and
//! comes back as the sum of what they made of it, weighted. Five launches, none of which waits for the host, although it is the
//! device alone that knows how many tokens an expert has: the layer is captured in a CUDA graph once and replayed for any scores.
#![forbid(unsafe_code)]

mod reference;
mod speed;

use autokernel::{Batch, Column, Device, Index, Matrix, Result, Routes, bf16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const EXPERTS: usize = 64;
const TOP_K: usize = 6;

/// Who computes what: the experts of each token, and all rows in their order.
#[autokernel::routing(experts = 64, top_k = 6)]
fn route(scores: &Matrix<f32>, routes: &mut Routes);

/// The rows of an expert side by side, a token once for each of its experts.
#[autokernel::rows]
fn gather(x: &Matrix<bf16>, tokens: &Index, rows: &mut Matrix<bf16>) {
    rows = x[tokens];
}

/// SwiGLU of each group of rows by its expert's matrices: neither product is written to memory.
#[autokernel::fused_matmul]
fn swiglu(rows: &Matrix<bf16>, gate: &Batch<bf16>, up: &Batch<bf16>, offsets: &Index, hidden: &mut Matrix<bf16>) {
    hidden = silu(dot(rows, gate.t())) * dot(rows, up.t());
}

/// The step back, again a group with its expert's matrix.
#[autokernel::fused_matmul]
fn down(hidden: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, made: &mut Matrix<bf16>) {
    made = dot(hidden, w.t());
}

/// What the experts made of a token, summed in the order of its choices: the same bits each time.
#[autokernel::rows]
fn combine(
    made: &Matrix<bf16>,
    row0: &Index,
    row1: &Index,
    row2: &Index,
    row3: &Index,
    row4: &Index,
    row5: &Index,
    weight0: &Column<f32>,
    weight1: &Column<f32>,
    weight2: &Column<f32>,
    weight3: &Column<f32>,
    weight4: &Column<f32>,
    weight5: &Column<f32>,
    out: &mut Matrix<bf16>,
) {
    let first = weight0 * made[row0] + weight1 * made[row1] + weight2 * made[row2];
    out = first + weight3 * made[row3] + weight4 * made[row4] + weight5 * made[row5];
}

struct Layer {
    gate: Batch<bf16>,
    up: Batch<bf16>,
    down: Batch<bf16>,
}

/// What a forward pass writes on its way.
struct Scratch {
    routes: Routes,
    rows: Matrix<bf16>,
    hidden: Matrix<bf16>,
    made: Matrix<bf16>,
}

/// Elements of a token, and of an expert's hidden layer.
#[derive(Clone, Copy)]
struct Widths {
    features: usize,
    hidden: usize,
}

impl Layer {
    /// Weights that keep the variance of what passes through them.
    fn random(device: &Device, Widths { features, hidden }: Widths) -> Result<Self> {
        let batch = |rows, columns, seed| {
            let values = uniform(EXPERTS * rows * columns, 1.0 / columns as f32, seed);
            Batch::from_slice(device, &values, [EXPERTS, rows, columns])
        };
        Ok(Self {
            gate: batch(hidden, features, 1)?,
            up: batch(hidden, features, 2)?,
            down: batch(features, hidden, 3)?,
        })
    }

    fn forward(
        &self,
        x: &Matrix<bf16>,
        scores: &Matrix<f32>,
        scratch: &mut Scratch,
        out: &mut Matrix<bf16>,
    ) -> Result<()> {
        STEPS.iter().try_for_each(|(_, step)| step(self, (x, scores), scratch, out))
    }
}

/// A launch of the layer, from tokens and their scores.
type Step = fn(&Layer, (&Matrix<bf16>, &Matrix<f32>), &mut Scratch, &mut Matrix<bf16>) -> Result<()>;

/// The launches of a pass, in order.
const STEPS: [(&str, Step); 5] = [
    ("route", |_, (_, scores), scratch, _| route(scores, &mut scratch.routes)),
    ("gather", |_, (x, _), Scratch { routes, rows, .. }, _| gather(x, routes.tokens(), rows)),
    ("swiglu", |layer, _, Scratch { routes, rows, hidden, .. }, _| {
        swiglu(rows, &layer.gate, &layer.up, routes.offsets(), hidden)
    }),
    ("down", |layer, _, Scratch { routes, hidden, made, .. }, _| down(hidden, &layer.down, routes.offsets(), made)),
    ("combine", |_, _, Scratch { routes, made, .. }, out| {
        let (row, weight) = (|choice| routes.rows(choice), |choice| routes.weights(choice));
        combine::launch(
            &*made,
            row(0)?,
            row(1)?,
            row(2)?,
            row(3)?,
            row(4)?,
            row(5)?,
            weight(0)?,
            weight(1)?,
            weight(2)?,
            weight(3)?,
            weight(4)?,
            weight(5)?,
            out,
        )
    }),
];

impl Scratch {
    fn zeros(device: &Device, tokens: usize, Widths { features, hidden }: Widths) -> Result<Self> {
        let matrix = |columns| Matrix::zeros(device, tokens * TOP_K, columns);
        let routes = route::routes(device, tokens)?;
        Ok(Self { routes, rows: matrix(features)?, hidden: matrix(hidden)?, made: matrix(features)? })
    }
}

/// Uniform values of that variance.
fn uniform(count: usize, variance: f32, seed: u64) -> Vec<bf16> {
    let (mut rng, bound) = (StdRng::seed_from_u64(seed), (3.0 * variance).sqrt());
    (0..count).map(|_| bf16::from_f32(rng.random_range(-bound..bound))).collect()
}

/// Scores are whole multiples of 2⁻¹², so that another program can be told them as whole numbers.
const SCORE_UNIT: f32 = 1.0 / 4096.0;

/// Tokens and their scores, some experts being liked more than others.
fn inputs(device: &Device, tokens: usize, features: usize) -> Result<(Matrix<bf16>, Matrix<f32>)> {
    let mut rng = StdRng::seed_from_u64(4);
    let liked: Vec<f32> = (0..EXPERTS).map(|_| rng.random_range(-1.0..1.0)).collect();
    let score = |at: usize| liked[at % EXPERTS] + rng.random_range(-2.0f32..2.0);
    let scores: Vec<f32> = (0..tokens * EXPERTS).map(score).map(|it| (it / SCORE_UNIT).round() * SCORE_UNIT).collect();
    let x = Matrix::from_slice(device, &uniform(tokens * features, 1.0, 5), tokens, features)?;
    Ok((x, Matrix::from_slice(device, &scores, tokens, EXPERTS)?))
}

fn main() -> Result<()> {
    let device = Device::best(); // a GPU where there is one, else the CPU
    if device.is_cpu() {
        let error = reference::error_of_a_pass(&device, 40, Widths { features: 64, hidden: 96 })?;
        println!("40 tokens on {device}: relative error against fp64 {error:.1e}");
        return Ok(());
    }
    let device = device.with_new_stream()?; // one that can be captured
    let widths = Widths { features: 2048, hidden: 1408 };
    let layer = Layer::random(&device, widths)?;
    [64, 4096].into_iter().try_for_each(|tokens| speed::beside_torch(&device, &layer, tokens, widths))
}
