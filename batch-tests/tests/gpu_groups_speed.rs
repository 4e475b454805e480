//! How fast groups of rows are, of the sizes that experts of a mixture have: even ones, and ones drawn by Zipf's law.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_groups_speed -- --ignored --nocapture`.
//! Operands are random, and sets of them rotate past the L2 cache. The schedules are compiled when the test runs.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer, Work};
use autokernel::{Arch, Argument, Batch, CompiledKernel, Index, Matrix, bf16};
use autokernel_codegen::matmul::schedule::{Mode, Raster, RasterOrder, Schedule, Sm90Schedule};
use autokernel_codegen::product::{self, Problem};
use batch_tests::timed;
use gpu_tests::skip;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ROUNDS: usize = 12;
const LAUNCHES: usize = 8;
/// Bytes of the sets together: past the L2 cache.
const ROTATED: usize = 160 << 20;

/// Groups, rows of each in the mean, N and K; and whether sizes are drawn, by Zipf's law.
const SHAPES: [(usize, usize, usize, usize, bool); 7] = [
    (8, 1024, 4096, 7168, false),
    (4, 8192, 4096, 7168, false),
    (32, 128, 2048, 7168, false),
    (64, 16, 1536, 2048, false),
    (64, 64, 1536, 2048, true),
    (128, 32, 1536, 2048, true),
    (32, 512, 2048, 4096, true),
];

fn problem() -> Problem {
    let function = syn::parse_quote! {
        fn product(x: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
            out = dot(x, w.t());
        }
    };
    product::problem(&function).unwrap()
}

fn schedules() -> Vec<Schedule> {
    let raster = Raster { order: RasterOrder::AlongM, group: 8 };
    let plain = Sm90Schedule { raster, ..Sm90Schedule::PLAIN };
    let pair = Sm90Schedule { consumers: 2, ..plain };
    let mut candidates = vec![
        Sm90Schedule { tile_n: 256, cluster_m: 2, ..pair },
        Sm90Schedule { tile_n: 256, cluster_n: 2, ..pair },
        Sm90Schedule { tile_n: 256, ..pair },
        Sm90Schedule { tile_m: 256, cluster_n: 2, ..pair },
        Sm90Schedule { tile_m: 256, ..pair },
        Sm90Schedule { tile_n: 192, mode: Mode::PingPong, ..pair },
        Sm90Schedule { tile_n: 192, mode: Mode::PingPong, cluster_m: 2, ..pair },
        Sm90Schedule { tile_n: 192, mode: Mode::PingPong, cluster_n: 2, ..pair },
        Sm90Schedule { tile_n: 160, mode: Mode::PingPong, ..pair },
        Sm90Schedule { mode: Mode::PingPong, stages: 6, ..pair },
        Sm90Schedule { tile_m: 64, tile_n: 256, mode: Mode::PingPong, ..pair },
        Sm90Schedule { tile_m: 64, stages: 8, ..plain },
        Sm90Schedule { stages: 6, ..pair },
    ];
    for tile_m in [16, 32, 64, 128] {
        for (tile_n, consumers, stages) in [(64, 1, 12), (128, 1, 8), (128, 2, 8), (256, 2, 4)] {
            candidates.push(Sm90Schedule { tile_m, tile_n, consumers, stages, swap_ab: true, ..plain });
        }
    }
    let class = problem().class();
    let candidates = candidates.into_iter().map(Schedule::from);
    candidates.filter(|schedule| schedule.check(&class, Arch::SM_90A).is_ok()).collect()
}

/// Where groups begin. Drawn ones are as the loads of experts are: a few are large, and some are empty.
fn offsets(groups: usize, mean: usize, is_drawn: bool) -> Vec<i32> {
    let mut rng = StdRng::seed_from_u64(9);
    let mut sizes = vec![mean; groups];
    if is_drawn {
        let weights: Vec<f64> = (0..groups).map(|rank| 1.0 / (1.0 + rank as f64)).collect();
        let total: f64 = weights.iter().sum();
        sizes = weights.iter().map(|weight| (weight / total * (groups * mean) as f64) as usize).collect();
        for at in (1..groups).rev() {
            sizes.swap(at, rng.random_range(0..=at));
        }
        (0..groups / 8).for_each(|_| sizes[rng.random_range(0..groups)] = 0);
    }
    let mut begin = 0;
    let ends = sizes.into_iter().map(|size| {
        begin += size as i32;
        begin
    });
    [0].into_iter().chain(ends).collect()
}

struct Set {
    x: Matrix<bf16>,
    w: Batch<bf16>,
    out: Matrix<bf16>,
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn groups_of_the_sizes_of_experts() {
    let Some(device) = skip::gpu("gpu_groups_speed::groups_of_the_sizes_of_experts") else { return };
    let kernels = timed::load(&device, &problem(), schedules(), env!("CARGO_TARGET_TMPDIR"));
    println!("{device}; bf16 nt, medians of {ROUNDS} rounds of {LAUNCHES} launches");
    let drawn = timed::drawn();
    let values = |count: usize| drawn.iter().copied().cycle().take(count).collect::<Vec<bf16>>();
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for (groups, mean, n, k, is_drawn) in SHAPES {
        let offsets = offsets(groups, mean, is_drawn);
        let rows = offsets[groups] as usize;
        let count = ROTATED.div_ceil(2 * (rows * k + groups * n * k + rows * n)).clamp(2, 8);
        let set = |_| Set {
            x: Matrix::from_slice(&device, &values(rows * k), rows, k).unwrap(),
            w: Batch::from_slice(&device, &values(groups * n * k), [groups, n, k]).unwrap(),
            out: Matrix::zeros(&device, rows, n).unwrap(),
        };
        let sets = RefCell::new((0..count).map(set).collect::<Vec<_>>());
        let offsets = Index::from_slice(&device, &offsets).unwrap();
        let launch = |kernel: &CompiledKernel, launch: usize| {
            let Set { x, w, out } = &mut sets.borrow_mut()[launch % count];
            let arguments: &mut [Argument<'_>] = &mut [(&*x).into(), (&*w).into(), offsets.view().into(), out.into()];
            kernel.launch(&device, arguments)
        };
        let mut timed: Vec<(f64, usize)> = Vec::new();
        for (number, (_, kernel)) in kernels.iter().enumerate() {
            let mut run = |at: usize| launch(kernel, at);
            let _ = timer.time_batch(2, &mut run).unwrap();
            timed.push((timer.time_batch(6, &mut run).unwrap(), number));
        }
        timed.sort_by(|left, right| left.0.total_cmp(&right.0));
        let finalists: Vec<usize> = timed.iter().take(3).map(|(_, number)| *number).collect();
        let launch = &launch;
        let runs = finalists.iter().map(|number| {
            let kernel = &kernels[*number].1;
            move |at: usize| launch(kernel, at)
        });
        let mut runs: Vec<_> = runs.collect();
        let mut work: Vec<Work<'_>> = runs.iter_mut().map(|run| run as Work<'_>).collect();
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut work).unwrap();
        let best = (0..finalists.len()).map(|number| (times.timing(number).unwrap().median_ms, finalists[number]));
        let (ms, number) = best.min_by(|left, right| left.0.total_cmp(&right.0)).unwrap();
        let tflops = 2.0 * (rows * n * k) as f64 / (ms * 1e9);
        let sizes = if is_drawn { "drawn" } else { "even" };
        println!("{groups:>4} x {mean:>5}x{n}x{k} {sizes:>6} {ms:>9.4} ms {tflops:>6.1} TF  {}", kernels[number].0);
    }
}
