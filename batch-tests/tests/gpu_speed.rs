//! How fast batches are, beside the fastest algorithm of cuBLASLt's strided batches.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_speed -- --ignored --nocapture`. Sizes are
//! drawn by `AUTOKERNEL_SEED`. Operands are random, and sets of them rotate past the L2 cache. The schedules are compiled when the
//! test runs: those of a list, and the images that a declared kernel carries. All are timed, and the three fastest and the one that the
//! model chooses meet cuBLASLt in the same rounds. `AUTOKERNEL_LIST=0` leaves the list out, which takes longest to compile.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer, Work};
use autokernel::{Arch, Argument, Batch, CompiledKernel, Device, Dtype, Extents, bf16, matmul};
use autokernel_baseline::{CublasLt, Epilogue, GemmProblem, HEURISTICS, fastest};
use autokernel_codegen::matmul::schedule::{Mode, Raster, RasterOrder, Schedule, Sm90Schedule};
use autokernel_codegen::product::{self, Problem};
use batch_tests::carried::{Carried, H200};
use batch_tests::timed;
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ROUNDS: usize = 20;
const LAUNCHES: usize = 8;
const SHAPES: usize = 10;
/// The number of the kernel that the model chooses, among all that are timed.
const CHOSEN: usize = 0;
/// Bytes of the sets together: past the L2 cache.
const ROTATED: usize = 160 << 20;

fn problem() -> Problem {
    let function = syn::parse_quote! {
        fn product(a: &Batch<bf16>, b: &Batch<bf16>, out: &mut Batch<bf16>) {
            out = dot(a, b.t());
        }
    };
    product::problem(&function).unwrap()
}

/// Tiles that leave little of the drawn sizes empty: wide and narrow ones, in every mode.
fn schedules() -> Vec<Schedule> {
    let raster = Raster { order: RasterOrder::AlongM, group: 8 };
    let plain = Sm90Schedule { raster, ..Sm90Schedule::PLAIN };
    let mut candidates = Vec::new();
    for tile_n in [64, 96, 128, 144, 160, 192, 208, 232, 256] {
        for (tile_m, consumers, mode) in [
            (64, 1, Mode::Cooperative),
            (128, 2, Mode::Cooperative),
            (192, 3, Mode::Cooperative),
            (256, 2, Mode::Cooperative),
            (64, 2, Mode::PingPong),
            (128, 2, Mode::PingPong),
        ] {
            for (cluster_m, stages) in [(1, 4), (2, 4), (1, 6), (1, 3)] {
                candidates.push(Sm90Schedule { tile_m, tile_n, consumers, mode, cluster_m, stages, ..plain });
            }
        }
    }
    for tile_m in [16, 32, 48, 64, 96, 120, 128] {
        for (tile_n, stages) in [(64, 8), (128, 6), (256, 4)] {
            candidates.push(Sm90Schedule { tile_m, tile_n, stages, swap_ab: true, ..plain });
            candidates.push(Sm90Schedule { tile_m, tile_n, stages, swap_ab: true, consumers: 2, ..plain });
        }
    }
    // Blocks that share what they load, for rows that straddle cache lines.
    for (tile_m, tile_n, consumers) in
        [(128, 176, 2), (128, 192, 2), (128, 216, 2), (128, 256, 2), (192, 192, 3), (256, 128, 2)]
    {
        for (cluster_m, cluster_n) in [(2, 1), (1, 2), (2, 2), (4, 1)] {
            candidates.push(Sm90Schedule { tile_m, tile_n, consumers, cluster_m, cluster_n, stages: 4, ..plain });
        }
    }
    // The same for tiles that are computed transposed, as deep as fits, and for ping-pong.
    for (cluster_m, cluster_n) in [(2, 1), (1, 2)] {
        let swapped = Sm90Schedule { swap_ab: true, cluster_m, cluster_n, ..plain };
        for (tile_m, stages) in [(48, 9), (64, 8), (80, 7), (96, 6), (112, 6), (128, 6), (144, 5), (176, 5)] {
            candidates.push(Sm90Schedule { tile_m, stages, consumers: 2, mode: Mode::PingPong, ..swapped });
        }
        for (tile_m, tile_n, stages) in
            [(48, 64, 12), (56, 64, 12), (64, 64, 12), (96, 64, 10), (48, 128, 9), (64, 128, 8)]
        {
            candidates.push(Sm90Schedule { tile_m, tile_n, stages, ..swapped });
        }
    }
    for (tile_m, tile_n) in [(64, 128), (64, 192), (64, 256), (128, 64), (128, 128), (128, 160)] {
        let (consumers, mode) = (2, Mode::PingPong);
        candidates.push(Sm90Schedule { tile_m, tile_n, consumers, mode, cluster_n: 2, stages: 4, ..plain });
    }
    for (tile_m, tile_n, consumers) in [(64, 96, 1), (64, 160, 1), (64, 192, 1), (64, 64, 1), (128, 128, 2)] {
        candidates.push(Sm90Schedule { tile_m, tile_n, consumers, cluster_n: 2, stages: 6, ..plain });
        candidates.push(Sm90Schedule { tile_m, tile_n, consumers, cluster_m: 2, stages: 6, ..plain });
    }
    let class = problem().class();
    let candidates = candidates.into_iter().map(Schedule::from);
    candidates.filter(|schedule| schedule.check(&class, Arch::SM_90A).is_ok()).collect()
}

/// Products of 0.5 to 200 GFLOP in all, whose rows are aligned.
fn shapes() -> Vec<Extents> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 16));
    let mut extent = |least: u32, most: u32| rng.random_range(f64::from(least).ln()..f64::from(most).ln()).exp() as u32;
    let mut shapes = Vec::new();
    while shapes.len() < SHAPES {
        let [m, n, k] = [extent(32, 4096), extent(32, 4096), extent(32, 4096)].map(|size| size.next_multiple_of(8));
        let shape = matmul::batched_extents(extent(2, 257), m, n, k);
        let bytes = 2.0 * matmul::products(&shape) as f64 * (f64::from(m * k) + f64::from(n * k) + f64::from(m * n));
        if (5e8..2e11).contains(&autokernel_codegen::matmul::flops(&shape)) && bytes < 1e9 {
            shapes.push(shape);
        }
    }
    shapes
}

struct Set {
    a: Batch<bf16>,
    b: Batch<bf16>,
    out: Batch<bf16>,
}

impl Set {
    fn random(device: &Device, [batch, m, n, k]: [usize; 4], drawn: &[bf16]) -> Self {
        let of = |shape: [usize; 3]| {
            let values: Vec<bf16> = drawn.iter().copied().cycle().take(shape.iter().product()).collect();
            Batch::from_slice(device, &values, shape).unwrap()
        };
        Set { a: of([batch, m, k]), b: of([batch, n, k]), out: Batch::zeros(device, [batch, m, n]).unwrap() }
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn batches_beside_the_strided_batches_of_cublaslt() {
    // Before it looks for a GPU, so that another machine can compile them.
    let carried = Carried::of(&problem());
    let listed = if settings::number("AUTOKERNEL_LIST", 1) == 0 { Vec::new() } else { schedules() };
    let compiled = timed::compile(&problem(), listed, env!("CARGO_TARGET_TMPDIR"));
    let images = timed::compile(&problem(), carried.images().collect(), env!("CARGO_TARGET_TMPDIR"));
    let Some(device) = skip::gpu("gpu_speed::batches_beside_the_strided_batches_of_cublaslt") else { return };
    let listed = timed::load(&device, &problem(), &compiled);
    println!(
        "{device}; bf16 nt, {ROUNDS} interleaved rounds of {LAUNCHES} launches; above 1 is faster than cuBLASLt's best"
    );
    let drawn = timed::drawn();
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let mut logarithms = Vec::new();
    let mut of_choices = Vec::new();
    for shape in shapes() {
        let [m, n, k] = matmul::sizes(&shape).map(|size| size as usize);
        let batch = matmul::products(&shape) as usize;
        let bytes = 2 * batch * (m * k + n * k + m * n);
        let count = ROTATED.div_ceil(bytes).clamp(2, 8);
        let sets = RefCell::new((0..count).map(|_| Set::random(&device, [batch, m, n, k], &drawn)).collect::<Vec<_>>());
        let launch = |kernel: &CompiledKernel, launch: usize| {
            let set = &mut sets.borrow_mut()[launch % count];
            let arguments: &mut [Argument<'_>] = &mut [(&set.a).into(), (&set.b).into(), (&mut set.out).into()];
            kernel.launch(&device, arguments)
        };
        // What is carried comes first, and of that what the model chooses.
        let by_model = carried.at(&shape, H200);
        let launched: Vec<(Schedule, CompiledKernel)> = by_model
            .iter()
            .map(|(_, schedule)| (*schedule, timed::load_as(&device, &problem(), &images, schedule)))
            .collect();
        let kernels: Vec<&(Schedule, CompiledKernel)> = launched.iter().chain(&listed).collect();
        let mut timed: Vec<(f64, usize)> = Vec::new();
        for (number, (schedule, kernel)) in kernels.iter().enumerate() {
            let mut run = |at: usize| launch(kernel, at);
            let _ = timer.time_batch(3, &mut run).unwrap();
            timed.push((timer.time_batch(12, &mut run).unwrap(), number));
            let predicted = by_model.get(number).map_or(String::new(), |(ms, _)| format!("predicted {ms:.4} "));
            eprintln!("{batch} x {m}x{n}x{k} {:.4} ms {predicted}{schedule}", timed[number].0);
        }
        timed.sort_by(|left, right| left.0.total_cmp(&right.0));
        let cublaslt = RefCell::new(CublasLt::new(&device).unwrap());
        let (epilogue, dtype) = (Epilogue::Identity, Dtype::Bf16);
        let gemm = GemmProblem { extents: shape, dtype, output: dtype, layout: matmul::Layout::Nt, epilogue };
        let gemm = cublaslt.borrow().gemm(gemm, HEURISTICS).unwrap();
        let theirs = |algorithm: usize, at: usize| {
            let set = &mut sets.borrow_mut()[at % count];
            let (a, b) = (set.a.as_matrix(), set.b.as_matrix());
            gemm.launch(&mut cublaslt.borrow_mut(), algorithm, a, b, set.out.as_matrix_mut())?;
            Ok::<_, autokernel::Error>(())
        };
        let algorithm = fastest(gemm.algorithms(), |algorithm, launches| {
            let mut run = |at: usize| theirs(algorithm, at);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");
        let mut of_theirs = |at: usize| theirs(algorithm, at);
        let finalists: Vec<usize> =
            [CHOSEN].into_iter().chain(timed.iter().take(3).map(|(_, number)| *number)).collect();
        let mut of_ours: Vec<_> = finalists
            .iter()
            .map(|number| {
                let kernel = &kernels[*number].1;
                move |at: usize| launch(kernel, at)
            })
            .collect();
        let mut work: Vec<Work<'_>> = vec![&mut of_theirs];
        work.extend(of_ours.iter_mut().map(|work| work as Work<'_>));
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut work).unwrap();
        let best = (1..work.len()).map(|number| (times.ratio(0, number).unwrap(), number));
        let (ratio, number) = best.max_by(|left, right| left.0.median.total_cmp(&right.0.median)).unwrap();
        let (ms, schedule) = (times.timing(number).unwrap().median_ms, &kernels[finalists[number - 1]].0);
        let of_choice = times.ratio(0, 1).unwrap().median;
        logarithms.push(ratio.median.ln());
        of_choices.push(of_choice.ln());
        let tflops = autokernel_codegen::matmul::flops(&shape) / (ms * 1e9);
        println!(
            "{batch:>4} x {m:>4}x{n:>4}x{k:>4} {ms:>9.4} ms {tflops:>6.1} TF {:>6.3} ({:.1} %) {schedule}; \
             chosen {of_choice:.3} {}",
            ratio.median, ratio.spread_pct, kernels[CHOSEN].0
        );
    }
    let mean = |logarithms: &[f64]| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    println!("geometric mean {:.3}, of what the model chooses {:.3}", mean(&logarithms), mean(&of_choices));
}
