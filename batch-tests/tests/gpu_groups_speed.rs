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
use autokernel::{Arch, Argument, Batch, CompiledKernel, Device, Index, Matrix, Result, bf16, matmul};
use autokernel_baseline::Torch;
use autokernel_codegen::matmul::schedule::{Mode, Raster, RasterOrder, Schedule, Sm90Schedule};
use autokernel_codegen::product::{self, Problem};
use batch_tests::contenders::{CHOSEN, Contender, Contenders, Ranked, finalists, rank};
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
type Shape = (usize, usize, usize, usize, bool);

const SHAPES: [Shape; 9] = [
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

/// The operands of one launch.
struct Set {
    x: Matrix<bf16>,
    w: Batch<bf16>,
    out: Matrix<bf16>,
}

/// Operands that take turns, and where their groups begin.
struct Sets<'d> {
    device: &'d Device,
    offsets: Index,
    sets: RefCell<Vec<Set>>,
}

impl<'d> Sets<'d> {
    fn of(device: &'d Device, (groups, _, n, k, _): Shape, offsets: &[i32], drawn: &[bf16]) -> Self {
        let rows = offsets[groups] as usize;
        let set = |_| Set {
            x: Matrix::from_slice(device, &drawn[..rows * k], rows, k).unwrap(),
            w: Batch::from_slice(device, &drawn[..groups * n * k], [groups, n, k]).unwrap(),
            out: Matrix::zeros(device, rows, n).unwrap(),
        };
        let count = ROTATED.div_ceil(2 * (rows * k + groups * n * k + rows * n)).clamp(2, 8);
        let sets = RefCell::new((0..count).map(set).collect());
        Sets { device, offsets: Index::from_slice(device, offsets).unwrap(), sets }
    }

    fn count(&self) -> usize {
        self.sets.borrow().len()
    }

    fn launch(&self, kernel: &CompiledKernel, number: usize) -> Result<()> {
        let mut sets = self.sets.borrow_mut();
        let count = sets.len();
        let Set { x, w, out } = &mut sets[number % count];
        let arguments: &mut [Argument<'_>] = &mut [(&*x).into(), (&*w).into(), self.offsets.view().into(), out.into()];
        kernel.launch(self.device, arguments)
    }
}

fn median(times: &[f64]) -> f64 {
    Statistics::of(times).unwrap().median
}

/// Those near the fastest, timed again in rounds.
fn rank_again(timer: &mut Timer, sets: &Sets<'_>, contenders: &[Contender<'_>], ranked: &Ranked) -> Ranked {
    let least = ranked[0].0;
    let near: Vec<usize> = ranked.iter().filter(|(ms, _)| *ms <= NEAR * least).map(|(_, number)| *number).collect();
    let mut again = vec![Vec::new(); near.len()];
    for round in 0..SECOND_ROUNDS {
        for turn in 0..near.len() {
            let turn = (round + turn) % near.len();
            let kernel = contenders[near[turn]].kernel;
            again[turn].push(timer.time_batch(4, |number| sets.launch(kernel, number)).unwrap());
        }
    }
    let mut ranked: Ranked = again.iter().map(|times| median(times)).zip(near).collect();
    ranked.sort_by(|left, right| left.0.total_cmp(&right.0));
    ranked
}

/// Times in milliseconds: of each finalist by rounds, and of torch's contenders in each round.
struct Rounds {
    ours: Vec<Vec<f64>>,
    theirs: Vec<Vec<f64>>,
}

impl Rounds {
    fn of(
        timer: &mut Timer,
        sets: &Sets<'_>,
        contenders: &[Contender<'_>],
        finalists: &[usize],
        torch: &mut Torch,
    ) -> Self {
        let mut rounds = Rounds { ours: vec![Vec::new(); finalists.len()], theirs: Vec::new() };
        for round in 0..ROUNDS {
            // The first launches behind another process's are slower, and each round begins with another schedule.
            let chosen = contenders[CHOSEN].kernel;
            let _ = timer.time_batch(2, |number| sets.launch(chosen, number)).unwrap();
            for turn in 0..finalists.len() {
                let turn = (round + turn) % finalists.len();
                let kernel = contenders[finalists[turn]].kernel;
                rounds.ours[turn].push(timer.time_batch(LAUNCHES, |number| sets.launch(kernel, number)).unwrap());
            }
            rounds.theirs.push(torch.round_ms().unwrap());
        }
        rounds
    }

    /// The place of the fastest among the finalists, of which the first is the model's choice.
    fn fastest(&self) -> usize {
        let by_median = |left: &usize, right: &usize| median(&self.ours[*left]).total_cmp(&median(&self.ours[*right]));
        (0..self.ours.len()).min_by(by_median).unwrap()
    }

    /// How many times as long as the finalist at that place one of torch's takes.
    fn ratio(&self, place: usize, of_torch: usize) -> Statistics {
        let pairs = self.ours[place].iter().zip(&self.theirs);
        Statistics::of(&pairs.map(|(ours, theirs)| theirs[of_torch] / ours).collect::<Vec<_>>()).unwrap()
    }
}

/// Launches for a while: a cool GPU is a tenth faster, which would make the first of the list the fastest.
fn warm_up(timer: &mut Timer, sets: &Sets<'_>, kernel: &CompiledKernel) {
    let begun = Instant::now();
    while begun.elapsed() < WARM_UP {
        let _ = timer.time_batch(LAUNCHES, |number| sets.launch(kernel, number)).unwrap();
    }
}

fn prepare(torch: &mut Torch, sets: &Sets<'_>, [n, k]: [usize; 2], offsets: &[i32]) {
    let numbers = [n, k, LAUNCHES, sets.count()].map(|number| number as i64).into_iter();
    torch.prepare(&numbers.chain(offsets.iter().map(|&offset| offset.into())).collect::<Vec<_>>()).unwrap();
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn groups_of_the_sizes_of_experts() {
    // Before it looks for a GPU, so that another machine can compile them.
    let compiled = Contenders::compile(problem(), schedules(), env!("CARGO_TARGET_TMPDIR"));
    let Some(device) = skip::gpu_of_one_stream("gpu_groups_speed::groups_of_the_sizes_of_experts") else { return };
    let listed = compiled.load(&device);
    let mut torch = match Torch::start(include_str!("torch_groups.py")) {
        Ok(torch) => torch,
        Err(error) => return skip::log("gpu_groups_speed::groups_of_the_sizes_of_experts", &error.to_string()),
    };
    println!(
        "{device}; bf16 nt, medians of {ROUNDS} rounds of {LAUNCHES} launches; ratios above 1: torch takes longer"
    );
    let most = SHAPES.map(|(groups, mean, n, k, _)| groups * (n * k).max(mean * k).max(mean * n)).into_iter().max();
    let drawn: Vec<bf16> = timed::drawn().into_iter().cycle().take(most.unwrap_or(0)).collect();
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for shape @ (groups, mean, n, k, is_drawn) in SHAPES {
        let offsets = timed::offsets(groups, mean, is_drawn);
        let rows = offsets[groups] as usize;
        let sets = Sets::of(&device, shape, &offsets, &drawn);
        prepare(&mut torch, &sets, [n, k], &offsets);
        let name = format!("{groups:>4} x {mean:>5}x{n}x{k} {:>5}", if is_drawn { "drawn" } else { "even" });
        let extents = matmul::grouped_extents(groups as u32, rows as u32, n as u32, k as u32);
        let at_shape = compiled.at(&device, &extents, &listed);
        let contenders = at_shape.all();

        warm_up(&mut timer, &sets, contenders[CHOSEN].kernel);
        let ranked = rank(&name, &contenders, |kernel| {
            let _ = timer.time_batch(1, |number| sets.launch(kernel, number))?;
            timer.time_batch(3, |number| sets.launch(kernel, number))
        });
        let ranked = rank_again(&mut timer, &sets, &contenders, &ranked.unwrap());
        ranked.iter().for_each(|&(ms, number)| eprintln!("{name} {ms:.4} ms again {}", contenders[number].told()));

        let finalists = finalists(&ranked);
        let rounds = Rounds::of(&mut timer, &sets, &contenders, &finalists, &mut torch);
        let fastest = rounds.fastest();
        let ms = median(&rounds.ours[fastest]);
        print!("{name} {ms:>8.4} ms {:>6.1} TF", 2.0 * (rows * n * k) as f64 / (ms * 1e9));
        for (number, name) in torch.contenders.iter().enumerate() {
            let Statistics { median, spread_pct, .. } = rounds.ratio(fastest, number);
            print!("  {name} {median:.3} ({spread_pct:.1} %)");
        }
        let (best, chosen) = (contenders[finalists[fastest]].schedule, contenders[CHOSEN].schedule);
        println!("  {best}; chosen {:.3} {chosen}", rounds.ratio(0, 0).median);
    }
}
