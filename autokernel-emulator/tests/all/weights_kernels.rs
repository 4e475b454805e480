//! Weights of whole numbers of 8 and 4 bits beside floats of 16, with and without scales of groups: exact, as every sum of small
//! integers and powers of two is.

use crate::support::arguments;
use crate::support::case::{SM80, SM90};
use crate::support::compile::{Change, Compiler, instructions};
use crate::support::host::{Matrix, Shape, allocate, download, product, rounded, shape};
use crate::support::sample::sample_mutants;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{emit, extents};
use autokernel_emulator::{Gpu, Memory, Module, Options, Report};

/// A transposed tile, to vary.
const SWAPPED: Sm90Schedule = Sm90Schedule { tile_m: 16, swap_ab: true, ..SM90 };

/// What is multiplied, and of how many numbers a scale is.
#[derive(Clone, Copy, Debug)]
struct Form {
    x: Dtype,
    w: Dtype,
    scales: Option<(u32, Dtype)>,
    zeros: bool,
    out: Dtype,
    products: usize,
}

const BYTES: Form = Form { x: Dtype::Bf16, w: Dtype::I8, scales: None, zeros: false, out: Dtype::F32, products: 1 };

impl Form {
    fn problem(&self) -> Problem {
        let Form { x, w, scales, zeros, out, products } = self;
        let group = scales.map_or(String::new(), |(group, _)| format!("group = {group}"));
        let (parameters, factors): (String, Vec<String>) = ["w", "up"][..*products]
            .iter()
            .map(|name| match scales {
                None => (format!("{name}: &Matrix<{w}>, "), format!("dot(x, {name}.t())")),
                Some((_, dtype)) if *zeros => (
                    format!("{name}: &Matrix<{w}>, of_{name}: &Matrix<{dtype}>, zeros_{name}: &Matrix<i8>, "),
                    format!("dot(x, (({name} - zeros_{name}) * of_{name}).t())"),
                ),
                Some((_, dtype)) => (
                    format!("{name}: &Matrix<{w}>, of_{name}: &Matrix<{dtype}>, "),
                    format!("dot(x, ({name} * of_{name}).t())"),
                ),
            })
            .unzip();
        let source = format!(
            "fn f(x: &Matrix<{x}>, {parameters} out: &mut Matrix<{out}>) {{ out = {}; }}",
            factors.join(" - 2.0 * ")
        );
        let settings = group.parse().unwrap();
        autokernel_codegen::product::problem_with(settings, &syn::parse_str(&source).unwrap()).unwrap()
    }
}

/// Whole numbers of the type, of which sums of products stay exact.
fn weights(form: Form, n: u32, k: u32, seed: u64) -> Matrix {
    let mut numbers = Matrix::integers(n, k, k, seed);
    // All bits of a number have a part in it: 8 of them, or 4.
    let (times, most) = if form.w == Dtype::I8 { (31.0, 128.0) } else { (2.0, 8.0) };
    numbers.values.iter_mut().enumerate().for_each(|(at, number)| {
        *number = (*number * times + (at % 4) as f64 - if at % 5 == 0 { 4.0 } else { 0.0 }).clamp(-most, most - 1.0);
    });
    numbers
}

/// As a kernel reads them.
fn bytes_of(form: Form, weights: &Matrix) -> Vec<u8> {
    let numbers: Vec<i8> = weights.values.iter().map(|value| *value as i8).collect();
    if form.w == Dtype::I8 {
        return numbers.into_iter().map(i8::cast_unsigned).collect();
    }
    // As the documentation of the type says it, number by number.
    let mut bytes = vec![0u8; numbers.len() / 2];
    for (at, number) in numbers.into_iter().enumerate() {
        let (unit, k) = (at / 32 * 16, at % 32);
        let bit = k % 8 / 2 * 32 + k / 8 * 4 + k % 2 * 16;
        bytes[unit + bit / 8] |= (number.cast_unsigned() & 15) << (bit % 8);
    }
    bytes
}

/// What a launch gives, and what it should; a fault's text if it goes wrong.
fn run(form: Form, schedule: &Schedule, module: &Module, of: Shape, seed: u64) -> Result<(Vec<f64>, Vec<f64>), String> {
    launch(form, schedule, module, of, seed).map(|launched| (launched.got, launched.expected))
}

struct Launched {
    got: Vec<f64>,
    expected: Vec<f64>,
    report: Report,
}

fn launch(form: Form, schedule: &Schedule, module: &Module, of: Shape, seed: u64) -> Result<Launched, String> {
    let (problem, Shape { m, n, k }) = (form.problem(), of);
    let (kernel, plan) = emit::kernel(&problem, schedule);
    let mut gpu = Gpu::new(match schedule {
        Schedule::Sm90(_) => autokernel_emulator::Arch::Sm90a,
        _ => autokernel_emulator::Arch::Sm80,
    });
    let x = Matrix::integers(m, k, k.next_multiple_of(8), 1 + seed);
    let mut operands = vec![x.upload(&mut gpu, "x", form.x)];
    let mut sums = vec![0.0; (m * n) as usize];
    for (number, factor) in [1.0, -2.0][..form.products].iter().enumerate() {
        let w = weights(form, n, k, seed + 7 + number as u64);
        // Rows of bytes in units of 16, the last one no longer than it is.
        let (columns, row_bytes) = (k / form.w.numbers(), (k / form.w.numbers()).next_multiple_of(16));
        let placed = allocate(&mut gpu, "w", form.w, n, columns, row_bytes, 0);
        for (row, bytes) in bytes_of(form, &w).chunks(columns.max(1) as usize).enumerate() {
            gpu.write(placed.pointer.offset(row as u64 * u64::from(row_bytes)), bytes).unwrap();
        }
        operands.push(placed);
        let mut scaled = w.clone();
        if let Some((group, dtype)) = form.scales {
            let mut scales = Matrix::integers(k / group, n, n.next_multiple_of(8), seed + 11 + number as u64);
            scales.values.iter_mut().for_each(|scale| *scale = 2f64.powf(*scale));
            operands.push(scales.upload(&mut gpu, "scales", dtype));
            // What numbers of the type stand for zero, and of 4 bits one more.
            let mut zeros = Matrix::integers(k / group, n, n.next_multiple_of(16), seed + 13 + number as u64);
            let (times, most) = if form.w == Dtype::I8 { (32.0, 127.0) } else { (2.0, 8.0) };
            zeros
                .values
                .iter_mut()
                .for_each(|zero| *zero = (*zero * times).min(most) * f64::from(u8::from(form.zeros)));
            if form.zeros {
                operands.push(zeros.upload(&mut gpu, "zeros", Dtype::I8));
            }
            for row in 0..n {
                for at in 0..k {
                    let value = &mut scaled.values[(row * k + at) as usize];
                    *value = (*value - zeros.at(at / group, row)) * scales.at(at / group, row);
                }
            }
        }
        let products = product(&x, &scaled, Layout::Nt, of);
        sums.iter_mut().zip(products).for_each(|(sum, product)| *sum += factor * product);
    }
    let out = allocate(&mut gpu, "out", form.out, m, n, n, 0);
    operands.push(out);
    let (launch, _workspace) =
        arguments::on(&mut gpu, arguments::MULTIPROCESSORS, &signature(&problem), &plan, extents(m, n, k), &operands);
    let options = Options { seed, instruction_budget: 1 << 26, ..Options::default() };
    let report = gpu.launch(module, &kernel.symbol, &launch, &options).map_err(|error| error.to_string())?;
    let expected = sums.into_iter().map(|sum| rounded(form.out, sum)).collect();
    Ok(Launched { got: download(&mut gpu, out, form.out), expected, report })
}

fn arch_of(schedule: &Schedule) -> Arch {
    if matches!(schedule, Schedule::Sm90(_)) { Arch::SM_90A } else { Arch::SM_80 }
}

fn module(compiler: &Compiler, form: Form, schedule: &Schedule, change: Option<Change<'_>>) -> Module {
    let (problem, arch) = (form.problem(), arch_of(schedule));
    schedule.check(&problem.class(), arch).unwrap();
    let (kernel, _) = emit::kernel(&problem, schedule);
    Module::parse(&compiler.ptx(&kernel, arch, change).unwrap()).unwrap()
}

fn check(test: &str, form: Form, schedule: impl Into<Schedule>) {
    let Some(compiler) = Compiler::find(test) else { return };
    let schedule = schedule.into();
    let module = module(&compiler, form, &schedule, None);
    // Ragged everywhere, less than a stage, many stages; K in whole groups and units of numbers that are packed together.
    let unit = form.scales.map_or(if form.w == Dtype::I8 { 8 } else { 32 }, |(group, _)| group.max(32));
    for (seed, (m, n, units)) in (0..).zip([(16, 128, 4), (5, 200, 9), (33, 72, 1), (20, 65, 21), (9, 8, 0)]) {
        let of = shape(m, n, units * unit);
        let (got, expected) =
            run(form, &schedule, &module, of, seed).unwrap_or_else(|why| panic!("{form:?}, {of:?}: {why}"));
        let wrong = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        if let Some(at) = wrong {
            panic!("{form:?}, {of:?}: [{}, {}] is {}, not {}", at as u32 / n, at as u32 % n, got[at], expected[at]);
        }
    }
}

macro_rules! forms {
    ($($name:ident: $form:expr, $schedule:expr;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $form, $schedule);
        })*
    };
}

forms! {
    weights_of_8_bits_are_right: BYTES, SWAPPED;
    weights_of_8_bits_beside_f16_in_two_consumers_are_right:
        Form { x: Dtype::F16, out: Dtype::F16, ..BYTES }, Sm90Schedule { tile_n: 128, consumers: 2, ..SWAPPED };
    weights_of_8_bits_whose_k_is_split_are_right: BYTES, Sm90Schedule { splits: true, split_k: 4, stages: 4, ..SWAPPED };
    weights_of_8_bits_in_tiles_shared_by_clusters_are_right:
        BYTES, Sm90Schedule { stream_k: true, shared_waves: 1, tile_m: 8, ..SWAPPED };
    weights_of_8_bits_by_consumers_in_turns_in_a_cluster_are_right:
        Form { out: Dtype::Bf16, ..BYTES },
        Sm90Schedule { mode: Mode::PingPong, consumers: 2, cluster_n: 2, tile_m: 32, ..SWAPPED };
    wide_tiles_of_weights_of_8_bits_by_consumers_that_issue_in_turns_are_right:
        Form { out: Dtype::Bf16, ..BYTES }, Sm90Schedule { tile_m: 72, tile_n: 128, consumers: 2, stages: 2, ..SWAPPED };
    wide_tiles_of_weights_of_8_bits_whose_k_is_split_are_right:
        Form { x: Dtype::F16, ..BYTES },
        Sm90Schedule { tile_m: 80, tile_n: 128, consumers: 2, stages: 2, splits: true, split_k: 2, ..SWAPPED };
    two_products_of_weights_of_8_bits_are_right: Form { products: 2, ..BYTES }, Sm90Schedule { tile_n: 128, ..SWAPPED };
    groups_of_weights_of_8_bits_are_scaled:
        Form { scales: Some((128, Dtype::F16)), ..BYTES }, Sm90Schedule { tile_n: 128, cluster_m: 2, ..SWAPPED };
    small_groups_of_weights_of_8_bits_are_scaled:
        Form { x: Dtype::F16, scales: Some((32, Dtype::F32)), ..BYTES }, Sm90Schedule { tile_m: 24, splits: true, split_k: 2, ..SWAPPED };
    weights_of_8_bits_whose_k_warps_share_are_right: BYTES, Sm90Schedule { stages: 4, ..SWAPPED };
    groups_of_weights_of_8_bits_whose_k_warps_share_are_scaled:
        Form { x: Dtype::F16, scales: Some((128, Dtype::F16)), ..BYTES },
        Sm90Schedule { tile_m: 8, tile_n: 128, consumers: 2, cluster_m: 2, stages: 4, ..SWAPPED };
    weights_of_4_bits_whose_k_warps_share_are_right:
        Form { w: Dtype::I4x2, ..BYTES }, Sm90Schedule { stages: 4, stream_k: true, shared_waves: 1, ..SWAPPED };
    groups_of_weights_of_4_bits_whose_k_warps_share_are_scaled:
        Form { w: Dtype::I4x2, scales: Some((128, Dtype::F16)), ..BYTES },
        Sm90Schedule { mode: Mode::PingPong, consumers: 2, stages: 4, ..SWAPPED };
    zero_points_of_groups_of_4_bits_whose_k_warps_share_are_subtracted:
        Form { products: 2, ..PACKED_ZEROS },
        Sm90Schedule { tile_n: 128, stages: 4, splits: true, split_k: 2, ..SWAPPED };
    weights_of_4_bits_are_right: Form { w: Dtype::I4x2, ..BYTES }, SWAPPED;
    weights_of_4_bits_beside_f16_are_right:
        Form { x: Dtype::F16, w: Dtype::I4x2, ..BYTES }, Sm90Schedule { tile_n: 128, consumers: 2, splits: true, split_k: 2, ..SWAPPED };
    groups_of_weights_of_4_bits_are_scaled:
        Form { w: Dtype::I4x2, scales: Some((128, Dtype::F16)), ..BYTES }, Sm90Schedule { tile_n: 128, consumers: 2, ..SWAPPED };
    middle_groups_of_weights_of_4_bits_are_scaled:
        Form { x: Dtype::F16, w: Dtype::I4x2, scales: Some((64, Dtype::Bf16)), ..BYTES },
        Sm90Schedule { splits: true, split_k: 4, stages: 4, ..SWAPPED };
    small_groups_of_weights_of_4_bits_are_scaled:
        Form { w: Dtype::I4x2, scales: Some((32, Dtype::F16)), ..BYTES },
        Sm90Schedule { mode: Mode::PingPong, consumers: 2, ..SWAPPED };
    two_products_of_groups_of_weights_of_4_bits_are_scaled:
        Form { w: Dtype::I4x2, scales: Some((128, Dtype::F16)), products: 2, ..BYTES },
        Sm90Schedule { tile_n: 128, consumers: 1, ..SWAPPED };
    middle_groups_of_weights_of_8_bits_are_scaled:
        Form { scales: Some((64, Dtype::F16)), ..BYTES }, Sm90Schedule { tile_m: 8, tile_n: 256, consumers: 2, stages: 4, ..SWAPPED };
    wide_tiles_of_groups_of_weights_of_4_bits_shared_by_clusters_are_scaled:
        Form { w: Dtype::I4x2, scales: Some((128, Dtype::F16)), ..BYTES },
        Sm90Schedule { stream_k: true, shared_waves: 1, tile_m: 24, tile_n: 256, consumers: 2, stages: 3, ..SWAPPED };
    many_rows_beside_weights_of_8_bits_are_right: BYTES, Sm90Schedule { tile_m: 40, stages: 3, ..SWAPPED };
    many_rows_beside_groups_of_weights_of_8_bits_are_scaled:
        Form { scales: Some((128, Dtype::F32)), ..BYTES }, Sm90Schedule { tile_m: 64, tile_n: 128, consumers: 2, stages: 4, ..SWAPPED };
    many_rows_beside_groups_of_weights_of_4_bits_are_scaled:
        Form { w: Dtype::I4x2, scales: Some((64, Dtype::F16)), ..BYTES }, Sm90Schedule { tile_m: 64, stages: 3, ..SWAPPED };
    many_rows_beside_small_groups_of_weights_of_4_bits_are_scaled:
        Form { x: Dtype::F16, w: Dtype::I4x2, scales: Some((32, Dtype::F16)), ..BYTES }, Sm90Schedule { tile_m: 48, stages: 3, ..SWAPPED };
    wide_tiles_beside_weights_of_4_bits_are_right:
        Form { w: Dtype::I4x2, out: Dtype::Bf16, ..BYTES }, Sm90Schedule { tile_m: 128, tile_n: 128, consumers: 2, stages: 2, ..SWAPPED };
    wide_tiles_beside_groups_of_weights_of_4_bits_are_scaled:
        Form { w: Dtype::I4x2, scales: Some((128, Dtype::F16)), out: Dtype::Bf16, ..BYTES },
        Sm90Schedule { tile_m: 128, tile_n: 128, consumers: 2, stages: 2, ..SWAPPED };
    zero_points_beside_wide_tiles_in_clusters_are_subtracted:
        Form { out: Dtype::Bf16, ..PACKED_ZEROS },
        Sm90Schedule { tile_m: 96, tile_n: 128, consumers: 2, stages: 2, cluster_n: 2, ..SWAPPED };
    zero_points_of_groups_of_4_bits_are_subtracted: PACKED_ZEROS, Sm90Schedule { tile_n: 128, consumers: 2, ..SWAPPED };
    zero_points_of_two_products_are_subtracted:
        Form { products: 2, ..PACKED_ZEROS }, Sm90Schedule { tile_n: 128, splits: true, split_k: 2, ..SWAPPED };
    zero_points_of_small_groups_beside_f16_are_subtracted:
        Form { x: Dtype::F16, scales: Some((32, Dtype::Bf16)), ..PACKED_ZEROS },
        Sm90Schedule { mode: Mode::PingPong, consumers: 2, ..SWAPPED };
    zero_points_of_groups_of_4_bits_in_tiles_shared_by_clusters_are_subtracted:
        Form { scales: Some((64, Dtype::F32)), ..PACKED_ZEROS },
        Sm90Schedule { stream_k: true, shared_waves: 1, tile_m: 8, ..SWAPPED };
    zero_points_beside_many_rows_are_subtracted:
        PACKED_ZEROS, Sm90Schedule { tile_m: 64, stages: 3, cluster_m: 2, tile_n: 128, consumers: 2, ..SWAPPED };
    zero_points_of_small_groups_beside_many_rows_are_subtracted:
        Form { x: Dtype::F16, scales: Some((32, Dtype::F16)), ..PACKED_ZEROS }, Sm90Schedule { tile_m: 40, stages: 3, ..SWAPPED };
    zero_points_of_groups_of_8_bits_are_subtracted: Form { w: Dtype::I8, ..PACKED_ZEROS }, SWAPPED;
    zero_points_of_middle_groups_of_8_bits_beside_f16_are_subtracted:
        Form { x: Dtype::F16, w: Dtype::I8, scales: Some((64, Dtype::F16)), ..PACKED_ZEROS },
        Sm90Schedule { tile_m: 8, tile_n: 128, consumers: 2, stages: 4, ..SWAPPED };
    zero_points_of_groups_of_8_bits_beside_many_rows_are_subtracted:
        Form { w: Dtype::I8, scales: Some((32, Dtype::F16)), ..PACKED_ZEROS }, Sm90Schedule { tile_m: 40, stages: 3, ..SWAPPED };
}

/// The same of the portable family, whose warps have 32 columns each.
const PORTABLE: Sm80Schedule = Sm80Schedule { warps_m: 1, ..SM80 };

forms! {
    portable_products_of_weights_of_8_bits_are_right: BYTES, PORTABLE;
    portable_products_of_weights_of_8_bits_beside_f16_in_deep_stages_are_right:
        Form { x: Dtype::F16, out: Dtype::F16, ..BYTES }, Sm80Schedule { tile_m: 32, tile_k: 64, stages: 2, ..PORTABLE };
    portable_groups_of_weights_of_8_bits_are_scaled:
        Form { scales: Some((128, Dtype::F16)), ..BYTES }, Sm80Schedule { tile_n: 128, warps_n: 4, tile_k: 64, ..PORTABLE };
    portable_small_groups_of_weights_of_8_bits_have_zero_points:
        Form { x: Dtype::F16, scales: Some((32, Dtype::F32)), zeros: true, ..BYTES }, PORTABLE;
    portable_products_of_weights_of_4_bits_are_right: Form { w: Dtype::I4x2, ..BYTES }, PORTABLE;
    portable_products_of_weights_of_4_bits_beside_f16_in_deep_stages_are_right:
        Form { x: Dtype::F16, w: Dtype::I4x2, out: Dtype::Bf16, ..BYTES },
        Sm80Schedule { tile_m: 32, tile_k: 64, warps_n: 4, stages: 6, ..PORTABLE };
    portable_groups_of_weights_of_4_bits_are_scaled:
        Form { w: Dtype::I4x2, scales: Some((128, Dtype::F16)), ..BYTES }, Sm80Schedule { tile_m: 128, warps_m: 2, ..PORTABLE };
    portable_groups_of_weights_of_4_bits_in_deep_stages_have_zero_points:
        Form { scales: Some((64, Dtype::Bf16)), ..PACKED_ZEROS }, Sm80Schedule { tile_m: 32, tile_k: 64, ..PORTABLE };
    portable_products_of_two_weights_have_zero_points_each:
        Form { products: 2, ..PACKED_ZEROS }, Sm80Schedule { tile_n: 128, warps_n: 4, ..PORTABLE };
    two_portable_products_of_weights_of_8_bits_are_right: Form { products: 2, ..BYTES }, Sm80Schedule { tile_k: 64, ..PORTABLE };
}

const PACKED_ZEROS: Form = Form { w: Dtype::I4x2, scales: Some((128, Dtype::F16)), zeros: true, ..BYTES };

const ZEROS: &str = "sm90_weights_zeros.cuh";

#[test]
fn zero_points_of_other_rows_or_groups_are_told() {
    let test = "weights_kernels::zero_points_of_other_rows_or_groups_are_told";
    let bytes = Form { w: Dtype::I8, scales: Some((64, Dtype::F16)), ..PACKED_ZEROS };
    let two = Form { products: 2, ..PACKED_ZEROS };
    let changes = [
        (PACKED_ZEROS, ZEROS, ("first + 8 * lower", "first")),
        (PACKED_ZEROS, ZEROS, ("group * G::kColumns + row", "row")),
        (
            bytes,
            ZEROS,
            ("return unpack8<Input, kHalf>(bytes, pairs[block][lower]);", "return unpack8<Input, kHalf>(bytes);"),
        ),
        (two, ZEROS, ("block / G::kBlocksOfOne, G::kColumns", "0, G::kColumns")),
        (PACKED_ZEROS, UNITS, ("part.zeros[group] = before.zeros[group];", "")),
        (
            PACKED_ZEROS,
            "sm90_weights.cuh",
            (
                "tables.zeros().load(args.zeros_map, G::Stage::zeros(b, 0, G::kColumns), full, origin.n, group);",
                "tables.zeros().load(args.zeros_map, G::Stage::zeros(b, 0, G::kColumns), full, origin.n, 0);",
            ),
        ),
    ];
    for (form, file, (before, after)) in changes {
        let schedule = Sm90Schedule { tile_n: 64 * form.products as u32, ..SWAPPED };
        tells(test, form, schedule, Change { file, before, after });
    }
}

#[test]
fn portable_weights_that_meet_others_along_k_or_scales_of_other_groups_are_told() {
    let test = "weights_kernels::portable_weights_that_meet_others_along_k_or_scales_of_other_groups_are_told";
    let packed = Form { w: Dtype::I4x2, ..BYTES };
    let changes = [
        (BYTES, ("ptx::load_shared(address, a[0], a[2]);", "ptx::load_shared(address, a[0], a[1]);")),
        (BYTES, ("* kDivisor<Input>;", "* 1.0f;")),
        (packed, ("const uint32_t nibbles = word >> 8 * (step % 2);", "const uint32_t nibbles = word;")),
        (PACKED_ZEROS, ("group = requested;", "")),
        (PACKED_ZEROS, ("of_group[i][j][at] = 0.0f;", "")),
        (PACKED_ZEROS, ("group.scales[j][at % 2]", "group.scales[j][0]")),
        (
            PACKED_ZEROS,
            ("load_zeros<0>(args.zeros, args.ldzeros, group,", "load_zeros<0>(args.zeros, args.ldzeros, 0,"),
        ),
    ];
    for (form, (before, after)) in changes {
        tells(test, form, PORTABLE, Change { file: "sm80_weights.cuh", before, after });
    }
}

/// Bits that are shifted, scaled or moved otherwise than numbers lie.
#[test]
fn numbers_that_are_unpacked_otherwise_are_told() {
    let test = "weights_kernels::numbers_that_are_unpacked_otherwise_are_told";
    let packed = Form { w: Dtype::I4x2, ..BYTES };
    let beside_f16 = Form { x: Dtype::F16, ..packed };
    let wide = Sm90Schedule { tile_m: 40, stages: 3, ..SWAPPED };
    let changes = [
        (BYTES, SWAPPED, UNPACK, ("bytes ^ kBase8 * 0x01010101", "bytes")),
        (beside_f16, SWAPPED, UNPACK, ("kAbove ? kSixteenthOfIt<T> : kLargestPower<T>", "kLargestPower<T>")),
        (packed, SWAPPED, UNITS, (">> 8 * (step % 2)", "")),
        (packed, SWAPPED, UNITS, ("acc[block][i] *= kDivisor<Input>", "acc[block][i] *= 1.0f")),
        (packed, wide, "sm90_weights_mainloop.cuh", (">> 8 * (step % 2)", "")),
        (BYTES, wide, "sm90_weights_mainloop.cuh", ("acc[block][i] *= kDivisor<Input>", "acc[block][i] *= 1.0f")),
    ];
    for (form, schedule, file, (before, after)) in changes {
        tells(test, form, schedule, Change { file, before, after });
    }
}

const UNPACK: &str = "unpack.cuh";
const UNITS: &str = "sm90_weights_units.cuh";
const FEW: &str = "sm90_weights_few.cuh";
const PIECES: &str = "sm90_weights_pieces.cuh";

/// Each warp reads what it multiplies from shared memory several times as fast as it unpacks, if no bank is asked twice.
#[test]
fn warps_load_weights_and_few_rows_without_bank_conflicts() {
    let test = "weights_kernels::warps_load_weights_and_few_rows_without_bank_conflicts";
    let Some(compiler) = Compiler::find(test) else { return };
    let pair = Sm90Schedule { tile_n: 128, consumers: 2, stages: 4, ..SWAPPED };
    let packed = Form { w: Dtype::I4x2, ..BYTES };
    let grouped = Some((128, Dtype::F16));
    for form in [BYTES, Form { scales: grouped, ..BYTES }, packed, Form { scales: grouped, ..packed }] {
        let schedule = Schedule::Sm90(pair);
        let module = module(&compiler, form, &schedule, None);
        let report = launch(form, &schedule, &module, shape(16, 256, 1024), 0).unwrap().report;
        let loads = report.sites.values();
        let loads: Vec<_> =
            loads.filter(|site| site.instruction.starts_with("ld") && site.memory == Memory::Shared).collect();
        // Numbers once, and the rows beside them by each 64 rows of these.
        let read = 256 * 1024 / u64::from(form.w.numbers()) + 256 / 64 * 16 * 1024 * 2;
        assert!(loads.iter().map(|site| site.bytes).sum::<u64>() >= read, "{form:?}");
        for site in loads {
            assert_eq!(site.bank_conflicts, 0, "{form:?}: {site:?}");
        }
    }
}

/// Shapes at which changes of the kernel's text show: stages come round, blocks have a second tile, one stage is all there is.
const TELLING: [(u32, u32, u32); 3] = [(16, 128, 2048), (44, 200, 1280), (16, 64, 128)];

/// Whether a change of the kernel's text shows, as another result or as a fault, where without it there is neither.
fn tells(test: &str, form: Form, schedule: impl Into<Schedule>, change: Change<'_>) {
    let Some(compiler) = Compiler::find(test) else { return };
    let schedule = schedule.into();
    let Change { before, after, .. } = change;
    let (kernel, _) = emit::kernel(&form.problem(), &schedule);
    let text = |change| compiler.ptx(&kernel, arch_of(&schedule), change).unwrap();
    assert_ne!(instructions(&text(None)), instructions(&text(Some(change))), "`{before}` is no part of this kernel");
    let is_wrong = |change: Option<Change<'_>>| {
        let module = module(&compiler, form, &schedule, change);
        let mut runs = TELLING.into_iter().zip(0..);
        runs.any(|((m, n, k), seed)| {
            run(form, &schedule, &module, shape(m, n, k), seed).map_or(true, |(got, expected)| got != expected)
        })
    };
    assert!(!is_wrong(None), "the kernel is wrong as it is");
    assert!(is_wrong(Some(change)), "`{after}` in place of `{before}` changes nothing that is seen");
}

#[test]
fn numbers_that_meet_others_along_k_and_stages_that_are_left_too_early_are_told() {
    let test = "weights_kernels::numbers_that_meet_others_along_k_and_stages_that_are_left_too_early_are_told";
    let packed = Form { w: Dtype::I4x2, scales: Some((128, Dtype::F16)), ..BYTES };
    let units = [
        (BYTES, ("eight = sixteen % 4 * 2", "eight = sixteen % 2 * 2")),
        (BYTES, ("static_cast<uint32_t>(unit) * kOthersTurn", "0")),
        (BYTES, ("const int panel = sixteen / 4,", "const int panel = 0,")),
        (packed, ("unit * 2 * kTmaUnitBytes", "unit * kTmaUnitBytes")),
        (packed, ("unit * G::kTileM + columns", "columns")),
        (packed, ("        if (begins_group(unit, step + 1)) {", "        {")),
        (packed, ("          clear(sums);\n", "")),
    ];
    let units = units.map(|(form, (before, after))| (form, Change { file: UNITS, before, after }));
    for (form, change) in sample_mutants(units, 6, |(_, change)| *change) {
        tells(test, form, SWAPPED, change);
    }
    // Warps that have rows of their own.
    let few = [
        ("units.add_to(acc);", ""),
        ("          __syncwarp();  // all lanes have read the stage\n", ""),
        ("            wait_for_stage(shared, cursor);\n", ""),
    ];
    for (before, after) in few {
        let schedule = Sm90Schedule { stages: 5, ..SWAPPED };
        tells(test, BYTES, schedule, Change { file: FEW, before, after });
    }
    // Warps that share K.
    let pieces = [
        ("          __syncwarp();  // all lanes have read the stage\n", ""),
        ("          wait_for_stage(shared, own);\n", ""),
        ("    units.add_to(sums);\n", ""),
        ("piece * kUnits};", "0};"),
        ("    meet();\n    if (has_some) leave", "    if (has_some) leave"),
        ("    meet();\n    add_up(", "    add_up("),
        ("    meet();\n    if (has_some) release_stage", "    if (has_some) release_stage"),
        ("    ptx::fence_async_proxy();\n", ""),
        ("      if (offset >= k_blocks) break;\n", ""),
        ("    if (has_some) release_stage(shared, own.stage);\n", ""),
    ];
    let pieces = pieces.map(|(before, after)| Change { file: PIECES, before, after });
    for change in sample_mutants(pieces, 6, |change| *change) {
        let (form, schedule) = (Form { scales: None, ..packed }, Sm90Schedule { stages: 4, ..SWAPPED });
        tells(test, form, schedule, change);
    }
    // Panels of wide tiles, each of which makes room alone.
    let wide = Sm90Schedule { tile_m: 40, tile_n: 64, consumers: 1, stages: 2, ..SWAPPED };
    let panels = [
        (
            "sm90_weights.cuh",
            (
                "if constexpr (G::kByPanels) ptx::mbarrier_wait(shared.empty(weights::barrier_of_panel<G>(stage, panel)), cursor.parity ^ 1);",
                "",
            ),
        ),
        (
            "sm90_weights_mainloop.cuh",
            ("const int panel = (unit + kUnits - 2)", "const int panel = (unit + kUnits - 1)"),
        ),
    ];
    for (file, (before, after)) in panels {
        tells(test, packed, wide, Change { file, before, after });
    }
}
