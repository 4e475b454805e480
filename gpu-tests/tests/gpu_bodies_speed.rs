//! How fast products with bodies are, beside the plain product and beside what cuBLASLt fuses, in the same rounds; of the body of
//! twenty operations also how near it comes to the plain product and the bytes of its own at the bandwidth of a copy.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_bodies_speed --
//! --ignored --nocapture`. `AUTOKERNEL_SEED` draws other shapes beside the listed ones, `AUTOKERNEL_CASES` so many. Operands are
//! normal random numbers, and sets of them rotate past the L2 cache. Each kernel is run by the schedule that is fastest at the shape;
//! cuBLASLt by the fastest of its algorithms.

use std::cell::RefCell;

use autokernel::timing::{Cache, Interleaved, Statistics, Timer, Work};
use autokernel::{CompiledKernel, Device, Dtype, Extents, matmul};
use autokernel_baseline::{Added, CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};
use gpu_tests::bodies::{BEHIND, COPY, TIMED, TIMED_IMAGES, TWENTY, TimedImage, TimedSet as Set};
use gpu_tests::ranking::under_load;
use gpu_tests::timed::{self, Rows};

const SHAPES: [(u32, u32, u32); 3] = [(4096, 4096, 4096), (4096, 14_336, 4096), (2048, 8192, 8192)];
/// Rows of those that are drawn.
const ROWS: Rows = 1024..=4096;
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Sets of operands, of 100 MB and more each.
const SETS: usize = 3;

/// A loaded kernel.
struct Kernel {
    schedule: &'static str,
    operands: Vec<String>,
    kernel: CompiledKernel,
}

impl Kernel {
    fn load(device: &Device, image: &TimedImage) -> Self {
        let operands = image.signature().operands.into_iter().map(|operand| operand.name).collect();
        Kernel { schedule: image.schedule, operands, kernel: image.load(device).unwrap() }
    }

    fn launch(&self, device: &Device, set: &mut Set) -> autokernel::Result<()> {
        self.kernel.launch(device, &mut set.arguments(&self.operands))
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

/// The most that cuBLASLt fuses of what has that name; none of what is held against a copy.
fn opponent(name: &str) -> Option<Opponent> {
    let alone = Opponent { epilogue: Epilogue::Identity, has_skip: false, behind: None, name: "cuBLASLt" };
    Some(match name {
        TWENTY => return None,
        "plain" => alone,
        "gelu_tanh(dot + bias)" => Opponent { epilogue: Epilogue::GeluTanhBias, name: "cuBLASLt's GELU_BIAS", ..alone },
        "dot + bias + skip" => {
            Opponent { epilogue: Epilogue::Bias, has_skip: true, name: "cuBLASLt's BIAS and beta = 1", ..alone }
        }
        _ => Opponent { behind: Some(BEHIND.0), name: "cuBLASLt and one kernel", ..alone },
    })
}

/// A launch of cuBLASLt's.
struct Fused {
    cublaslt: CublasLt,
    gemm: Gemm,
    has_bias: bool,
    has_skip: bool,
    behind: Option<Kernel>,
}

impl Fused {
    /// By the fastest of its algorithms, whose number is given too.
    fn fastest(
        device: &Device,
        timer: &mut Timer,
        extents: Extents,
        opponent: &Opponent,
        sets: &mut [Set],
    ) -> (Self, usize) {
        let &Opponent { epilogue, has_skip, behind, .. } = opponent;
        let cublaslt = CublasLt::new(device).unwrap();
        let (dtype, layout) = (Dtype::Bf16, matmul::Layout::Nt);
        let gemm = cublaslt.gemm(GemmProblem { extents, dtype, output: dtype, layout, epilogue }, HEURISTICS).unwrap();
        let has_bias = epilogue != Epilogue::Identity;
        let behind = behind.map(|name| Kernel::load(device, images(name).next().unwrap()));
        let mut fused = Fused { cublaslt, gemm, has_bias, has_skip, behind };
        let algorithm = fastest(fused.gemm.algorithms(), |algorithm, launches| {
            let mut run = |launch: usize| fused.launch(device, algorithm, &mut sets[launch % SETS]);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");
        (fused, algorithm)
    }

    fn launch(&mut self, device: &Device, algorithm: usize, set: &mut Set) -> autokernel::Result<()> {
        let Set { x, w, bias, skip, product, out, .. } = set;
        let to = if self.behind.is_some() { &mut *product } else { &mut *out };
        let fused_bias = self.has_bias.then_some(&*bias);
        let added = Added { bias: fused_bias, skip: self.has_skip.then(|| skip.view()), ..Added::NOTHING };
        let launched = self.gemm.launch_adding(&mut self.cublaslt, algorithm, &*x, &*w, added, to);
        launched?;
        self.behind.as_ref().map_or(Ok(()), |behind| behind.launch(device, set))
    }
}

/// The candidates of a round, in order.
const BODY: usize = 0;
const PLAIN: usize = 1;
const COPIED: usize = 2;
const THEIRS: usize = 3;

/// How many times as long as the body the plain product would take with the body's own bytes, at the bandwidth of the copy.
fn with_bytes(times: &Interleaved, [m, n]: [u32; 2]) -> Statistics {
    let (of_matrix, of_row, of_column) = (2 * u64::from(m) * u64::from(n), 2 * u64::from(n), 4 * u64::from(m));
    let share = (of_matrix + of_row + of_column) as f64 / (2 * of_matrix) as f64;
    let both = times.ratios(PLAIN, BODY).into_iter().zip(times.ratios(COPIED, BODY));
    Statistics::of(&both.map(|(plain, copy)| plain + share * copy).collect::<Vec<f64>>()).unwrap()
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn bodies_beside_the_plain_product_and_cublaslt() {
    let test = "gpu_bodies_speed::bodies_beside_the_plain_product_and_cublaslt";
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt bf16; above 1 is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let copy = Kernel::load(&device, images(COPY.0).next().unwrap());
    let mut ratios: [Vec<f64>; TIMED.len()] = Default::default();
    for (m, n, k) in timed::shapes(&SHAPES, &[ROWS]) {
        let extents = matmul::extents(m, n, k);
        let mut sets: Vec<Set> =
            (0..SETS as u64).map(|seed| Set::random(&device, [m, n, k].map(|size| size as usize), seed)).collect();
        let plain = best(&device, &mut timer, "plain", &mut sets);
        println!("\n{extents}, the plain product by {}", plain.schedule);
        for ((name, _), ratios) in TIMED.into_iter().zip(&mut ratios) {
            let ours = best(&device, &mut timer, name, &mut sets);
            let opponent = opponent(name);
            let mut fused = opponent.as_ref().map(|it| Fused::fastest(&device, &mut timer, extents, it, &mut sets));

            let sets = RefCell::new(&mut sets);
            let by = |kernel: &Kernel, launch: usize| kernel.launch(&device, &mut sets.borrow_mut()[launch % SETS]);
            let (mut of_body, mut of_plain) = (|launch| by(&ours, launch), |launch| by(&plain, launch));
            let mut of_copy = |launch| by(&copy, launch);
            let mut of_theirs = fused.as_mut().map(|(fused, algorithm)| {
                |launch: usize| fused.launch(&device, *algorithm, &mut sets.borrow_mut()[launch % SETS])
            });
            let mut work: Vec<Work<'_>> = vec![&mut of_body, &mut of_plain, &mut of_copy];
            work.extend(of_theirs.as_mut().map(|work| work as Work<'_>));
            let times = timer.interleave(ROUNDS, LAUNCHES, &mut work).unwrap();
            let of =
                |Statistics { median, spread_pct, .. }: Statistics| format!("{median:.3} (spread {spread_pct:.1} %)");
            let (median_ms, to_plain) = (times.timing(BODY).unwrap().median_ms, times.ratio(PLAIN, BODY).unwrap());
            let (to_theirs, theirs) = match opponent {
                Some(Opponent { name, .. }) => (times.ratio(THEIRS, BODY).unwrap(), name),
                None => (with_bytes(&times, [m, n]), "the plain product and its bytes"),
            };
            ratios.push(to_theirs.median);
            println!(
                "{name:>24}: {median_ms:.4} ms, {} of the plain product, {} of {theirs}, by {}",
                of(to_plain),
                of(to_theirs),
                ours.schedule
            );
        }
    }
    println!();
    for ((name, _), ratios) in TIMED.into_iter().zip(ratios) {
        println!("{name:>24}: {}", timed::mean_and_least(&ratios));
    }
}
