use autokernel_core::{Arch, ComputeCapability, Dtype};
use expect_test::expect_file;

use super::{RULES, SkinnySchedule, portfolio, serves};
use crate::matmul::emit;
use crate::matmul::extents;
use crate::matmul::model::{Constants, Machine, Model, Traits};
use crate::matmul::problem::{Class, Layout, Problem};
use crate::matmul::schedule::{Raster, Schedule, Sm90Schedule};
use crate::operation::Class as _;
use crate::{Family, rule};

const FEW: SkinnySchedule =
    SkinnySchedule { tile_m: 8, tile_n: 64, tile_k: 1024, warps: 8, stages: 2, overlap: true, raster: Raster::PLAIN };

const MODEL: Model = Model {
    machine: Machine {
        capability: ComputeCapability::new(9, 0),
        sm_count: 132,
        matrix_tflops: 989.4,
        memory_gb_per_s: 4800.0,
    },
    constants: Constants::START,
};

fn problem(layout: Layout) -> Problem {
    Problem::new(Dtype::Bf16, layout, "relu".parse().unwrap())
}

fn class(layout: Layout) -> Class {
    problem(layout).class()
}

#[test]
fn kernels_of_both_layouts_are_as_golden() {
    let portable = SkinnySchedule { overlap: false, ..FEW };
    for (layout, schedule, file) in
        [(Layout::Nn, FEW, "skinny_nn.cu"), (Layout::Nt, SkinnySchedule { tile_n: 16, ..portable }, "skinny_nt.cu")]
    {
        let path = format!("{}/src/matmul/golden/{file}", env!("CARGO_MANIFEST_DIR"));
        expect_file![path].assert_eq(&emit::emit(&problem(layout), &schedule.into()).cuda);
    }
}

#[test]
fn a_launch_asks_nothing_of_where_operands_lie_and_has_a_block_for_the_columns_that_all_rows_of_b_have_in_common() {
    for (layout, columns) in [(Layout::Nn, 56), (Layout::Nt, 64)] {
        let schedule = SkinnySchedule { tile_n: 64, stages: 1, ..FEW };
        let plan = emit::plan(&class(layout), &schedule.into(), String::new());
        assert_eq!((plan.alignments.len(), plan.workspace.len()), (0, 0));
        let [kernel] = &plan.kernels[..] else { panic!("{plan:?}") };
        assert_eq!(kernel.grid.blocks(&extents(9, 2 * columns + 1, 5), 132), 6);
    }
}

#[test]
fn the_first_broken_rule_is_named() {
    let broken = |layout, schedule: SkinnySchedule, arch| {
        rule::check(RULES, &schedule, &class(layout), arch).map_err(|it| it.rule)
    };
    let on_hopper = |schedule| broken(Layout::Nn, schedule, Arch::SM_90A);
    assert_eq!(on_hopper(FEW), Ok(()));
    for (schedule, name) in [
        (SkinnySchedule { tile_m: 12, ..FEW }, "tile_m"),
        (SkinnySchedule { tile_m: 72, ..FEW }, "tile_m"),
        (SkinnySchedule { tile_n: 32, ..FEW }, "tile_n"),
        (SkinnySchedule { warps: 4, ..FEW }, "warps"),
        (SkinnySchedule { stages: 0, ..FEW }, "stages"),
        (SkinnySchedule { tile_k: 0, ..FEW }, "tile_k"),
        (SkinnySchedule { tile_k: 896, ..FEW }, "tile_k"),
        (SkinnySchedule { tile_m: 64, tile_n: 128, ..FEW }, "registers"),
        (SkinnySchedule { warps: 16, ..FEW }, "registers"),
        (SkinnySchedule { tile_m: 64, tile_k: 2048, ..FEW }, "rows_fit_shared_memory"),
        (SkinnySchedule { tile_k: 1 << 31, ..FEW }, "rows_fit_shared_memory"),
        (SkinnySchedule { raster: Raster { group: 0, ..Raster::PLAIN }, ..FEW }, "raster_group_in_range"),
    ] {
        assert_eq!(on_hopper(schedule), Err(name), "{schedule:?}");
    }
    assert_eq!(broken(Layout::Nt, SkinnySchedule { warps: 16, ..FEW }, Arch::SM_90A), Err("registers"));
    assert_eq!(broken(Layout::Nn, FEW, Arch::SM_80), Err("launches_overlap_on_hopper"));
    assert_eq!(broken(Layout::Tn, FEW, Arch::SM_90A), Err("elements_of_one_product"));
    let bytes = Problem::new(Dtype::E4m3, Layout::Nt, "identity".parse().unwrap()).class();
    assert_eq!(rule::check(RULES, &FEW, &bytes, Arch::SM_90A).unwrap_err().rule, "factors_have_16_bits");
}

#[test]
fn every_declared_product_of_few_rows_carries_it_on_hopper_and_its_space_holds_what_it_carries() {
    for (layout, images) in [(Layout::Nn, 2), (Layout::Nt, 1), (Layout::Tn, 0), (Layout::Tt, 0)] {
        let class = class(layout);
        let carried = portfolio(&class, Arch::SM_90A);
        assert_eq!((carried.len(), serves(&class)), (images, images > 0), "{layout}");
        assert_eq!(portfolio(&class, Arch::SM_80), []);
        let searched = class.schedules(Family::SkinnySm80, Arch::SM_90A);
        assert!(carried.into_iter().all(|schedule| searched.contains(&schedule.into())), "{layout}");
    }
}

/// The fastest by the model of what reads in place, and of a tensor-core image behind copies.
fn predicted(layout: Layout, [m, n, k]: [u32; 3]) -> (f64, f64) {
    let class = class(layout);
    let ms = |schedule: Schedule| MODEL.predicted_ms(&Traits::new(&class, &schedule), &extents(m, n, k));
    let in_place =
        portfolio(&class, Arch::SM_90A).into_iter().map(|schedule| ms(schedule.into())).fold(f64::MAX, f64::min);
    let tile_m = m.next_multiple_of(8).min(64);
    let small = Sm90Schedule { tile_m, tile_n: 64, stages: 8, swap_ab: true, ..Sm90Schedule::PLAIN };
    let images = [small, Sm90Schedule { splits: true, split_k: 4, ..small }, Sm90Schedule { tile_n: 128, ..small }];
    (in_place, images.map(|schedule| ms(schedule.into())).into_iter().fold(f64::MAX, f64::min))
}

#[test]
fn products_are_predicted_to_be_faster_in_place_where_an_h200_was_and_not_where_it_was_not() {
    let faster = [
        (Layout::Nn, [1, 51866, 1280]),
        (Layout::Nn, [1, 21841, 1024]),
        (Layout::Nn, [8, 50266, 2048]),
        (Layout::Nn, [20, 50266, 2048]),
        (Layout::Nt, [33, 32, 27]),
        (Layout::Nt, [1, 1152, 588]),
        (Layout::Nt, [72, 64, 147]),
        (Layout::Nt, [366, 64, 147]),
        (Layout::Nt, [1, 32, 27]),
    ];
    for (layout, shape) in faster {
        let (in_place, copied) = predicted(layout, shape);
        assert!(in_place < copied, "{layout} {shape:?}: {in_place} and {copied} ms");
    }
    let slower = [
        (Layout::Nn, [41, 50266, 2048]),
        (Layout::Nn, [10, 1001, 2048]),
        (Layout::Nn, [2, 1001, 2048]),
        (Layout::Nn, [12, 32, 27]),
        (Layout::Nn, [61, 32, 27]),
        (Layout::Nt, [25, 1152, 588]),
        (Layout::Nt, [3622, 32, 27]),
    ];
    for (layout, shape) in slower {
        let (in_place, copied) = predicted(layout, shape);
        assert!(in_place > copied, "{layout} {shape:?}: {in_place} and {copied} ms");
    }
    for shape in [[1, 4096, 4096], [16, 8192, 8192], [64, 4096, 14336], [4096, 4096, 4096], [8, 1024, 1024]] {
        for layout in [Layout::Nn, Layout::Nt] {
            let (in_place, aligned) = predicted(layout, shape);
            assert!(in_place > aligned, "{layout} {shape:?}: {in_place} and {aligned} ms");
        }
    }
    let (in_place, copied) = predicted(Layout::Nn, [2000, 50257, 768]);
    assert!(in_place > copied, "many rows: {in_place} and {copied} ms");
}
