use autokernel_core::{Arch, ComputeCapability, Dtype};

use super::copies::Begins;
use super::*;
use crate::matmul::extents::{batched_extents, extents};
use crate::matmul::problem::{Class, Layout, Problem};
use crate::matmul::schedule::{Mode, Raster, RasterOrder, Schedule, SkinnySchedule, Sm80Schedule, Sm90Schedule};

const H200: Machine =
    Machine { capability: ComputeCapability::new(9, 0), sm_count: 132, matrix_tflops: 989.4, memory_gb_per_s: 4800.0 };
const MODEL: Model = Model { machine: H200, constants: Constants::START };

fn class() -> Class {
    Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap()).class()
}

fn default() -> Sm90Schedule {
    match Schedule::default_for(&class(), Arch::SM_90A) {
        Schedule::Sm90(schedule) => schedule,
        Schedule::Sm80(_) | Schedule::Skinny(_) => panic!("sm_90a has a family of its own"),
    }
}

fn image_of(schedule: Sm90Schedule) -> Traits {
    Traits::new(&class(), &Schedule::Sm90(schedule))
}

fn ms(schedule: Sm90Schedule, m: u32, n: u32, k: u32) -> f64 {
    MODEL.predicted_ms(&Traits::new(&class(), &Schedule::Sm90(schedule)), &extents(m, n, k))
}

#[test]
fn nothing_is_faster_than_the_datasheet_allows() {
    for (m, n, k) in [(1, 4096, 4096), (128, 8192, 8192), (4096, 4096, 4096), (8192, 28672, 8192)] {
        let (operations, bytes) = (2.0 * f64::from(m) * f64::from(n) * f64::from(k), 2.0 * f64::from(k) * f64::from(n));
        let floor = (operations / (H200.matrix_tflops * 1e9)).max(bytes / (H200.memory_gb_per_s * 1e6));
        let predicted = ms(default(), m, n, k);
        assert!((floor..20.0 * floor + 0.05).contains(&predicted), "{m}x{n}x{k}: {predicted} ms, at least {floor}");
    }
}

#[test]
fn one_tile_more_than_a_wave_costs_a_wave() {
    let tiles = |rows: u32, columns: u32| ms(default(), 128 * rows, 128 * columns, 8192);
    assert!(tiles(12, 12) > 1.5 * tiles(12, 11));
    assert!(tiles(12, 11) < 1.1 * tiles(12, 10));
}

#[test]
fn a_split_of_k_pays_where_few_tiles_have_a_long_sum_and_not_where_tiles_abound() {
    let split = Sm90Schedule { splits: true, split_k: 4, stages: 6, ..default() };
    assert!(ms(split, 128, 2048, 8192) < ms(default(), 128, 2048, 8192));
    assert!(ms(split, 4096, 4096, 1024) > ms(default(), 4096, 4096, 1024));
}

#[test]
fn a_split_that_no_rule_allows_is_predicted_as_none() {
    let split = |split_k| Sm90Schedule { splits: true, split_k, stages: 6, ..default() };
    assert_eq!(ms(split(0), 128, 2048, 8192), ms(split(1), 128, 2048, 8192));
}

fn shared() -> (Traits, Sm90Schedule) {
    let whole = Sm90Schedule { tile_n: 256, consumers: 2, ..Sm90Schedule::PLAIN };
    (Traits::new(&class(), &Schedule::Sm90(Sm90Schedule { stream_k: true, ..whole })), whole)
}

#[test]
fn a_wave_that_is_mostly_empty_is_shared_with_the_one_before_and_a_full_one_is_not() {
    let (image, whole) = shared();
    // 160 tiles of 128x256 on 132 SMs, and 264.
    assert_eq!(MODEL.shared_waves(&image, &extents(523, 8192, 8192)), 2);
    assert_eq!(MODEL.shared_waves(&image, &extents(128 * 12, 256 * 22, 8192)), 0);
    let ratio = |m, n, k| MODEL.predicted_ms(&image, &extents(m, n, k)) / ms(whole, m, n, k);
    assert!((0.6..0.85).contains(&ratio(523, 8192, 8192)), "{}", ratio(523, 8192, 8192));
    assert_eq!(ratio(128 * 12, 256 * 22, 8192), 1.0);
}

#[test]
fn a_short_sum_is_not_worth_an_exchange() {
    let (image, whole) = shared();
    assert_eq!(MODEL.shared_waves(&image, &extents(523, 8192, 256)), 0);
    assert_eq!(MODEL.predicted_ms(&image, &extents(523, 8192, 256)), ms(whole, 523, 8192, 256));
}

#[test]
fn sharing_is_never_predicted_to_cost_more_than_whole_tiles() {
    let (image, whole) = shared();
    for m in (64..2048).step_by(97) {
        for k in [64, 1000, 4096, 20_000] {
            assert!(MODEL.predicted_ms(&image, &extents(m, 5120, k)) <= ms(whole, m, 5120, k), "{m}, {k}");
        }
    }
}

#[test]
fn small_tiles_serve_a_few_rows_and_large_ones_many() {
    let small = Sm90Schedule { tile_m: 16, tile_n: 64, consumers: 1, swap_ab: true, stages: 8, ..default() };
    assert!(ms(small, 8, 8192, 8192) < ms(default(), 8, 8192, 8192));
    assert!(ms(small, 4096, 8192, 8192) > ms(default(), 4096, 8192, 8192));
}

#[test]
fn every_schedule_of_the_default_archs_has_a_time() {
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let image = Traits::new(&class(), &Schedule::default_for(&class(), arch));
        for (m, n, k) in [(1, 1, 1), (1, 1, 1 << 20), (1 << 20, 1, 1), (4095, 4097, 4099)] {
            let predicted = MODEL.predicted_ms(&image, &extents(m, n, k));
            assert!(predicted.is_finite() && predicted > 0.0, "{arch} {m}x{n}x{k}: {predicted}");
        }
    }
}

#[test]
fn tiles_that_run_side_by_side_are_about_a_square_of_few_rows_and_columns() {
    let raster = |tile_m, m, n| {
        let tile = Sm90Schedule { tile_m, tile_n: 128, swap_ab: tile_m != 128, ..Sm90Schedule::PLAIN };
        image_of(tile).raster(&extents(m, n, 4096), &MODEL.machine)
    };
    let [along_m, along_n] = [RasterOrder::AlongM, RasterOrder::AlongN];
    let few = raster(128, 300, 4096);
    assert_eq!((few.order, few.group >= 3), (along_m, true), "three rows of tiles in one group");
    let few = raster(128, 8192, 512);
    assert_eq!((few.order, few.group >= 4), (along_n, true), "four columns of tiles");
    // An H100 took 36.1 us of 12 rows in one group and 29.2 of four, of 16 rows 369 and 277 (nt and nn, regret-seed303-trials).
    for (tile_m, m, n) in [(128, 1489, 1280), (112, 1775, 4096), (176, 2320, 3584), (128, 8192, 8192)] {
        let chosen = raster(tile_m, m, n);
        assert!((3..=8).contains(&chosen.group), "{chosen:?} at {m}x{n}");
    }
}

#[test]
fn rows_of_c_that_begin_between_sectors_are_stored_slowly_and_most_so_by_transposed_tiles() {
    let plain = Sm90Schedule { mode: Mode::PingPong, consumers: 2, stages: 6, ..default() };
    let swapped = Sm90Schedule { swap_ab: true, ..plain };
    let slower = |schedule, n| ms(schedule, 32_000, n, 128) / ms(schedule, 32_000, 896, 128);
    let (of_plain, of_swapped) = (slower(plain, 888), slower(swapped, 888));
    assert!((1.05..1.5).contains(&of_plain), "{of_plain}");
    assert!((1.3..3.0).contains(&of_swapped) && of_swapped > of_plain, "{of_swapped}");
    let of_long_sums = ms(swapped, 32_000, 888, 8192) / ms(swapped, 32_000, 896, 8192);
    assert!((0.9..1.1).contains(&of_long_sums), "the other consumer multiplies meanwhile: {of_long_sums}");
}

#[test]
fn stores_behind_short_sums_take_as_long_whoever_waits_for_them_and_behind_long_ones_they_are_hidden_by_ping_pong() {
    let shared = Sm90Schedule { consumers: 2, stages: 6, ..default() };
    let in_turn = Sm90Schedule { mode: Mode::PingPong, ..shared };
    let faster = |k| ms(shared, 32_000, 896, k) / ms(in_turn, 32_000, 896, k);
    assert!((1.0..1.08).contains(&faster(64)), "{}", faster(64));
    let saved = |k| ms(shared, 32_000, 896, k) - ms(in_turn, 32_000, 896, k);
    assert!(saved(1024) > 2.0 * saved(64), "{} and {} ms", saved(1024), saved(64));
}

#[test]
fn what_is_written_takes_the_memory_once() {
    // 117 MB, nearly all of it results, at 4.1 TB/s.
    let written = ms(Sm90Schedule { tile_n: 256, consumers: 2, ..Sm90Schedule::PLAIN }, 32_000, 1792, 64);
    assert!((0.028..0.045).contains(&written), "{written}");
}

#[test]
fn rows_along_k_that_begin_between_sectors_are_asked_for_by_each_sm_and_by_blocks_that_share_once() {
    let plain = Sm90Schedule { stages: 6, ..default() };
    let pair = Sm90Schedule { cluster_m: 2, ..plain };
    let slower = |schedule, k| ms(schedule, 8192, 2048, k) / ms(schedule, 8192, 2048, 1024);
    assert!(slower(plain, 1016) > 1.2 && slower(plain, 1008) < slower(plain, 1016));
    assert!(slower(pair, 1016) < slower(plain, 1016), "{} and {}", slower(pair, 1016), slower(plain, 1016));
}

#[test]
fn groups_of_any_size_are_walked_over_as_many_tiles_are() {
    let of_products = Traits::new(&class(), &Schedule::Sm90(default()));
    let of_groups = Traits { of_groups: true, ..of_products.clone() };
    let group = |image: &Traits| image.raster(&extents(1664, 14336, 4096), &MODEL.machine).group;
    assert_eq!(group(&of_groups), 8);
    assert_ne!(group(&of_products), 8);
}

#[test]
fn tiles_that_share_lines_of_many_results_do_not_run_side_by_side() {
    let image = Traits::new(&class(), &Schedule::Sm90(default()));
    let order = |n, k| image.raster(&extents(2904, n, k), &MODEL.machine).order;
    let [along_m, along_n] = [RasterOrder::AlongM, RasterOrder::AlongN];
    assert_eq!((order(1000, 48), order(1000, 4096), order(1024, 48)), (along_m, along_n, along_n));
}

#[test]
fn rows_behind_a_group_cost_what_loading_them_does_and_rows_past_an_edge_more() {
    let image = Traits::new(&class(), &Schedule::Sm90(default()));
    let of_groups = Load::of_equal_groups(&crate::matmul::extents::grouped_extents(64, 64 * 100, 4096, 4096));
    let of_products = Load { next_rows_follow: false, ..of_groups };
    let copies = Copies::new(&image, &of_groups);
    let requested = |load: &Load| MODEL.requested(&image, load, &copies);
    assert_eq!(requested(&of_groups), requested(&Load { sizes: [128, 4096, 4096], ..of_products }));
    assert!(requested(&of_products) > requested(&of_groups));
}

#[test]
fn a_long_sum_by_mma_sync_takes_longer_on_hopper_than_on_a_gpu_of_the_same_figures_without_wgmma() {
    let image = Traits::new(&class(), &Schedule::default_for(&class(), Arch::SM_80));
    let on = |major, minor| {
        let machine = Machine { capability: ComputeCapability::new(major, minor), ..H200 };
        Model { machine, ..MODEL }.predicted_ms(&image, &extents(8192, 8192, 8192))
    };
    assert!(on(9, 0) > 1.1 * on(8, 0), "{} and {} ms", on(9, 0), on(8, 0));
}

#[test]
fn an_sm_holds_the_blocks_that_its_own_compute_capability_has_room_for() {
    let held = |schedule: Schedule| {
        let image = Traits::new(&class(), &schedule);
        [(8, 0), (8, 6), (8, 9), (9, 0), (12, 0)].map(|(major, minor)| {
            let gpu = ComputeCapability::new(major, minor);
            image.blocks_per_sm(gpu)
        })
    };
    let tile = |tile_m, tile_n| Sm80Schedule {
        tile_m,
        tile_n,
        tile_k: 32,
        warps_m: 2,
        warps_n: 2,
        stages: 4,
        raster: Raster::PLAIN,
    };
    assert_eq!(held(tile(128, 128).into()), [2, 1, 1, 2, 1], "rings of 64 KiB, and 208 registers a thread");
    assert_eq!(held(tile(64, 64).into()), [4, 3, 3, 4, 3], "rings of 32 KiB, and 112 registers a thread");
    let skinny = SkinnySchedule {
        tile_m: 8,
        tile_n: 16,
        tile_k: 4096,
        warps: 8,
        stages: 2,
        overlap: false,
        raster: Raster::PLAIN,
    };
    let [ampere, _, ada, hopper, _] = held(skinny.into());
    assert!(ada < ampere && ampere <= hopper, "{ada}, {ampere} and {hopper}");
    assert_eq!(held(default().into()), [1; 5], "one that stays");
}

#[test]
fn rows_past_an_edge_cost_more_than_rows_that_are_there() {
    let tile = Sm90Schedule { tile_m: 128, tile_n: 64, consumers: 1, swap_ab: true, stages: 8, ..default() };
    assert!(ms(tile, 8, 8192, 7168) > 1.1 * ms(tile, 128, 8192, 7168));
    assert!(ms(tile, 136, 8192, 7168) > ms(tile, 256, 8192, 7168));
}

#[test]
fn neighbours_that_load_the_same_ask_for_it_once_and_those_that_share_a_sum_have_nothing_in_common() {
    let lined = Copies { bytes: 0.0, a_begins: Begins::AtLines, b_begins: Begins::AtLines };
    let requested = |schedule: Sm90Schedule, m| {
        MODEL.requested(
            &Traits::new(&class(), &Schedule::Sm90(schedule)),
            &Load::of_products(&extents(m, 8192, 8192)),
            &lined,
        )
    };
    let plain = Sm90Schedule { tile_m: 64, ..Sm90Schedule::PLAIN };
    // Of two bytes each.
    assert_eq!(requested(plain, 128), 2.0 * (64.0 + 128.0 / 2.0));
    assert_eq!(requested(plain, 64), 2.0 * (64.0 / 2.0 + 128.0));
    assert_eq!(requested(Sm90Schedule { splits: true, split_k: 2, ..plain }, 128), 2.0 * (64.0 + 128.0));
    assert_eq!(requested(Sm90Schedule { cluster_m: 2, ..plain }, 128), 2.0 * (64.0 + 128.0 / 2.0));
}

#[test]
fn a_launch_takes_the_split_of_its_image_that_is_predicted_to_be_fastest() {
    let tile = Sm90Schedule { tile_m: 32, tile_n: 64, stages: 12, swap_ab: true, splits: true, ..Sm90Schedule::PLAIN };
    let of = |schedule| forecast(&class(), Schedule::Sm90(schedule), None, H200).unwrap();
    let (image, mut chosen) = (of(tile), std::collections::BTreeSet::new());
    for shape in [
        (27, 1280, 5120),
        (27, 3584, 5120),
        (64, 768, 8192),
        (32, 8192, 256),
        (32, 16384, 4096),
        (4096, 4096, 4096),
        (1, 64, 1),
    ] {
        let extents = extents(shape.0, shape.1, shape.2);
        let alone = [2, 4, 8].map(|split_k| of(Sm90Schedule { split_k, ..tile }).predicted_ms(&extents));
        let knobs = image.launch_knobs(&extents);
        let split = knobs.iter().find(|(name, _)| *name == "split_k").unwrap().1;
        let least = alone.into_iter().fold(f64::INFINITY, f64::min);
        assert_eq!((image.launched_ms(&extents), alone[split.ilog2() as usize - 1]), (least, least), "{shape:?}");
        assert_eq!(of(Sm90Schedule { split_k: 4, ..tile }).launched_ms(&extents), least, "whatever its own split");
        chosen.insert(split);
    }
    assert!(chosen.contains(&2) && chosen.contains(&4), "{chosen:?}");
    let whole = of(Sm90Schedule { splits: false, ..tile });
    assert_eq!(whole.launch_knobs(&extents(27, 1280, 5120))[0], ("split_k", 1));
}

#[test]
fn copies_of_what_begins_anywhere_take_the_time_that_was_measured() {
    let problem = Problem::new(Dtype::Bf16, Layout::Nn, "identity".parse().unwrap());
    let tile = Sm90Schedule { tile_m: 16, tile_n: 128, stages: 8, swap_ab: true, ..Sm90Schedule::PLAIN };
    let image = Traits::new(&problem.class(), &Schedule::Sm90(tile));
    let ms = |n| MODEL.predicted_ms(&image, &extents(16, n, 2048));
    assert!(ms(50_266) > 2.0 * ms(50_264), "{} {}", ms(50_266), ms(50_264));
    assert!((0.15..0.21).contains(&ms(50_266)), "0.178 ms were measured: {}", ms(50_266));
}

#[test]
fn bytes_that_a_body_reads_are_counted() {
    let image = Traits::new(&class(), &Schedule::from(default()));
    let with_matrix = Traits { body_bytes: 4.0, ..image.clone() };
    let load = Load::of_products(&extents(100, 200, 64));
    assert_eq!(load.bytes(&with_matrix) - load.bytes(&image), 4.0 * 100.0 * 200.0);
}

#[test]
fn a_body_takes_its_time_of_each_tile_of_consumers_that_share_it_and_is_hidden_in_ping_pong_but_for_the_last() {
    let extra_us = |schedule: Sm90Schedule| {
        let image = image_of(schedule);
        let with_body = Traits { body_ns: 0.5, ..image.clone() };
        let [with_body, without] = [with_body, image].map(|it| MODEL.predicted_ms(&it, &extents(4096, 4096, 4096)));
        (with_body - without) * 1e3
    };
    let shared = Sm90Schedule { tile_m: 128, tile_n: 256, stages: 4, consumers: 2, ..default() };
    let in_turn = Sm90Schedule { tile_m: 128, tile_n: 128, stages: 6, mode: Mode::PingPong, consumers: 2, ..default() };
    // Four tiles an SM, each consumer half of one: 8.2 us. Eight tiles, each by one consumer: 8.2 us, a tenth of it but for the last.
    let (of_shared, of_turns) = (extra_us(shared), extra_us(in_turn));
    assert!((30.0..33.0).contains(&of_shared), "{of_shared}");
    assert!((12.0..14.0).contains(&of_turns), "{of_turns}");
}

#[test]
fn a_split_of_k_costs_memory_where_several_rows_of_tiles_read_the_same_columns() {
    let tile = Sm90Schedule { tile_m: 64, tile_n: 64, consumers: 1, swap_ab: true, stages: 12, ..default() };
    let split = Sm90Schedule { splits: true, split_k: 2, ..tile };
    let ratio = |m| ms(split, m, 8192, 16_384) / ms(tile, m, 8192, 16_384);
    assert!(ratio(128) > 1.1 * ratio(64), "{} and {}", ratio(128), ratio(64));
}

#[test]
fn a_split_of_k_is_worth_less_with_three_rows_of_tiles_than_with_two() {
    // At 462x1536x6144 an H200 takes 24.0 us by such a split and 18.4 by whole tiles of 48 rows.
    let tile = Sm90Schedule { tile_m: 96, stages: 7, consumers: 2, swap_ab: true, ..default() };
    let split = Sm90Schedule { splits: true, split_k: 2, ..tile };
    let ratio = |m| ms(split, m, 1536, 6144) / ms(tile, m, 1536, 6144);
    assert!(ratio(288) > 1.05 * ratio(192), "{} and {}", ratio(288), ratio(192));
}

#[test]
fn three_rows_of_wide_tiles_cost_memory_and_so_lose_to_one_row_that_leaves_sms_idle() {
    // 120 tiles, and 80 of which each asks for as many rows of B as fill a tile: on an H200 52.0 and 44.8 us.
    let wide = Sm90Schedule { tile_m: 40, tile_n: 256, stages: 5, consumers: 2, swap_ab: true, ..default() };
    let tall = Sm90Schedule {
        tile_m: 128,
        tile_n: 128,
        stages: 6,
        consumers: 2,
        mode: Mode::PingPong,
        swap_ab: true,
        ..default()
    };
    assert!(ms(wide, 117, 10240, 8192) > ms(tall, 117, 10240, 8192));
    let costs = |tile_n| {
        ms(Sm90Schedule { tile_n, ..wide }, 81, 10240, 8192) / ms(Sm90Schedule { tile_n, ..wide }, 80, 10240, 8192)
    };
    assert!(costs(256) > 1.05 * costs(128), "{} and {}", costs(256), costs(128));
}

#[test]
fn one_row_of_tiles_is_taken_before_two_that_are_half_as_high() {
    let tile = Sm90Schedule { tile_n: 64, consumers: 1, swap_ab: true, stages: 12, ..default() };
    // What an H200 took: 5.4 and 5.9 µs of layout nn.
    assert!(
        ms(Sm90Schedule { tile_m: 40, ..tile }, 39, 3840, 1280)
            < ms(Sm90Schedule { tile_m: 24, ..tile }, 39, 3840, 1280)
    );
}

#[test]
fn a_split_of_eight_is_held_back_for_tiles_of_few_rows_and_not_for_tall_ones() {
    let all = |tile_m, split_k| {
        let tile = Sm90Schedule { tile_m, tile_n: 64, consumers: 1, swap_ab: true, stages: 8, ..default() };
        let image = image_of(Sm90Schedule { splits: true, split_k, ..tile });
        RowsOfTiles::new(&image, &Load::of_products(&extents(tile_m, 1536, 6144))).all()
    };
    for few in [16, 64] {
        assert!(all(few, 8) > all(few, 4) && all(few, 4) == all(few, 2) && all(few, 2) > all(few, 1), "{few} rows");
    }
    assert_eq!(all(160, 8), all(160, 1));
}

#[test]
fn many_rows_of_tiles_are_loaded_faster_where_sms_are_idle() {
    let image = Traits::new(&class(), &Schedule::Sm90(Sm90Schedule { tile_m: 64, ..Sm90Schedule::PLAIN }));
    let lined = Copies { bytes: 0.0, a_begins: Begins::AtLines, b_begins: Begins::AtLines };
    let loads = |m: u32, n: u32| {
        let extents = extents(m, n, 8192);
        MODEL.loads_ms(&image, &Load::of_products(&extents), &lined, &Turns::new(&image, &extents, &H200, 0))
    };
    let [of_two, of_many] = [(128, 44), (64 * 11, 8)].map(|(m, tiles)| loads(m, 128 * tiles));
    assert!((of_many / of_two - (88.0_f64 / 132.0).powf(1.2)).abs() < 1e-9, "{}", of_many / of_two);
    assert_eq!(loads(128, 128 * 66), loads(64 * 11, 128 * 12));
}

/// The image of `schedule` for a batch.
fn of_batches(schedule: Sm90Schedule) -> Traits {
    let mut image = Traits::new(&class(), &Schedule::Sm90(schedule));
    image.grid.axes.push(autokernel_core::plan::Axis { dim: crate::matmul::plan::BATCH, step: 1 });
    image
}

#[test]
fn a_tile_of_one_consumer_costs_more_in_a_batch_and_rows_past_an_edge_less_than_in_a_product() {
    let one = Sm90Schedule { tile_m: 64, tile_n: 160, stages: 6, ..Sm90Schedule::PLAIN };
    let image = of_batches(one);
    let (batch, of_two) = (batched_extents(209, 88, 920, 128), Traits { consumers: 2, ..image.clone() });
    let more = MODEL.predicted_ms(&image, &batch) - MODEL.predicted_ms(&of_two, &batch);
    let tiles_of_an_sm = (209.0 * 2.0 * 6.0 / 132.0_f64).ceil();
    assert!((more - 0.22e-3 * tiles_of_an_sm).abs() < 1e-9, "{more}");
    let padding = |count| MODEL.constants.of_load(&Load::of_products(&batched_extents(count, 8, 8192, 7168))).padding;
    assert!(padding(2) < padding(1) && padding(1) == MODEL.constants.padding);
}

#[test]
fn stores_of_a_batch_are_counted_as_far_as_tiles_are_there_in_whole_boxes_of_a_line() {
    let stored = |tile_n, [m, n]: [u32; 2], count| {
        let schedule = Sm90Schedule { tile_m: 192, tile_n, consumers: 3, ..Sm90Schedule::PLAIN };
        Load::of_products(&batched_extents(count, m, n, 88)).stored_of_tile(&of_batches(schedule))
    };
    assert_eq!(stored(160, [100, 72], 1), 1.0, "of one product nothing was seen");
    let whole = stored(192, [192, 192], 2);
    assert!((whole - 1.13).abs() < 1e-9, "{whole}");
    assert!((stored(192, [96, 192], 2) - (0.34 + 0.79 / 2.0)).abs() < 1e-9, "half of the rows");
    assert!((stored(192, [192, 72], 2) - (0.34 + 0.79 * 2.0 / 3.0)).abs() < 1e-9, "two of three boxes");
    assert!((stored(160, [192, 160], 2) - (0.34 + 0.79 * 1.2)).abs() < 1e-9, "three boxes in place of two and a half");
    assert!((stored(160, [192, 320], 2) - stored(160, [192, 160], 2)).abs() < 1e-9);
}

#[test]
fn a_pair_of_blocks_gains_more_where_rows_of_both_operands_straddle_lines() {
    // 128x128 by itself and in pairs at 4088x4104x4120: an H200 takes 339 and 237 us (nt).
    let alone = Sm90Schedule { stages: 6, consumers: 2, mode: Mode::PingPong, ..default() };
    let pair = Sm90Schedule { cluster_m: 2, ..alone };
    let gain = |k| ms(alone, 4088, 4104, k) / ms(pair, 4088, 4104, k);
    assert!(gain(4120) > 1.25 && gain(4120) > 1.1 * gain(4096), "{} and {}", gain(4120), gain(4096));
}
