//! Row-wise kernels as a user declares them: types that differ, every kind of operand, several outputs, and what else the
//! language of bodies has. With them those that are built in.

use autokernel::{AnyKernel, Column, Device, Index, Matrix, Row, Scalar, bf16, builtin, f16};
use autokernel_codegen::problem;
use autokernel_codegen::rows::Problem;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::check_launch;
use super::derived::derived;
use crate::host::Values;
use crate::place::Place;
use crate::settings;

/// A scale for each row and one for each column, into another type, of several.
#[autokernel::rows(T = [f16, bf16])]
pub fn scaled<T>(x: &Matrix<T>, rows: &Column<f32>, columns: &Row<bf16>, out: &mut Matrix<f32>) {
    out = x * rows * columns;
}

/// Three outputs of three types, each after another pass.
#[autokernel::rows]
pub fn statistics(
    x: &Matrix<f32>,
    eps: f32,
    mean: &mut Column<f32>,
    spread: &mut Column<bf16>,
    standard: &mut Matrix<f16>,
) {
    let average = row_mean(x);
    let centred = x - average;
    let variance = row_mean(centred * centred);
    mean = average;
    spread = row_max(x) - row_min(x);
    standard = centred / (variance + eps * eps).sqrt();
}

/// Constants, names that hide others, blocks, branches and functions.
#[autokernel::rows]
pub fn language(x: &Matrix<bf16>, gate: &Matrix<f32>, limit: f32, out: &mut Matrix<bf16>, count: &mut Column<f32>) {
    const HALF: f32 = 0.5;
    let x = x * HALF;
    let x = {
        let limit = limit.abs() + 0.25;
        if x > limit || !(gate >= -0.5) { limit } else { x.max(-limit).mul_add(2.0, gate.tanh()) }
    };
    count = row_sum(if x < 0.0 && gate < 0.0 { 1.0 } else { 0.0 });
    out = erf(x) + row_min(x * row_max(gate.abs())).cos();
}

/// No reduction at all, in names that are keywords elsewhere.
#[autokernel::rows]
pub fn elementwise(r#in: &Matrix<f32>, float: &Row<f32>, int: f32, args: &mut Matrix<f32>) {
    args = (r#in - float).sin() / (1.0 + int * int) + r#in.recip().min(1.0);
}

/// Softmax of what is not behind the element, with a slope that lies in memory, and where the row stands.
#[autokernel::rows]
pub fn causal(x: &Matrix<bf16>, slope: &Scalar<f16>, out: &mut Matrix<bf16>, at: &mut Column<f32>) {
    let behind = row_index() - column_index();
    let e = if behind < 0.0 { 0.0 } else { (x.min(8.0) - slope.abs() * behind).exp() };
    out = e / row_sum(e);
    at = row_index() * 4.0 + row_max(column_index());
}

/// Rows of two tables of one index, the scale of each, and where there is none something else.
#[autokernel::rows(T = [bf16, f32])]
pub fn embedding<T>(
    tokens: &Matrix<T>,
    places: &Matrix<f32>,
    scales: &Column<f32>,
    ids: &Index,
    at: &Index,
    out: &mut Matrix<T>,
) {
    let token = if ids >= 0.0 { tokens[ids] * scales[ids] } else { 0.25 };
    out = token + places[at];
}

/// Weights of 8 bits with a scale for each row.
#[autokernel::rows]
pub fn quantised(w: &Matrix<bf16>, scale: &mut Column<f32>, out: &mut Matrix<i8>) {
    let of_row = row_max(w.abs()).max(1e-12) / 127.0;
    scale = of_row;
    out = w / of_row;
}

/// What a layer appends to its caches: the keys normed, the values as they are, and how large they were.
#[autokernel::rows]
pub fn append(
    k: &Matrix<bf16>,
    v: &Matrix<f32>,
    slots: &Index,
    keys: &mut Matrix<bf16>,
    values: &mut Matrix<f16>,
    sizes: &mut Column<f32>,
    out: &mut Matrix<f32>,
) {
    let size = row_mean(k * k);
    let normed = k / (size + 1e-5).sqrt();
    keys[slots] = normed;
    values[slots] = v;
    sizes[slots] = size;
    out = normed - v;
}

/// A permutation of rows, in raw names.
#[autokernel::rows]
pub fn permute(r#in: &Matrix<f32>, from: &Index, to: &Index, out: &mut Matrix<bf16>) {
    out[to] = r#in[from];
}

/// What the backward pass of a layer norm sums along columns.
#[autokernel::rows]
pub fn gradients(
    dy: &Matrix<bf16>,
    x: &Matrix<f32>,
    mean: &Column<f32>,
    rstd: &Column<f16>,
    weight: &Row<bf16>,
    scale: f32,
    bias: &mut Row<f32>,
    gain: &mut Row<bf16>,
) {
    let normed = (x - mean) * rstd;
    bias = column_sum(dy);
    gain = column_mean(dy * normed * weight * scale);
}

/// The greatest and the least of each column, and where they may stand.
#[autokernel::rows(T = [bf16, f32])]
pub fn extremes<T>(x: &Matrix<T>, most: &mut Row<T>, least: &mut Row<f32>, last: &mut Row<f32>) {
    most = column_max(x);
    least = column_min(if x > 0.0 { x } else { 2.0 });
    last = column_max(if x < 0.0 { row_index() + column_index() } else { 0.0 });
}

/// What the rows of one kind come to, of which an index tells the kind.
#[autokernel::rows]
pub fn of_one_kind(dy: &Matrix<bf16>, kinds: &Index, bias: &mut Row<f32>) {
    bias = column_sum(if kinds == 3.0 { dy } else { 0.0 });
}

/// Whole numbers and what is left beside them, of functions by their full names too.
#[autokernel::rows]
pub fn rounded(x: &Matrix<f32>, step: &Column<f32>, out: &mut Matrix<f32>, rest: &mut Matrix<f32>) {
    const MOST: f32 = 3.0;
    let scaled = f32::clamp(x * 8.0, -MOST, MOST + 0.5);
    out = scaled.floor() + 10.0 * scaled.ceil() + 100.0 * f32::trunc(scaled);
    rest = x % step + x % 0.25;
}

/// Label smoothing and an unbiased variance: how many rows and columns there are, beside an operand that is called as their number is.
#[autokernel::rows]
pub fn counted(x: &Matrix<f32>, rows: &Column<f32>, out: &mut Matrix<f32>, variance: &mut Column<f32>) {
    let smooth = if column_index() == rows { 0.9 } else { 0.1 / (columns() - 0.5) };
    let apart = x - row_mean(x);
    out = x * smooth + rows();
    variance = row_sum(apart * apart) / (columns() - 1.0).max(1.0);
}

/// The same along columns.
#[autokernel::rows]
pub fn counted_columns(x: &Matrix<bf16>, mean: &mut Row<f32>) {
    mean = column_sum(x * columns() / rows());
}

/// Rotary embeddings of halves of a head, by tables of one head.
#[autokernel::rows]
pub fn rotary(x: &Matrix<bf16>, cosines: &Matrix<f32>, sines: &Matrix<f32>, positions: &Index, out: &mut Matrix<bf16>) {
    out = x * repeat_columns(cosines[positions]) + rotate_half(x, 64) * repeat_columns(sines[positions]);
}

/// The same of neighbours, computed, behind a norm.
#[autokernel::rows]
pub fn rotary_pairs(
    x: &Matrix<f32>,
    weight: &Row<f16>,
    frequency: &Row<f32>,
    positions: &Index,
    out: &mut Matrix<f32>,
) {
    let angle = positions * repeat_columns(frequency);
    let scale = 1.0 / (row_mean(x * x) + 1e-5).sqrt();
    out = x * weight * scale * angle.cos() + rotate_pairs(x) * -rotate_pairs(weight) * scale * angle.sin();
}

/// A kernel, as every test of this folder takes it.
pub struct Declared {
    /// Its function's name.
    pub name: &'static str,
    /// What launches it.
    pub kernel: &'static AnyKernel,
}

macro_rules! declared {
    ($($($segment:ident)::+),+ $(,)?) => {
        [$(Declared { name: stringify!($($segment)::+), kernel: &$($segment::)+KERNEL }),+]
    };
}

/// The kernels above, and those that are derived from others.
pub fn declared_here() -> Vec<Declared> {
    let of_types = [
        Declared { name: "scaled<f16>", kernel: scaled::kernel::<f16>() },
        Declared { name: "scaled<bf16>", kernel: scaled::kernel::<bf16>() },
        Declared { name: "extremes<bf16>", kernel: extremes::kernel::<bf16>() },
        Declared { name: "extremes<f32>", kernel: extremes::kernel::<f32>() },
        Declared { name: "embedding<bf16>", kernel: embedding::kernel::<bf16>() },
        Declared { name: "embedding<f32>", kernel: embedding::kernel::<f32>() },
    ];
    let derived = derived().map(|(name, kernel)| Declared { name, kernel });
    of_types
        .into_iter()
        .chain(derived)
        .chain(declared![
            of_one_kind,
            rounded,
            counted,
            counted_columns,
            statistics,
            language,
            elementwise,
            causal,
            quantised,
            append,
            permute,
            rotary,
            rotary_pairs,
            gradients
        ])
        .collect()
}

/// Every kernel: the ones above, and the built-in ones.
pub fn catalogue() -> Vec<Declared> {
    let built_in = declared![
        builtin::softmax,
        builtin::log_softmax,
        builtin::rms_norm,
        builtin::add_rms_norm,
        builtin::layer_norm,
        builtin::silu_mul,
        builtin::gelu,
        builtin::log_sum_exp,
        builtin::row_sum,
        builtin::row_max,
    ];
    declared_here().into_iter().chain(built_in).collect()
}

impl Declared {
    /// What it computes, as the build embedded it.
    ///
    /// # Panics
    /// It is no row-wise kernel.
    pub fn problem(&self) -> Problem {
        let descriptor = self.kernel.descriptor().expect("what the build embedded can be read");
        match serde_json::from_str(&descriptor.problem).expect("what the build embedded can be read") {
            problem::Problem::Rows(problem) => problem,
            other => panic!("`{}` is {other}", self.name),
        }
    }
}

/// Launches every kernel on random shapes of up to about `elements` elements, `cases` each where `AUTOKERNEL_CASES` says no
/// other number, and holds it against its body in fp64. Processes may share the problems; how many this one had is returned.
///
/// # Panics
/// One gives something else; the message says where.
pub fn check(device: &Device, cases: u64, elements: usize) -> usize {
    let seed = settings::number("AUTOKERNEL_SEED", 21);
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut drawn, mut checked) = (0, 0);
    for kernel in catalogue() {
        let problem = kernel.problem();
        for case in 0..settings::number("AUTOKERNEL_CASES", cases) {
            let columns = rng.random_range(1..=elements / 2);
            let rows = rng.random_range(1..=(elements / columns).clamp(1, 70));
            drawn += 1;
            if !settings::is_of_this_process(drawn) {
                continue;
            }
            let mut places = StdRng::seed_from_u64(seed ^ case);
            let place = |rows, columns| Place::random(&mut places, rows, columns);
            let told = check_launch(
                device,
                &problem,
                |arguments| kernel.kernel.launch(device, arguments),
                (rows, columns),
                (Values::Uniform, seed + case),
                place,
            );
            told.unwrap_or_else(|report| panic!("{} on {device}: {report}", kernel.name));
            checked += 1;
        }
    }
    checked
}
