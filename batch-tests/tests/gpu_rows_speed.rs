//! How fast row-wise kernels read and write, beside a device copy of as many bytes in the same rounds: all that a kernel carries, which of it
//! the model chooses, and the portable family's schedule of that width, as GPUs without clusters have it; two reductions in one pass, or the other way.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_rows_speed -- --ignored --nocapture`, on a GPU that does
//! nothing else. Images are compiled when it runs. All work is of one stream. Inputs are random and rotate past the L2 cache; rates count each operand once. The copies
//! are between buffers of their own: what they leave in L2 is of no use to the kernels, as in a program that does other things in between.
//!
//! `AUTOKERNEL_COLUMNS=16384` takes the shapes of so many columns alone, `AUTOKERNEL_BODY=softmax` one body, and `AUTOKERNEL_RINGS=1` long rows of
//! norms alone, beside a handful of schedules of Hopper's family each: which of them a kernel should carry.

use std::cell::RefCell;
use std::iter;
use std::sync::Arc;

use autokernel::cudarc::driver::{CudaSlice, CudaStream};
use autokernel::timing::{Cache, Interleaved, Timer, Work, sets_to_exceed_l2};
use autokernel::{CompiledKernel, Device, Extents, Result};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::matmul::model::Machine;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::rows::plan::extents;
use autokernel_codegen::rows::{self, AnySchedule, Operand, Sm80Schedule, Sm90Schedule};
use batch_tests::carried::machine;
use batch_tests::compiler::compiler;
use batch_tests::images::{self, Compiled};
use batch_tests::placed::{Drawn, Placed, filled};
use batch_tests::row_wise;
use gpu_tests::rows::{BODIES, NamedBody, rings};
use gpu_tests::{settings, skip};

const MEASURED: [&str; 6] = ["softmax", "rms_norm", "layer_norm", "add_rms_norm", "silu_mul", "row_sum"];
/// Reductions along columns, timed beside those: the gradients of a bias, and of a norm's weight and bias.
const ALONG_COLUMNS: [NamedBody; 2] = [
    NamedBody {
        name: "bias_gradient",
        source: "fn bias_gradient(dy: &Matrix<TYPE>, dbias: &mut Row<f32>) { dbias = column_sum(dy); }",
    },
    NamedBody {
        name: "norm_gradients",
        source: "fn norm_gradients(
            x: &Matrix<TYPE>, dy: &Matrix<TYPE>, mean: &Column<f32>, deviation: &Column<f32>,
            dweight: &mut Row<f32>, dbias: &mut Row<f32>,
        ) {
            dweight = column_sum(dy * (x - mean) / deviation);
            dbias = column_sum(dy);
        }",
    },
];
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
    let portable = Sm80Schedule::for_columns(&class, columns, Arch::SM_80);
    found.push((portable.into(), Why::Portable));
    let of_width = Sm80Schedule::for_columns(&class, columns, Arch::SM_90A);
    let otherwise = [portable, of_width].map(|it| Sm80Schedule { joins: !it.joins, ..it });
    let otherwise = otherwise.into_iter().filter(|it| it.check(&class, Arch::SM_90A).is_ok());
    found.extend(otherwise.map(|it| (it.into(), Why::Tried)));
    if is_of_rings {
        let tried: Vec<Sm90Schedule> = rings(&class, columns);
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
    images: Vec<Compiled<AnySchedule>>,
}

/// What the environment asks for.
struct Asked {
    body: Option<String>,
    /// Rows and columns.
    shapes: Vec<(u32, u32)>,
    is_of_rings: bool,
}

impl Asked {
    fn by_environment() -> Self {
        let is_of_rings = settings::number("AUTOKERNEL_RINGS", 0) > 0;
        let columns = settings::number("AUTOKERNEL_COLUMNS", 0);
        let is_asked = |(rows, of): &(u32, u32)| {
            (columns == 0 || columns == u64::from(*of)) && (!is_of_rings || *of >= LONG && *rows >= 2048)
        };
        let shapes = SHAPES.into_iter().filter(is_asked).collect();
        Asked { body: std::env::var("AUTOKERNEL_BODY").ok(), shapes, is_of_rings }
    }

    /// Each body of each element type, by all that is timed at some shape.
    fn compile(&self) -> Vec<Measured> {
        let compiler = compiler(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let bodies = BODIES.iter().filter(|it| MEASURED.contains(&it.name)).chain(&ALONG_COLUMNS);
        let bodies = bodies.filter(|it| self.body.as_ref().is_none_or(|body| body == it.name));
        let of_types = bodies.flat_map(|body| ["bf16", "f16", "f32"].map(|dtype| (body, dtype)));
        let measured = of_types.map(|(body, dtype)| {
            let problem = row_wise::problem(body, dtype);
            let images = row_wise::compile(&compiler, &Problem::from(problem.clone()), self.schedules(&problem));
            Measured { name: body.name, dtype, problem, images }
        });
        measured.collect()
    }

    fn schedules(&self, problem: &rows::Problem) -> Vec<AnySchedule> {
        let mut schedules: Vec<AnySchedule> = Vec::new();
        for (_, columns) in &self.shapes {
            for (schedule, _) in candidates(problem, *columns, self.is_of_rings) {
                if !schedules.contains(&schedule) {
                    schedules.push(schedule);
                }
            }
        }
        schedules
    }
}

/// The GPU on which kernels are timed, and what fills its memory.
struct Bench {
    device: Device,
    stream: Arc<CudaStream>,
    machine: Machine,
    l2_bytes: u64,
    drawn: Drawn,
}

impl Bench {
    fn new(device: Device) -> Self {
        let stream = device.stream().unwrap().clone();
        let (machine, l2_bytes) = (machine(&device), device.info().unwrap().l2_bytes);
        Bench { stream, machine, l2_bytes, drawn: Drawn::new(), device }
    }
}

/// Sets of operands past the L2 cache, and buffers of as many bytes to copy between.
struct Memory<'b> {
    bench: &'b Bench,
    operands: &'b [Operand],
    sets: RefCell<Vec<Vec<Placed>>>,
    from: Vec<CudaSlice<f32>>,
    to: RefCell<Vec<CudaSlice<f32>>>,
}

impl<'b> Memory<'b> {
    fn new(bench: &'b Bench, problem: &'b rows::Problem, shape: (u32, u32), bytes: f64) -> Self {
        let Bench { device, stream, drawn, .. } = bench;
        let operands = &problem.body().operands;
        let count = sets_to_exceed_l2(bytes as u64, bench.l2_bytes).min(MOST_SETS);
        let set = |_| operands.iter().map(|it| Placed::new(device, it, shape, drawn)).collect::<Vec<_>>();
        let half = ((bytes / 2.0) as usize).next_multiple_of(PAGE) / 4;
        Memory {
            bench,
            operands,
            sets: RefCell::new((0..count).map(set).collect()),
            from: (0..count).map(|_| filled(stream, half, drawn.f32())).collect(),
            to: RefCell::new((0..count).map(|_| stream.alloc_zeros::<f32>(half).unwrap()).collect()),
        }
    }

    fn launch(&self, kernel: &CompiledKernel, launch: usize) -> Result<()> {
        let sets = &mut *self.sets.borrow_mut();
        let at = launch % sets.len();
        let set = sets[at].iter_mut().zip(self.operands);
        let mut arguments: Vec<_> = set.map(|(placed, operand)| placed.argument(operand.role)).collect();
        kernel.launch(&self.bench.device, &mut arguments)
    }

    fn copy(&self, launch: usize) -> Result<()> {
        let at = launch % self.from.len();
        let copied = self.bench.stream.memcpy_dtod(&self.from[at], &mut self.to.borrow_mut()[at]);
        copied.map_err(|source| autokernel::Error::Cuda { doing: "copying in device memory", source })
    }
}

/// A kernel that is timed.
struct Candidate {
    schedule: AnySchedule,
    why: Why,
    kernel: CompiledKernel,
    is_chosen: bool,
}

/// Those of a shape, of which the model chooses one.
fn load(bench: &Bench, measured: &Measured, columns: u32, extents: &Extents, is_of_rings: bool) -> Vec<Candidate> {
    let any = Problem::from(measured.problem.clone());
    let signature = any.signature();
    let wanted = candidates(&measured.problem, columns, is_of_rings);
    let loaded = wanted.into_iter().filter_map(|(schedule, why)| {
        let image = measured.images.iter().find(|it| it.0 == schedule)?;
        let kernel = images::load(&bench.device, &signature, image);
        Some(Candidate { schedule, why, kernel, is_chosen: false })
    });
    let mut loaded: Vec<Candidate> = loaded.collect();
    let carried = loaded.iter().filter(|it| it.why == Why::Carried).map(|it| it.schedule);
    let chosen = row_wise::chosen(&any, carried, extents, bench.machine);
    loaded.iter_mut().for_each(|it| it.is_chosen = it.schedule == chosen);
    loaded
}

type Run<'r> = Box<dyn FnMut(usize) -> Result<()> + 'r>;

/// Rounds of those of `runs` that `is_timed` says.
fn rounds(
    timer: &mut Timer,
    (rounds, launches): (usize, usize),
    runs: &mut [Run<'_>],
    is_timed: impl Fn(usize) -> bool,
) -> Interleaved {
    let timed = runs.iter_mut().enumerate().filter(|(at, _)| is_timed(*at));
    let mut work: Vec<Work<'_>> = timed.map(|(_, run)| &mut **run as Work<'_>).collect();
    timer.interleave(rounds, launches, &mut work).unwrap()
}

/// Times a body at a shape, and prints how fast each candidate is that is near the fastest.
fn report(bench: &Bench, measured: &Measured, shape: (u32, u32), is_of_rings: bool) {
    let extents = extents(shape.0, shape.1);
    let bytes = Problem::from(measured.problem.clone()).class().work(&extents).bytes();
    let launches = ((BATCH_BYTES / bytes) as usize).clamp(2, 200);
    let memory = Memory::new(bench, &measured.problem, shape, bytes);
    let kernels = load(bench, measured, shape.1, &extents, is_of_rings);
    let copy: Run<'_> = Box::new(|launch| memory.copy(launch));
    let of_kernels = kernels.iter().map(|it| -> Run<'_> { Box::new(|launch| memory.launch(&it.kernel, launch)) });
    let mut runs: Vec<Run<'_>> = iter::once(copy).chain(of_kernels).collect();

    let mut timer = Timer::new(&bench.device, Cache::Warm).unwrap();
    // What is far slower than a copy is not looked at again, but for what is chosen and what is portable.
    let looked = rounds(&mut timer, (2, launches), &mut runs, |_| true);
    let ms = |at: usize| looked.timing(at).unwrap().median_ms;
    let best = (1..=kernels.len()).map(ms).fold(f64::INFINITY, f64::min);
    let is_near = |at: usize| ms(at + 1) < 1.1 * best || kernels[at].is_chosen || kernels[at].why == Why::Portable;
    let near: Vec<usize> = (0..kernels.len()).filter(|&at| is_near(at)).collect();
    let times = rounds(&mut timer, (ROUNDS, launches), &mut runs, |at| at == 0 || near.contains(&(at - 1)));

    let rate = |candidate: usize| bytes / times.timing(candidate).unwrap().median_ms / 1e6;
    println!("{:>14} {:>8.0} {:>7} {:>7}  a copy", format!("{}x{}", shape.0, shape.1), rate(0), "", "");
    let lines = (1..).zip(&near).map(|(number, &at)| {
        let ratio = times.ratio(0, number).unwrap();
        (ratio.median, line(&kernels[at], rate(number), ratio.median, ratio.spread_pct))
    });
    let mut lines: Vec<(f64, String)> = lines.collect();
    lines.sort_by(|left, right| right.0.total_cmp(&left.0));
    lines.iter().for_each(|(_, line)| println!("{line}"));
}

fn line(of: &Candidate, rate: f64, ratio: f64, spread_pct: f64) -> String {
    let mark = if of.is_chosen { ">" } else { " " };
    let why = match of.why {
        Why::Carried => "",
        Why::Portable => " (portable)",
        Why::Tried => " (tried)",
    };
    format!("{mark:>14} {rate:>8.0} {ratio:>7.3} {spread_pct:>6.1}%  {}{why}", of.schedule)
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn rates_beside_a_copy_of_as_many_bytes() {
    const TEST: &str = "gpu_rows_speed::rates_beside_a_copy_of_as_many_bytes";
    let asked = Asked::by_environment();
    let measured = asked.compile();
    let Some(device) = skip::gpu_of_one_stream(TEST) else { return };
    let bench = Bench::new(device);
    println!(
        "{}; GB/s, median of {ROUNDS} rounds, each operand once; the spread is the ratio's interquartile range; > is what the model chooses",
        bench.device
    );
    for of_body in &measured {
        println!(
            "\n{} {}\n{:>14} {:>8} {:>7} {:>7}  schedule",
            of_body.name, of_body.dtype, "shape", "GB/s", "ratio", "spread"
        );
        asked.shapes.iter().for_each(|shape| report(&bench, of_body, *shape, asked.is_of_rings));
    }
}
