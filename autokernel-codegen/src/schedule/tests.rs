use super::*;
use crate::dtype::Dtype;
use crate::epilogue::Epilogue;
use crate::problem::{Layout, Problem, ProblemClass};
use space::Space;

fn class(layout: Layout) -> ProblemClass {
    Problem::matmul(Dtype::Bf16, layout, Epilogue::identity()).class()
}

const FASTEST: Sm90Schedule = Sm90Schedule {
    tile_m: 128,
    tile_n: 256,
    stages: 4,
    consumers: 2,
    mode: Mode::Cooperative,
    cluster_m: 2,
    cluster_n: 1,
    raster: Raster { order: RasterOrder::AlongM, group: 8 },
};

fn broken(schedule: Sm90Schedule, layout: Layout) -> &'static str {
    Schedule::Sm90(schedule).check(&class(layout), Arch::SM_90A).unwrap_err().rule
}

#[test]
fn the_default_of_every_arch_is_valid_for_every_class() {
    for arch in ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"] {
        let arch: Arch = arch.parse().unwrap();
        for (layout, output) in [(Layout::Nn, Dtype::F32), (Layout::Nt, Dtype::F32), (Layout::Nn, Dtype::Bf16)] {
            let class = ProblemClass { output, ..class(layout) };
            assert_eq!(Schedule::default_for(&class, arch).check(&class, arch), Ok(()), "{arch} {layout}");
        }
    }
}

#[test]
fn a_schedule_reads_back_what_it_writes_and_names_its_family() {
    let schedule = Schedule::Sm90(FASTEST);
    let json = serde_json::to_string(&schedule).unwrap();
    assert!(json.starts_with(r#"{"family":"sm90","tile_m":128"#), "{json}");
    assert_eq!(serde_json::from_str::<Schedule>(&json).unwrap(), schedule);
}

#[test]
fn each_impossible_schedule_is_refused_by_the_name_of_its_rule() {
    let nn = Layout::Nn;
    assert_eq!(broken(Sm90Schedule { consumers: 4, ..FASTEST }, nn), "consumers_one_to_three");
    assert_eq!(broken(Sm90Schedule { tile_m: 96, ..FASTEST }, nn), "tile_m_splits_into_wgmma_blocks");
    assert_eq!(broken(Sm90Schedule { tile_n: 100, ..FASTEST }, nn), "tile_n_is_a_wgmma_width");
    assert_eq!(broken(Sm90Schedule { tile_n: 96, ..FASTEST }, nn), "row_major_b_takes_whole_swizzle_rows");
    assert_eq!(broken(Sm90Schedule { tile_m: 256, ..FASTEST }, nn), "accumulators_fit_registers");
    assert_eq!(broken(Sm90Schedule { cluster_n: 2, ..FASTEST }, nn), "cluster_of_at_most_two");
    assert_eq!(broken(Sm90Schedule { stages: 1, ..FASTEST }, nn), "stages_two_to_eight");
    assert_eq!(broken(Sm90Schedule { stages: 5, ..FASTEST }, nn), "shared_memory_fits");
    let group = Raster { group: 0, ..FASTEST.raster };
    assert_eq!(broken(Sm90Schedule { raster: group, ..FASTEST }, nn), "raster_group_in_range");
}

#[test]
fn a_hopper_schedule_is_refused_on_other_archs() {
    let error = Schedule::Sm90(FASTEST).check(&class(Layout::Nn), Arch::SM_80).unwrap_err();
    assert_eq!(error.rule, "family_serves_arch");
}

#[test]
fn absurd_numbers_break_a_rule_and_do_not_overflow() {
    let huge = Sm90Schedule { tile_m: u32::MAX, tile_n: u32::MAX, stages: u32::MAX, ..FASTEST };
    assert!(Schedule::Sm90(huge).check(&class(Layout::Nn), Arch::SM_90A).is_err());
    assert_eq!(broken(Sm90Schedule { stages: u32::MAX, ..FASTEST }, Layout::Nn), "stages_two_to_eight");
    let raster = FASTEST.raster;
    let huge = Sm80Schedule { tile_m: 128, tile_n: 128, tile_k: 32, warps_m: u32::MAX, warps_n: 3, stages: 2, raster };
    assert!(Schedule::Sm80(huge).check(&class(Layout::Nn), Arch::SM_80).is_err());
}

#[test]
fn a_space_holds_only_valid_schedules_each_once() {
    for family in [Family::Sm80, Family::Sm90] {
        let class = class(Layout::Nt);
        let space = Space::new(family, &class, Arch::SM_90A);
        let distinct: std::collections::BTreeSet<_> = space.schedules().iter().collect();
        assert_eq!(distinct.len(), space.schedules().len());
        assert!(space.schedules().iter().all(|schedule| schedule.check(&class, Arch::SM_90A).is_ok()));
        assert_eq!(space.images().count() * 12, space.schedules().len());
    }
}
