//! Random schedules that keep the rules of a problem's class.

use autokernel_codegen::arch::Arch;
use autokernel_codegen::matmul;
use autokernel_codegen::matmul::schedule::{Mode, Raster, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::rows::{self, Keep, sm90};
use autokernel_codegen::schedule::Schedule;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Schedules that are drawn before the class is said to have none.
const TRIES: usize = 100_000;

/// Which schedules are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// Those of small tiles, which nvcc compiles soon.
    Small,
    /// Any.
    All,
}

/// A schedule for `problem`, and an arch on which it runs.
pub fn schedule(rng: &mut StdRng, problem: &Problem, sizes: Sizes) -> Option<(Arch, Schedule)> {
    let arch = if rng.random() { Arch::SM_80 } else { Arch::SM_90A };
    let found = match problem {
        Problem::Rows(problem) => of_rows(rng, problem, arch, sizes).map(Schedule::from),
        Problem::Matmul(problem) => of_product(rng, problem, arch, sizes).map(Schedule::from),
        #[allow(unreachable_patterns, reason = "reachable with the operations behind features")]
        _ => None,
    };
    Some((arch, found?))
}

fn one<T: Copy>(rng: &mut StdRng, of: &[T]) -> T {
    *of.choose(rng).expect("there are some")
}

fn of_rows(rng: &mut StdRng, problem: &rows::Problem, arch: Arch, sizes: Sizes) -> Option<rows::Schedule> {
    let class = problem.class();
    let most_threads = if sizes == Sizes::Small { 256 } else { 1024 };
    if arch == Arch::SM_90A && sm90::serves(&class) && rng.random_ratio(1, 3) {
        return of_rings(rng, &class, most_threads).map(rows::Schedule::from);
    }
    let draw = |rng: &mut StdRng| rows::Sm80Schedule {
        threads_per_row: one(rng, &[4, 8, 16, 32, 64, 128, 256, 512, 1024]),
        rows_per_block: one(rng, &[1, 2, 4, 8, 16, 32, 64]),
        vector: one(rng, &[2, 4, 8]),
        cluster: one(rng, &[0, 0, 1, 2, 4, 8]),
        vectors: one(rng, &[1, 2, 4, 8]),
        keep: one(rng, &[Keep::Inputs, Keep::Values]),
        blocks_per_sm: one(rng, &[0, 0, 1, 2, 4, 8]),
        joins: one(rng, &[false, true]),
        parked: 0,
        keeps_rows: rng.random_ratio(1, 3),
    };
    let mut drawn = (0..TRIES).map(|_| draw(rng));
    let fits =
        |schedule: &rows::Sm80Schedule| schedule.threads() <= most_threads && schedule.check(&class, arch).is_ok();
    drawn.find(fits).map(rows::Schedule::from)
}

fn of_rings(rng: &mut StdRng, class: &rows::Class, most_threads: u32) -> Option<rows::Sm90Schedule> {
    let draw = |rng: &mut StdRng| rows::Sm90Schedule {
        threads_per_row: one(rng, &[128, 256, 512, 1024]),
        rows_per_block: one(rng, &[1, 2, 4]),
        vector: one(rng, &[4, 8]),
        cluster: one(rng, &[1, 2, 4, 8]),
        vectors: one(rng, &[1, 2, 4, 8]),
        stages: one(rng, &[1, 2, 3, 4, 6, 8]),
        keep: one(rng, &[Keep::Inputs, Keep::Values]),
        keeps_rows: one(rng, &[false, true]),
        joins: one(rng, &[false, true]),
        blocks_per_sm: one(rng, &[1, 1, 2, 4]),
        draws: one(rng, &[false, true]),
    };
    let mut drawn = (0..TRIES).map(|_| draw(rng));
    drawn.find(|schedule| schedule.threads() <= most_threads && schedule.check(class, Arch::SM_90A).is_ok())
}

fn of_product(
    rng: &mut StdRng,
    problem: &matmul::Problem,
    arch: Arch,
    sizes: Sizes,
) -> Option<matmul::schedule::Schedule> {
    let class = problem.class();
    // Tiles that hold partners are not computed transposed.
    let small = if class.partners().is_some() { 32 } else { 16 };
    let most_elements = if sizes == Sizes::Small { small } else { u32::MAX };
    let is_hopper = arch == Arch::SM_90A && rng.random_ratio(4, 5);
    let mut drawn = (0..TRIES).map(|_| if is_hopper { hopper(rng) } else { portable(rng) });
    drawn
        .find(|(elements, schedule)| *elements <= most_elements && schedule.check(&class, arch).is_ok())
        .map(|(_, it)| it)
}

/// A schedule, and the elements of its tile that a thread computes: so often nvcc unrolls a body.
type Tiled = (u32, matmul::schedule::Schedule);

fn portable(rng: &mut StdRng) -> Tiled {
    let schedule = Sm80Schedule {
        tile_m: one(rng, &[32, 64, 128, 256]),
        tile_n: one(rng, &[32, 64, 128, 256]),
        tile_k: one(rng, &[32, 64]),
        warps_m: one(rng, &[1, 2, 4]),
        warps_n: one(rng, &[1, 2, 4]),
        stages: rng.random_range(2..=6),
        raster: raster(rng),
    };
    let threads = 32 * schedule.warps_m * schedule.warps_n;
    (schedule.tile_m * schedule.tile_n / threads, schedule.into())
}

fn hopper(rng: &mut StdRng) -> Tiled {
    let swap_ab = rng.random();
    let rows: &[u32] = if swap_ab { &[8, 16, 24, 32, 64, 128] } else { &[64, 128, 192, 256] };
    let whole = Sm90Schedule {
        tile_m: one(rng, rows),
        tile_n: one(rng, &[16, 32, 64, 96, 128, 160, 192, 256]),
        stages: rng.random_range(2..=8),
        consumers: rng.random_range(1..=3),
        mode: one(rng, &[Mode::Cooperative, Mode::PingPong]),
        cluster_m: one(rng, &[1, 1, 2, 4]),
        cluster_n: one(rng, &[1, 1, 2, 4]),
        swap_ab,
        ..Sm90Schedule::PLAIN
    };
    let split_k = one(rng, &[1, 1, 2, 4, 8]);
    let schedule = Sm90Schedule { splits: split_k > 1, split_k, raster: raster(rng), ..whole };
    let threads = 128 * if schedule.mode == Mode::PingPong { 1 } else { schedule.consumers };
    (schedule.tile_m * schedule.tile_n / threads, schedule.into())
}

fn raster(rng: &mut StdRng) -> Raster {
    Raster { group: one(rng, &[1, 2, 8]), ..Raster::PLAIN }
}
