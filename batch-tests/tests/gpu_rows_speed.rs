//! How fast row-wise kernels read and write, beside a device copy of as many bytes in the same rounds: all that a kernel carries, which of it
//! the model chooses, and the portable family's schedule of that width, as GPUs without clusters have it; two reductions in one pass, or the other way.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_rows_speed -- --ignored --nocapture`, on a GPU that does
//! nothing else. Images are compiled when it runs. Inputs are random and rotate past the L2 cache; rates count each operand once. The copies
//! are between buffers of their own: what they leave in L2 is of no use to the kernels, as in a program that does other things in between.
//!
//! `AUTOKERNEL_COLUMNS=16384` takes the shapes of so many columns alone, `AUTOKERNEL_BODY=softmax` one body, and `AUTOKERNEL_RINGS=1` long rows of
//! norms alone, beside a handful of schedules of Hopper's family each: which of them a kernel should carry.

use std::cell::RefCell;
use std::sync::Arc;

use autokernel::cudarc::driver::{CudaSlice, CudaStream, DeviceRepr, ValidAsZeroBits};
use autokernel::timing::{Cache, Timer, Work, sets_to_exceed_l2};
use autokernel::{Argument, CompiledKernel, Device, Dtype, Image, Matrix, Number, Role, bf16, f16};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::rows::plan::extents;
use autokernel_codegen::rows::{self, AnySchedule, Kind, Operand, RingSchedule, RowsSchedule};
use batch_tests::carried::machine;
use batch_tests::compiler::compiler;
use gpu_tests::rows::{BODIES, rings};
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

const MEASURED: [&str; 6] = ["softmax", "rms_norm", "layer_norm", "add_rms_norm", "silu_mul", "row_sum"];
/// Rows and columns.
const SHAPES: [(u32, u32); 8] = [
    (32_768, 256),
    (16_384, 1024),
    (16_384, 4096),
    (8192, 8192),
    (4096, 16_384),
    (2048, 65_536),
    (32, 8192),
    (4096, 4099),
];
/// Columns of long rows.
const LONG: u32 = 8192;
const ROUNDS: usize = 20;
/// A round of one candidate moves about this much.
const BATCH_BYTES: f64 = 3e9;
const MOST_SETS: usize = 128;
/// Copies have whole pages: one of a few bytes more is slower than one of these.
const PAGE: usize = 1 << 12;

/// An operand on the GPU.
enum Placed {
    Bf16(Matrix<bf16>),
    F16(Matrix<f16>),
    F32(Matrix<f32>),
}

/// What operands are filled with, over and over.
struct Drawn {
    bf16: Vec<bf16>,
    f16: Vec<f16>,
    f32: Vec<f32>,
}

impl Drawn {
    fn new() -> Self {
        let mut rng = StdRng::seed_from_u64(1);
        let f32: Vec<f32> = (0..(1 << 20) + 7).map(|_| rng.random_range(-2.0..2.0)).collect();
        Drawn {
            bf16: f32.iter().copied().map(bf16::from_f32).collect(),
            f16: f32.iter().copied().map(f16::from_f32).collect(),
            f32,
        }
    }
}

/// So many elements, filled on the device.
fn filled<T: DeviceRepr + ValidAsZeroBits>(stream: &Arc<CudaStream>, len: usize, drawn: &[T]) -> CudaSlice<T> {
    let drawn = stream.clone_htod(drawn).unwrap();
    let mut all = stream.alloc_zeros::<T>(len).unwrap();
    for start in (0..len).step_by(drawn.len()) {
        let end = len.min(start + drawn.len());
        stream.memcpy_dtod(&drawn.slice(..end - start), &mut all.slice_mut(start..end)).unwrap();
    }
    all
}

impl Placed {
    fn new(device: &Device, operand: &Operand, (rows, columns): (u32, u32), drawn: &Drawn) -> Self {
        let (rows, columns) = match operand.kind {
            Kind::Matrix => (rows as usize, columns as usize),
            Kind::Row => (1, columns as usize),
            Kind::Column | Kind::Index => (1, rows as usize),
            Kind::Scalar | Kind::DeviceScalar => (1, 1),
        };
        let is_output = operand.role == Role::Output;
        fn of<T: Number>(device: &Device, [rows, columns]: [usize; 2], drawn: &[T], is_output: bool) -> Matrix<T> {
            if is_output {
                return Matrix::zeros(device, rows, columns).unwrap();
            }
            let stream = device.stream().unwrap().clone();
            Matrix::from_cudarc(filled(&stream, rows * columns, drawn), rows, columns).unwrap()
        }
        match operand.dtype {
            Dtype::Bf16 => Placed::Bf16(of(device, [rows, columns], &drawn.bf16, is_output)),
            Dtype::F16 => Placed::F16(of(device, [rows, columns], &drawn.f16, is_output)),
            Dtype::F32 => Placed::F32(of(device, [rows, columns], &drawn.f32, is_output)),
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

/// Why a schedule is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Carried,
    /// Of the portable family, without what Hopper alone has.
    Portable,
    /// It may lead.
    Tried,
}

/// What is timed at some shape, each once.
fn candidates(problem: &rows::Problem, columns: u32, is_of_rings: bool) -> Vec<(AnySchedule, Why)> {
    let class = problem.class();
    let carried = autokernel_codegen::problem::ProblemClass::from(class.clone()).portfolio(Arch::SM_90A);
    let mut found: Vec<(AnySchedule, Why)> = carried.into_iter().map(|it| (it, Why::Carried)).collect();
    let portable = RowsSchedule::for_columns(&class, columns, Arch::SM_80);
    found.push((portable.into(), Why::Portable));
    let of_width = RowsSchedule::for_columns(&class, columns, Arch::SM_90A);
    let otherwise = [portable, of_width].map(|it| RowsSchedule { joins: !it.joins, ..it });
    let otherwise = otherwise.into_iter().filter(|it| it.check(&class, Arch::SM_90A).is_ok());
    found.extend(otherwise.map(|it| (it.into(), Why::Tried)));
    if is_of_rings {
        let tried: Vec<RingSchedule> = rings(&class, columns);
        found.extend(tried.into_iter().map(|it| (it.into(), Why::Tried)));
    }
    let mut seen = Vec::new();
    found.retain(|(schedule, _)| {
        let is_new = !seen.contains(schedule);
        seen.push(*schedule);
        is_new
    });
    found
}

/// A body of one element type, and its compiled schedules.
struct Measured {
    name: &'static str,
    dtype: &'static str,
    problem: rows::Problem,
    images: Vec<(AnySchedule, autokernel::LaunchPlan, Vec<u8>)>,
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn rates_beside_a_copy_of_as_many_bytes() {
    const TEST: &str = "gpu_rows_speed::rates_beside_a_copy_of_as_many_bytes";
    let is_of_rings = settings::number("AUTOKERNEL_RINGS", 0) > 0;
    let (body, columns) = (std::env::var("AUTOKERNEL_BODY").ok(), settings::number("AUTOKERNEL_COLUMNS", 0));
    let is_asked = |(rows, of): &(u32, u32)| {
        (columns == 0 || columns == u64::from(*of)) && (!is_of_rings || *of >= LONG && *rows >= 2048)
    };
    let shapes: Vec<_> = SHAPES.into_iter().filter(is_asked).collect();
    let bodies = BODIES.iter().filter(|it| MEASURED.contains(&it.name));
    let bodies = bodies.filter(|it| body.as_ref().is_none_or(|body| body == it.name));
    let compiler = compiler(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured: Vec<Measured> = bodies
        .flat_map(|body| ["bf16", "f16", "f32"].map(|dtype| (body, dtype)))
        .map(|(body, dtype)| {
            let function = syn::parse_str(&body.source.replace("TYPE", dtype)).unwrap();
            let problem = rows::problem(&function).unwrap();
            let mut schedules: Vec<AnySchedule> = Vec::new();
            for (_, columns) in &shapes {
                for (schedule, _) in candidates(&problem, *columns, is_of_rings) {
                    if !schedules.contains(&schedule) {
                        schedules.push(schedule);
                    }
                }
            }
            let images = schedules.into_par_iter().filter_map(|schedule| {
                let (source, plan) = Problem::from(problem.clone()).emit(&schedule).unwrap();
                let image = compiler.compile(&source, Arch::SM_90A).map_err(|error| eprintln!("{error}")).ok()?;
                Some((schedule, plan, std::fs::read(image.cubin).unwrap()))
            });
            Measured { name: body.name, dtype, problem: problem.clone(), images: images.collect() }
        })
        .collect();
    let Some(device) = skip::gpu(TEST) else { return };
    let (machine, l2_bytes) = (machine(&device), device.info().unwrap().l2_bytes);
    let drawn = Drawn::new();
    let stream = device.stream().unwrap().clone();
    println!(
        "{device}; GB/s, median of {ROUNDS} rounds, each operand once; the spread is the ratio's interquartile range; > is what the model chooses"
    );
    for Measured { name, dtype, problem, images } in &measured {
        println!("\n{name} {dtype}\n{:>14} {:>8} {:>7} {:>7}  schedule", "shape", "GB/s", "ratio", "spread");
        let any = Problem::from(problem.clone());
        for &shape in &shapes {
            let extents = extents(shape.0, shape.1);
            let bytes = any.class().work(&extents).bytes();
            let operands = &problem.body().operands;
            let count = sets_to_exceed_l2(bytes as u64, l2_bytes).min(MOST_SETS);
            let set = |_| operands.iter().map(|it| Placed::new(&device, it, shape, &drawn)).collect::<Vec<_>>();
            let sets = RefCell::new((0..count).map(set).collect::<Vec<_>>());
            let half = ((bytes / 2.0) as usize).next_multiple_of(PAGE) / 4;
            let from: Vec<_> = (0..count).map(|_| filled(&stream, half, &drawn.f32)).collect();
            let mut to: Vec<_> = (0..count).map(|_| stream.alloc_zeros::<f32>(half).unwrap()).collect();
            let launches = ((BATCH_BYTES / bytes) as usize).clamp(2, 200);

            let wanted = candidates(problem, shape.1, is_of_rings);
            let compiled = wanted.iter().filter_map(|(schedule, why)| {
                let (_, plan, cubin) = images.iter().find(|it| it.0 == *schedule)?;
                // SAFETY: the image was compiled from the source that was emitted with this plan.
                let kernel = unsafe { CompiledKernel::load(&device, &any.signature(), plan, Image::Cubin(cubin)) };
                Some((*schedule, *why, kernel.unwrap()))
            });
            let kernels: Vec<_> = compiled.collect();
            let predicted = |schedule: &AnySchedule| {
                any.class().forecast(schedule, None, machine).map_or(f64::INFINITY, |it| it.predicted_ms(&extents))
            };
            let carried = kernels.iter().filter(|it| it.1 == Why::Carried).map(|it| it.0);
            let chosen = carried.min_by(|left, right| predicted(left).total_cmp(&predicted(right))).unwrap();
            let launch_of = |kernel: &CompiledKernel, launch: usize| {
                let mut sets = sets.borrow_mut();
                let set = sets[launch % count].iter_mut().zip(operands);
                let mut arguments: Vec<_> = set.map(|(placed, operand)| placed.argument(operand.role)).collect();
                kernel.launch(&device, &mut arguments)
            };
            let mut copy = |launch: usize| {
                let at = launch % count;
                let copied = stream.memcpy_dtod(&from[at], &mut to[at]);
                copied.map_err(|source| autokernel::Error::Cuda { doing: "copying in device memory", source })
            };
            let mut runs: Vec<_> =
                kernels.iter().map(|(_, _, kernel)| move |launch: usize| launch_of(kernel, launch)).collect();
            let mut timer = Timer::new(&device, Cache::Warm).unwrap();
            let mut work: Vec<Work<'_>> = vec![&mut copy];
            work.extend(runs.iter_mut().map(|run| run as Work<'_>));
            // What is far slower than a copy is not looked at again, but for what is chosen and what is portable.
            let looked = timer.interleave(2, launches, &mut work).unwrap();
            let best = (1..work.len()).map(|at| looked.timing(at).unwrap().median_ms).fold(f64::INFINITY, f64::min);
            let is_near = |at: usize| looked.timing(at).unwrap().median_ms < 1.1 * best;
            let near: Vec<usize> = (0..kernels.len())
                .filter(|&at| is_near(at + 1) || kernels[at].0 == chosen || kernels[at].1 == Why::Portable)
                .collect();
            let is_timed = |at: usize| at == 0 || near.contains(&(at - 1));
            let of_near = work.into_iter().enumerate().filter(|(at, _)| is_timed(*at));
            let mut of_near: Vec<Work<'_>> = of_near.map(|(_, run)| run).collect();
            let times = timer.interleave(ROUNDS, launches, &mut of_near).unwrap();
            let rate = |candidate: usize| bytes / times.timing(candidate).unwrap().median_ms / 1e6;
            println!("{:>14} {:>8.0} {:>7} {:>7}  a copy", format!("{}x{}", shape.0, shape.1), rate(0), "", "");
            let mut lines: Vec<(f64, String)> = Vec::new();
            for (number, &at) in (1..).zip(&near) {
                let (schedule, why, _) = &kernels[at];
                let ratio = times.ratio(0, number).unwrap();
                let mark = if *schedule == chosen { ">" } else { " " };
                let why = match why {
                    Why::Carried => "",
                    Why::Portable => " (portable)",
                    Why::Tried => " (tried)",
                };
                let line = format!(
                    "{mark:>14} {:>8.0} {:>7.3} {:>6.1}%  {schedule}{why}",
                    rate(number),
                    ratio.median,
                    ratio.spread_pct
                );
                lines.push((ratio.median, line));
            }
            lines.sort_by(|left, right| right.0.total_cmp(&left.0));
            for (_, line) in lines {
                println!("{line}");
            }
        }
    }
}
