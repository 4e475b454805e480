use expect_test::expect_file;

use super::*;
use crate::matmul::heights;
use crate::matmul::problem::Layout;
use crate::matmul::schedule::{Mode, Sm90Schedule};
use autokernel_core::Arch;
use autokernel_core::Dtype;

fn leaky_relu() -> Problem {
    Problem::new(Dtype::Bf16, Layout::Nt, "leaky_relu(0.2)".parse().unwrap())
}

#[test]
fn the_default_hopper_kernel_is_as_golden() {
    let problem = Problem { known_n: Some(14336), output: Dtype::F32, ..leaky_relu() };
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    expect_file!["golden/leaky_relu_sm90.cu"].assert_eq(&emit(&problem, &schedule).cuda);
}

#[test]
fn known_sizes_are_the_launches_and_fork_no_image() {
    let any = leaky_relu();
    let known = Problem { known_n: Some(14336), known_k: Some(4096), ..leaky_relu() };
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let schedule = Schedule::default_for(&any.class(), arch);
        assert_eq!(kernel(&known, &schedule), kernel(&any, &schedule));
    }
    assert_eq!(reference(&known), reference(&any));
    let held: Vec<_> = signature(&known).dims.iter().map(|dim| dim.known).collect();
    assert_eq!(held, [None, Some(14336), Some(4096)]);
}

#[test]
fn a_hopper_kernel_whose_launches_say_how_many_blocks_share_a_tile_is_as_golden() {
    let tile = Sm90Schedule { tile_m: 64, stages: 6, splits: true, ..Sm90Schedule::PLAIN };
    let of = |split_k| emit(&leaky_relu(), &Schedule::Sm90(Sm90Schedule { split_k, ..tile })).cuda;
    expect_file!["golden/split_sm90.cu"].assert_eq(&of(4));
    assert_eq!(of(1), of(4), "the split is the launch's");
}

#[test]
fn a_hopper_kernel_of_several_heights_is_as_golden_whichever_a_launch_takes() {
    let tile = Sm90Schedule { tile_n: 64, swap_ab: true, rows_up_to: 24, splits: true, ..Sm90Schedule::PLAIN };
    let heights: Vec<Sm90Schedule> = heights(&leaky_relu().class(), &tile).collect();
    assert_eq!(heights.iter().map(|of| (of.tile_m, of.stages)).collect::<Vec<_>>(), [(8, 12), (16, 12), (24, 12)]);
    for of in heights {
        assert_eq!(Schedule::Sm90(of).check(&leaky_relu().class(), Arch::SM_90A), Ok(()));
        expect_file!["golden/heights_sm90.cu"].assert_eq(&emit(&leaky_relu(), &Schedule::Sm90(of)).cuda);
    }
}

#[test]
fn a_tall_image_that_splits_has_the_upper_half_of_its_heights() {
    let rows = |splits| {
        let tallest = Sm90Schedule { consumers: 2, swap_ab: true, rows_up_to: 176, splits, ..Sm90Schedule::PLAIN };
        heights(&leaky_relu().class(), &tallest).map(|of| of.tile_m).collect::<Vec<_>>()
    };
    assert_eq!(rows(true), [96, 112, 128, 144, 160, 176]);
    assert_eq!(rows(false), [48, 56, 64, 80, 96, 112, 128, 144, 160, 176]);
}

#[test]
fn an_image_whose_consumers_take_turns_has_heights_in_steps_of_eight_up_to_128() {
    let mode = Mode::PingPong;
    let tallest = Sm90Schedule { consumers: 2, swap_ab: true, rows_up_to: 176, mode, ..Sm90Schedule::PLAIN };
    let rows: Vec<u32> = heights(&leaky_relu().class(), &tallest).map(|of| of.tile_m).collect();
    assert_eq!(rows, [48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 144, 160, 176]);
}

#[test]
fn the_default_portable_kernel_is_as_golden() {
    let problem = Problem::new(Dtype::F16, Layout::Nn, "gelu".parse().unwrap());
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_80);
    expect_file!["golden/gelu_sm80.cu"].assert_eq(&emit(&problem, &schedule).cuda);
}

#[test]
fn the_default_portable_kernel_of_whole_numbers_is_as_golden() {
    let problem = Problem::new(Dtype::I8, Layout::Nt, "identity".parse().unwrap());
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_80);
    expect_file!["golden/i8_sm80.cu"].assert_eq(&emit(&problem, &schedule).cuda);
}

#[test]
fn the_default_portable_kernel_of_tf32_is_as_golden() {
    let problem = Problem::new(Dtype::F32, Layout::Nt, "identity".parse().unwrap());
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_80);
    expect_file!["golden/tf32_sm80.cu"].assert_eq(&emit(&problem, &schedule).cuda);
}

#[test]
fn the_default_portable_kernel_of_8_bit_floats_is_as_golden() {
    let problem = Problem::new(Dtype::E4m3, Layout::Nt, "identity".parse().unwrap());
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_89);
    expect_file!["golden/e4m3_sm89.cu"].assert_eq(&emit(&problem, &schedule).cuda);
}

#[test]
fn the_default_hopper_kernel_of_8_bit_floats_is_as_golden() {
    let problem = Problem::new(Dtype::E4m3, Layout::Nt, "identity".parse().unwrap());
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    expect_file!["golden/e4m3_sm90.cu"].assert_eq(&emit(&problem, &schedule).cuda);
}

#[test]
fn the_default_hopper_kernel_of_whole_numbers_is_as_golden() {
    let problem = Problem::new(Dtype::I8, Layout::Nt, "identity".parse().unwrap());
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    expect_file!["golden/i8_sm90.cu"].assert_eq(&emit(&problem, &schedule).cuda);
}

#[test]
fn the_default_hopper_kernel_of_a_transposed_a_is_as_golden() {
    let problem = Problem::new(Dtype::Bf16, Layout::Tn, "identity".parse().unwrap());
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    expect_file!["golden/transposed_a_sm90.cu"].assert_eq(&emit(&problem, &schedule).cuda);
}

#[test]
fn the_default_hopper_kernel_of_tf32_is_as_golden() {
    let problem = Problem::new(Dtype::F32, Layout::Nt, "identity".parse().unwrap());
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    expect_file!["golden/tf32_sm90.cu"].assert_eq(&emit(&problem, &schedule).cuda);
}

#[test]
fn the_reference_is_as_golden() {
    expect_file!["golden/leaky_relu_reference.cu"].assert_eq(&emit_reference(&leaky_relu()).cuda);
}

#[test]
fn different_kernels_have_different_names_and_a_raster_makes_no_difference() {
    let problem = leaky_relu();
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    let name = |problem: &Problem, schedule: &Schedule| emit(problem, schedule).symbol;

    let raster = crate::matmul::schedule::Raster { order: crate::matmul::schedule::RasterOrder::AlongN, group: 3 };
    assert_eq!(name(&problem, &schedule), name(&problem, &schedule.with_raster(raster)));

    let other = Problem { epilogue: "leaky_relu(0.3)".parse().unwrap(), ..problem.clone() };
    assert_ne!(name(&problem, &schedule), name(&other, &schedule));
    assert_ne!(name(&problem, &schedule), name(&problem, &Schedule::default_for(&problem.class(), Arch::SM_80)));
}

/// A gradient by a weight.
fn pair() -> Problem {
    Problem { second: Some(Dtype::E4m3), ..Problem::new(Dtype::E5m2, Layout::Nt, "identity".parse().unwrap()) }
}

#[test]
fn factors_of_both_8_bit_floats_are_named_as_the_instruction_takes_them_and_by_themselves_in_the_reference() {
    let of = |swap_ab| emit(&pair(), &Schedule::Sm90(Sm90Schedule { swap_ab, ..Sm90Schedule::PLAIN })).cuda;
    expect_file!["golden/fp8_pair_sm90.cu"].assert_eq(&of(false));
    assert!(of(true).contains("using Input = autokernel::e4m3_by_e5m2;  // A is e5m2, B e4m3"));
    let reference = emit_reference(&pair()).cuda;
    assert!(reference.contains("using Input = autokernel::e5m2;\n  using Weight = autokernel::e4m3;"), "{reference}");
}

#[test]
fn a_pair_of_8_bit_floats_borrows_what_one_of_them_has_and_is_a_class_of_its_own() {
    let of_one = |input| Problem::new(input, Layout::Nt, "identity".parse().unwrap()).class();
    for arch in [Arch::SM_89, Arch::SM_90A] {
        assert_eq!(pair().class().families(arch), of_one(Dtype::E4m3).families(arch));
        assert_eq!(pair().class().portfolio(arch), of_one(Dtype::E4m3).portfolio(arch));
    }
    let distances = [Dtype::E4m3, Dtype::E5m2, Dtype::Bf16].map(|input| pair().class().distance(&of_one(input)));
    assert_eq!(distances, [Some(2), Some(2), None]);
    assert_eq!(pair().class().slug(), "matmul_identity_e5m2_e4m3_bf16_nt");
    let types: Vec<Dtype> = signature(&pair()).operands.iter().map(|operand| operand.dtype).collect();
    assert_eq!(types, [Dtype::E5m2, Dtype::E4m3, Dtype::Bf16]);
}
