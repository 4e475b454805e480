//! How fast products with bodies are, beside the plain product and beside what cuBLASLt fuses, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_bodies_speed --
//! --ignored --nocapture`. Operands are random, and sets of them rotate past the L2 cache. Each kernel is run by the schedule that is fastest at the shape; cuBLASLt by the fastest of its algorithms.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{Argument, CompiledKernel, Device, Dtype, Matrix, Row, bf16, matmul};
use autokernel_baseline::{Added, CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};
use gpu_tests::bodies::{BEHIND, TIMED, TIMED_IMAGES, TimedImage};
use gpu_tests::ranking::under_load;
use gpu_tests::timed::{self, Drawn};

const SHAPES: [(u32, u32, u32); 3] = [(4096, 4096, 4096), (4096, 14_336, 4096), (2048, 8192, 8192)];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Sets of operands, of 100 MB and more each.
const SETS: usize = 3;

/// The operands of every candidate.
struct Set {
    x: Matrix<bf16>,
    w: Matrix<bf16>,
    bias: Row<bf16>,
    skip: Matrix<bf16>,
    /// Of cuBLASLt, where a kernel follows it.
    product: Matrix<bf16>,
    out: Matrix<bf16>,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let drawn = Drawn::uniform(seed);
        let matrix = |rows: usize, columns: usize| drawn.matrix(device, [rows, columns], 0);
        let bias = Row::from_slice(device, &drawn.numbers()[..n]).unwrap();
        let zeros = || Matrix::zeros(device, m, n).unwrap();
        Set { x: matrix(m, k), w: matrix(n, k), bias, skip: matrix(m, n), product: zeros(), out: zeros() }
    }

    /// The arguments of a kernel that has so many operands, in the order of its signature.
    fn arguments(&mut self, operands: usize) -> Vec<Argument<'_>> {
        let Set { x, w, bias, skip, out, .. } = self;
        let mut arguments: Vec<Argument<'_>> = vec![(&*x).into(), (&*w).into()];
        if operands > 3 {
            arguments.push(bias.view().into());
        }
        if operands > 4 {
            arguments.push((&*skip).into());
        }
        arguments.push(out.into());
        arguments
    }
}

/// A loaded kernel.
struct Kernel {
    schedule: &'static str,
    operands: usize,
    kernel: CompiledKernel,
}

impl Kernel {
    fn load(device: &Device, image: &TimedImage) -> Self {
        let operands = image.signature().operands.len();
        Kernel { schedule: image.schedule, operands, kernel: image.load(device).unwrap() }
    }

    fn launch(&self, device: &Device, set: &mut Set) -> autokernel::Result<()> {
        self.kernel.launch(device, &mut set.arguments(self.operands))
    }
}

fn images(name: &str) -> impl Iterator<Item = &'static TimedImage> {
    TIMED_IMAGES.iter().filter(move |image| image.name == name)
}

/// The kernel of that name whose schedule is fastest on those operands.
fn best(device: &Device, timer: &mut Timer, name: &str, sets: &mut [Set]) -> Kernel {
    let mut kernels: Vec<Kernel> = images(name).map(|image| Kernel::load(device, image)).collect();
    let sets = RefCell::new(sets);
    let launch = |kernel: &Kernel, launch: usize| kernel.launch(device, &mut sets.borrow_mut()[launch % SETS]);
    let ranked = under_load(timer, LAUNCHES, &kernels, launch).unwrap();
    for (ms, kernel) in &ranked {
        println!("{name:>24}: {ms:.4} ms by {}", kernel.schedule);
    }
    let best = ranked[0].1.schedule;
    kernels.retain(|kernel| kernel.schedule == best);
    kernels.swap_remove(0)
}

/// What cuBLASLt makes of a body.
struct Opponent {
    epilogue: Epilogue,
    has_skip: bool,
    /// The name of the kernel that follows it with all that it does not fuse, from the product alone.
    behind: Option<&'static str>,
    name: &'static str,
}

/// The most that cuBLASLt fuses of what has that name.
fn opponent(name: &str) -> Opponent {
    let alone = Opponent { epilogue: Epilogue::Identity, has_skip: false, behind: None, name: "cuBLASLt" };
    match name {
        "plain" => alone,
        "gelu_tanh(dot + bias)" => Opponent { epilogue: Epilogue::GeluTanhBias, name: "cuBLASLt's GELU_BIAS", ..alone },
        "dot + bias + skip" => {
            Opponent { epilogue: Epilogue::Bias, has_skip: true, name: "cuBLASLt's BIAS and beta = 1", ..alone }
        }
        _ => Opponent { behind: Some(BEHIND.0), name: "cuBLASLt and one kernel", ..alone },
    }
}

/// A launch of cuBLASLt's.
struct Fused {
    cublaslt: CublasLt,
    gemm: Gemm,
    has_bias: bool,
    has_skip: bool,
    behind: Option<CompiledKernel>,
}

impl Fused {
    fn launch(&mut self, device: &Device, algorithm: usize, set: &mut Set) -> autokernel::Result<()> {
        let Set { x, w, bias, skip, product, out } = set;
        let to = if self.behind.is_some() { &mut *product } else { &mut *out };
        let fused_bias = self.has_bias.then_some(&*bias);
        let added = Added { bias: fused_bias, skip: self.has_skip.then(|| skip.view()), ..Added::NOTHING };
        let launched = self.gemm.launch_adding(&mut self.cublaslt, algorithm, &*x, &*w, added, to);
        launched?;
        let Some(behind) = &self.behind else { return Ok(()) };
        behind.launch(device, &mut [(&*product).into(), bias.view().into(), (&*skip).into(), out.into()])
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn bodies_beside_the_plain_product_and_cublaslt() {
    let test = "gpu_bodies_speed::bodies_beside_the_plain_product_and_cublaslt";
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt bf16; above 1 is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for (m, n, k) in SHAPES {
        let extents = matmul::extents(m, n, k);
        let mut sets: Vec<Set> =
            (0..SETS as u64).map(|seed| Set::random(&device, [m, n, k].map(|size| size as usize), seed)).collect();
        let plain = best(&device, &mut timer, "plain", &mut sets);
        println!("\n{extents}, the plain product by {}", plain.schedule);
        for (name, _) in TIMED {
            let ours = best(&device, &mut timer, name, &mut sets);
            let Opponent { epilogue, has_skip, behind, name: theirs } = opponent(name);
            let cublaslt = CublasLt::new(&device).unwrap();
            let problem =
                GemmProblem { extents, dtype: Dtype::Bf16, output: Dtype::Bf16, layout: matmul::Layout::Nt, epilogue };
            let gemm = cublaslt.gemm(problem, HEURISTICS).unwrap();
            let has_bias = epilogue != Epilogue::Identity;
            let behind = behind.map(|name| images(name).next().unwrap().load(&device).unwrap());
            let mut fused = Fused { cublaslt, gemm, has_bias, has_skip, behind };
            let algorithm = fastest(fused.gemm.algorithms(), |algorithm, launches| {
                let mut run = |launch: usize| fused.launch(&device, algorithm, &mut sets[launch % SETS]);
                Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
            });
            let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");

            let sets = RefCell::new(&mut sets);
            let mut of_body = |launch: usize| ours.launch(&device, &mut sets.borrow_mut()[launch % SETS]);
            let mut of_plain = |launch: usize| plain.launch(&device, &mut sets.borrow_mut()[launch % SETS]);
            let mut of_cublaslt =
                |launch: usize| fused.launch(&device, algorithm, &mut sets.borrow_mut()[launch % SETS]);
            let times =
                timer.interleave(ROUNDS, LAUNCHES, &mut [&mut of_body, &mut of_plain, &mut of_cublaslt]).unwrap();
            let median_ms = times.timing(0).unwrap().median_ms;
            let (to_plain, to_theirs) = (times.ratio(1, 0).unwrap(), times.ratio(2, 0).unwrap());
            println!(
                "{name:>24}: {median_ms:.4} ms, {:.3} of the plain product (spread {:.1} %), {:.3} of {theirs} (spread \
                 {:.1} %), by {}",
                to_plain.median, to_plain.spread_pct, to_theirs.median, to_theirs.spread_pct, ours.schedule
            );
        }
    }
}
