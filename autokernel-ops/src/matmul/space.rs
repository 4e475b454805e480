//! The schedules that a search chooses from: every combination of the listed values that passes the rules.

use super::schedule::{Family, Mode, Raster, RasterOrder, Schedule, Sm80Schedule, Sm90Schedule};
use super::sm90::heights;
use super::{skinny, sm80};
use crate::matmul::problem::Class;
use autokernel_core::{Arch, Dtype};

/// Group sizes worth trying: beyond 32 tiles a group no longer fits L2 beside the other operand.
const RASTER_GROUPS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// The families that multiply `input` elements on `arch`, best first; none where its matrix units do not, or no family yet.
pub fn families(input: Dtype, arch: Arch) -> &'static [Family] {
    of(arch, sm80::multiplies(input, arch), false)
}

/// Those that serve `class`.
pub fn families_of(class: &Class, arch: Arch) -> &'static [Family] {
    of(arch, sm80::serves(class, arch), skinny::serves(class))
}

/// Those of `arch`, with the portable one and that of factors that are read in place where these serve.
fn of(arch: Arch, portable: bool, in_place: bool) -> &'static [Family] {
    match (arch == Arch::SM_90A, portable, in_place) {
        (true, true, true) => &[Family::Sm90, Family::Sm80, Family::SkinnySm80],
        (true, true, false) => &[Family::Sm90, Family::Sm80],
        (true, false, _) => &[Family::Sm90],
        (false, true, true) => &[Family::Sm80, Family::SkinnySm80],
        (false, true, false) => &[Family::Sm80],
        (false, false, _) => &[],
    }
}

/// Every valid schedule of `family` for `class` on `arch`, in a fixed order; none of another operation's family.
pub fn schedules(family: Family, class: &Class, arch: Arch) -> Vec<crate::Schedule> {
    let images = match family {
        Family::Sm80 => sm80_images(class),
        Family::SkinnySm80 => skinny::images(arch).into_iter().map(Schedule::Skinny).collect(),
        Family::Sm90 => [sm90_images(), sm90_fitted_images(class, arch)].concat(),
        #[allow(unreachable_patterns, reason = "reachable with more than one operation")]
        _ => Vec::new(),
    };
    let valid = images.into_iter().filter(|schedule| schedule.check(class, arch).is_ok());
    valid.flat_map(|schedule| rasters().map(move |raster| schedule.with_raster(raster).into())).collect()
}

fn rasters() -> impl Iterator<Item = Raster> {
    let orders = [RasterOrder::AlongM, RasterOrder::AlongN];
    orders.into_iter().flat_map(|order| RASTER_GROUPS.map(|group| Raster { order, group }))
}

fn sm90_images() -> Vec<Schedule> {
    [sm90_large_images(), sm90_wide_cluster_images(), sm90_split_images(), sm90_swapped_images()].concat()
}

/// One block a tile, operands as they are: for grids of a wave and more.
fn sm90_large_images() -> Vec<Schedule> {
    let crews = [(1, Mode::Cooperative), (2, Mode::Cooperative), (2, Mode::PingPong), (3, Mode::Cooperative)];
    let clusters = [(1, 1), (2, 1), (1, 2)];
    let mut images = Vec::new();
    for (tile_m, tile_n) in pairs(&[64, 128, 192, 256], &[32, 64, 96, 128, 160, 192, 208, 224, 256]) {
        for (consumers, mode) in crews {
            for (cluster_m, cluster_n) in clusters {
                for stages in 3..=8 {
                    let crew = Sm90Schedule { tile_m, tile_n, stages, consumers, mode, ..Sm90Schedule::PLAIN };
                    images.push(Schedule::Sm90(Sm90Schedule { cluster_m, cluster_n, ..crew }));
                }
            }
        }
    }
    images
}

/// Small tiles that share an operand in fours: for grids of about a wave.
fn sm90_wide_cluster_images() -> Vec<Schedule> {
    let mut images = Vec::new();
    for (tile_m, tile_n) in [(64, 64), (64, 128), (128, 64), (128, 128)] {
        for consumers in [1, 2] {
            for (cluster_m, cluster_n) in [(4, 1), (1, 4)] {
                for stages in [6, 8] {
                    let tile = Sm90Schedule { tile_m, tile_n, stages, consumers, ..Sm90Schedule::PLAIN };
                    images.push(Schedule::Sm90(Sm90Schedule { cluster_m, cluster_n, ..tile }));
                }
            }
        }
    }
    images
}

/// K split among blocks: for grids of less than a wave.
fn sm90_split_images() -> Vec<Schedule> {
    let mut images = Vec::new();
    for (tile_m, tile_n) in pairs(&[64, 128], &[64, 128, 192, 256]) {
        for (consumers, split_k) in pairs(&[1, 2], &[2, 4, 8]) {
            for stages in [4, 6, 8] {
                let tile = Sm90Schedule { tile_m, tile_n, stages, consumers, ..Sm90Schedule::PLAIN };
                images.push(Schedule::Sm90(Sm90Schedule { splits: true, split_k, ..tile }));
            }
        }
    }
    images
}

/// Tiles of few rows, computed transposed: for a small M.
fn sm90_swapped_images() -> Vec<Schedule> {
    let mut images = Vec::new();
    for (tile_m, tile_n) in pairs(&[8, 16, 32, 64, 128], &[64, 128, 256]) {
        for consumers in [1, 2] {
            let crew = Sm90Schedule { tile_m, tile_n, consumers, swap_ab: true, ..Sm90Schedule::PLAIN };
            for (split_k, stages) in pairs(&[1, 2, 4, 8], &[4, 6, 8, 12]) {
                images.push(Schedule::Sm90(Sm90Schedule { splits: split_k > 1, split_k, stages, ..crew }));
            }
            for (cluster_m, cluster_n) in [(2, 1), (1, 2), (1, 4)] {
                for stages in [6, 8, 12] {
                    images.push(Schedule::Sm90(Sm90Schedule { cluster_m, cluster_n, stages, ..crew }));
                }
            }
        }
    }
    images
}

/// Tiles computed transposed, of the widths between those: rows that fill no tile of the others fill one of these. Each with as
/// many stages as fit.
fn sm90_fitted_images(class: &Class, arch: Arch) -> Vec<Schedule> {
    const ROWS: [u32; 15] = [24, 40, 48, 56, 72, 80, 96, 112, 136, 152, 176, 184, 208, 224, 240];
    /// Beyond so many rows a split of K has no grid to fill.
    const SPLIT_ROWS: u32 = 112;
    /// One warpgroup holds the sums of so many rows of 128 columns beside what a body needs.
    const ROWS_OF_ONE: u32 = 112;
    let crews = [
        (64, 1, Mode::Cooperative),
        (128, 1, Mode::Cooperative),
        (128, 2, Mode::Cooperative),
        (128, 2, Mode::PingPong),
        (192, 3, Mode::Cooperative),
        (256, 2, Mode::Cooperative),
    ];
    let mut images = Vec::new();
    for tile_m in ROWS {
        let crews = crews.into_iter().filter(|crew| (crew.0, crew.1) != (128, 1) || tile_m <= ROWS_OF_ONE);
        for (tile_n, consumers, mode) in crews {
            let splits: &[u32] = if tile_m <= SPLIT_ROWS { &[1, 2, 4] } else { &[1] };
            images.extend(splits.iter().filter_map(|&split_k| {
                let crew = Sm90Schedule { tile_m, tile_n, consumers, mode, swap_ab: true, ..Sm90Schedule::PLAIN };
                let deepest = (3..=12)
                    .rev()
                    .map(|stages| Schedule::Sm90(Sm90Schedule { splits: split_k > 1, split_k, stages, ..crew }));
                deepest.into_iter().find(|schedule| schedule.check(class, arch).is_ok())
            }));
        }
    }
    images
}

/// Images of several heights, which a portfolio is chosen from: each height as the schedule that has it. No search proposes them, as
/// one shape needs one tile.
pub fn images_of_heights(class: &Class, arch: Arch) -> Vec<crate::Schedule> {
    const CREWS: [(u32, u32, Mode, bool, u32); 16] = [
        (64, 1, Mode::Cooperative, false, 64),
        (64, 1, Mode::Cooperative, true, 64),
        (64, 1, Mode::Cooperative, false, 128),
        (128, 1, Mode::Cooperative, false, 64),
        (128, 1, Mode::Cooperative, true, 64),
        (128, 2, Mode::Cooperative, false, 128),
        (128, 2, Mode::Cooperative, true, 176),
        (128, 2, Mode::PingPong, false, 176),
        (192, 3, Mode::Cooperative, false, 176),
        (256, 2, Mode::Cooperative, false, 144),
        (256, 2, Mode::Cooperative, true, 96),
        (128, 1, Mode::Cooperative, false, 128),
        (128, 1, Mode::Cooperative, false, 192),
        (128, 2, Mode::Cooperative, false, 256),
        (192, 3, Mode::Cooperative, false, 192),
        (256, 2, Mode::Cooperative, false, 192),
    ];
    let tallest = CREWS.map(|(tile_n, consumers, mode, splits, rows_up_to)| Sm90Schedule {
        tile_n,
        consumers,
        mode,
        swap_ab: true,
        rows_up_to,
        splits,
        ..Sm90Schedule::PLAIN
    });
    let tiles = tallest.iter().flat_map(|image| heights(class, image)).map(Schedule::Sm90);
    tiles.filter(|tile| tile.check(class, arch).is_ok()).map(crate::Schedule::from).collect()
}

fn sm80_images(class: &Class) -> Vec<Schedule> {
    let raster = Raster::PLAIN;
    let mut images = Vec::new();
    for (tile_m, tile_n) in pairs(&[32, 64, 128, 256], &[32, 64, 128, 256]) {
        for (warps_m, warps_n) in pairs(&[1, 2, 4], &[1, 2, 4]) {
            for tile_k in sm80::STAGE_BYTES.map(|bytes| bytes / class.input.bytes()) {
                for stages in 2..=6 {
                    let schedule = Sm80Schedule { tile_m, tile_n, tile_k, warps_m, warps_n, stages, raster };
                    images.push(Schedule::Sm80(schedule));
                }
            }
        }
    }
    images
}

fn pairs(left: &'static [u32], right: &'static [u32]) -> impl Iterator<Item = (u32, u32)> {
    left.iter().flat_map(move |&l| right.iter().map(move |&r| (l, r)))
}
