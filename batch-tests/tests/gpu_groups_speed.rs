//! How fast groups of rows are, of the sizes that experts of a mixture have: even ones, and ones drawn by Zipf's law; beside
//! torch's grouped product, a loop of its single ones and, of even groups, its batch, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_groups_speed -- --ignored --nocapture`.
//! Operands are random, and sets of them rotate past the L2 cache. The schedules are compiled when the test runs: those of a list, and
//! the images that a declared kernel carries. All are timed, and those near the fastest again in rounds, as what a GPU does depends on
//! what it did before. That goes to stderr with what the model predicts, and the three fastest and the one that the model chooses meet
//! torch's. `AUTOKERNEL_SEED` draws other sizes.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use autokernel::timing::{Cache, Statistics, Timer};
use autokernel::{Arch, Argument, Batch, CompiledKernel, Index, Matrix, bf16, matmul};
use autokernel_baseline::Torch;
use autokernel_codegen::matmul::schedule::{Mode, Raster, RasterOrder, Schedule, Sm90Schedule};
use autokernel_codegen::product::{self, Problem};
use batch_tests::carried::{Carried, H200};
use batch_tests::timed;
use gpu_tests::skip;

const ROUNDS: usize = 12;
const LAUNCHES: usize = 8;
const WARM_UP: Duration = Duration::from_millis(600);
/// How far behind the fastest a schedule may be to be timed again, and how often it then is.
const NEAR: f64 = 1.3;
const SECOND_ROUNDS: usize = 4;
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

/// The number of the kernel that the model chooses, among all that are timed.
const CHOSEN: usize = 0;

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
    // Tiles of groups of few rows that leave no multiprocessor without work in the last wave.
    for shared_waves in [1, 2] {
        let sharing = Sm90Schedule { stream_k: true, shared_waves, ..pair };
        candidates.extend([
            Sm90Schedule { tile_n: 192, ..sharing },
            Sm90Schedule { stages: 6, ..sharing },
            Sm90Schedule { stages: 6, swap_ab: true, ..sharing },
            Sm90Schedule { tile_n: 192, swap_ab: true, consumers: 3, ..sharing },
            Sm90Schedule { tile_m: 64, tile_n: 128, stages: 8, consumers: 1, ..sharing },
        ]);
    }
    candidates.extend([
        Sm90Schedule { tile_n: 256, cluster_n: 2, swap_ab: true, ..pair },
        Sm90Schedule { tile_n: 128, cluster_n: 2, stages: 6, ..pair },
        Sm90Schedule { tile_n: 128, cluster_n: 2, stages: 6, mode: Mode::PingPong, ..pair },
        Sm90Schedule { tile_n: 128, cluster_n: 4, stages: 6, ..pair },
        Sm90Schedule { tile_m: 64, tile_n: 256, cluster_m: 2, stages: 5, ..plain },
        Sm90Schedule { tile_m: 64, tile_n: 256, consumers: 2, swap_ab: true, stages: 5, ..plain },
    ]);
    let others = RASTERS.map(|raster| [0, 1, 2, 5].map(|number| Sm90Schedule { raster, ..candidates[number] }));
    candidates.extend(others.into_iter().flatten());
    let class = problem().class();
    let candidates = candidates.into_iter().map(Schedule::from);
    candidates.filter(|schedule| schedule.check(&class, Arch::SM_90A).is_ok()).collect()
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
    let carried = Carried::of(&problem());
    let compiled = timed::compile(&problem(), schedules(), env!("CARGO_TARGET_TMPDIR"));
    let images = timed::compile(&problem(), carried.images().collect(), env!("CARGO_TARGET_TMPDIR"));
    let Some(device) = skip::gpu("gpu_groups_speed::groups_of_the_sizes_of_experts") else { return };
    let listed = timed::load(&device, &problem(), &compiled);
    let mut torch = match Torch::start(include_str!("torch_groups.py")) {
        Ok(torch) => torch,
        Err(error) => return skip::log("gpu_groups_speed::groups_of_the_sizes_of_experts", &error.to_string()),
    };
    println!(
        "{device}; bf16 nt, medians of {ROUNDS} rounds of {LAUNCHES} launches; ratios above 1: torch takes longer"
    );
    let drawn = timed::drawn();
    let most = SHAPES.map(|(groups, mean, n, k, _)| groups * (n * k).max(mean * k).max(mean * n)).into_iter().max();
    let drawn: Vec<bf16> = drawn.iter().copied().cycle().take(most.unwrap_or(0)).collect();
    let values = |count: usize| &drawn[..count];
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for (groups, mean, n, k, is_drawn) in SHAPES {
        let offsets = timed::offsets(groups, mean, is_drawn);
        let rows = offsets[groups] as usize;
        let count = ROTATED.div_ceil(2 * (rows * k + groups * n * k + rows * n)).clamp(2, 8);
        let set = |_| Set {
            x: Matrix::from_slice(&device, values(rows * k), rows, k).unwrap(),
            w: Batch::from_slice(&device, values(groups * n * k), [groups, n, k]).unwrap(),
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
        let extents = matmul::grouped_extents(groups as u32, rows as u32, n as u32, k as u32);
        // What is carried comes first, and of that what the model chooses.
        let by_model = carried.at(&extents, H200);
        let launched =
            by_model.iter().map(|(ms, schedule)| (*ms, timed::load_as(&device, &problem(), &images, schedule)));
        let launched: Vec<(f64, CompiledKernel)> = launched.collect();
        let of_model =
            by_model.iter().zip(&launched).map(|((_, schedule), (ms, kernel))| (*schedule, kernel, Some(*ms)));
        let of_list = listed.iter().map(|(schedule, kernel)| (*schedule, kernel, None));
        let kernels: Vec<(Schedule, &CompiledKernel, Option<f64>)> = of_model.chain(of_list).collect();
        // A cool GPU is a tenth faster, which would make the first of the list the fastest.
        let begun = Instant::now();
        while begun.elapsed() < WARM_UP {
            let _ = timer.time_batch(LAUNCHES, |at| launch(kernels[0].1, at)).unwrap();
        }
        let mut timed: Vec<(f64, usize)> = Vec::new();
        let tell = |ms: f64, number: usize, again: &str| {
            let (schedule, _, predicted) = kernels[number];
            let predicted = predicted.map_or(String::new(), |ms| format!("predicted {ms:.4} "));
            eprintln!("{shape} {ms:.4} ms {again}{predicted}{schedule}");
        };
        for (number, (_, kernel, _)) in kernels.iter().enumerate() {
            let mut run = |at: usize| launch(kernel, at);
            let _ = timer.time_batch(1, &mut run).unwrap();
            timed.push((timer.time_batch(3, &mut run).unwrap(), number));
            tell(timed[number].0, number, "");
        }
        let median = |times: &[f64]| Statistics::of(times).unwrap().median;
        let least = timed.iter().map(|(ms, _)| *ms).fold(f64::INFINITY, f64::min);
        let near: Vec<usize> = timed.iter().filter(|(ms, _)| *ms <= NEAR * least).map(|(_, number)| *number).collect();
        let mut again = vec![Vec::new(); near.len()];
        for round in 0..SECOND_ROUNDS {
            for turn in 0..near.len() {
                let turn = (round + turn) % near.len();
                again[turn].push(timer.time_batch(4, |at| launch(kernels[near[turn]].1, at)).unwrap());
            }
        }
        let mut timed: Vec<(f64, usize)> = again.iter().map(|times| median(times)).zip(near).collect();
        timed.sort_by(|left, right| left.0.total_cmp(&right.0));
        timed.iter().for_each(|&(ms, number)| tell(ms, number, "again "));
        let fastest = timed.iter().take(3).map(|(_, number)| *number);
        let finalists: Vec<usize> = [CHOSEN].into_iter().chain(fastest).collect();
        let (mut ours, mut theirs) = (vec![Vec::new(); finalists.len()], Vec::new());
        for round in 0..ROUNDS {
            // The first launches behind another process's are slower, and each round begins with another schedule.
            let _ = timer.time_batch(2, |at| launch(kernels[CHOSEN].1, at)).unwrap();
            for turn in 0..finalists.len() {
                let turn = (round + turn) % finalists.len();
                ours[turn].push(timer.time_batch(LAUNCHES, |at| launch(kernels[finalists[turn]].1, at)).unwrap());
            }
            theirs.push(torch.round_ms().unwrap());
        }
        let best = (0..finalists.len()).min_by(|&left, &right| median(&ours[left]).total_cmp(&median(&ours[right])));
        let (best, times) = best.map(|best| (&kernels[finalists[best]].0, &ours[best])).unwrap();
        let of_chosen: Vec<f64> = ours[0].iter().zip(&theirs).map(|(ours, theirs)| theirs[0] / ours).collect();
        let tflops = 2.0 * (rows * n * k) as f64 / (median(times) * 1e9);
        print!("{shape} {:>8.4} ms {tflops:>6.1} TF", median(times));
        for (number, name) in torch.contenders.iter().enumerate() {
            let ratios: Vec<f64> = times.iter().zip(&theirs).map(|(ours, theirs)| theirs[number] / ours).collect();
            let Statistics { median, spread_pct, .. } = Statistics::of(&ratios).unwrap();
            print!("  {name} {median:.3} ({spread_pct:.1} %)");
        }
        println!("  {best}; chosen {:.3} {}", median(&of_chosen), kernels[CHOSEN].0);
    }
}
