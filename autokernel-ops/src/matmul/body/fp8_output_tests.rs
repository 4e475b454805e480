use autokernel_core::{Arch, Dtype};
use expect_test::expect_file;

use super::*;
use crate::body::{self, Kind};
use crate::matmul::problem::{Layout, Problem};
use crate::matmul::schedule::{Mode, Schedule, Sm90Schedule};
use crate::matmul::{emit, roots};
use crate::operation::Class as _;
use crate::rows::cases::{bind, name, reads, store, writes};

/// `let y = dot(x, w.t()) / scale; out = y; other = y;`
fn written(input: Dtype, kind: Kind) -> Written {
    let operands = vec![
        reads("x", Kind::Matrix, input),
        reads("w", Kind::Matrix, input),
        reads("scale", Kind::Column, Dtype::F32),
        writes("out", kind, Dtype::E4m3),
        writes("other", Kind::Matrix, Dtype::E5m2),
    ];
    let steps = vec![bind("y", name("dot") / name("scale")), store("out", name("y")), store("other", name("y"))];
    let product = Product::plain("dot", "x", "w");
    Written { product, second: None, body: body::Body { operands, steps, ..body::Body::default() } }
}

fn problem(input: Dtype) -> Problem {
    let plain = Problem::new(input, Layout::Nt, "identity".parse().unwrap());
    Problem { output: Dtype::E4m3, body: Some(Body::new(written(input, Kind::Matrix)).unwrap().into()), ..plain }
}

#[test]
fn the_kernels_whose_results_have_8_bits_are_as_golden() {
    let problem = problem(Dtype::Bf16);
    let default = |arch| emit::emit(&problem, &Schedule::default_for(&problem.class(), arch)).cuda;
    expect_file!["../golden/fp8_output_sm90.cu"].assert_eq(&default(Arch::SM_90A));
    expect_file!["../golden/fp8_output_sm80.cu"].assert_eq(&default(Arch::SM_80));
}

#[test]
fn whatever_the_factors_are_what_ships_stores_bytes() {
    for (input, arch) in
        [(Dtype::Bf16, Arch::SM_90A), (Dtype::F16, Arch::SM_80), (Dtype::E4m3, Arch::SM_90A), (Dtype::I8, Arch::SM_90A)]
    {
        let class = problem(input).class();
        for schedule in class.portfolio(arch).into_iter().chain([class.default_schedule(arch)]) {
            class.check(&schedule, arch).unwrap_or_else(|broken| panic!("{input}, {schedule:?}: {broken}"));
        }
        assert!(!class.schedules(class.families(arch)[0], arch).is_empty(), "{input}");
    }
}

#[test]
fn a_tile_whose_rows_are_no_whole_units_of_tma_is_refused_unless_it_is_swapped() {
    let class = problem(Dtype::Bf16).class();
    let schedule = |tile_n| Schedule::from(Sm90Schedule { tile_n, ..Sm90Schedule::PLAIN });
    let broken = schedule(136).check(&class, Arch::SM_90A).unwrap_err().to_string();
    assert!(broken.contains("bytes_are_stored_by_sixteen") && broken.contains("multiple of 16"), "{broken}");
    schedule(144).check(&class, Arch::SM_90A).unwrap();
    let swapped = Sm90Schedule { swap_ab: true, tile_m: 24, ..Sm90Schedule::PLAIN };
    Schedule::from(swapped).check(&class, Arch::SM_90A).unwrap();
}

#[test]
fn what_realigns_operands_copies_bytes_where_c_may_be_realigned() {
    let class = problem(Dtype::Bf16).class();
    let of = |arch| roots::of_kernel(&class, &Schedule::default_for(&class, arch));
    assert_eq!(of(Arch::SM_80), ["fp8.cuh", "sm80_matmul.cuh", "pad_byte_rows.cuh"]);
    assert_eq!(of(Arch::SM_90A), ["fp8.cuh", "sm90_matmul.cuh", "pad_rows.cuh"]);
}

#[test]
fn whole_numbers_leave_by_a_file_of_their_own() {
    let mut written = written(Dtype::I8, Kind::Matrix);
    written.body.operands[3].dtype = Dtype::I8;
    let plain = Problem::new(Dtype::I8, Layout::Nt, "identity".parse().unwrap());
    let problem = Problem { output: Dtype::I8, body: Some(Body::new(written).unwrap().into()), ..plain };
    let class = problem.class();
    let roots = roots::of_kernel(&class, &Schedule::default_for(&class, Arch::SM_90A));
    assert_eq!(roots[..3], ["fp8.cuh", "int8_output.cuh", "sm90_int8.cuh"]);
    assert!(
        emit::emit(&problem, &Schedule::default_for(&class, Arch::SM_90A))
            .cuda
            .contains("Output = autokernel::i8_bits;")
    );
}

#[test]
fn one_number_a_row_has_more_than_8_bits() {
    let complaints = Body::new(written(Dtype::Bf16, Kind::Column)).unwrap_err();
    assert!(complaints.iter().any(|it| it.message.contains("make this bf16, f16 or f32")), "{complaints:?}");
}

/// `out = dot(x, w.t()) * of_rows * of_columns`, and whatever else.
fn scaled(input: Dtype, factor: Option<Kind>) -> Problem {
    let mut operands = vec![
        reads("x", Kind::Matrix, input),
        reads("w", Kind::Matrix, input),
        reads("of_rows", Kind::Column, Dtype::F32),
        reads("of_columns", Kind::Row, Dtype::F32),
    ];
    let mut product = name("dot") * name("of_rows") * name("of_columns");
    if let Some(kind) = factor {
        operands.push(reads("more", kind, Dtype::Bf16));
        product = product * name("more");
    }
    operands.push(writes("out", Kind::Matrix, Dtype::Bf16));
    let body = body::Body { operands, steps: vec![store("out", product)], ..body::Body::default() };
    let written = Written { product: Product::plain("dot", "x", "w"), second: None, body };
    let plain = Problem::new(input, Layout::Nt, "identity".parse().unwrap());
    Problem { output: Dtype::Bf16, body: Some(Body::new(written).unwrap().into()), ..plain }
}

#[test]
fn scales_alone_leave_room_for_the_widest_tiles_of_8_bits_in_turns() {
    let wide = Sm90Schedule { tile_n: 192, consumers: 2, mode: Mode::PingPong, ..Sm90Schedule::PLAIN };
    let check = |problem: Problem| Schedule::Sm90(wide).check(&problem.class(), Arch::SM_90A).map_err(|it| it.rule);
    assert_eq!(check(scaled(Dtype::E4m3, None)), Ok(()));
    assert_eq!(check(scaled(Dtype::I8, None)), Ok(()));
    for kind in [Kind::Row, Kind::Matrix] {
        assert_eq!(check(scaled(Dtype::E4m3, Some(kind))), Err("accumulators_fit_registers"));
    }
    assert_eq!(check(scaled(Dtype::Bf16, None)), Err("accumulators_fit_registers"));
}
