use autokernel_core::{Arch, Coarse, Dtype};
use expect_test::expect_file;

use super::*;
use crate::body::{self, Kind};
use crate::matmul::body::print::Printed;
use crate::matmul::plan::{Operands, signature};
use crate::matmul::problem::{Layout, Problem};
use crate::matmul::schedule::{Mode, Raster, Schedule, Sm80Schedule, Sm90Schedule};
use crate::matmul::{emit, extents, roots};
use crate::operation::Class as _;
use crate::rows::cases::{bind, name, reads, store, writes};

/// `let y = dot(x, w.t()) + bias; other = y; out * out_scales = y;`
fn written(out: Dtype, scales: Dtype) -> Written {
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::Bf16),
        reads("w", Kind::Matrix, Dtype::Bf16),
        reads("bias", Kind::Row, Dtype::F32),
        writes("out_scales", Kind::Matrix, scales),
        writes("other", Kind::Matrix, Dtype::F16),
        writes("out", Kind::Matrix, out),
    ];
    let steps = vec![bind("y", name("dot") + name("bias")), store("other", name("y")), store("out", name("y"))];
    let product = Product::plain("dot", "x", "w");
    let made_scales = vec![MadeScales { output: "out".to_owned(), scales: "out_scales".to_owned(), block: 128 }];
    let body = body::Body { operands, steps, made_scales, ..body::Body::default() };
    Written { product, second: None, body }
}

fn problem() -> Problem {
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    let body = Body::new(written(Dtype::E4m3, Dtype::F32)).unwrap();
    Problem { output: Dtype::E4m3, body: Some(body.into()), ..plain }
}

fn complaints(written: Written) -> String {
    Body::new(written).unwrap_err().iter().map(|it| it.message.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_kernel_that_makes_scales_is_as_golden() {
    let problem = problem();
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    expect_file!["../golden/made_scales_sm90.cu"].assert_eq(&emit::emit(&problem, &schedule).cuda);
    let portable = Schedule::default_for(&problem.class(), Arch::SM_80);
    expect_file!["../golden/made_scales_sm80.cu"].assert_eq(&emit::emit(&problem, &portable).cuda);
    expect_file!["../golden/made_scales_reference.cu"].assert_eq(&emit::emit_reference(&problem).cuda);
}

#[test]
fn a_row_that_a_tile_holds_has_one_scale_in_a_column() {
    let mut written = written(Dtype::E4m3, Dtype::F32);
    written.body.operands[3].kind = Kind::Column;
    written.body.made_scales[0].block = 192;
    let body = Body::new(written).unwrap();
    let text = print::body(&body, Printed::Kernel { part_columns: 1, loaded: None, registers: 32 });
    assert!(text.contains("return static_cast<float*>(args.out_scales_) + row;"), "{text}");
    let problem = Problem { body: Some(body.into()), known_n: Some(150), ..problem() };
    let Schedule::Sm90(schedule) = Schedule::default_for(&problem.class(), Arch::SM_90A) else {
        panic!("not on Hopper")
    };
    assert_eq!((schedule.tile_n, schedule.swap_ab), (192, false));
    // It lies as other numbers of rows do, one each.
    let signature = signature(&problem);
    assert_eq!((&*signature.coarse, &*signature.operands[3].axes), (&[][..], &[0][..]));
    assert_eq!(problem.class().work(&extents(100, 150, 64)).written_bytes, f64::from(100 * 150 * 3 + 100 * 4));
    // No warp of 128 registers of sums holds such rows before Hopper.
    assert!(problem.class().families(Arch::SM_80).is_empty());
}

#[test]
fn the_output_that_is_scaled_is_staged_wherever_it_stands_and_its_scales_are_no_elements() {
    let problem = problem();
    let body = problem.body.as_deref().unwrap();
    assert_eq!(body.matrices().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["out", "other"]);
    assert_eq!((Operands::of(&problem).c, Operands::of_class(&problem.class()).c), (Some(5), Some(5)));
    let made = Coarse { operand: 3, axis: 1, indices: 128, together: 1, is_ragged: true };
    assert_eq!(signature(&problem).coarse, [made]);
    // 100 rows of 300 columns: 2 and 1 bytes an element, and 3 scales a row.
    let work = problem.class().work(&extents(100, 300, 64));
    assert_eq!(work.written_bytes, f64::from(100 * 300 * 3 + 100 * 3 * 4));
}

#[test]
fn what_ships_holds_whole_blocks_and_other_tiles_are_refused() {
    let class = problem().class();
    let portfolio = class.portfolio(Arch::SM_90A).into_iter().chain([class.default_schedule(Arch::SM_90A)]);
    for schedule in portfolio {
        class.check(&schedule, Arch::SM_90A).unwrap_or_else(|broken| panic!("{schedule:?}: {broken}"));
    }
    class.check(&class.default_schedule(Arch::SM_80), Arch::SM_80).unwrap();
    let check = |schedule: Sm90Schedule| Schedule::Sm90(schedule).check(&class, Arch::SM_90A);
    let wide = Sm90Schedule { tile_n: 256, consumers: 2, ..Sm90Schedule::PLAIN };
    let alternating = Sm90Schedule { mode: Mode::PingPong, tile_n: 128, ..wide };
    let split = Sm90Schedule { splits: true, split_k: 4, tile_n: 128, ..wide };
    for schedule in [wide, alternating, split] {
        check(schedule).unwrap();
    }
    let swapped = Sm90Schedule { tile_m: 16, tile_n: 128, swap_ab: true, consumers: 1, ..wide };
    for schedule in [Sm90Schedule { tile_n: 64, ..wide }, Sm90Schedule { tile_n: 192, ..wide }, swapped] {
        let broken = check(schedule).unwrap_err();
        assert_eq!(broken.rule, "scaled_blocks_lie_in_a_warp", "{broken}");
    }
    let narrow =
        Sm80Schedule { tile_m: 64, tile_n: 128, tile_k: 32, warps_m: 2, warps_n: 2, stages: 4, raster: Raster::PLAIN };
    let broken = Schedule::Sm80(narrow).check(&class, Arch::SM_80).unwrap_err();
    assert_eq!(broken.rule, "scaled_blocks_lie_in_a_warp", "{broken}");
    assert_eq!(
        roots::of_kernel(&class, &Schedule::Sm90(wide)),
        ["fp8.cuh", "body_scaled.cuh", "sm90_matmul.cuh", "sm90_scaled.cuh", "pad_rows.cuh"]
    );
}

#[test]
fn what_makes_no_scales_is_refused_with_its_remedy() {
    let told = complaints(written(Dtype::Bf16, Dtype::F32));
    assert!(told.contains("`out` is a `Matrix` of bf16") && told.contains("e4m3"), "{told}");
    let told = complaints(written(Dtype::E4m3, Dtype::Bf16));
    assert!(told.contains("`out_scales: &mut Matrix<f32>`"), "{told}");

    let mut twice = written(Dtype::E4m3, Dtype::F32);
    twice.body.steps.push(store("out_scales", name("y")));
    assert!(complaints(twice).contains("`out_scales` is written twice"));

    let mut reduced = written(Dtype::E4m3, Dtype::F32);
    reduced.body.operands.push(writes("sums", Kind::Column, Dtype::F32));
    reduced.body.steps.push(crate::body::Step::Reduce {
        name: "sum".to_owned(),
        reduction: Reduction::Sum,
        of: name("y"),
    });
    reduced.body.steps.push(store("sums", name("sum")));
    assert!(complaints(reduced).contains("scales are made where no rows are reduced"));

    let mut of_two = written(Dtype::E4m3, Dtype::F32);
    of_two.body.operands.push(writes("other_scales", Kind::Matrix, Dtype::F32));
    let (output, scales) = ("other".to_owned(), "other_scales".to_owned());
    of_two.body.made_scales.push(MadeScales { output, scales, block: 128 });
    let told = complaints(of_two);
    assert!(told.contains("the scales of one output") && told.contains("`other` is a `Matrix` of f16"), "{told}");

    let mut batched = written(Dtype::E4m3, Dtype::F32);
    batched.body.operands.iter_mut().filter(|it| it.kind == Kind::Matrix).for_each(|it| it.batched = true);
    assert!(complaints(batched).contains("is of one product, and there are many here"));
}

#[test]
fn before_hopper_no_warp_holds_blocks_of_two_products() {
    let mut two = written(Dtype::E4m3, Dtype::F32);
    two.body.operands.push(reads("up", Kind::Matrix, Dtype::Bf16));
    two.second = Some(Second::plain("dot2", "up"));
    two.body.steps[0] = bind("y", name("dot") + name("dot2") + name("bias"));
    let class = Problem { body: Some(Body::new(two).unwrap().into()), ..problem() }.class();
    assert!(class.families(Arch::SM_80).is_empty() && !class.families(Arch::SM_90A).is_empty());
    assert!(!problem().class().families(Arch::SM_80).is_empty());
    class.check(&class.default_schedule(Arch::SM_90A), Arch::SM_90A).unwrap();
}
