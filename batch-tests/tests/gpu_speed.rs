//! How fast batches are, beside the fastest algorithm of cuBLASLt's strided batches.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_speed -- --ignored --nocapture`. Sizes are
//! drawn by `AUTOKERNEL_SEED`. Operands are random, and sets of them rotate past the L2 cache. The schedules are compiled when the
//! test runs: those of a list, and the images that a declared kernel carries. All are timed, and the three fastest, the one that the
//! model chooses and what a launch takes behind `autotune` meet cuBLASLt in the same rounds. `AUTOKERNEL_LIST=0` leaves the list out, which
//! takes longest to compile.

use std::cell::RefCell;
use std::time::Instant;

use autokernel::timing::{Cache, Timer, Work};
use autokernel::{AnyKernel, Arch, Argument, Batch, CompiledKernel, Device, Dtype, Extents, Result, bf16, matmul};
use autokernel_baseline::{CublasLt, Epilogue, GemmProblem, HEURISTICS, fastest};
use autokernel_codegen::matmul::schedule::{Mode, Raster, RasterOrder, Schedule, Sm90Schedule};
use autokernel_codegen::product::{self, Problem};
use batch_tests::contenders::{CHOSEN, Contender, Contenders, Ranked, finalists, rank};
use batch_tests::timed;
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ROUNDS: usize = 20;
const LAUNCHES: usize = 8;
const SHAPES: usize = 10;
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

/// The operands of one launch.
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

    fn arguments(&mut self) -> [Argument<'_>; 3] {
        [(&self.a).into(), (&self.b).into(), (&mut self.out).into()]
    }
}

/// Operands that take turns.
struct Sets<'d> {
    device: &'d Device,
    sets: RefCell<Vec<Set>>,
}

impl<'d> Sets<'d> {
    fn random(device: &'d Device, sizes @ [batch, m, n, k]: [usize; 4], drawn: &[bf16]) -> Self {
        let bytes = 2 * batch * (m * k + n * k + m * n);
        let count = ROTATED.div_ceil(bytes).clamp(2, 8);
        let sets = (0..count).map(|_| Set::random(device, sizes, drawn)).collect();
        Sets { device, sets: RefCell::new(sets) }
    }

    /// Hands the set of a launch of that number to `launch`.
    fn with<T>(&self, number: usize, launch: impl FnOnce(&mut Set) -> T) -> T {
        let mut sets = self.sets.borrow_mut();
        let count = sets.len();
        launch(&mut sets[number % count])
    }

    fn launch(&self, kernel: &CompiledKernel, number: usize) -> Result<()> {
        self.with(number, |set| kernel.launch(self.device, &mut set.arguments()))
    }
}

/// How cuBLASLt compares.
struct Met {
    /// The median time of the fastest of ours, and its schedule.
    ms: f64,
    schedule: Schedule,
    /// cuBLASLt's time over it with its spread in percent, over that of the model's choice, and over that of what was measured to lead.
    ratio: f64,
    spread_pct: f64,
    of_choice: f64,
    of_autotuned: f64,
}

/// The finalists of `ranked`, launches of `autotuned` and the fastest algorithm of cuBLASLt, in the same rounds.
fn meet(
    timer: &mut Timer,
    sets: &Sets<'_>,
    extents: &Extents,
    (contenders, ranked): (&[Contender<'_>], &Ranked),
    autotuned: &AnyKernel,
) -> Met {
    let cublaslt = RefCell::new(CublasLt::new(sets.device).unwrap());
    let (epilogue, dtype) = (Epilogue::Identity, Dtype::Bf16);
    let gemm = GemmProblem { extents: *extents, dtype, output: dtype, layout: matmul::Layout::Nt, epilogue };
    let gemm = cublaslt.borrow().gemm(gemm, HEURISTICS).unwrap();
    let theirs = |algorithm: usize, number: usize| {
        sets.with(number, |set| {
            let (a, b) = (set.a.as_matrix(), set.b.as_matrix());
            gemm.launch(&mut cublaslt.borrow_mut(), algorithm, a, b, set.out.as_matrix_mut())?;
            Ok::<_, autokernel::Error>(())
        })
    };
    let algorithm = fastest(gemm.algorithms(), |algorithm, launches| {
        Ok::<_, autokernel::Error>(timer.time_batch(launches, |number| theirs(algorithm, number)).ok())
    });
    let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");

    let mut of_theirs = |number: usize| theirs(algorithm, number);
    let finalists = finalists(ranked);
    let launch = |finalist: &usize| {
        let kernel = contenders[*finalist].kernel;
        move |number: usize| sets.launch(kernel, number)
    };
    let mut of_ours: Vec<_> = finalists.iter().map(launch).collect();
    let mut of_autotuned = |number: usize| sets.with(number, |set| autotuned.launch(sets.device, &mut set.arguments()));
    let mut work: Vec<Work<'_>> = vec![&mut of_theirs];
    work.extend(of_ours.iter_mut().map(|work| work as Work<'_>));
    work.push(&mut of_autotuned);
    let times = timer.interleave(ROUNDS, LAUNCHES, &mut work).unwrap();
    let last = work.len() - 1;
    let ratios = (1..last).map(|at| (times.ratio(0, at).unwrap(), at));
    let (ratio, at) = ratios.max_by(|left, right| left.0.median.total_cmp(&right.0.median)).unwrap();
    Met {
        ms: times.timing(at).unwrap().median_ms,
        schedule: contenders[finalists[at - 1]].schedule,
        ratio: ratio.median,
        spread_pct: ratio.spread_pct,
        of_choice: times.ratio(0, 1).unwrap().median,
        of_autotuned: times.ratio(0, last).unwrap().median,
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn batches_beside_the_strided_batches_of_cublaslt() {
    // Before it looks for a GPU, so that another machine can compile them.
    let listed = if settings::number("AUTOKERNEL_LIST", 1) == 0 { Vec::new() } else { schedules() };
    let compiled = Contenders::compile(problem(), listed, env!("CARGO_TARGET_TMPDIR"));
    let Some(device) = skip::gpu_of_one_stream("gpu_speed::batches_beside_the_strided_batches_of_cublaslt") else {
        return;
    };
    let listed = compiled.load(&device);
    println!(
        "{device}; bf16 nt, {ROUNDS} interleaved rounds of {LAUNCHES} launches; above 1 is faster than cuBLASLt's best"
    );
    let (drawn, declared) = (timed::drawn(), compiled.declared());
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let (mut logarithms, mut of_choices, mut of_autotuned) = (Vec::new(), Vec::new(), Vec::new());
    for shape in shapes() {
        let [m, n, k] = matmul::sizes(&shape).map(|size| size as usize);
        let batch = matmul::products(&shape) as usize;
        let sets = Sets::random(&device, [batch, m, n, k], &drawn);
        let at_shape = compiled.at(&device, &shape, &listed);
        let contenders = at_shape.all();
        let ranked = rank(&format!("{batch} x {m}x{n}x{k}"), &contenders, |kernel| {
            let _ = timer.time_batch(3, |number| sets.launch(kernel, number))?;
            timer.time_batch(12, |number| sets.launch(kernel, number))
        });
        let begun = Instant::now();
        let plan = sets.with(0, |set| declared.autotune(&device, &mut set.arguments())).unwrap();
        eprintln!("{batch} x {m}x{n}x{k} autotuned in {:.0} ms: {plan}", begun.elapsed().as_secs_f64() * 1e3);
        let met = meet(&mut timer, &sets, &shape, (&contenders, &ranked.unwrap()), &declared);
        logarithms.push(met.ratio.ln());
        of_choices.push(met.of_choice.ln());
        of_autotuned.push(met.of_autotuned.ln());
        let tflops = autokernel_codegen::matmul::flops(&shape) / (met.ms * 1e9);
        println!(
            "{batch:>4} x {m:>4}x{n:>4}x{k:>4} {:>9.4} ms {tflops:>6.1} TF {:>6.3} ({:.1} %) {}; chosen {:.3} {}; autotuned {:.3}",
            met.ms,
            met.ratio,
            met.spread_pct,
            met.schedule,
            met.of_choice,
            contenders[CHOSEN].schedule,
            met.of_autotuned
        );
    }
    let mean = |logarithms: &[f64]| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    println!(
        "geometric mean {:.3}, of what the model chooses {:.3}, autotuned {:.3}",
        mean(&logarithms),
        mean(&of_choices),
        mean(&of_autotuned)
    );
}
