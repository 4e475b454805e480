use super::*;
use crate::epilogue::Epilogue;
use crate::matmul::extents;
use crate::matmul::model::Machine;
use crate::matmul::problem::{Class, Layout, Problem};
use crate::operation;
use crate::space::Space;
use autokernel_core::{Arch, Dtype};

fn class(layout: Layout) -> Class {
    Problem::new(Dtype::Bf16, layout, Epilogue::identity()).class()
}

const FASTEST: Sm90Schedule = Sm90Schedule {
    tile_n: 256,
    consumers: 2,
    cluster_m: 2,
    raster: Raster { order: RasterOrder::AlongM, group: 8 },
    ..Sm90Schedule::PLAIN
};

/// For a single row: 128 tiles of 64 columns in a matrix of 8192, each on four blocks.
const DECODE: Sm90Schedule = Sm90Schedule {
    tile_m: 8,
    tile_n: 64,
    stages: 16,
    consumers: 1,
    cluster_m: 1,
    swap_ab: true,
    splits: true,
    split_k: 4,
    ..FASTEST
};

const ALONE: &str = "split_k_is_cooperative_without_multicast";

fn broken(schedule: Sm90Schedule, layout: Layout) -> &'static str {
    Schedule::Sm90(schedule).check(&class(layout), Arch::SM_90A).unwrap_err().rule
}

#[test]
fn the_default_of_every_arch_is_valid_for_every_class() {
    for arch in ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"] {
        let arch: Arch = arch.parse().unwrap();
        for (layout, output) in [(Layout::Nn, Dtype::F32), (Layout::Nt, Dtype::F32), (Layout::Nn, Dtype::Bf16)] {
            let class = Class { output, ..class(layout) };
            assert_eq!(Schedule::default_for(&class, arch).check(&class, arch), Ok(()), "{arch} {layout}");
        }
    }
}

#[test]
fn each_impossible_schedule_is_refused_by_the_name_of_its_rule() {
    let nn = Layout::Nn;
    assert_eq!(broken(Sm90Schedule { consumers: 4, ..FASTEST }, nn), "consumers_one_to_three");
    assert_eq!(broken(Sm90Schedule { tile_m: 96, ..FASTEST }, nn), "tile_m_splits_into_wgmma_blocks");
    assert_eq!(broken(Sm90Schedule { tile_n: 100, ..FASTEST }, nn), "tile_n_is_a_wgmma_width");
    assert_eq!(broken(Sm90Schedule { tile_n: 96, ..FASTEST }, nn), "row_major_b_takes_whole_swizzle_rows");
    assert_eq!(broken(Sm90Schedule { tile_m: 256, ..FASTEST }, nn), "accumulators_fit_registers");
    assert_eq!(broken(Sm90Schedule { cluster_n: 2, ..FASTEST }, nn), "cluster_of_one_two_or_four_in_a_row");
    assert_eq!(broken(Sm90Schedule { cluster_m: 3, ..FASTEST }, nn), "cluster_of_one_two_or_four_in_a_row");
    assert_eq!(broken(Sm90Schedule { stages: 1, ..FASTEST }, nn), "stages_two_to_sixteen");
    assert_eq!(broken(Sm90Schedule { stages: 5, ..FASTEST }, nn), "shared_memory_fits");
    let group = Raster { group: 0, ..FASTEST.raster };
    assert_eq!(broken(Sm90Schedule { raster: group, ..FASTEST }, nn), "raster_group_in_range");
}

#[test]
fn each_impossible_swap_or_split_is_refused_by_the_name_of_its_rule() {
    let (nn, nt) = (Layout::Nn, Layout::Nt);
    assert_eq!(broken(Sm90Schedule { tile_n: 96, ..DECODE }, nt), "swapped_tile_n_splits_into_wgmma_blocks");
    assert_eq!(broken(Sm90Schedule { consumers: 2, ..DECODE }, nn), "swapped_tile_n_splits_into_wgmma_blocks");
    assert_eq!(broken(Sm90Schedule { tile_m: 12, ..DECODE }, nn), "swapped_tile_m_is_a_wgmma_width");
    let shared_tokens = Sm90Schedule { cluster_n: 2, split_k: 1, ..DECODE };
    assert_eq!(broken(shared_tokens, nn), "cluster_slices_a_in_whole_swizzle_atoms");
    assert_eq!(broken(Sm90Schedule { split_k: 0, ..DECODE }, nn), "split_k_one_to_eight");
    assert_eq!(broken(Sm90Schedule { split_k: 9, ..DECODE }, nn), "split_k_one_to_eight");
    assert_eq!(broken(Sm90Schedule { splits: false, ..DECODE }, nn), "split_k_one_to_eight");
    assert_eq!(broken(Sm90Schedule { splits: true, split_k: 1, ..FASTEST }, nn), ALONE);
    assert_eq!(broken(Sm90Schedule { cluster_m: 2, tile_n: 128, ..DECODE }, nn), ALONE);
    let ping_pong = Sm90Schedule { consumers: 2, mode: Mode::PingPong, ..DECODE };
    assert_eq!(broken(ping_pong, nn), ALONE);
    let shallow = Sm90Schedule { stages: 2, cluster_m: 1, splits: true, split_k: 8, ..FASTEST };
    assert_eq!(broken(shallow, nn), "split_k_partials_fit_the_ring");
    assert_eq!(broken(Sm90Schedule { tile_m: 256, tile_n: 192, ..shallow }, nn), "accumulators_fit_registers");
}

#[test]
fn an_image_that_splits_takes_every_split_whose_partial_sums_fit_its_ring() {
    let taken = |schedule: Sm90Schedule| {
        let check = |split_k: &u32| {
            let schedule = Schedule::Sm90(Sm90Schedule { split_k: *split_k, ..schedule });
            schedule.check(&class(Layout::Nt), Arch::SM_90A).is_ok()
        };
        (1..=9).filter(check).collect::<Vec<u32>>()
    };
    assert_eq!(taken(DECODE), [1, 2, 3, 4, 5, 6, 7, 8]);
    // Of eight warps one block in seven finishes two: sums of twelve come to it, in a ring that holds ten.
    let shallow =
        Sm90Schedule { tile_m: 128, tile_n: 128, stages: 3, consumers: 2, splits: true, ..Sm90Schedule::PLAIN };
    assert_eq!(taken(Sm90Schedule { stages: 3, ..shallow }), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(taken(Sm90Schedule { stages: 2, ..shallow }), [1, 2, 3, 4, 5, 8]);
    let images =
        [1, 4, 7].map(|split_k| crate::Schedule::from(Schedule::Sm90(Sm90Schedule { split_k, ..DECODE })).image());
    assert!(images[0] == images[1] && images[1] == images[2] && images[0].value("splits") == Some(1));
}

#[test]
fn what_no_clusters_can_share_is_refused_by_the_name_of_its_rule() {
    let shared = Sm90Schedule { stream_k: true, shared_waves: 2, tile_n: 192, cluster_m: 1, ..FASTEST };
    let check = |schedule: Sm90Schedule| Schedule::Sm90(schedule).check(&class(Layout::Nn), Arch::SM_90A);
    assert_eq!(check(shared), Ok(()));
    assert_eq!(check(Sm90Schedule { shared_waves: 0, ..shared }), Ok(()));
    assert_eq!(broken(Sm90Schedule { shared_waves: 3, ..shared }, Layout::Nn), "shared_waves_up_to_two");
    assert_eq!(broken(Sm90Schedule { stream_k: false, ..shared }, Layout::Nn), "shared_waves_up_to_two");
    let split = Sm90Schedule { stream_k: true, splits: true, split_k: 2, ..DECODE };
    assert_eq!(broken(split, Layout::Nn), "stream_k_splits_no_other_way");
    assert_eq!(check(FASTEST), Ok(()));
    assert_eq!(broken(Sm90Schedule { stream_k: true, ..FASTEST }, Layout::Nn), "accumulators_fit_registers");
}

#[test]
fn schedules_that_share_other_waves_share_an_image_whose_waves_are_whole() {
    let [one, two] = [1, 2].map(|shared_waves| {
        crate::Schedule::from(Schedule::Sm90(Sm90Schedule { stream_k: true, shared_waves, ..FASTEST }))
    });
    assert_eq!(one.image(), two.image());
    assert_eq!(one.image().value("shared_waves"), Some(0));
    assert_ne!(one.image(), crate::Schedule::from(Schedule::Sm90(FASTEST)).image());
}

#[test]
fn a_line_names_swap_and_split_only_where_they_are_used() {
    assert_eq!(Schedule::Sm90(FASTEST).to_string(), "sm90 128x256 s4 c2 cooperative cluster 2x1 along_m/8");
    let line = "sm90 8x64 s16 c1 cooperative cluster 1x1 swap_ab split_k 4 along_m/8";
    assert_eq!(Schedule::Sm90(DECODE).to_string(), line);
    let line = "sm90 8x64 s16 c1 cooperative cluster 1x1 swap_ab splits along_m/8";
    assert_eq!(Schedule::Sm90(Sm90Schedule { split_k: 1, ..DECODE }).to_string(), line);
    let shared = Sm90Schedule { stream_k: true, shared_waves: 2, ..FASTEST };
    let line = "sm90 128x256 s4 c2 cooperative cluster 2x1 stream_k shared_waves 2 along_m/8";
    assert_eq!(Schedule::Sm90(shared).to_string(), line);
}

#[test]
fn the_hopper_space_has_swapped_and_split_images_and_stays_small_enough_to_record() {
    for (layout, most) in [(Layout::Nn, 900), (Layout::Nt, 1800)] {
        let class = class(layout);
        let space = Space::new(Family::Sm90, &class, Arch::SM_90A);
        let typed = |schedule: crate::Schedule| Sm90Schedule::try_from(&schedule).expect("the space is of this family");
        let forms: Vec<Sm90Schedule> = space.forms().map(typed).collect();
        let swapped = forms.iter().filter(|form| form.swap_ab).count();
        let split = forms.iter().filter(|form| form.split_k > 1).count();
        assert!(swapped > 100 && split > 100 && forms.len() < most, "{swapped} {split} {}", forms.len());
        let splitting = space.images().map(typed).filter(|image| image.splits).count();
        assert!(splitting > 30 && splitting * 2 < split, "{splitting} images have {split} splits");
    }
}

#[test]
fn a_body_that_takes_the_name_of_a_cheap_epilogue_is_held_to_what_it_costs() {
    let full = Schedule::Sm90(Sm90Schedule { tile_m: 256, tile_n: 192, stages: 3, cluster_m: 1, ..FASTEST });
    let relu = Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).class();
    assert_eq!(full.check(&relu, Arch::SM_90A), Ok(()));
    let costly = serde_json::json!({"name": "relu", "cost": {"registers": 16, "special_functions": 1}});
    let own = Class { epilogue: serde_json::from_value(costly).unwrap(), ..relu };
    assert_eq!(full.check(&own, Arch::SM_90A).unwrap_err().rule, "accumulators_fit_registers");
}

#[test]
fn a_hopper_schedule_is_refused_on_other_archs() {
    let error = Schedule::Sm90(FASTEST).check(&class(Layout::Nn), Arch::SM_80).unwrap_err();
    assert_eq!(error.rule, "family_serves_arch");
}

#[test]
fn floats_of_8_bits_have_schedules_from_8_9_on_and_their_own_for_every_size() {
    let class = |input, layout| Problem::new(input, layout, "identity".parse().unwrap()).class();
    let narrow = class(Dtype::E4m3, Layout::Nt);
    assert_eq!(operation::Class::families(&narrow, Arch::SM_90A), [Family::Sm90]);
    assert_eq!(operation::Class::families(&narrow, Arch::SM_89), [Family::Sm80]);
    let (default, portfolio) =
        (operation::Class::default_schedule(&narrow, Arch::SM_89), operation::Class::portfolio(&narrow, Arch::SM_89));
    assert_eq!(portfolio.len(), 5, "each of them keeps the rules");
    for schedule in portfolio.into_iter().chain([default]) {
        assert_eq!(operation::Class::check(&narrow, &schedule, Arch::SM_89), Ok(()));
        let broken = operation::Class::check(&narrow, &schedule, Arch::SM_80).unwrap_err();
        assert!(broken.rule == "factors_are_multiplied_by_mma" && broken.to_string().contains("sm_89"), "{broken}");
        let turned = operation::Class::check(&narrow, &schedule, Arch::SM_90A).unwrap_err();
        assert!(turned.rule == "factors_are_multiplied_by_mma" && turned.to_string().contains("sm90"), "{turned}");
    }
    assert!(operation::Class::families(&narrow, Arch::SM_80).is_empty());
    let wide = class(Dtype::Bf16, Layout::Nt);
    assert_eq!(operation::Class::distance(&narrow, &wide), None);
    assert_eq!(operation::Class::distance(&narrow, &class(Dtype::E5m2, Layout::Nt)), Some(2));

    let portfolio = operation::Class::portfolio(&narrow, Arch::SM_90A);
    assert_eq!(portfolio.len(), 9 + 11, "each of them keeps the rules, and each height of the one of several");
    assert!(portfolio.iter().all(|schedule| operation::Class::check(&narrow, schedule, Arch::SM_90A).is_ok()));
    assert!(operation::Class::portfolio(&wide, Arch::SM_90A).is_empty());

    let refused = |class: &Class, schedule: Schedule, arch| schedule.check(class, arch).unwrap_err().rule;
    let small = Sm90Schedule { tile_m: 64, tile_n: 64, ..Sm90Schedule::PLAIN };
    let row_major = class(Dtype::E4m3, Layout::Nn);
    assert_eq!(refused(&row_major, small.into(), Arch::SM_90A), "layout_is_one_that_wgmma_reads");
    let portable = Schedule::default_for(&wide, Arch::SM_80);
    assert_eq!(refused(&narrow, portable, Arch::SM_80), "factors_are_multiplied_by_mma");
    assert_eq!(Schedule::from(small).geometry(&narrow).tile_k, 128);
}

#[test]
fn every_portable_type_has_schedules_as_deep_in_bytes_of_which_those_that_ship_fit_the_smallest_gpus() {
    for (input, depths) in [(Dtype::Bf16, [32, 64]), (Dtype::I8, [64, 128]), (Dtype::F32, [16, 32])] {
        let class = Problem::new(input, Layout::Nt, "identity".parse().unwrap()).class();
        for arch in ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"].map(|arch| arch.parse().unwrap()) {
            assert!(operation::Class::families(&class, arch).contains(&Family::Sm80), "{input} on {arch}");
        }
        let sm_86: Arch = "sm_86".parse().unwrap();
        let portfolio = operation::Class::portfolio(&class, sm_86);
        assert_eq!(portfolio.len(), if input == Dtype::Bf16 { 6 } else { 5 }, "each of them keeps the rules");
        for schedule in portfolio.into_iter().chain([operation::Class::default_schedule(&class, sm_86)]) {
            assert_eq!(operation::Class::check(&class, &schedule, sm_86), Ok(()), "{input}");
        }
        let found: std::collections::BTreeSet<u32> = Space::new(Family::Sm80, &class, sm_86)
            .schedules()
            .iter()
            .map(|schedule| Sm80Schedule::try_from(schedule).unwrap().tile_k)
            .collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), depths, "{input}");
    }
}

#[test]
fn few_rows_take_tiles_of_few_rows_and_many_take_large_ones_on_an_ampere() {
    let capability = autokernel_core::ComputeCapability::new(8, 0);
    let machine = Machine { capability, sm_count: 108, matrix_tflops: 312.0, memory_gb_per_s: 2039.0 };
    let class = Problem::new(Dtype::I8, Layout::Nt, Epilogue::identity()).class();
    let tile_of = |m| {
        let ms = |schedule: &crate::Schedule| {
            let forecast = operation::Class::forecast(&class, schedule, None, machine).unwrap();
            forecast.launched_ms(&extents(m, 4096, 4096))
        };
        let carried = operation::Class::portfolio(&class, Arch::SM_80);
        let fastest = carried.iter().min_by(|left, right| ms(left).total_cmp(&ms(right))).unwrap();
        let Sm80Schedule { tile_m, tile_n, .. } = Sm80Schedule::try_from(fastest).unwrap();
        (tile_m, tile_n)
    };
    assert_eq!(tile_of(8).0, 32);
    assert!(tile_of(4096).0 == 128 && tile_of(4096).1 >= 128, "{:?}", tile_of(4096));
}

#[test]
fn other_elements_than_those_of_16_bits_lie_along_k_in_the_portable_family_too() {
    let class = |input, layout| Problem::new(input, layout, "identity".parse().unwrap()).class();
    let along = class(Dtype::I8, Layout::Nt);
    let schedule = Schedule::default_for(&along, Arch::SM_80);
    assert_eq!(schedule.check(&along, Arch::SM_80), Ok(()));
    let broken = |input, layout| schedule.check(&class(input, layout), Arch::SM_80).unwrap_err();
    assert_eq!(broken(Dtype::I8, Layout::Nn).rule, "layout_is_one_that_ldmatrix_reads");
    let shallow = Sm80Schedule { tile_k: 32, ..Sm80Schedule::try_from(&crate::Schedule::from(schedule)).unwrap() };
    let broken = Schedule::from(shallow).check(&along, Arch::SM_80).unwrap_err().to_string();
    assert!(broken.contains("tile_k of i8 is 64 or 128"), "{broken}");
}

#[test]
fn whole_numbers_take_the_widths_that_wgmma_has_of_them() {
    let class = |input| Problem::new(input, Layout::Nt, "identity".parse().unwrap()).class();
    let whole = class(Dtype::I8);
    let check = |schedule: Sm90Schedule| Schedule::from(schedule).check(&whole, Arch::SM_90A).map_err(|it| it.rule);
    let plain = Sm90Schedule { tile_m: 64, ..Sm90Schedule::PLAIN };
    for tile_n in [24, 32, 48, 208, 256] {
        assert_eq!(check(Sm90Schedule { tile_n, ..plain }), Ok(()), "{tile_n}");
    }
    let swapped = Sm90Schedule { tile_n: 64, swap_ab: true, ..plain };
    assert_eq!(check(Sm90Schedule { tile_m: 8, ..swapped }), Ok(()));
    for refused in [Sm90Schedule { tile_n: 40, ..plain }, Sm90Schedule { tile_m: 56, ..swapped }] {
        assert_eq!(check(refused), Err("width_is_one_of_whole_numbers"));
        assert!(Schedule::from(refused).check(&class(Dtype::E4m3), Arch::SM_90A).is_ok());
    }
    assert_eq!(
        operation::Class::portfolio(&whole, Arch::SM_90A).len(),
        9 + 6,
        "heights of 40 and 56 rows are left out"
    );
}

#[test]
fn a_portfolio_of_times_after_rests_has_tiles_beside_it_that_lead_under_load_where_these_were_measured() {
    let tiles = |input, layout, arch| {
        let class = Problem::new(input, layout, Epilogue::identity()).class();
        let of = crate::matmul::default::under_load(&class, arch).into_iter();
        let geometry = |it: crate::Schedule| Schedule::try_from(&it).unwrap().geometry(&class);
        of.map(geometry).map(|it| [it.tile_m, it.tile_n]).collect::<Vec<_>>()
    };
    assert_eq!(tiles(Dtype::Bf16, Layout::Nt, Arch::SM_90A), [[112, 192]]);
    assert_eq!(tiles(Dtype::F16, Layout::Nn, Arch::SM_90A), [[96, 192]]);
    assert!(tiles(Dtype::E4m3, Layout::Nt, Arch::SM_90A).is_empty());
    assert!(tiles(Dtype::Bf16, Layout::Nt, Arch::SM_80).is_empty());
}

#[test]
fn absurd_numbers_break_a_rule_and_do_not_overflow() {
    let huge = Sm90Schedule { tile_m: u32::MAX, tile_n: u32::MAX, stages: u32::MAX, ..FASTEST };
    assert!(Schedule::Sm90(huge).check(&class(Layout::Nn), Arch::SM_90A).is_err());
    assert_eq!(broken(Sm90Schedule { stages: u32::MAX, ..FASTEST }, Layout::Nn), "stages_two_to_sixteen");
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
        let class = crate::Class::from(class);
        assert!(space.schedules().iter().all(|schedule| class.check(schedule, Arch::SM_90A).is_ok()));
        assert_eq!(space.forms().count() * 12, space.schedules().len());
        assert!(space.images().count() <= space.forms().count());
    }
}
