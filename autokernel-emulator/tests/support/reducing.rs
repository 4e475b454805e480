//! Schedules whose warps have rows in common in every way that there is.

use autokernel_codegen::matmul::schedule::{Mode, Sm80Schedule, Sm90Schedule};

use super::case::{SM80, SM90};

pub const CREWS: [Sm90Schedule; 3] = [
    SM90,
    Sm90Schedule { tile_m: 128, tile_n: 96, consumers: 2, ..SM90 },
    Sm90Schedule { tile_n: 128, consumers: 2, mode: Mode::PingPong, cluster_m: 2, ..SM90 },
];
pub const SHARED_BY_CLUSTERS: [Sm90Schedule; 2] = [
    Sm90Schedule { stream_k: true, shared_waves: 2, ..SM90 },
    Sm90Schedule { tile_n: 128, consumers: 2, mode: Mode::PingPong, stream_k: true, shared_waves: 1, ..SM90 },
];
pub const SPLIT_AND_SWAPPED: [Sm90Schedule; 5] = [
    Sm90Schedule { splits: true, split_k: 4, stages: 4, ..SM90 },
    Sm90Schedule { tile_m: 16, swap_ab: true, ..SM90 },
    Sm90Schedule { tile_m: 40, tile_n: 128, consumers: 2, swap_ab: true, cluster_n: 1, ..SM90 },
    Sm90Schedule { tile_m: 24, stages: 12, rows_up_to: 40, swap_ab: true, splits: true, split_k: 2, ..SM90 },
    Sm90Schedule { tile_m: 160, swap_ab: true, ..SM90 }, // more rows than a tile's warps bring together at once
];
pub const OF_TWO_PRODUCTS: [Sm90Schedule; 2] =
    [Sm90Schedule { tile_n: 128, ..SM90 }, Sm90Schedule { tile_m: 16, tile_n: 128, swap_ab: true, ..SM90 }];
pub const SHARED_BY_WARPS: [Sm80Schedule; 2] =
    [SM80, Sm80Schedule { tile_m: 32, tile_n: 128, warps_m: 1, warps_n: 4, ..SM80 }];
