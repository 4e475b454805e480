use autokernel_core::{Arch, Coarse, ComputeCapability, Dtype, Role};
use expect_test::expect_file;

use super::body::{Body, Product, Written};
use super::emit::{emit, emit_reference};
use super::extents::extents;
use super::model::{Constants, Machine, Model, Traits};
use super::plan::signature;
use super::problem::{Class, Layout, Problem};
use super::schedule::{Family, Schedule, Sm80Schedule, Sm90Schedule};
use crate::body::{self, Kind, Operand, Step};
use crate::expr::Expr;
use crate::operation::{Class as _, Operation as _};
use crate::weights::{Scales, Weights};

/// `out = dot(x, (w * scales).t())`, or without scales.
fn problem(dtype: Dtype, group: Option<u32>) -> Problem {
    with_zeros(dtype, group, false)
}

/// The same, of `(w - zeros) * scales` where there are zero points.
fn with_zeros(dtype: Dtype, group: Option<u32>, zeros: bool) -> Problem {
    let operand =
        |name: &str, dtype, role| Operand { name: name.to_owned(), kind: Kind::Matrix, dtype, role, batched: false };
    let mut operands = vec![operand("x", Dtype::Bf16, Role::Input), operand("w", dtype, Role::Input)];
    operands.extend(group.map(|_| operand("scales", Dtype::F16, Role::Input)));
    operands.extend(zeros.then(|| operand("zeros", Dtype::I8, Role::Input)));
    operands.push(operand("out", Dtype::Bf16, Role::Output));
    let steps =
        vec![Step::Store { output: "out".to_owned(), row: None, fold: None, value: Expr::Variable("dot".to_owned()) }];
    let scales = group.map(|_| "scales".to_owned());
    let of_zeros = zeros.then(|| "zeros".to_owned());
    let product = Product { scales, zeros: of_zeros, ..Product::plain("dot", "x", "w") };
    let body = body::Body { operands, steps, ..body::Body::default() };
    let body = Body::new(Written { product, second: None, body }).unwrap();
    let weights = Weights { dtype, scales: group.map(|group| Scales { group, dtype: Dtype::F16, zeros }) };
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    Problem { weights: Some(weights), body: Some(body.into()), ..plain }
}

#[test]
fn the_default_hopper_kernels_of_weights_are_as_golden() {
    for (dtype, group, file) in [(Dtype::I8, None, "weights_i8"), (Dtype::I4x2, Some(128), "weights_i4x2")] {
        let problem = problem(dtype, group);
        let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
        expect_file![format!("golden/{file}_sm90.cu")].assert_eq(&emit(&problem, &schedule).cuda);
        expect_file![format!("golden/{file}_reference.cu")].assert_eq(&emit_reference(&problem).cuda);
    }
}

#[test]
fn the_default_portable_kernels_of_weights_are_as_golden() {
    for (problem, file) in
        [(problem(Dtype::I8, None), "weights_i8"), (with_zeros(Dtype::I4x2, Some(128), true), "weights_zeros")]
    {
        let schedule = Schedule::default_for(&problem.class(), Arch::SM_80);
        expect_file![format!("golden/{file}_sm80.cu")].assert_eq(&emit(&problem, &schedule).cuda);
    }
}

#[test]
fn the_kernels_of_weights_with_zero_points_are_as_golden() {
    let problem = with_zeros(Dtype::I4x2, Some(128), true);
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    expect_file!["golden/weights_zeros_sm90.cu"].assert_eq(&emit(&problem, &schedule).cuda);
    expect_file!["golden/weights_zeros_reference.cu"].assert_eq(&emit_reference(&problem).cuda);
}

/// The same of groups of rows, each with weights, scales and zero points of its own.
fn of_groups() -> Problem {
    let problem = with_zeros(Dtype::I4x2, Some(128), true);
    let mut written = Written::from(*problem.body.clone().unwrap());
    for operand in &mut written.body.operands {
        operand.batched = !["x", "out"].contains(&operand.name.as_str());
    }
    let (name, kind, dtype) = ("offsets".to_owned(), Kind::Index, Dtype::I32);
    written.body.operands.push(Operand { name, kind, dtype, role: Role::Input, batched: false });
    Problem { body: Some(Body::new(written).unwrap().into()), ..problem }
}

#[test]
fn the_kernels_of_groups_whose_weights_have_scales_and_zero_points_are_as_golden() {
    let problem = of_groups();
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    expect_file!["golden/weights_groups_sm90.cu"].assert_eq(&emit(&problem, &schedule).cuda);
    expect_file!["golden/weights_groups_reference.cu"].assert_eq(&emit_reference(&problem).cuda);
}

#[test]
fn what_a_group_has_of_weights_lies_behind_the_axis_of_groups() {
    let signature = signature(&of_groups());
    let coarse: Vec<_> = signature.coarse.iter().map(|it| (it.operand, it.axis, it.indices)).collect();
    assert_eq!(coarse, [(1, 2, 2), (2, 1, 128), (3, 1, 128)]);
    assert_eq!([1, 2, 3].map(|at| signature.operands[at].axes.clone()), [vec![3, 1, 2], vec![3, 2, 1], vec![3, 2, 1]]);
    assert_eq!(signature.numbers.iter().map(|it| it.operand).collect::<Vec<_>>(), [5, 3]);
}

#[test]
fn zero_points_are_a_byte_for_each_group_beside_its_scale() {
    let [plain, shifted] = [false, true].map(|zeros| with_zeros(Dtype::I4x2, Some(64), zeros));
    let of_zeros = Coarse { operand: 3, axis: 0, indices: 64, together: 1, is_ragged: false };
    assert_eq!(signature(&shifted).coarse.last(), Some(&of_zeros));
    assert_eq!(
        (signature(&shifted).operands[3].axes.clone(), signature(&shifted).operands[3].dtype),
        (vec![2, 1], Dtype::I8)
    );
    assert_eq!(plain.class().distance(&shifted.class()), None);
    let read = |problem: &Problem| problem.work(&extents(16, 256, 1024)).read_bytes;
    assert_eq!(read(&shifted) - read(&plain), 256.0 * 16.0);
    let schedule = Sm90Schedule { tile_m: 16, swap_ab: true, ..Sm90Schedule::PLAIN };
    let shared = |problem: &Problem| schedule.shared_bytes(&problem.class());
    // Of 128 columns and four groups of 64 a stage, in whole atoms of the swizzle.
    assert_eq!(shared(&shifted) - shared(&plain), schedule.stages * 1024);
    assert!(shifted.class().portfolio(Arch::SM_90A).len() >= 4);
    assert_eq!(shifted.weights.unwrap().to_string(), "i4x2 - zeros in 64");
    let json = serde_json::to_string(&shifted).unwrap();
    assert_eq!(serde_json::from_str::<Problem>(&json).unwrap(), shifted);
}

#[test]
fn a_launch_is_told_of_what_elements_stand_for_several_numbers_along_k() {
    assert_eq!(signature(&problem(Dtype::I8, None)).coarse, []);
    let packed = Coarse { operand: 1, axis: 1, indices: 2, together: 16, is_ragged: false };
    assert_eq!(signature(&problem(Dtype::I4x2, None)).coarse, [packed]);
    let signature = signature(&problem(Dtype::I4x2, Some(64)));
    assert_eq!(signature.coarse, [packed, Coarse { operand: 2, axis: 0, indices: 64, together: 1, is_ragged: false }]);
    assert_eq!(signature.operands[2].axes, [2, 1]);
    let found = [(1, 1), (2, 0), (2, 1)].map(|(operand, axis)| signature.coarse(operand, axis).map(|it| it.indices));
    assert_eq!(found, [Some(2), Some(64), None]);
}

#[test]
fn small_products_of_weights_have_whole_groups_and_units_of_packed_numbers() {
    for (dtype, group, granule) in
        [(Dtype::I8, None, 1), (Dtype::I8, Some(64), 64), (Dtype::I4x2, None, 32), (Dtype::I4x2, Some(128), 128)]
    {
        let problem = problem(dtype, group);
        let (class, signature) = (problem.class(), signature(&problem));
        assert_eq!((class.weights.unwrap().granule(), signature.granule(2)), (granule, granule));
        for schedule in class.portfolio(Arch::SM_90A) {
            let probes = class.probes(&schedule).unwrap();
            assert!(probes.iter().all(|probe| signature.whole(probe) == *probe), "{probes:?}");
            assert!(
                probes.iter().any(|probe| probe.size(2) == 0) && probes.iter().any(|probe| probe.size(2) > granule)
            );
        }
    }
}

#[test]
fn random_operands_have_sums_of_about_one_and_weights_that_fill_their_type() {
    for (dtype, deviation) in [(Dtype::I8, 40.0), (Dtype::I4x2, 4.6)] {
        let problem = problem(dtype, Some(64));
        let scales = [0, 1, 2].map(|operand| problem.scale(operand, &extents(8, 8, 1024)));
        assert_eq!(scales[1..], [deviation, 1.0]);
        assert!((scales[0] * scales[1] * 32.0 - 1.0).abs() < 1e-5, "{scales:?}");
    }
}

#[test]
fn a_launch_reads_weights_by_their_bits_and_each_scale_once() {
    let read = |dtype, group| problem(dtype, group).work(&extents(16, 256, 1024)).read_bytes;
    let activations = 16.0 * 1024.0 * 2.0;
    assert_eq!(read(Dtype::I8, None), activations + 256.0 * 1024.0);
    assert_eq!(read(Dtype::I4x2, Some(128)), activations + 256.0 * 512.0 + 256.0 * 8.0 * 2.0);
}

#[test]
fn weights_and_their_scales_are_counted_by_their_bits() {
    let weights = |dtype, group| problem(dtype, group).weights.unwrap();
    assert_eq!(weights(Dtype::I8, None).bytes(8.0, 256.0), 2048.0);
    assert_eq!(weights(Dtype::I4x2, None).bytes(8.0, 256.0), 1024.0);
    assert_eq!(weights(Dtype::I4x2, Some(128)).bytes(8.0, 256.0), 1024.0 + 8.0 * 2.0 * 2.0);
}

#[test]
fn weights_have_schedules_of_their_own_on_every_gpu_and_borrow_none_of_other_products() {
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap()).class();
    for (dtype, group) in [(Dtype::I8, None), (Dtype::I8, Some(32)), (Dtype::I4x2, Some(128))] {
        let class: Class = problem(dtype, group).class();
        assert_eq!((class.distance(&plain), class.distance(&class)), (None, Some(0)));
        assert_eq!(class.families(Arch::SM_80), [Family::Sm80]);
        // What ships for every GPU fits the smallest.
        for (arch, checked_on) in [(Arch::SM_90A, Arch::SM_90A), (Arch::SM_80, "sm_86".parse().unwrap())] {
            let portfolio = class.portfolio(arch);
            assert!(portfolio.len() >= 4, "{}", portfolio.len());
            assert!(portfolio.iter().all(|schedule| class.check(schedule, checked_on).is_ok()));
        }
        let deep = Sm80Schedule { tile_k: 64, ..Sm80Schedule::try_from(&class.default_schedule(Arch::SM_80)).unwrap() };
        let broken = Schedule::Sm80(deep).check(&class, Arch::SM_80).err().map(|broken| broken.rule);
        assert_eq!(broken, (group == Some(32)).then_some("stages_lie_in_groups"));
        let upright = Schedule::Sm90(Sm90Schedule::PLAIN);
        assert_eq!(upright.check(&class, Arch::SM_90A).unwrap_err().rule, "weights_are_the_rows_of_wgmma");
    }
    let held = Sm90Schedule { swap_ab: true, tile_m: 256, ..Sm90Schedule::PLAIN };
    let checked = Schedule::Sm90(held).check(&problem(Dtype::I4x2, Some(32)).class(), Arch::SM_90A);
    assert!(checked.is_err());
}

/// What a launch takes of what kernels carry, and the time in us that an H200 takes for it (`docs/results/weights-h200/shown.txt`).
#[test]
fn a_launch_takes_the_image_that_leads_on_an_h200_and_its_time_is_about_what_is_predicted() {
    let capability = ComputeCapability::new(9, 0);
    let machine = Machine { capability, sm_count: 132, matrix_tflops: 989.4, memory_gb_per_s: 4800.0 };
    let model = Model { machine, constants: Constants::START };
    let few = Sm90Schedule { tile_m: 16, tile_n: 64, stages: 12, swap_ab: true, ..Sm90Schedule::PLAIN };
    let fewer = Sm90Schedule { tile_m: 8, ..few };
    let split = Sm90Schedule { stages: 8, splits: true, split_k: 2, ..few };
    let wide = Sm90Schedule { tile_n: 256, stages: 5, consumers: 2, ..few };
    let many = Sm90Schedule { tile_m: 128, tile_n: 128, stages: 2, consumers: 2, ..few };
    for (dtype, (m, n, k), leads, us) in [
        (Dtype::I4x2, (1, 8192, 8192), fewer, 13.0),
        (Dtype::I4x2, (8, 4096, 4096), split, 7.4),
        (Dtype::I4x2, (16, 8192, 8192), few, 14.6),
        (Dtype::I4x2, (16, 28_672, 8192), wide, 37.5),
        (Dtype::I4x2, (256, 8192, 8192), many, 45.3),
        (Dtype::I8, (1, 8192, 8192), fewer, 21.2),
        (Dtype::I8, (8, 4096, 4096), split, 9.2),
        (Dtype::I8, (16, 8192, 8192), few, 21.6),
        (Dtype::I8, (256, 8192, 8192), Sm90Schedule { stages: 4, ..many }, 54.4),
    ] {
        let class = problem(dtype, None).class();
        let predicted =
            |schedule: &Schedule| 1e3 * model.predicted_ms(&Traits::new(&class, schedule), &extents(m, n, k));
        let carried = class.portfolio(Arch::SM_90A).into_iter().map(|it| Schedule::try_from(&it).unwrap());
        let chosen = carried.min_by(|left, right| predicted(left).total_cmp(&predicted(right))).unwrap();
        let Schedule::Sm90(taken) = chosen else { unreachable!("weights are multiplied on Hopper alone") };
        assert_eq!(Sm90Schedule { raster: few.raster, ..taken }, leads, "{dtype}, {m}x{n}x{k}");
        let ratio = predicted(&chosen) / us;
        assert!((0.8..1.2).contains(&ratio), "{dtype}, {m}x{n}x{k}: {ratio} of what was measured");
    }
}
