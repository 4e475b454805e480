//! How fast groups of rows are, of the sizes that experts of a mixture have: even ones, and ones drawn by Zipf's law; beside
//! torch's grouped product, a loop of its single ones and, of even groups, its batch, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_groups_speed -- --ignored --nocapture`.
//! Operands are random, and sets of them rotate past the L2 cache. The schedules are compiled when the test runs; all are timed,
//! which goes to stderr, and the three fastest meet torch's. `AUTOKERNEL_SEED` draws other sizes.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use autokernel::timing::{Cache, Statistics, Timer};
use autokernel::{Arch, Argument, Batch, CompiledKernel, Index, Matrix, bf16};
use autokernel_baseline::Torch;
use autokernel_codegen::matmul::schedule::{Mode, Raster, RasterOrder, Schedule, Sm90Schedule};
use autokernel_codegen::product::{self, Problem};
use batch_tests::timed;
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ROUNDS: usize = 12;
const LAUNCHES: usize = 8;
const WARM_UP: Duration = Duration::from_millis(600);
/// Bytes of the sets together: past the L2 cache.
const ROTATED: usize = 160 << 20;

/// Groups, rows of each in the mean, N and K; and whether sizes are drawn, by Zipf's law.
const SHAPES: [(usize, usize, usize, usize, bool); 9] = [
    (8, 1024, 4096, 7168, false),
    (4, 8192, 4096, 7168, false),
    (32, 128, 2048, 7168, false),
    (64, 16, 1536, 2048, false),
    (64, 64, 1536, 2048, true),
    (128, 32, 1536, 2048, true),
    (32, 512, 2048, 4096, true),
    (64, 384, 2816, 2048, true),
    (8, 1024, 14336, 4096, true),
];

/// Orders of tiles in which the largest ones are timed too.
const RASTERS: [Raster; 4] = [
    Raster { order: RasterOrder::AlongM, group: 2 },
    Raster { order: RasterOrder::AlongM, group: 32 },
    Raster { order: RasterOrder::AlongN, group: 4 },
    Raster { order: RasterOrder::AlongN, group: 16 },
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
    let others = RASTERS.map(|raster| [0, 1, 2, 5].map(|number| Sm90Schedule { raster, ..candidates[number] }));
    candidates.extend(others.into_iter().flatten());
    let class = problem().class();
    let candidates = candidates.into_iter().map(Schedule::from);
    candidates.filter(|schedule| schedule.check(&class, Arch::SM_90A).is_ok()).collect()
}

/// Where groups begin. Drawn ones are as the loads of experts are: a few are large, and some are empty.
fn offsets(groups: usize, mean: usize, is_drawn: bool) -> Vec<i32> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 9));
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
    // Before it looks for a GPU, so that another machine can compile them.
    let compiled = timed::compile(&problem(), schedules(), env!("CARGO_TARGET_TMPDIR"));
    let Some(device) = skip::gpu("gpu_groups_speed::groups_of_the_sizes_of_experts") else { return };
    let kernels = timed::load(&device, &problem(), &compiled);
    let mut torch = match Torch::start(include_str!("torch_groups.py")) {
        Ok(torch) => torch,
        Err(error) => return skip::log("gpu_groups_speed::groups_of_the_sizes_of_experts", &error.to_string()),
    };
    println!(
        "{device}; bf16 nt, medians of {ROUNDS} rounds of {LAUNCHES} launches; ratios above 1: torch takes longer"
    );
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
        let numbers = [n, k, LAUNCHES, count].map(|number| number as i64).into_iter();
        torch.prepare(&numbers.chain(offsets.iter().map(|&offset| offset.into())).collect::<Vec<_>>()).unwrap();
        let offsets = Index::from_slice(&device, &offsets).unwrap();
        let launch = |kernel: &CompiledKernel, launch: usize| {
            let Set { x, w, out } = &mut sets.borrow_mut()[launch % count];
            let arguments: &mut [Argument<'_>] = &mut [(&*x).into(), (&*w).into(), offsets.view().into(), out.into()];
            kernel.launch(&device, arguments)
        };
        let shape = format!("{groups:>4} x {mean:>5}x{n}x{k} {:>5}", if is_drawn { "drawn" } else { "even" });
        // A cool GPU is a tenth faster, which would make the first of the list the fastest.
        let begun = Instant::now();
        while begun.elapsed() < WARM_UP {
            let _ = timer.time_batch(LAUNCHES, |at| launch(&kernels[0].1, at)).unwrap();
        }
        let mut timed: Vec<(f64, usize)> = Vec::new();
        for (number, (schedule, kernel)) in kernels.iter().enumerate() {
            let mut run = |at: usize| launch(kernel, at);
            let _ = timer.time_batch(2, &mut run).unwrap();
            timed.push((timer.time_batch(6, &mut run).unwrap(), number));
            eprintln!("{shape} {:.4} ms {schedule}", timed[number].0);
        }
        timed.sort_by(|left, right| left.0.total_cmp(&right.0));
        let finalists: Vec<usize> = timed.iter().take(3).map(|(_, number)| *number).collect();
        let (mut ours, mut theirs) = (vec![Vec::new(); finalists.len()], Vec::new());
        for _ in 0..ROUNDS {
            for (times, number) in ours.iter_mut().zip(&finalists) {
                times.push(timer.time_batch(LAUNCHES, |at| launch(&kernels[*number].1, at)).unwrap());
            }
            theirs.push(torch.round_ms().unwrap());
        }
        let median = |times: &[f64]| Statistics::of(times).unwrap().median;
        let best = (0..finalists.len()).min_by(|&left, &right| median(&ours[left]).total_cmp(&median(&ours[right])));
        let (best, times) = best.map(|best| (&kernels[finalists[best]].0, &ours[best])).unwrap();
        let tflops = 2.0 * (rows * n * k) as f64 / (median(times) * 1e9);
        print!("{shape} {:>8.4} ms {tflops:>6.1} TF", median(times));
        for (number, name) in torch.contenders.iter().enumerate() {
            let ratios: Vec<f64> = times.iter().zip(&theirs).map(|(ours, theirs)| theirs[number] / ours).collect();
            let Statistics { median, spread_pct, .. } = Statistics::of(&ratios).unwrap();
            print!("  {name} {median:.3} ({spread_pct:.1} %)");
        }
        println!("  {best}");
    }
}
