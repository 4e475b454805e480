use autokernel_core::{Arch, Arg, Dtype, LaunchPlan, TileBox};
use expect_test::expect_file;

use super::*;
use crate::body::{self, Kind};
use crate::matmul::model::{Constants, Machine, Model, Traits};
use crate::matmul::problem::{Layout, Problem};
use crate::matmul::schedule::{Schedule, Sm90Schedule};
use crate::matmul::{self, emit, plan};
use crate::operation::{Class as _, Operation};
use crate::rows::cases::{name, reads, store, writes};

/// `out = dot(x, gate) * dot(x, up) + bias;`, the second one's factor before the first one's.
fn written() -> Written {
    let operands = vec![
        reads("up", Kind::Matrix, Dtype::Bf16),
        reads("x", Kind::Matrix, Dtype::Bf16),
        reads("gate", Kind::Matrix, Dtype::Bf16),
        reads("bias", Kind::Row, Dtype::F32),
        writes("out", Kind::Matrix, Dtype::Bf16),
    ];
    let steps = vec![store("out", name("gated") * name("raised") + name("bias"))];
    let product = Product::plain("gated", "x", "gate");
    let second = Some(Second::plain("raised", "up"));
    Written { product, second, body: body::Body { operands, steps, ..body::Body::default() } }
}

fn problem(layout: Layout) -> Problem {
    let plain = Problem::new(Dtype::Bf16, layout, "identity".parse().unwrap());
    Problem { body: Some(Body::new(written()).unwrap().into()), ..plain }
}

const WIDE: Sm90Schedule = Sm90Schedule { tile_n: 256, consumers: 2, cluster_m: 2, ..Sm90Schedule::PLAIN };

fn plan_of(schedule: Sm90Schedule, layout: Layout) -> LaunchPlan {
    emit::kernel(&problem(layout), &schedule.into()).1
}

#[test]
fn the_kernels_of_two_products_are_as_golden() {
    let problem = problem(Layout::Nt);
    let default = |arch| emit::emit(&problem, &Schedule::default_for(&problem.class(), arch)).cuda;
    expect_file!["../golden/two_products_sm90.cu"].assert_eq(&default(Arch::SM_90A));
    expect_file!["../golden/two_products_sm80.cu"].assert_eq(&default(Arch::SM_80));
    expect_file!["../golden/two_products_reference.cu"].assert_eq(&emit::emit_reference(&problem).cuda);
}

#[test]
fn a_body_of_two_products_is_the_same_after_json_and_one_of_a_single_product_says_nothing_of_a_second() {
    let body = Body::new(written()).unwrap();
    let json = serde_json::to_string(&body).unwrap();
    assert_eq!(serde_json::from_str::<Body>(&json).unwrap(), body);
    assert_eq!(body.factors(), [1, 2, 0]);
    let twice = json.replace(r#""b":"up""#, r#""b":"gate""#);
    let message = serde_json::from_str::<Body>(&twice).unwrap_err().to_string();
    assert!(message.contains("`gate` is the second factor of both products"), "{message}");

    let mut single = written();
    single.second = None;
    single.body.operands.remove(0);
    single.body.steps = vec![store("out", name("gated") + name("bias"))];
    let single = serde_json::to_string(&Body::new(single).unwrap()).unwrap();
    assert!(!single.contains("second"), "{single}");
}

#[test]
fn a_tile_covers_half_as_many_columns_of_c_as_it_stages_of_both_factors() {
    let plan = plan_of(WIDE, Layout::Nt);
    assert_eq!(plan.kernels[0].grid.axes.iter().map(|axis| axis.step).collect::<Vec<_>>(), [256, 128]);
    let boxes = |plan: &LaunchPlan| -> Vec<(u8, TileBox)> {
        let mapped = plan.kernels[0].args.iter().filter_map(|field| match field.arg {
            Arg::Map { operand, tile } => Some((operand, tile)),
            _ => None,
        });
        mapped.collect()
    };
    let of = |rows, columns, swizzle| TileBox { rows, columns, swizzle };
    let slice = of(64, 64, 128);
    assert_eq!(boxes(&plan), [(1, of(128, 64, 128)), (2, slice), (0, slice), (4, of(16, 64, 128))]);
    let aligned: Vec<u8> = plan.alignments.iter().map(|alignment| alignment.operand).collect();
    assert_eq!(aligned, [1, 2, 0], "each factor is copied where it does not lie as TMA asks");
    let narrow = Sm90Schedule { tile_n: 80, cluster_m: 1, ..WIDE };
    assert_eq!(boxes(&plan_of(narrow, Layout::Nt))[3].1, of(16, 8, 16), "a store box divides 40 columns");
}

#[test]
fn rules_ask_of_each_product_what_they_ask_of_one() {
    let broken = |schedule: Sm90Schedule, layout| {
        let checked = Schedule::from(schedule).check(&problem(layout).class(), Arch::SM_90A);
        checked.err().map(|broken| broken.rule)
    };
    let swapped = Sm90Schedule { swap_ab: true, tile_m: 16, cluster_m: 1, ..WIDE };
    for (schedule, layout, rule) in [
        (WIDE, Layout::Nn, None),
        (Sm90Schedule { tile_n: 24, cluster_m: 1, ..WIDE }, Layout::Nt, Some("tile_n_is_a_wgmma_width")),
        (Sm90Schedule { tile_n: 192, ..WIDE }, Layout::Nn, Some("row_major_b_takes_whole_swizzle_rows")),
        (Sm90Schedule { tile_n: 144, ..WIDE }, Layout::Nt, Some("cluster_slices_b_in_whole_swizzle_atoms")),
        (swapped, Layout::Nt, None),
        (Sm90Schedule { tile_n: 128, ..swapped }, Layout::Nt, Some("swapped_tile_n_splits_into_wgmma_blocks")),
        (Sm90Schedule { tile_n: 128, consumers: 1, ..swapped }, Layout::Nn, None),
        (
            Sm90Schedule { tile_n: 64, consumers: 1, ..swapped },
            Layout::Nt,
            Some("swapped_tile_n_splits_into_wgmma_blocks"),
        ),
    ] {
        assert_eq!(broken(schedule, layout), rule, "{schedule:?} {layout}");
    }
}

#[test]
fn a_heavy_body_of_two_products_has_a_default_that_keeps_the_rules() {
    let mut heavy = written();
    let values = (0..20).map(|at| format!("v{at}"));
    let sum = values.clone().fold(name("gated"), |sum, value| sum + name(&value));
    let bound = values.map(|value| crate::rows::cases::bind(&value, name("raised") * name("bias")));
    heavy.body.steps = bound.chain([store("out", sum)]).collect();
    let class = Problem { body: Some(Body::new(heavy).unwrap().into()), ..problem(Layout::Nt) }.class();
    for (class, tile_n) in [(&class, 128), (&problem(Layout::Nt).class(), 256)] {
        let schedule = Schedule::default_for(class, Arch::SM_90A);
        assert_eq!((schedule.check(class, Arch::SM_90A), schedule.geometry(class).tile_n), (Ok(()), tile_n));
    }
}

#[test]
fn the_work_counts_both_products_and_the_first_factor_once() {
    let extents = matmul::extents(10, 20, 30);
    let (problem, work) = (problem(Layout::Nt), problem(Layout::Nt).work(&extents));
    assert_eq!(work.operations, 2.0 * 2.0 * 10.0 * 20.0 * 30.0);
    assert_eq!(work.read_bytes, 2.0 * (300.0 + 2.0 * 600.0) + 4.0 * 20.0);
    assert_eq!(work.written_bytes, 2.0 * 200.0);
    assert_eq!(problem.unfused_work(&extents).bytes() - work.bytes(), 2.0 * 2.0 * 2.0 * 200.0);
    assert_eq!([0, 1, 2].map(|operand| problem.scale(operand, &extents) < 1.0), [true, false, true]);
    let task = problem.task(&extents);
    assert!(task.contains("2.4000e4 FLOP") && task.contains("half as many columns of C"), "{task}");
}

#[test]
fn schedules_are_borrowed_from_two_products_before_those_of_one() {
    let class = problem(Layout::Nt).class();
    let mut other = written();
    other.body.steps = vec![store("out", name("gated") + name("raised") + name("bias") + name("bias"))];
    let other = Problem { body: Some(Body::new(other).unwrap().into()), ..problem(Layout::Nt) }.class();
    let plain = Problem { body: None, ..problem(Layout::Nt) }.class();
    assert!(class.distance(&other) < class.distance(&plain) && class.distance(&plain).is_some());
    assert_eq!(plan::Operands::of_class(&class).b2, Some(0));
}

#[test]
fn two_products_are_predicted_to_take_as_long_as_one_of_twice_the_columns_that_stores_half_of_them() {
    let capability = autokernel_core::ComputeCapability::new(9, 0);
    let machine = Machine { capability, sm_count: 132, matrix_tflops: 989.4, memory_gb_per_s: 4800.0 };
    let model = Model { machine, constants: Constants::START };
    let class = problem(Layout::Nt).class();
    let plain = Problem { body: None, ..problem(Layout::Nt) }.class();
    for (m, n, k) in [(4096, 4096, 4096), (16, 14_336, 4096)] {
        let ms =
            |class: &matmul::Class, n| model.predicted_ms(&Traits::new(class, &WIDE.into()), &matmul::extents(m, n, k));
        let (two, stacked) = (ms(&class, n), ms(&plain, 2 * n));
        assert!(two < stacked && two > 0.9 * stacked, "{m}x{n}x{k}: {two} and {stacked} ms");
    }
}
