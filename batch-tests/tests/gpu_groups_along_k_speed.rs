//! How fast the gradients of experts' weights are, each the sum of its group's rows: groups of even sizes, and of ones drawn by Zipf's
//! law; beside torch's grouped product, a loop of its single ones and, of even groups, its batch, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_groups_along_k_speed -- --ignored --nocapture`.
//! Operands are random, and sets of them rotate past the L2 cache. The schedules are compiled when the test runs; all are timed, which
//! goes to stderr, and the three fastest meet torch's. `AUTOKERNEL_SEED` draws other sizes.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use autokernel::timing::{Cache, Statistics, Timer};
use autokernel::{Arch, Argument, Batch, CompiledKernel, Index, Matrix, bf16};
use autokernel_baseline::Torch;
use autokernel_codegen::matmul::schedule::{Raster, RasterOrder, Schedule, Sm90Schedule};
use autokernel_codegen::product::{self, Problem};
use batch_tests::timed;
use gpu_tests::skip;

const ROUNDS: usize = 10;
const LAUNCHES: usize = 6;
const WARM_UP: Duration = Duration::from_millis(400);
/// Bytes of the sets together: past the L2 cache.
const ROTATED: usize = 160 << 20;

/// Groups, rows of each in the mean, M and N; and whether sizes are drawn, by Zipf's law.
const SHAPES: [(usize, usize, usize, usize, bool); 5] = [
    (8, 1024, 7168, 4096, false),
    (32, 128, 7168, 2048, false),
    (64, 64, 2048, 1408, true),
    (32, 512, 4096, 2048, true),
    (8, 2048, 4096, 2816, true),
];

fn problem() -> Problem {
    let function = syn::parse_quote! {
        fn product(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, out: &mut Batch<bf16>) {
            out = dot(x.t(), dy);
        }
    };
    product::problem(&function).unwrap()
}

fn schedules() -> Vec<Schedule> {
    let plain = Sm90Schedule { raster: Raster { order: RasterOrder::AlongM, group: 8 }, ..Sm90Schedule::PLAIN };
    let pair = Sm90Schedule { consumers: 2, ..plain };
    let candidates = [
        Sm90Schedule { tile_n: 256, ..pair },
        Sm90Schedule { tile_n: 256, cluster_m: 2, ..pair },
        Sm90Schedule { tile_n: 256, cluster_n: 2, ..pair },
        Sm90Schedule { tile_n: 192, stages: 5, ..pair },
        Sm90Schedule { stages: 6, ..pair },
        Sm90Schedule { tile_m: 256, ..pair },
        Sm90Schedule { tile_m: 64, tile_n: 128, stages: 8, ..plain },
        Sm90Schedule { tile_n: 256, swap_ab: true, ..pair },
        Sm90Schedule { tile_m: 192, consumers: 3, ..pair },
        Sm90Schedule { tile_n: 256, raster: Raster { order: RasterOrder::AlongM, group: 32 }, ..pair },
    ];
    let class = problem().class();
    let candidates = candidates.into_iter().map(Schedule::from);
    candidates.filter(|schedule| schedule.check(&class, Arch::SM_90A).is_ok()).collect()
}

struct Set {
    x: Matrix<bf16>,
    dy: Matrix<bf16>,
    out: Batch<bf16>,
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn gradients_of_groups_of_the_sizes_of_experts() {
    const TEST: &str = "gpu_groups_along_k_speed::gradients_of_groups_of_the_sizes_of_experts";
    // Before it looks for a GPU, so that another machine can compile them.
    let compiled = timed::compile(&problem(), schedules(), env!("CARGO_TARGET_TMPDIR"));
    let Some(device) = skip::gpu_of_one_stream(TEST) else { return };
    let kernels = timed::load(&device, &problem(), &compiled);
    let mut torch = match Torch::start(include_str!("torch_groups_along_k.py")) {
        Ok(torch) => torch,
        Err(error) => return skip::log(TEST, &error.to_string()),
    };
    println!(
        "{device}; bf16 tn, medians of {ROUNDS} rounds of {LAUNCHES} launches; ratios above 1: torch takes longer"
    );
    let drawn = timed::drawn();
    let most = SHAPES.map(|(groups, mean, m, n, _)| groups * mean * m.max(n)).into_iter().max();
    let drawn: Vec<bf16> = drawn.iter().copied().cycle().take(most.unwrap_or(0)).collect();
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for (groups, mean, m, n, is_drawn) in SHAPES {
        let offsets = timed::offsets(groups, mean, is_drawn);
        let rows = offsets[groups] as usize;
        let count = ROTATED.div_ceil(2 * (rows * (m + n) + groups * m * n)).clamp(2, 8);
        let matrix = |columns: usize| Matrix::from_slice(&device, &drawn[..rows * columns], rows, columns).unwrap();
        let set = |_| Set { x: matrix(m), dy: matrix(n), out: Batch::zeros(&device, [groups, m, n]).unwrap() };
        let sets = RefCell::new((0..count).map(set).collect::<Vec<_>>());
        let numbers = [m, n, LAUNCHES, count].map(|number| number as i64).into_iter();
        torch.prepare(&numbers.chain(offsets.iter().map(|&offset| offset.into())).collect::<Vec<_>>()).unwrap();
        let offsets = Index::from_slice(&device, &offsets).unwrap();
        let launch = |kernel: &CompiledKernel, launch: usize| {
            let Set { x, dy, out } = &mut sets.borrow_mut()[launch % count];
            let arguments: &mut [Argument<'_>] = &mut [(&*x).into(), (&*dy).into(), offsets.view().into(), out.into()];
            kernel.launch(&device, arguments)
        };
        let shape = format!("{groups:>3} x {mean:>4} -> {m}x{n} {:>5}", if is_drawn { "drawn" } else { "even" });
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
        let tflops = 2.0 * (rows * m * n) as f64 / (median(times) * 1e9);
        print!("{shape} {:>8.4} ms {tflops:>6.1} TF", median(times));
        for (number, name) in torch.contenders.iter().enumerate() {
            let ratios: Vec<f64> = times.iter().zip(&theirs).map(|(ours, theirs)| theirs[number] / ours).collect();
            let Statistics { median, spread_pct, .. } = Statistics::of(&ratios).unwrap();
            print!("  {name} {median:.3} ({spread_pct:.1} %)");
        }
        println!("  {best}");
    }
}
