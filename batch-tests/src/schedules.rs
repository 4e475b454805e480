//! A schedule of each kind that loads, walks or stores in a way of its own.

use autokernel::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm80Schedule, Sm90Schedule};

/// Those of tiles whose rows are whole swizzle rows of a transposed first factor, in place of others that are not.
pub fn of_transposed(products: u32) -> Vec<(Arch, Schedule)> {
    let plain = Sm90Schedule { tile_m: 128, tile_n: 64 * products, ..Sm90Schedule::PLAIN };
    let kinds = [
        Sm90Schedule { cluster_n: 2, ..plain },
        Sm90Schedule { tile_m: 64, swap_ab: true, stages: 3, ..plain },
        Sm90Schedule { tile_n: 128 * products, swap_ab: true, consumers: 2, cluster_m: 2, ..plain },
    ];
    kinds.map(|schedule| (Arch::SM_90A, schedule.into())).to_vec()
}

/// Those of tiles that are computed transposed, as all of weights of few bits are: wide ones, and such as clusters share.
pub fn of_weights(products: u32) -> Vec<(Arch, Schedule)> {
    let swapped = Sm90Schedule { swap_ab: true, tile_m: 32, tile_n: 64 * products, ..Sm90Schedule::PLAIN };
    let pair = Sm90Schedule { tile_n: 128 * products, consumers: 2, ..swapped };
    let kinds = [
        Sm90Schedule { cluster_n: 2, ..swapped },
        Sm90Schedule { tile_m: 8, cluster_m: 2, stages: 3, ..pair },
        Sm90Schedule { tile_m: 72, stages: 2, ..pair },
    ];
    kinds.map(|schedule| (Arch::SM_90A, schedule.into())).to_vec()
}

/// Those of rows that an index picks: tiles of the most rows, of which a thread copies as many pieces, and such as a row of tiles shares.
pub fn of_gathered(products: u32) -> Vec<(Arch, Schedule)> {
    let plain = Sm90Schedule { tile_m: 256 / products, consumers: 2, ..Sm90Schedule::PLAIN };
    let kinds = [
        Sm90Schedule { cluster_m: 2, tile_n: 128 * products, stages: 2, ..plain },
        Sm90Schedule { tile_m: 256 / products, tile_n: 128 * products, swap_ab: true, stages: 2, ..plain },
    ];
    kinds.map(|schedule| (Arch::SM_90A, schedule.into())).to_vec()
}

/// Those for sums of so many products, with tiles of as many columns of C.
pub fn every_kind(input: Dtype, products: u32) -> Vec<(Arch, Schedule)> {
    let plain = Sm90Schedule { tile_m: 64, tile_n: 64 * products, ..Sm90Schedule::PLAIN };
    let swapped = Sm90Schedule { swap_ab: true, tile_m: 16, ..plain };
    let sm90 = [
        plain,
        Sm90Schedule { tile_m: 128, consumers: 2, ..plain },
        Sm90Schedule { mode: Mode::PingPong, consumers: 2, ..plain },
        Sm90Schedule { cluster_m: 2, tile_n: 128 * products, ..plain },
        Sm90Schedule { cluster_n: 2, ..plain },
        Sm90Schedule { splits: true, split_k: 2, ..plain },
        Sm90Schedule { stream_k: true, shared_waves: 2, ..plain },
        swapped,
        Sm90Schedule { tile_m: 40, stages: 5, ..swapped },
        Sm90Schedule { splits: true, split_k: 4, ..swapped },
        Sm90Schedule { mode: Mode::PingPong, consumers: 2, stream_k: true, shared_waves: 1, ..swapped },
    ];
    let sm80 = Sm80Schedule {
        tile_m: 64,
        tile_n: 32 * products,
        // As deep in bytes whatever an element is.
        tile_k: 64 / input.bytes(),
        warps_m: 2,
        warps_n: 1,
        stages: 3,
        raster: Sm90Schedule::PLAIN.raster,
    };
    let sm90 = sm90.map(|schedule| (Arch::SM_90A, schedule.into()));
    [(Arch::SM_80, sm80.into())].into_iter().chain(sm90).collect()
}
