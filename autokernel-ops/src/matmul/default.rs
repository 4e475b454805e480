//! The schedules used where nothing was tuned: middle of the road, on every GPU of the arch; and for inputs of 8 bits, of which
//! nothing is tuned yet, a few more for other extents.

use autokernel_core::Arch;

use super::portable;
use super::schedule::{Mode, Raster, RasterOrder, Schedule, Sm80Schedule, Sm90Schedule};
use super::sm80;
use super::sm90::heights;
use crate::matmul::many::Many;
use crate::matmul::problem::Class;

const RASTER: Raster = Raster { order: RasterOrder::AlongM, group: 8 };

impl Schedule {
    /// The schedule that is safe on `arch` when nothing was tuned.
    pub fn default_for(problem: &Class, arch: Arch) -> Schedule {
        if let Some(schedule) = of_whole_columns(problem, arch) {
            return schedule;
        }
        let candidates = match (arch, problem.products()) {
            (Arch::SM_90A, _) if problem.weights.is_some() => {
                vec![SM90_WEIGHTS, SM90_WEIGHTS_SHALLOW, SM90_WEIGHTS_SMALL]
            }
            (Arch::SM_90A, 1) => vec![SM90, SM90_SMALL],
            (Arch::SM_90A, _) => vec![SM90_TWO_PRODUCTS, SM90, SM90_SMALL],
            _ if problem.weights.is_some() => [SM80_WEIGHTS, SM80_WEIGHTS_SMALL].map(Schedule::Sm80).to_vec(),
            _ => [SM80, SM80_SMALL].map(|schedule| as_deep(problem, schedule)).to_vec(),
        };
        let passes = |schedule: &&Schedule| schedule.check(problem, arch).is_ok();
        // The last one leaves a body the most registers.
        let schedule = candidates.iter().find(passes).or(candidates.last()).copied().unwrap_or(SM90_SMALL);
        debug_assert_eq!(schedule.check(problem, arch), Ok(()));
        schedule
    }
}

/// That of a body whose elements see partners, whose tiles hold whole heads, or whose output is scaled in blocks, of which they hold
/// whole ones; none of another body, or where no tile does.
pub(super) fn of_whole_columns(problem: &Class, arch: Arch) -> Option<Schedule> {
    if problem.partners().is_none() && problem.made().is_none() {
        return None;
    }
    let sm90 = |tile_n| {
        let large = Sm90Schedule { tile_n, consumers: 2, raster: RASTER, ..Sm90Schedule::PLAIN };
        let small = Sm90Schedule { tile_m: 64, consumers: 1, ..large };
        [large, small].map(Schedule::Sm90)
    };
    let sm80 = [32, 64, 128].map(|columns| {
        let tile_n = columns * problem.products();
        as_deep(problem, Sm80Schedule { tile_n, warps_m: 4, warps_n: 1, ..SM80_SMALL })
    });
    // Wide tiles first, as far as they fit.
    let widths = std::iter::once(128).chain((1..=16).rev().map(|sixteenths| 16 * sixteenths));
    let of_sm90 = widths.flat_map(sm90);
    let mut schedules = of_sm90.chain(sm80.into_iter().rev());
    schedules.find(|schedule| schedule.check(problem, arch).is_ok())
}

/// For groups of rows some beside those that ship for 16 bits. For inputs of other than 16 bits: the default, large tiles for many
/// rows and columns, and small ones for few; and for archs before and after Hopper those of [`portable`]. Those where blocks have scales led on an H200; the others were not fitted: their tiles
/// are those that lead for 16 bits, of as many bytes a stage.
pub(super) fn portfolio(problem: &Class, arch: Arch) -> Vec<crate::Schedule> {
    if problem.weights.is_some() && arch == Arch::SM_90A {
        return of_weights(problem);
    }
    if arch != Arch::SM_90A {
        let of_other_bits = portfolio_sm80(problem, arch);
        return if of_other_bits.is_empty() { portable::portfolio(problem, arch) } else { of_other_bits };
    }
    if problem.input.bytes() == 2 {
        return if problem.many().counts_rows_on_device() { of_groups(problem) } else { Vec::new() };
    }
    let mut images = vec![Schedule::default_for(problem, arch)];
    let others = if problem.block.is_some() { &OF_BLOCKS[..] } else { &OF_OTHER_BITS };
    let tiles = others.iter().flat_map(|image| match heights(problem, image).collect::<Vec<_>>() {
        none if none.is_empty() => vec![*image],
        several => several,
    });
    images.extend(tiles.map(Schedule::Sm90).filter(|it| it.check(problem, arch).is_ok()));
    images.into_iter().map(crate::Schedule::from).collect()
}

/// For factors of other than 16 bits, and weights; none for others.
fn portfolio_sm80(problem: &Class, arch: Arch) -> Vec<crate::Schedule> {
    let has_weights = problem.weights.is_some();
    if (problem.input.bytes() == 2 && !has_weights) || !sm80::serves(problem, arch) {
        return Vec::new();
    }
    let default = Schedule::default_for(problem, arch);
    let others = if has_weights { &OF_WEIGHTS_SM80[..] } else { &OF_OTHER_BITS_SM80 };
    let passing = others
        .iter()
        .map(|schedule| as_deep(problem, *schedule))
        .filter(|it| *it != default && it.check(problem, arch).is_ok());
    [default].into_iter().chain(passing).map(crate::Schedule::from).collect()
}

/// For batches of 16 bits, beside what ships for single products, of which these have shorter sums, narrower results, and rows that begin
/// anywhere in a line: tiles that store little at once, and clusters, which ask for such rows once. They led on an H200 at drawn
/// shapes (`docs/results/batches.md`).
pub(super) fn of_batches(problem: &Class, arch: Arch) -> Vec<crate::Schedule> {
    let serves = arch == Arch::SM_90A
        && problem.many() == Many::Batch
        && problem.input.bytes() == 2
        && problem.weights.is_none();
    let images = OF_BATCHES.iter().map(|&it| Schedule::Sm90(it)).filter(|it| it.check(problem, arch).is_ok());
    images.filter(|_| serves).map(crate::Schedule::from).collect()
}

/// For single products of 16 bits, beside what ships, which was chosen by times after rests: a tile that leads under a load that lasts on an
/// H200 (`docs/results/shapes.md`).
pub(super) fn under_load(problem: &Class, arch: Arch) -> Vec<crate::Schedule> {
    let serves =
        arch == Arch::SM_90A && problem.many() == Many::One && problem.input.bytes() == 2 && problem.weights.is_none();
    let wide = if problem.layout.transpose_b() { 112 } else { 96 };
    let image = Schedule::Sm90(Sm90Schedule { tile_m: wide, tile_n: 192, stages: 5, ..IN_TURN });
    (serves && image.check(problem, arch).is_ok()).then(|| image.into()).into_iter().collect()
}

/// For groups of rows, whose products are small beside their weights: beside what ships for 16 bits, the wide tiles that read a
/// group's weights in few parts, for as many rows as a group has. A split of K, which ships for few tiles, serves no groups.
fn of_groups(problem: &Class) -> Vec<crate::Schedule> {
    let images = OF_GROUPS.map(Schedule::Sm90).into_iter().filter(|it| it.check(problem, Arch::SM_90A).is_ok());
    images.map(crate::Schedule::from).collect()
}

/// For weights of few bits: the default, tiles for few rows of which blocks share K in clusters or not, and for more rows wider ones.
fn of_weights(problem: &Class) -> Vec<crate::Schedule> {
    let default = Schedule::default_for(problem, Arch::SM_90A);
    let others = OF_WEIGHTS.map(Schedule::Sm90);
    let passing = others.into_iter().filter(|it| *it != default && it.check(problem, Arch::SM_90A).is_ok());
    [default].into_iter().chain(passing).map(crate::Schedule::from).collect()
}

/// Four warps and 64 KiB of ring: fits the 99 KiB of the smallest Ampere and Ada parts.
const SM80: Sm80Schedule =
    Sm80Schedule { tile_m: 128, tile_n: 128, tile_k: 32, warps_m: 2, warps_n: 2, stages: 4, raster: RASTER };

/// As few accumulators as leave a body the most registers that it may have.
const SM80_SMALL: Sm80Schedule = Sm80Schedule { tile_m: 64, tile_n: 64, ..SM80 };

/// Of factors of other than 16 bits, beside the default: for many rows and columns, few columns, few rows, and few of both. All fit
/// 99 KiB. Nobody measured them: they are what is usual for 16 bits, as deep in bytes.
const OF_OTHER_BITS_SM80: [Sm80Schedule; 4] = [
    Sm80Schedule { tile_n: 256, warps_n: 4, stages: 3, ..SM80 },
    Sm80Schedule { stages: 6, ..SM80_SMALL },
    Sm80Schedule { tile_m: 32, warps_m: 1, warps_n: 4, stages: 6, ..SM80 },
    Sm80Schedule { tile_m: 32, warps_m: 1, warps_n: 4, tile_k: 64, stages: 6, ..SM80_SMALL },
];

/// Of weights of few bits: half as many sums a thread, as those of groups are summed apart.
const SM80_WEIGHTS: Sm80Schedule = Sm80Schedule { tile_m: 64, warps_m: 1, warps_n: 4, ..SM80 };
/// As [`SM80_SMALL`].
const SM80_WEIGHTS_SMALL: Sm80Schedule = Sm80Schedule { tile_m: 32, ..SM80_SMALL };

/// Beside the default: for many rows, and for few of them more columns or more of K in flight. Nobody measured them.
const OF_WEIGHTS_SM80: [Sm80Schedule; 4] = {
    const FEW: Sm80Schedule = Sm80Schedule { tile_m: 32, warps_m: 1, warps_n: 4, stages: 6, ..SM80 };
    [
        Sm80Schedule { warps_n: 4, ..SM80 },
        FEW,
        Sm80Schedule { tile_n: 64, tile_k: 64, ..FEW },
        Sm80Schedule { tile_n: 64, ..FEW },
    ]
};

/// `schedule`, which is written for elements of 16 bits, with as many bytes of K a stage for those of `problem`.
fn as_deep(problem: &Class, schedule: Sm80Schedule) -> Schedule {
    const BYTES: u32 = 2;
    Schedule::Sm80(Sm80Schedule { tile_k: schedule.tile_k * BYTES / problem.input.bytes(), ..schedule })
}

/// 128 columns of C a block. Pairs lie along N: they share what is read of A where there are many rows, and all of them have
/// work where there are few.
const SM90_TWO_PRODUCTS: Schedule =
    Schedule::Sm90(Sm90Schedule { tile_n: 256, consumers: 2, cluster_n: 2, raster: RASTER, ..Sm90Schedule::PLAIN });

/// As [`SM80_SMALL`].
const SM90_SMALL: Schedule =
    Schedule::Sm90(Sm90Schedule { tile_m: 64, tile_n: 64, stages: 8, raster: RASTER, ..Sm90Schedule::PLAIN });

const WEIGHTS: Sm90Schedule =
    Sm90Schedule { tile_m: 16, swap_ab: true, consumers: 2, stages: 8, raster: RASTER, ..Sm90Schedule::PLAIN };
const SM90_WEIGHTS: Schedule = Schedule::Sm90(WEIGHTS);
/// For scales and zero points of many small groups, beside which the ring is shorter.
const SM90_WEIGHTS_SHALLOW: Schedule = Schedule::Sm90(Sm90Schedule { stages: 6, ..WEIGHTS });
/// As [`SM90_SMALL`], for two products of 64 columns each.
const SM90_WEIGHTS_SMALL: Schedule = Schedule::Sm90(Sm90Schedule { tile_m: 8, consumers: 1, stages: 4, ..WEIGHTS });

const OF_WEIGHTS: [Sm90Schedule; 12] = [
    Sm90Schedule { splits: true, split_k: 2, ..WEIGHTS },
    Sm90Schedule { tile_n: 64, consumers: 1, splits: true, split_k: 2, ..WEIGHTS },
    Sm90Schedule { tile_n: 64, consumers: 1, stages: 12, ..WEIGHTS },
    Sm90Schedule { tile_m: 8, tile_n: 64, consumers: 1, stages: 12, ..WEIGHTS },
    Sm90Schedule { tile_n: 256, stages: 5, ..WEIGHTS },
    Sm90Schedule { tile_m: 8, splits: true, split_k: 2, ..WEIGHTS },
    Sm90Schedule { tile_m: 32, stages: 6, ..WEIGHTS },
    Sm90Schedule { tile_m: 64, stages: 4, ..WEIGHTS },
    Sm90Schedule { tile_m: 64, splits: true, split_k: 2, stages: 4, ..WEIGHTS },
    Sm90Schedule { tile_m: 128, stages: 2, ..WEIGHTS },
    Sm90Schedule { tile_m: 128, stages: 4, ..WEIGHTS },
    Sm90Schedule { tile_m: 256, splits: true, split_k: 2, stages: 2, ..WEIGHTS },
];

/// Transposed tiles of 128 columns, of which each consumer has one while the other stores.
const IN_TURN: Sm90Schedule = Sm90Schedule {
    consumers: 2,
    mode: Mode::PingPong,
    swap_ab: true,
    stages: 6,
    raster: RASTER,
    ..Sm90Schedule::PLAIN
};

const OF_GROUPS: [Sm90Schedule; 3] = {
    const WIDE: Sm90Schedule = Sm90Schedule { tile_n: 256, consumers: 2, raster: RASTER, ..Sm90Schedule::PLAIN };
    [WIDE, Sm90Schedule { swap_ab: true, ..WIDE }, Sm90Schedule { tile_m: 64, stages: 5, swap_ab: true, ..WIDE }]
};

const OF_BATCHES: [Sm90Schedule; 12] = {
    const PLAIN: Sm90Schedule = Sm90Schedule { raster: RASTER, ..Sm90Schedule::PLAIN };
    const SHARED: Sm90Schedule = Sm90Schedule { consumers: 2, ..PLAIN };
    const IN_TURN: Sm90Schedule = Sm90Schedule { mode: Mode::PingPong, ..SHARED };
    const OF_THREE: Sm90Schedule = Sm90Schedule { tile_m: 192, consumers: 3, ..PLAIN };
    [
        Sm90Schedule { tile_n: 192, ..SHARED },
        Sm90Schedule { tile_n: 256, cluster_m: 2, ..SHARED },
        Sm90Schedule { tile_n: 160, cluster_m: 2, ..OF_THREE },
        Sm90Schedule { tile_n: 160, cluster_n: 2, ..OF_THREE },
        Sm90Schedule { tile_n: 192, stages: 3, cluster_m: 2, ..OF_THREE },
        Sm90Schedule { stages: 6, cluster_m: 2, ..IN_TURN },
        Sm90Schedule { tile_n: 64, stages: 6, ..IN_TURN },
        Sm90Schedule { tile_m: 64, stages: 6, ..IN_TURN },
        Sm90Schedule { tile_m: 64, tile_n: 192, stages: 6, ..IN_TURN },
        Sm90Schedule { tile_m: 64, tile_n: 192, cluster_m: 2, ..IN_TURN },
        Sm90Schedule { tile_m: 96, tile_n: 64, stages: 8, swap_ab: true, ..PLAIN },
        Sm90Schedule { tile_m: 64, tile_n: 96, stages: 6, ..PLAIN },
    ]
};

const OF_OTHER_BITS: [Sm90Schedule; 9] = {
    const PLAIN: Sm90Schedule = Sm90Schedule { raster: RASTER, ..Sm90Schedule::PLAIN };
    const SWAPPED: Sm90Schedule = Sm90Schedule { tile_m: 16, swap_ab: true, stages: 12, ..PLAIN };
    [
        Sm90Schedule { tile_n: 256, consumers: 2, cluster_m: 2, ..PLAIN },
        Sm90Schedule { consumers: 2, mode: Mode::PingPong, stages: 6, ..PLAIN },
        Sm90Schedule { tile_n: 192, consumers: 2, mode: Mode::PingPong, ..PLAIN },
        Sm90Schedule { tile_m: 112, tile_n: 192, rows_up_to: 112, stages: 5, ..IN_TURN },
        Sm90Schedule { tile_m: 64, splits: true, split_k: 2, stages: 6, ..PLAIN },
        Sm90Schedule { tile_m: 64, stages: 8, ..SWAPPED },
        SWAPPED,
        Sm90Schedule { tile_n: 64, ..SWAPPED },
        Sm90Schedule { splits: true, split_k: 4, ..SWAPPED },
    ]
};

/// Where blocks have scales: those that led on an H200, `docs/results/types.md`.
const OF_BLOCKS: [Sm90Schedule; 7] = {
    const PLAIN: Sm90Schedule = Sm90Schedule { raster: RASTER, ..Sm90Schedule::PLAIN };
    const SWAPPED: Sm90Schedule = Sm90Schedule { tile_m: 16, swap_ab: true, stages: 10, ..PLAIN };
    [
        Sm90Schedule { tile_n: 256, consumers: 2, ..PLAIN },
        Sm90Schedule { tile_m: 256, consumers: 2, ..PLAIN },
        Sm90Schedule { tile_m: 64, stages: 8, ..PLAIN },
        Sm90Schedule { tile_m: 64, splits: true, split_k: 2, stages: 6, ..PLAIN },
        SWAPPED,
        Sm90Schedule { splits: true, split_k: 2, consumers: 2, ..SWAPPED },
        Sm90Schedule { tile_m: 32, stages: 8, ..SWAPPED },
    ]
};

const SM90: Schedule = Schedule::Sm90(Sm90Schedule { consumers: 2, raster: RASTER, ..Sm90Schedule::PLAIN });
