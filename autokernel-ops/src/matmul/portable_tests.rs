use autokernel_core::{ComputeCapability, Dtype};

use super::*;
use crate::forecast::Machine;
use crate::matmul::extents::extents;
use crate::matmul::problem::{Layout, Problem};
use crate::operation::Class as _;

/// What datasheets say.
const fn gpu(minor: u8, sm_count: u32, matrix_tflops: f64, memory_gb_per_s: f64) -> Machine {
    Machine { capability: ComputeCapability::new(8, minor), sm_count, matrix_tflops, memory_gb_per_s }
}
const A100: Machine = gpu(0, 108, 312.0, 2039.0);
const L4: Machine = gpu(9, 58, 121.0, 300.0);
const RTX_4090: Machine = gpu(9, 128, 165.2, 1008.0);

fn class(layout: Layout) -> Class {
    Problem::new(Dtype::Bf16, layout, "identity".parse().unwrap()).class()
}

/// The schedule that the model chooses.
fn chosen(machine: Machine, layout: Layout, [m, n, k]: [u32; 3]) -> Schedule {
    let class = class(layout);
    let ms =
        |schedule: &crate::Schedule| class.forecast(schedule, None, machine).unwrap().launched_ms(&extents(m, n, k));
    let timed = portfolio(&class, Arch::SM_80).into_iter().map(|schedule| (ms(&schedule), schedule));
    let best = timed.min_by(|(a, _), (b, _)| a.total_cmp(b)).unwrap().1;
    Schedule::try_from(&best).unwrap()
}

const ALL: [Machine; 3] = [A100, L4, RTX_4090];
const LAYOUTS: [Layout; 2] = [Layout::Nn, Layout::Nt];

fn tile(schedule: Schedule) -> (u32, u32) {
    match schedule {
        Schedule::Sm80(Sm80Schedule { tile_m, tile_n, .. }) => (tile_m, tile_n),
        Schedule::Skinny(SkinnySchedule { tile_m, tile_n, .. }) => (tile_m, tile_n),
        Schedule::Sm90(_) => panic!("not on these GPUs"),
    }
}

#[test]
fn a_large_square_gets_the_largest_tile_and_few_tiles_get_small_ones() {
    for machine in ALL {
        for layout in LAYOUTS {
            for edge in [4096, 8192] {
                assert_eq!(tile(chosen(machine, layout, [edge; 3])), (256, 128), "{machine:?} {layout}");
            }
            let few = tile(chosen(machine, layout, [512, 512, 4096]));
            assert!([(128, 64), (64, 64)].contains(&few), "{machine:?} {layout}: {few:?}");
            let rows = tile(chosen(machine, layout, [32, 4096, 4096]));
            assert_eq!(rows, (32, 128), "{machine:?} {layout}");
        }
    }
}

#[test]
fn one_row_is_the_skinny_kernels_unless_a_memory_is_so_slow_that_any_kernel_waits_for_it() {
    let is_skinny = |machine, layout, shape| matches!(chosen(machine, layout, shape), Schedule::Skinny(_));
    for layout in LAYOUTS {
        for machine in [A100, RTX_4090] {
            assert!(is_skinny(machine, layout, [1, 4096, 4096]), "{machine:?} {layout}");
        }
        assert!(!is_skinny(L4, layout, [1, 4096, 4096]), "{layout}");
        for machine in ALL {
            assert!(is_skinny(machine, layout, [1, 4095, 4095]), "rows that begin anywhere: {machine:?} {layout}");
        }
    }
}

#[test]
fn plain_products_carry_six_images_that_fit_the_smallest_gpus_and_others_their_default() {
    let [sm_80, sm_89, sm_120] = ["sm_80", "sm_89", "sm_120"].map(|arch| arch.parse::<Arch>().unwrap());
    for arch in [sm_80, sm_89, sm_120] {
        for (layout, images) in [(Layout::Nn, 6), (Layout::Nt, 6), (Layout::Tn, 5), (Layout::Tt, 5)] {
            let carried = portfolio(&class(layout), arch);
            assert_eq!(carried.len(), images, "{layout} {arch}");
            assert!(carried.iter().all(|schedule| class(layout).check(schedule, sm_89).is_ok()), "{layout} {arch}");
        }
    }
    let of_bytes = Problem::new(Dtype::E4m3, Layout::Nt, "identity".parse().unwrap()).class();
    assert_eq!(portfolio(&of_bytes, sm_80), []);
}
