//! How fast row-wise kernels read and write, beside a device copy of as many bytes in the same rounds.
//!
//! `cargo bench -p gpu-tests --features speed --bench rows`, on a GPU that does nothing else. Inputs are random and rotate
//! past the L2 cache; rates count each operand once. The copies are between buffers of their own: what they leave in L2 is of
//! no use to the kernels, as in a program that does other things in between. Where a schedule makes two reductions in one
//! pass, the same schedule that does not runs in the same rounds, and so does the schedule of Hopper's family that a kernel carries for
//! rows of that width.
//!
//! With `AUTOKERNEL_RINGS=1` long rows of norms alone, beside a handful of schedules of that family each: which of them a kernel should
//! carry. Without, all shapes; with `AUTOKERNEL_COLUMNS=16384` those of so many columns, and with `AUTOKERNEL_BODY=softmax` one body.

use std::cell::RefCell;
use std::sync::Arc;

use autokernel::cudarc::driver::{CudaSlice, CudaStream};
use autokernel::timing::{Cache, Timer, Work, sets_to_exceed_l2};
use autokernel::{Argument, CompiledKernel, Device, Dtype, Matrix, Role, bf16, f16};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::rows::plan::extents;
use autokernel_codegen::rows::{Kind, Operand, Problem, RowsSchedule, Schedule, sm90};
use gpu_tests::rows::{GPU, IMAGES, RING_BODIES, RING_WIDTHS, rings};
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Rows and columns.
const SHAPES: [(usize, usize); 8] = [
    (32_768, 256),
    (16_384, 1024),
    (16_384, 4096),
    (8192, 8192),
    (4096, 16_384),
    (2048, 65_536),
    (32, 8192),
    (4096, 4099),
];
const ROUNDS: usize = 20;
/// A round of one candidate moves about this much.
const BATCH_BYTES: f64 = 4e9;
const MOST_SETS: usize = 128;
/// Copies have whole pages: one of a few bytes more is slower than one of these.
const PAGE: usize = 1 << 12;

/// An operand on the GPU.
enum Placed {
    Bf16(Matrix<bf16>),
    F16(Matrix<f16>),
    F32(Matrix<f32>),
}

impl Placed {
    fn new(device: &Device, operand: &Operand, (rows, columns): (usize, usize), drawn: &[f32]) -> Self {
        let (rows, columns) = match operand.kind {
            Kind::Matrix => (rows, columns),
            Kind::Row => (1, columns),
            Kind::Column | Kind::Index => (1, rows),
            Kind::Scalar | Kind::DeviceScalar => (1, 1),
        };
        let is_output = operand.role == Role::Output;
        let values = drawn.iter().copied().cycle().take(if is_output { 0 } else { rows * columns });
        macro_rules! placed {
            ($values:expr) => {
                if is_output {
                    Matrix::zeros(device, rows, columns)
                } else {
                    Matrix::from_slice(device, &$values, rows, columns)
                }
            };
        }
        match operand.dtype {
            Dtype::Bf16 => Placed::Bf16(placed!(values.map(bf16::from_f32).collect::<Vec<_>>()).unwrap()),
            Dtype::F16 => Placed::F16(placed!(values.map(f16::from_f32).collect::<Vec<_>>()).unwrap()),
            Dtype::F32 => Placed::F32(placed!(values.collect::<Vec<_>>()).unwrap()),
            other => panic!("{other} is not measured"),
        }
    }

    fn argument(&mut self, role: Role) -> Argument<'_> {
        match (self, role) {
            (Placed::Bf16(matrix), Role::Input) => (&*matrix).into(),
            (Placed::Bf16(matrix), Role::Output) => matrix.into(),
            (Placed::F16(matrix), Role::Input) => (&*matrix).into(),
            (Placed::F16(matrix), Role::Output) => matrix.into(),
            (Placed::F32(matrix), Role::Input) => (&*matrix).into(),
            (Placed::F32(matrix), Role::Output) => matrix.into(),
        }
    }
}

/// Bytes of what was drawn, over and over.
fn random_bytes(stream: &Arc<CudaStream>, len: usize, drawn: &[f32]) -> CudaSlice<u8> {
    let drawn: Vec<u8> = drawn.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let drawn = stream.clone_htod(&drawn).unwrap();
    let mut bytes = stream.alloc_zeros::<u8>(len).unwrap();
    for start in (0..len).step_by(drawn.len()) {
        let end = len.min(start + drawn.len());
        stream.memcpy_dtod(&drawn.slice(..end - start), &mut bytes.slice_mut(start..end)).unwrap();
    }
    bytes
}

/// Schedules that are timed beside the one of a width: of Hopper's family what a kernel carries for it, or what may lead.
fn beside(problem: &Problem, default: RowsSchedule, columns: u32, is_of_rings: bool) -> Vec<Schedule> {
    let class = problem.class();
    let apart = RowsSchedule { joins: false, ..default };
    let apart = Some(apart).filter(|_| default.joins && !is_of_rings).map(Schedule::from);
    let rings = rings(&class, columns);
    let carried = sm90::portfolio(&class, Arch::SM_90A);
    let rings = rings.into_iter().filter(|_| is_of_rings);
    apart.into_iter().chain(carried.into_iter().chain(rings).map(Schedule::from)).collect()
}

fn main() {
    let bench = "rates beside a copy of as many bytes";
    let Some(device) = skip::gpu(bench) else { return };
    let info = device.info().unwrap();
    if IMAGES.is_empty() || info.compute_capability != GPU {
        return skip::log(bench, &format!("{} images for {GPU}, on {}", IMAGES.len(), info.compute_capability));
    }
    let mut rng = StdRng::seed_from_u64(1);
    let drawn: Vec<f32> = (0..(1 << 20) + 7).map(|_| rng.random_range(-2.0..2.0)).collect();
    let stream = device.stream().unwrap().clone();
    println!(
        "{device}; GB/s, median of {ROUNDS} rounds, each operand once; the spread is the ratio's interquartile range"
    );
    let is_of_rings = settings::number("AUTOKERNEL_RINGS", 0) > 0;
    let all = ["softmax", "rms_norm", "layer_norm", "add_rms_norm", "silu_mul", "row_sum"];
    let names = if is_of_rings { &RING_BODIES[..] } else { &all };
    let (body, columns) = (std::env::var("AUTOKERNEL_BODY").ok(), settings::number("AUTOKERNEL_COLUMNS", 0));
    let names = names.iter().copied().filter(|name| body.as_ref().is_none_or(|body| body == name));
    let dtypes = ["bf16", "f16", "f32"].into_iter().filter(|dtype| !is_of_rings || *dtype != "f16");
    for (name, dtype) in names.flat_map(|name| dtypes.clone().map(move |dtype| (name, dtype))) {
        println!(
            "\n{name} {dtype}\n{:>14} {:>8} {:>8} {:>7} {:>7}  schedule",
            "shape", "GB/s", "copy", "ratio", "spread"
        );
        let images = IMAGES.iter().filter(|image| image.name == name && image.dtype == dtype);
        let kernels: Vec<_> = images.map(|image| image.load(&device).unwrap()).collect();
        let is_asked = |shape: &(usize, usize)| columns == 0 || columns == shape.1 as u64;
        let is_timed =
            |shape: &(usize, usize)| is_asked(shape) && (!is_of_rings || RING_WIDTHS.contains(&(shape.1 as u32)));
        for shape in SHAPES.into_iter().filter(is_timed).filter(|shape| !is_of_rings || shape.0 >= 2048) {
            let problem = kernels[0].problem.clone();
            let default = RowsSchedule::for_columns(&problem.class(), shape.1 as u32, Arch::SM_90A);
            let Some(kernel) = kernels.iter().find(|kernel| kernel.schedule == default.into()) else {
                return skip::log(bench, "built without the feature `speed`");
            };
            let beside = beside(&problem, default, shape.1 as u32, is_of_rings);
            let beside: Vec<_> = kernels.iter().filter(|kernel| beside.contains(&kernel.schedule)).collect();
            let class = autokernel_codegen::problem::ProblemClass::from(problem.class());
            let bytes = class.work(&extents(shape.0 as u32, shape.1 as u32)).bytes();
            let sets = sets_to_exceed_l2(bytes as u64, info.l2_bytes).min(MOST_SETS);
            let operands = &problem.body().operands;
            let set = |at: usize| -> Vec<Placed> {
                operands.iter().map(|operand| Placed::new(&device, operand, shape, &drawn[at..])).collect()
            };
            let sets: Vec<Vec<Placed>> = (0..sets).map(set).collect();
            let half = ((bytes / 2.0) as usize).next_multiple_of(PAGE);
            let copies = sets_to_exceed_l2(bytes as u64, info.l2_bytes).min(MOST_SETS);
            let from: Vec<_> = (0..copies).map(|_| random_bytes(&stream, half, &drawn)).collect();
            let mut to: Vec<_> = (0..copies).map(|_| stream.alloc_zeros::<u8>(half).unwrap()).collect();
            let launches = ((BATCH_BYTES / bytes) as usize).clamp(2, 200);

            let mut timer = Timer::new(&device, Cache::Warm).unwrap();
            let count = sets.len();
            let sets = RefCell::new(sets);
            let launch_of = |kernel: &CompiledKernel, launch: usize| {
                let mut sets = sets.borrow_mut();
                let set = sets[launch % count].iter_mut().zip(operands);
                let mut arguments: Vec<_> = set.map(|(placed, operand)| placed.argument(operand.role)).collect();
                kernel.launch(&device, &mut arguments)
            };
            let mut run = |launch: usize| launch_of(&kernel.kernel, launch);
            let mut copy = |launch: usize| {
                let at = launch % copies;
                let copied = stream.memcpy_dtod(&from[at], &mut to[at]);
                copied.map_err(|source| autokernel::Error::Cuda { doing: "copying in device memory", source })
            };
            let mut run_beside: Vec<_> =
                beside.iter().map(|other| |launch: usize| launch_of(&other.kernel, launch)).collect();
            let mut candidates: Vec<Work<'_>> = vec![&mut run, &mut copy];
            candidates.extend(run_beside.iter_mut().map(|run| run as Work<'_>));
            timer.interleave(3, launches, &mut candidates).unwrap();
            let times = timer.interleave(ROUNDS, launches, &mut candidates).unwrap();
            let rate = |candidate: usize| bytes / times.timing(candidate).unwrap().median_ms / 1e6;
            let ratio = times.ratio(1, 0).unwrap();
            let shape = format!("{}x{}", shape.0, shape.1);
            println!(
                "{shape:>14} {:>8.0} {:>8.0} {:>7.3} {:>6.1}%  {}",
                rate(0),
                rate(1),
                ratio.median,
                ratio.spread_pct,
                kernel.schedule
            );
            // × the copy as above, and × the schedule above in the same rounds.
            for (other, number) in beside.iter().zip(2..) {
                let (ratio, gain) = (times.ratio(1, number).unwrap(), times.ratio(0, number).unwrap());
                println!(
                    "{:>14} {:>8.0} {:>8} {:>7.3} {:>6.1}%  {}: {:.3} ×",
                    "",
                    rate(number),
                    "",
                    ratio.median,
                    ratio.spread_pct,
                    other.schedule,
                    gain.median
                );
            }
        }
    }
}
