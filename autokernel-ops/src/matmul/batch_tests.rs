use autokernel_core::{Arch, ComputeCapability, Dim, Numbers, Passed, Size, dim};
use expect_test::expect_file;

use crate::body::{self, Complaint, Kind, Operand, Place};
use crate::matmul::body::{Body, Product, Second, Written};
use crate::matmul::model::Machine;
use crate::matmul::problem::{Layout, Problem};
use crate::matmul::schedule::{Mode, Schedule, Sm90Schedule};
use crate::matmul::{batched_extents, emit, grouped_extents, plan};
use crate::operation::{Class as _, Operation};
use crate::rows::cases::{name, reads, store, writes};

use super::*;

fn batch(operand: Operand) -> Operand {
    Operand { batched: true, ..operand }
}

/// `out = dot(x, w) * alpha + bias + shift;` with one `w` for all of a batch.
fn written() -> Written {
    let operands = vec![
        batch(reads("x", Kind::Matrix, Dtype::Bf16)),
        reads("w", Kind::Matrix, Dtype::Bf16),
        batch(reads("bias", Kind::Row, Dtype::F32)),
        reads("shift", Kind::Row, Dtype::Bf16),
        batch(reads("skip", Kind::Matrix, Dtype::F16)),
        reads("alpha", Kind::Scalar, Dtype::F32),
        batch(writes("out", Kind::Matrix, Dtype::Bf16)),
    ];
    let value = name("dot") * name("alpha") + name("bias") + name("shift") + name("skip");
    let product = Product::plain("dot", "x", "w");
    Written {
        product,
        second: None,
        body: body::Body { operands, steps: vec![store("out", value)], ..Default::default() },
    }
}

fn problem() -> Problem {
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    Problem { body: Some(Body::new(written()).unwrap().into()), ..plain }
}

fn complaints(change: impl FnOnce(&mut Vec<Operand>)) -> Vec<Complaint> {
    let mut written = written();
    change(&mut written.body.operands);
    Body::new(written).err().unwrap_or_default()
}

#[test]
fn the_kernels_of_a_batch_are_as_golden() {
    let problem = problem();
    let default = |arch| emit::emit(&problem, &Schedule::default_for(&problem.class(), arch)).cuda;
    expect_file!["golden/batch_sm90.cu"].assert_eq(&default(Arch::SM_90A));
    expect_file!["golden/batch_sm80.cu"].assert_eq(&default(Arch::SM_80));
    expect_file!["golden/batch_reference.cu"].assert_eq(&emit::emit_reference(&problem).cuda);
}

#[test]
fn operands_of_a_batch_that_are_called_as_the_factors_of_a_kernel_have_fields_of_their_own() {
    let named = |operand: &str, other: &str| {
        let mut written = written();
        let operands = &mut written.body.operands;
        operands.iter_mut().filter(|it| it.name == operand).for_each(|it| it.name = other.to_owned());
        let renamed = |name: &str| if name == operand { other.to_owned() } else { name.to_owned() };
        for step in &mut written.body.steps {
            if let body::Step::Store { value, .. } = step {
                *value = value.renamed(&renamed);
            }
        }
        Problem { body: Some(Body::new(written).unwrap().into()), ..problem() }
    };
    for other in ["a", "b", "b2", "c"] {
        let problem = named("bias", other);
        for arch in [Arch::SM_80, Arch::SM_90A] {
            let (_, plan) = emit::kernel(&problem, &Schedule::default_for(&problem.class(), arch));
            let mut names: Vec<&str> = plan.kernels[0].args.iter().map(|field| &*field.name).collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{other} on {arch}: {names:?}");
        }
    }
}

/// `out = gated * raised + bias;` of rows that lie in groups.
fn grouped() -> Problem {
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::Bf16),
        batch(reads("gate", Kind::Matrix, Dtype::Bf16)),
        batch(reads("up", Kind::Matrix, Dtype::Bf16)),
        reads("offsets", Kind::Index, Dtype::I32),
        batch(reads("bias", Kind::Row, Dtype::F32)),
        writes("out", Kind::Matrix, Dtype::Bf16),
    ];
    let body = body::Body {
        operands,
        steps: vec![store("out", name("gated") * name("raised") + name("bias"))],
        ..Default::default()
    };
    let product = Product::plain("gated", "x", "gate");
    let second = Some(Second::plain("raised", "up"));
    let body = Body::new(Written { product, second, body }).unwrap();
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    Problem { body: Some(body.into()), ..plain }
}

#[test]
fn the_kernels_of_groups_are_as_golden() {
    let problem = grouped();
    let default = |arch| emit::emit(&problem, &Schedule::default_for(&problem.class(), arch)).cuda;
    expect_file!["golden/groups_sm90.cu"].assert_eq(&default(Arch::SM_90A));
    expect_file!["golden/groups_sm80.cu"].assert_eq(&default(Arch::SM_80));
    expect_file!["golden/groups_reference.cu"].assert_eq(&emit::emit_reference(&problem).cuda);
}

/// `out = dot(x[tokens], w.t()) * scale;` of rows that lie in groups.
fn gathered() -> Problem {
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::Bf16),
        reads("tokens", Kind::Index, Dtype::I32),
        batch(reads("w", Kind::Matrix, Dtype::Bf16)),
        reads("offsets", Kind::Index, Dtype::I32),
        reads("scale", Kind::Column, Dtype::F32),
        writes("out", Kind::Matrix, Dtype::Bf16),
    ];
    let steps = vec![store("out", name("sum") * name("scale"))];
    let body = body::Body { operands, steps, ..Default::default() };
    let product = Product { rows: Some("tokens".to_owned()), ..Product::plain("sum", "x", "w") };
    let body = Body::new(Written { product, second: None, body }).unwrap();
    Problem { body: Some(body.into()), ..Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap()) }
}

#[test]
fn the_kernels_of_gathered_rows_are_as_golden() {
    let problem = gathered();
    let default = |arch| emit::emit(&problem, &Schedule::default_for(&problem.class(), arch)).cuda;
    expect_file!["golden/gathered_sm90.cu"].assert_eq(&default(Arch::SM_90A));
    expect_file!["golden/gathered_sm80.cu"].assert_eq(&default(Arch::SM_80));
    expect_file!["golden/gathered_reference.cu"].assert_eq(&emit::emit_reference(&problem).cuda);
}

#[test]
fn rows_are_picked_of_a_first_factor_of_as_many_as_it_likes_and_groups_are_of_those_that_are_picked() {
    let (problem, own) = (gathered(), autokernel_core::OWN_AXIS);
    assert_eq!(problem.many(), Many::Groups);
    assert!(problem.to_string().contains("dot(x[tokens], w)"), "{problem}");
    let signature = plan::signature(&problem);
    let axes: Vec<Vec<u8>> = signature.operands.iter().map(|operand| operand.axes.clone()).collect();
    assert_eq!(axes, [vec![own, 2], vec![0], vec![3, 1, 2], vec![3], vec![0], vec![0, 1]]);
    let passed = [1, 3].map(|number: usize| signature.operands[number].passed);
    assert_eq!(passed, [Passed::ByAddress, Passed::Bounds]);
    let size = |operand| Size { operand, axis: 0 };
    assert_eq!(signature.numbers, [Numbers::bound(3, size(1)), Numbers::pick(1, size(0))]);
}

/// `out = dot(x.t(), dy) * alpha;` for each group of rows.
fn along_k() -> Problem {
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::Bf16),
        reads("dy", Kind::Matrix, Dtype::Bf16),
        reads("offsets", Kind::Index, Dtype::I32),
        reads("alpha", Kind::Scalar, Dtype::F32),
        batch(writes("out", Kind::Matrix, Dtype::F32)),
    ];
    let steps = vec![store("out", name("sum") * name("alpha"))];
    of_one_product(Layout::Tn, "dy", body::Body { operands, steps, ..Default::default() })
}

/// `out = dot(x, w.t()) + skip;` of the rows of each group that count.
fn masked() -> Problem {
    let operands = vec![
        batch(reads("x", Kind::Matrix, Dtype::Bf16)),
        batch(reads("w", Kind::Matrix, Dtype::Bf16)),
        reads("counts", Kind::Index, Dtype::I32),
        reads("skip", Kind::Matrix, Dtype::Bf16),
        batch(writes("out", Kind::Matrix, Dtype::Bf16)),
    ];
    let steps = vec![store("out", name("sum") + name("skip"))];
    of_one_product(Layout::Nt, "w", body::Body { operands, steps, ..Default::default() })
}

fn of_one_product(layout: Layout, b: &str, body: body::Body) -> Problem {
    let product = Product::plain("sum", "x", b);
    let output = body.outputs().next().expect("it writes something").dtype;
    let body = Body::new(Written { product, second: None, body }).unwrap();
    Problem { body: Some(body.into()), output, ..Problem::new(Dtype::Bf16, layout, "identity".parse().unwrap()) }
}

#[test]
fn the_kernels_of_groups_along_k_and_of_counted_rows_are_as_golden() {
    for (problem, name) in [(along_k(), "groups_along_k"), (masked(), "masked")] {
        let default = |arch| emit::emit(&problem, &Schedule::default_for(&problem.class(), arch)).cuda;
        let golden = |part: &str| expect_file![format!("golden/{name}_{part}.cu")];
        golden("sm90").assert_eq(&default(Arch::SM_90A));
        golden("sm80").assert_eq(&default(Arch::SM_80));
        golden("reference").assert_eq(&emit::emit_reference(&problem).cuda);
    }
}

#[test]
fn which_matrices_each_product_has_of_its_own_says_what_an_index_tells() {
    assert_eq!([grouped(), along_k(), masked()].map(|it| it.many()), [Many::Groups, Many::GroupsAlongK, Many::Masked]);
    let axes = |problem: &Problem| {
        let signature = plan::signature(problem);
        let last = signature.names().last().unwrap();
        let axes: Vec<Vec<u8>> = signature.operands.iter().map(|operand| operand.axes.clone()).collect();
        (last, signature.operands[2].passed, axes)
    };
    let of_groups = [vec![2, 0], vec![2, 1], vec![3], vec![], vec![3, 0, 1]];
    assert_eq!(axes(&along_k()), (dim("groups"), Passed::Bounds, of_groups.to_vec()));
    let of_batch = [vec![3, 0, 2], vec![3, 1, 2], vec![3], vec![0, 1], vec![3, 0, 1]];
    assert_eq!(axes(&masked()), (dim("batch"), Passed::ByAddress, of_batch.to_vec()));
}

#[test]
fn a_second_factor_of_groups_along_k_is_a_matrix_as_the_others_are() {
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::Bf16),
        reads("dy", Kind::Matrix, Dtype::Bf16),
        batch(reads("dz", Kind::Matrix, Dtype::Bf16)),
        reads("offsets", Kind::Index, Dtype::I32),
        batch(writes("out", Kind::Matrix, Dtype::F32)),
    ];
    let body = body::Body { operands, steps: vec![store("out", name("one") + name("other"))], ..Default::default() };
    let product = Product::plain("one", "x", "dy");
    let second = Some(Second::plain("other", "dz"));
    let told = Body::new(Written { product, second, body }).unwrap_err();
    assert_eq!(told[0].place, Place::Operand(2));
    assert!(
        told[0].message.contains("the rows of `dz`") && told[0].message.contains("write a `Matrix`, not a `Batch`")
    );
}

#[test]
fn groups_along_k_have_a_result_each_and_tiles_of_as_much_as_a_group_has() {
    let extents = grouped_extents(7, 20, 3, 50);
    let work = along_k().work(&extents);
    assert_eq!(work.operations, 2.0 * 20.0 * 3.0 * 50.0);
    assert_eq!((work.read_bytes, work.written_bytes), (2.0 * (20.0 * 50.0 + 50.0 * 3.0), 7.0 * 20.0 * 3.0 * 4.0));
    let schedule = Schedule::from(Sm90Schedule { tile_n: 64, tile_m: 64, ..Sm90Schedule::PLAIN });
    let [kernel] = &emit::kernel(&along_k(), &schedule).1.kernels[..] else { panic!("one kernel") };
    assert_eq!(kernel.grid.clusters(&extents), 7);
    let refused = Sm90Schedule { consumers: 2, mode: Mode::PingPong, ..Sm90Schedule::PLAIN };
    let broken = Schedule::from(refused).check(&along_k().class(), Arch::SM_90A).unwrap_err();
    assert_eq!(broken.rule, "groups_along_k_have_whole_tiles");
}

#[test]
fn of_counted_rows_a_grid_fills_the_gpu_and_no_rows_of_none_are_copied_over() {
    let split = Sm90Schedule { splits: true, split_k: 2, stages: 6, tile_m: 64, ..Sm90Schedule::PLAIN };
    let broken = Schedule::from(split).check(&masked().class(), Arch::SM_90A).unwrap_err();
    assert_eq!(broken.rule, "groups_are_walked_over");
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let schedule = Schedule::default_for(&masked().class(), arch);
        let (_, plan) = emit::kernel(&masked(), &schedule);
        let blocks = |m| plan.kernels[0].grid.blocks(&batched_extents(64, m, 128, 64), 132);
        assert_eq!(blocks(1), blocks(1 << 20));
        assert!(plan.alignments.iter().all(|alignment| alignment.operand != 4), "the output has no stand-in");
    }
}

#[test]
fn offsets_are_one_more_than_there_are_groups_and_a_grid_does_not_count_on_them() {
    let signature = plan::signature(&grouped());
    assert_eq!(signature.names().last(), Some(dim("groups")));
    let offsets = &signature.operands[3];
    assert_eq!((&offsets.axes[..], offsets.passed), (&[3][..], Passed::Bounds));
    assert_eq!([0, 1, 5].map(|at: usize| signature.operands[at].axes.len()), [2, 3, 2]);
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let schedule = Schedule::default_for(&grouped().class(), arch);
        let [kernel] = &emit::kernel(&grouped(), &schedule).1.kernels[..] else { panic!("one kernel") };
        let blocks = |m| kernel.grid.blocks(&grouped_extents(64, m, 128, 64), 132);
        assert_eq!(blocks(1), blocks(1 << 20), "groups of a row each have as many tiles as groups");
    }
    let split = Sm90Schedule { splits: true, split_k: 2, stages: 6, tile_m: 64, ..Sm90Schedule::PLAIN };
    let broken = Schedule::from(split).check(&grouped().class(), Arch::SM_90A).unwrap_err();
    assert_eq!(broken.rule, "groups_are_walked_over");
}

#[test]
fn the_work_of_groups_is_that_of_their_rows_and_every_weight_once() {
    let work = grouped().work(&grouped_extents(7, 20, 3, 5));
    assert_eq!(work.operations, 2.0 * 2.0 * 20.0 * 15.0);
    assert_eq!(work.read_bytes, 2.0 * (20.0 * 5.0 + 2.0 * 7.0 * 15.0) + 7.0 * 3.0 * 4.0);
    assert_eq!(work.written_bytes, 2.0 * 60.0);
}

const H200: Machine =
    Machine { capability: ComputeCapability::new(9, 0), sm_count: 132, matrix_tflops: 989.4, memory_gb_per_s: 4800.0 };

#[test]
fn groups_of_few_rows_take_small_tiles_and_those_of_many_large_ones() {
    let ms = |schedule: Sm90Schedule, groups, m| {
        let forecast = grouped().class().forecast(&Schedule::from(schedule).into(), None, H200).unwrap();
        forecast.predicted_ms(&grouped_extents(groups, m, 2048, 4096))
    };
    let wide = Sm90Schedule { tile_n: 256, consumers: 2, ..Sm90Schedule::PLAIN };
    let few_rows = Sm90Schedule { tile_m: 16, swap_ab: true, stages: 8, ..Sm90Schedule::PLAIN };
    assert!(ms(few_rows, 64, 1024) < ms(wide, 64, 1024));
    assert!(ms(wide, 4, 32_768) < ms(few_rows, 4, 32_768));
}

#[test]
fn groups_carry_wide_images_beside_those_that_ship_and_none_that_splits_k() {
    for problem in [grouped(), masked()] {
        let images = problem.class().portfolio(Arch::SM_90A);
        assert_eq!(images.len(), 3);
        assert!(images.iter().all(|image| problem.class().check(image, Arch::SM_90A).is_ok()));
        assert!(images.iter().all(|image| image.value("tile_n") == Some(256) && image.value("split_k") == Some(1)));
        assert!(problem.class().portfolio(Arch::SM_80).is_empty());
    }
    assert!(along_k().class().portfolio(Arch::SM_90A).is_empty());
}

#[test]
fn a_batch_is_a_dimension_of_what_each_product_has_of_its_own() {
    let signature = plan::signature(&problem());
    let names: Vec<Dim> = signature.names().collect();
    assert_eq!(names, ["m", "n", "k", "batch"].map(dim));
    let axes: Vec<&[u8]> = signature.operands.iter().map(|operand| &*operand.axes).collect();
    let expected: [&[u8]; 7] = [&[3, 0, 2], &[1, 2], &[3, 1], &[1], &[3, 0, 1], &[], &[3, 0, 1]];
    assert_eq!(axes, expected);
    assert_eq!(signature.operands[5].passed, Passed::ByValue);
    assert_eq!(problem().class().dims(), Some(&names[..]));
}

#[test]
fn a_grid_has_the_tiles_of_each_product_one_product_after_the_other() {
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let (class, extents) = (problem().class(), batched_extents(5, 300, 200, 64));
        let schedule = Schedule::default_for(&class, arch);
        let [kernel] = &emit::kernel(&problem(), &schedule).1.kernels[..] else { panic!("one kernel") };
        let of_product = kernel.grid.parts(0, &extents) * kernel.grid.parts(1, &extents);
        assert_eq!(kernel.grid.clusters(&extents), u64::from(5 * of_product));
        let parts = [0, 1, 2].map(|axis| kernel.grid.parts(axis, &extents));
        let of = |number| class.part(&schedule.into(), number, &parts)[2];
        assert_eq!([0, of_product - 1, of_product, 4 * of_product].map(|it| of(it.into())), [0, 0, 1, 4]);
    }
}

#[test]
fn the_work_of_a_batch_is_that_of_each_product_and_what_all_share_once() {
    let work = problem().work(&batched_extents(7, 2, 3, 5));
    assert_eq!(work.operations, 7.0 * 60.0);
    let read = 7.0 * 10.0 * 2.0 + 15.0 * 2.0 + 7.0 * 3.0 * 4.0 + 3.0 * 2.0 + 7.0 * 6.0 * 2.0;
    assert_eq!((work.read_bytes, work.written_bytes), (read, 7.0 * 6.0 * 2.0));
}

#[test]
fn operands_that_do_not_go_with_a_batch_are_named_with_what_to_write() {
    assert_eq!(complaints(|_| ()), []);
    let told = complaints(|operands| operands[6].batched = false);
    assert_eq!(told[0].place, Place::Operand(6));
    assert!(told[0].message.contains("write a `&mut Batch`"), "{}", told[0]);
    let told = complaints(|operands| operands[0].batched = false);
    let places: Vec<Place> = told.iter().map(|it| it.place).collect();
    assert_eq!(places, [2, 4, 6].map(Place::Operand));
    assert!(told[0].message.contains("no factor of `dot` is a `Batch`") && told[0].message.contains("write a `Row`"));
}

#[test]
fn a_body_of_a_batch_is_the_same_after_json_and_its_class_is_another_one() {
    let body = Body::new(written()).unwrap();
    let json = serde_json::to_string(&body).unwrap();
    assert_eq!(serde_json::from_str::<Body>(&json).unwrap(), body);
    let mut single = written();
    single.body.operands.iter_mut().for_each(|operand| operand.batched = false);
    let single = Body::new(single).unwrap();
    assert!(!serde_json::to_string(&single).unwrap().contains("batched"), "entries of before are read as they were");
    assert_ne!(single.class(), body.class());
}
