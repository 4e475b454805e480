//! How fast a product with a body is as nobody tuned it: what a launch chooses, beside the fastest that its kernel carries and beside what
//! cuBLASLt fuses of the same.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_bodies_choice_speed -- --ignored --nocapture`.
//! `AUTOKERNEL_SEED` draws other shapes beside the listed ones, `AUTOKERNEL_CASES` so many. The images that a declared kernel carries are
//! compiled when the test runs. All are timed, and the three fastest and the one that the model chooses meet cuBLASLt in the same rounds,
//! on normal random numbers in sets that rotate past the L2 cache.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer, Work};
use autokernel::{CompiledKernel, Device, Dtype, Extents, Result, matmul};
use autokernel_baseline::{Added, CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::product;
use batch_tests::contenders::{CHOSEN, Contenders, finalists, rank};
use gpu_tests::bodies::{TIMED, TimedSet};
use gpu_tests::skip;
use gpu_tests::timed::{self, Rows};

const SHAPES: [(u32, u32, u32); 3] = [(4096, 4096, 4096), (4096, 14_336, 4096), (2048, 8192, 8192)];
/// Rows of those that are drawn.
const ROWS: Rows = 1024..=4096;
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Sets of operands, of 100 MB and more each.
const SETS: usize = 3;

/// A body with the images that its kernel carries.
struct Timed {
    name: &'static str,
    operands: Vec<String>,
    contenders: Contenders,
    /// What cuBLASLt fuses all of it by: its epilogue, and whether it adds a matrix.
    fused: Option<(Epilogue, bool)>,
}

impl Timed {
    fn compile((name, source): (&'static str, &str)) -> Self {
        let problem = product::problem(&syn::parse_str(source).unwrap()).unwrap();
        let fused = match name {
            "gelu_tanh(dot + bias)" => Some((Epilogue::GeluTanhBias, false)),
            "dot + bias + skip" => Some((Epilogue::Bias, true)),
            "plain" => Some((Epilogue::Identity, false)),
            _ => None,
        };
        let operands = signature(&problem).operands.into_iter().map(|operand| operand.name).collect();
        let contenders = Contenders::compile(problem, Vec::new(), env!("CARGO_TARGET_TMPDIR"));
        Timed { name, operands, contenders, fused }
    }
}

/// What cuBLASLt makes of a body, by the fastest of its algorithms.
struct Theirs {
    cublaslt: CublasLt,
    gemm: Gemm,
    has_bias: bool,
    adds: bool,
    algorithm: usize,
}

impl Theirs {
    fn fastest(
        device: &Device,
        timer: &mut Timer,
        (extents, sets): (Extents, &RefCell<Vec<TimedSet>>),
        (epilogue, adds): (Epilogue, bool),
    ) -> Self {
        let cublaslt = CublasLt::new(device).unwrap();
        let (dtype, layout) = (Dtype::Bf16, matmul::Layout::Nt);
        let gemm = cublaslt.gemm(GemmProblem { extents, dtype, output: dtype, layout, epilogue }, HEURISTICS).unwrap();
        let has_bias = epilogue != Epilogue::Identity;
        let mut theirs = Theirs { cublaslt, gemm, has_bias, adds, algorithm: 0 };
        let found = fastest(theirs.gemm.algorithms(), |algorithm, launches| {
            theirs.algorithm = algorithm;
            let mut run = |launch: usize| theirs.launch(&mut sets.borrow_mut()[launch % SETS]);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        theirs.algorithm = found.unwrap().expect("an algorithm of cuBLASLt runs").0;
        theirs
    }

    fn launch(&mut self, set: &mut TimedSet) -> Result<()> {
        let TimedSet { x, w, bias, skip, out, .. } = set;
        let added =
            Added { bias: self.has_bias.then_some(&*bias), skip: self.adds.then(|| skip.view()), ..Added::NOTHING };
        self.gemm.launch_adding(&mut self.cublaslt, self.algorithm, &*x, &*w, added, out)?;
        Ok(())
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn what_a_launch_of_a_body_chooses() {
    // Before it looks for a GPU, so that another machine can compile them.
    let bodies: Vec<Timed> = TIMED.into_iter().map(Timed::compile).collect();
    let Some(device) = skip::gpu_of_one_stream("gpu_bodies_choice_speed::what_a_launch_of_a_body_chooses") else {
        return;
    };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt bf16; above 1 is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let mut of_fastest: Vec<Vec<f64>> = bodies.iter().map(|_| Vec::new()).collect();
    let mut of_theirs = of_fastest.clone();
    for (m, n, k) in timed::shapes(&SHAPES, &[ROWS]) {
        let extents = matmul::extents(m, n, k);
        let sizes = [m, n, k].map(|size| size as usize);
        let sets = RefCell::new((0..SETS as u64).map(|seed| TimedSet::random(&device, sizes, seed)).collect());
        for (number, body) in bodies.iter().enumerate() {
            let launch = |kernel: &CompiledKernel, launch: usize| {
                let mut sets: std::cell::RefMut<'_, Vec<TimedSet>> = sets.borrow_mut();
                kernel.launch(&device, &mut sets[launch % SETS].arguments(&body.operands))
            };
            let at_shape = body.contenders.at(&device, &extents, &[]);
            let contenders = at_shape.all();
            let ranked = rank(&format!("{extents} {}", body.name), &contenders, |kernel| {
                let _ = timer.time_batch(3, |number| launch(kernel, number))?;
                timer.time_batch(LAUNCHES, |number| launch(kernel, number))
            });
            let finalists = finalists(&ranked.unwrap());
            let mut theirs = body.fused.map(|fused| Theirs::fastest(&device, &mut timer, (extents, &sets), fused));
            let mut of_ours: Vec<_> = finalists
                .iter()
                .map(|at| contenders[*at].kernel)
                .map(|kernel| move |number: usize| launch(kernel, number))
                .collect();
            let mut run_theirs =
                theirs.as_mut().map(|theirs| |number: usize| theirs.launch(&mut sets.borrow_mut()[number % SETS]));
            let mut work: Vec<Work<'_>> = of_ours.iter_mut().map(|work| work as Work<'_>).collect();
            work.extend(run_theirs.as_mut().map(|work| work as Work<'_>));
            let times = timer.interleave(ROUNDS, LAUNCHES, &mut work).unwrap();
            let ms = |at: usize| times.timing(at).unwrap().median_ms;
            let best = (0..finalists.len()).min_by(|left, right| ms(*left).total_cmp(&ms(*right))).unwrap_or(0);
            let behind = times.ratio(best, 0).unwrap();
            of_fastest[number].push(behind.median);
            let beside = run_theirs.as_ref().map(|_| times.ratio(finalists.len(), 0).unwrap());
            of_theirs[number].extend(beside.iter().map(|ratio| ratio.median));
            let beside =
                beside.map_or(String::new(), |it| format!(", {:.3} of cuBLASLt ({:.1} %)", it.median, it.spread_pct));
            println!(
                "{extents} {}: {:.4} ms, {:.3} of the fastest carried ({:.1} %){beside}, by {}; fastest {}",
                body.name,
                ms(0),
                behind.median,
                behind.spread_pct,
                contenders[CHOSEN].told(),
                contenders[finalists[best]].told(),
            );
        }
    }
    for ((body, of_fastest), of_theirs) in bodies.iter().zip(of_fastest).zip(of_theirs) {
        println!("{}, of the fastest carried: {}", body.name, timed::mean_and_least(&of_fastest));
        if !of_theirs.is_empty() {
            println!("{}, of cuBLASLt: {}", body.name, timed::mean_and_least(&of_theirs));
        }
    }
}
