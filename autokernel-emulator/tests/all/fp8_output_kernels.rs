//! Products whose results leave as 8-bit floats: ragged shapes, wherever C begins, what saturates and what is no number. Sums of small
//! integers are exact, and so every bit of a result is known.

use crate::support::arguments;
use crate::support::case::{SKINNY, SM80, SM90};
use crate::support::compile::Compiler;
use crate::support::host::{Matrix, Shape, allocate, download, product, shape};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{self, Bf16, E4m3, E5m2, F16, F32, I8};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Mode, Schedule, SkinnySchedule, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{emit, extents};
use autokernel_core::LaunchPlan;
use autokernel_emulator::{Gpu, Module, Options};
use float8::{F8E4M3, F8E5M2};

/// One that is staged, and others that are stored from where they are computed.
const THREE: &str = "fn f(x: &Matrix<TYPE>, w: &Matrix<TYPE>, scale: &Column<f32>, out: &mut Matrix<e4m3>, \
                     wide: &mut Matrix<f32>, other: &mut Matrix<e5m2>) {
    let y = dot(x, w.t()) / scale;
    out = y;
    wide = y;
    other = y * 512.0;
}";

/// Gives what `THREE` does, by two products.
const GATED: &str = "fn f(x: &Matrix<TYPE>, w: &Matrix<TYPE>, up: &Matrix<TYPE>, scale: &Column<f32>, \
                     out: &mut Matrix<e4m3>, wide: &mut Matrix<f32>, other: &mut Matrix<e5m2>) {
    let y = (dot(x, w.t()) - 2.0 * dot(x, up.t())) / scale;
    out = y;
    wide = y;
    other = y * 512.0;
}";

/// Powers of two, whose quotients are exact, from some by which all saturates to one by which all is tiny.
const SCALES: [f32; 8] = [1.0, 0.125, -4.0, 0.0, f32::NAN, 4096.0, 1.0 / 1024.0, f32::INFINITY];

/// Ragged tiles, whole ones that TMA stores, columns that are no words, one row, and no K.
const SHAPES: [(u32, u32, u32); 5] = [(70, 200, 72), (130, 256, 64), (67, 67, 200), (1, 301, 64), (9, 24, 0)];

fn problem(source: &str, input: Dtype) -> Problem {
    let source = source.replace("TYPE", &input.to_string());
    autokernel_codegen::product::problem(&syn::parse_str(&source).unwrap()).unwrap()
}

/// An f32 as a result holds it: the nearest 8-bit float, and beyond the largest that.
fn narrowed(dtype: Dtype, value: f32) -> f64 {
    match dtype {
        E4m3 => F8E4M3::from_f32(value).to_f64(),
        E5m2 => F8E5M2::from_f32(value.clamp(-57_344.0, 57_344.0)).to_f64(),
        I8 => f64::from(value.round_ties_even() as i8),
        _ => value.into(),
    }
}

struct Run<'r> {
    problem: &'r Problem,
    compiled: (&'r KernelSource, &'r LaunchPlan),
    module: &'r Module,
    arch: Arch,
    /// Outputs are not rounded.
    is_reference: bool,
}

impl Run<'_> {
    /// `skew` bytes before C, and as many elements between its rows more than there need be.
    fn check(&self, of: Shape, skew: u32, seed: u64) {
        let Run { problem, compiled: (kernel, plan), module, arch, is_reference } = *self;
        let (Shape { m, n, k }, input) = (of, problem.input);
        let mut gpu = Gpu::new(match arch {
            Arch::SM_80 => autokernel_emulator::Arch::Sm80,
            _ => autokernel_emulator::Arch::Sm90a,
        });
        let ld = k.next_multiple_of(16);
        let [x, w, up] = [(m, 1), (n, 2), (n, 3)].map(|(rows, draw)| Matrix::integers(rows, k, ld, draw + seed));
        let mut scale = Matrix::integers(1, m, m, 0);
        let of_row = |row: u32| SCALES[row as usize % SCALES.len()];
        scale.values = (0..m).map(|row| of_row(row).into()).collect();
        let products = problem.class().products();
        let mut operands = vec![x.upload(&mut gpu, "x", input), w.upload(&mut gpu, "w", input)];
        if products == 2 {
            operands.push(up.upload(&mut gpu, "up", input));
        }
        operands.push(scale.upload(&mut gpu, "scale", F32));
        let outputs = [("out", problem.output), ("wide", F32), ("other", E5m2)];
        let stored = outputs.map(|(_, dtype)| if is_reference { F32 } else { dtype });
        let places = outputs.into_iter().zip(stored).map(|((name, _), dtype)| {
            let skew = if dtype == F32 { 0 } else { skew };
            // Before Hopper the runtime sees to it that C begins at a multiple of 16 bytes.
            let before = if arch == Arch::SM_80 { 0 } else { skew.into() };
            allocate(&mut gpu, name, dtype, m, n, n + skew, before)
        });
        let places: Vec<_> = places.collect();
        operands.extend(&places);

        let launch = arguments::of_plan(&mut gpu, &signature(problem), plan, extents(m, n, k), &operands);
        let what = format!("{}, {m}x{n}x{k}, {skew} beside, seed {seed}", kernel.symbol);
        let options = Options { seed, instruction_budget: 1 << 27, ..Options::default() };
        gpu.launch(module, &kernel.symbol, &launch, &options).unwrap_or_else(|error| panic!("{what}: {error}"));

        let of_up = if products == 2 { product(&x, &up, Layout::Nt, of) } else { vec![0.0; (m * n) as usize] };
        let sums = product(&x, &w, Layout::Nt, of).into_iter().zip(of_up).map(|(one, two)| (one - 2.0 * two) as f32);
        let sums: Vec<f32> = sums.collect();
        for (((name, dtype), place), stored) in outputs.into_iter().zip(places).zip(stored) {
            let got = download(&mut gpu, place, stored);
            for (at, (got, sum)) in got.into_iter().zip(&sums).enumerate() {
                let (row, column) = (at as u32 / n, at as u32 % n);
                let y = sum / of_row(row) * if name == "other" { 512.0 } else { 1.0 };
                let expected = if is_reference { y.into() } else { narrowed(dtype, y) };
                assert!(
                    got == expected || got.is_nan() && expected.is_nan(),
                    "{name}[{row}, {column}] of {what} is {got}, expected {expected}"
                );
            }
        }
    }
}

fn check(test: &str, (source, input): (&str, Dtype), schedules: &[Schedule], arch: Arch) {
    let Some(compiler) = Compiler::find(test) else { return };
    let problem = problem(source, input);
    for schedule in schedules {
        schedule.check(&problem.class(), arch).unwrap();
        let (kernel, plan) = emit::kernel(&problem, schedule);
        let module = Module::parse(&compiler.ptx(&kernel, arch, None).unwrap()).unwrap();
        let run = Run { problem: &problem, compiled: (&kernel, &plan), module: &module, arch, is_reference: false };
        for (seed, (m, n, k)) in (0..).zip(SHAPES) {
            for skew in [0, 4, 7] {
                run.check(shape(m, n, k), skew, seed);
            }
        }
    }
}

#[test]
fn bytes_leave_tiles_of_cooperating_and_alternating_consumers() {
    let schedules = [
        SM90,
        Sm90Schedule { tile_m: 128, tile_n: 48, consumers: 2, cluster_m: 2, ..SM90 },
        Sm90Schedule { tile_n: 128, consumers: 2, mode: Mode::PingPong, ..SM90 },
    ];
    let test = "bytes_leave_tiles_of_cooperating_and_alternating_consumers";
    check(test, (THREE, Bf16), &schedules.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn bytes_leave_split_shared_and_swapped_tiles() {
    let schedules = [
        Sm90Schedule { splits: true, split_k: 4, stages: 4, ..SM90 },
        Sm90Schedule { tile_m: 24, swap_ab: true, stream_k: true, shared_waves: 1, ..SM90 },
        Sm90Schedule { tile_m: 128, tile_n: 128, consumers: 2, swap_ab: true, ..SM90 },
    ];
    let test = "bytes_leave_split_shared_and_swapped_tiles";
    check(test, (THREE, F16), &schedules.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn bytes_leave_products_of_bytes() {
    let test = "bytes_leave_products_of_bytes";
    check(test, (THREE, E4m3), &[Schedule::Sm90(Sm90Schedule { tile_n: 256, ..SM90 })], Arch::SM_90A);
    check(test, (THREE, I8), &[Schedule::Sm90(Sm90Schedule { tile_m: 16, swap_ab: true, ..SM90 })], Arch::SM_90A);
}

/// Halves among the results are ties, and what is no number is written as 0.
#[test]
fn whole_numbers_leave_every_family_rounded_to_even_and_saturated() {
    let test = "whole_numbers_leave_every_family_rounded_to_even_and_saturated";
    let (whole, gated) = (THREE.replace("Matrix<e4m3>", "Matrix<i8>"), GATED.replace("Matrix<e4m3>", "Matrix<i8>"));
    let swapped = Sm90Schedule { tile_m: 24, swap_ab: true, stream_k: true, shared_waves: 1, ..SM90 };
    check(test, (&whole, Bf16), &[SM90, swapped].map(Schedule::Sm90), Arch::SM_90A);
    check(test, (&whole, I8), &[Schedule::Sm90(Sm90Schedule { tile_m: 16, swap_ab: true, ..SM90 })], Arch::SM_90A);
    check(test, (&gated, Bf16), &[Schedule::Sm90(Sm90Schedule { tile_n: 96, ..SM90 })], Arch::SM_90A);
    let skinny = SkinnySchedule { tile_n: 32, tile_k: 512, ..SKINNY };
    check(test, (&whole, F16), &[Schedule::Sm80(SM80), Schedule::Skinny(skinny)], Arch::SM_80);
}

#[test]
fn bytes_leave_two_products() {
    let test = "bytes_leave_two_products";
    let schedules =
        [Sm90Schedule { tile_n: 96, ..SM90 }, Sm90Schedule { tile_m: 16, tile_n: 128, swap_ab: true, ..SM90 }];
    check(test, (GATED, Bf16), &schedules.map(Schedule::Sm90), Arch::SM_90A);
    check(test, (GATED, F16), &[Schedule::Sm80(SM80)], Arch::SM_80);
}

/// By their bits: there is no instruction before sm_89.
#[test]
fn bytes_leave_tiles_of_every_width_of_a_warp() {
    let schedules = [
        Sm80Schedule { tile_m: 32, tile_n: 64, warps_m: 2, warps_n: 4, ..SM80 },
        Sm80Schedule { tile_m: 32, tile_n: 128, warps_m: 2, warps_n: 1, ..SM80 },
        SM80,
    ];
    let test = "bytes_leave_tiles_of_every_width_of_a_warp";
    check(test, (THREE, Bf16), &schedules.map(Schedule::Sm80), Arch::SM_80);
}

#[test]
fn bytes_leave_products_that_read_factors_where_they_lie() {
    let test = "bytes_leave_products_that_read_factors_where_they_lie";
    let schedules = [
        SkinnySchedule { tile_n: 32, tile_k: 512, ..SKINNY },
        SkinnySchedule { tile_m: 16, tile_n: 16, tile_k: 512, warps: 16, stages: 1, ..SKINNY },
    ];
    check(test, (THREE, Bf16), &schedules.map(Schedule::Skinny), Arch::SM_80);
}

#[test]
fn the_reference_leaves_what_would_be_narrowed_as_it_is() {
    let Some(compiler) = Compiler::find("the_reference_leaves_what_would_be_narrowed_as_it_is") else { return };
    for source in [THREE, GATED, &THREE.replace("Matrix<e4m3>", "Matrix<i8>")] {
        let problem = problem(source, Bf16);
        let (kernel, plan) = emit::reference(&problem);
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_80, None).unwrap()).unwrap();
        let compiled = (&kernel, &plan);
        let run = Run { problem: &problem, compiled, module: &module, arch: Arch::SM_80, is_reference: true };
        run.check(shape(37, 50, 21), 0, 0);
    }
}
