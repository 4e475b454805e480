//! Packing by every schedule and by the reference, held bit for bit against arithmetic on the host; and mistakes in its headers, each of which
//! shows. The runtime's own functions are what declared kernels are held against (`gpu-tests`).

use crate::support::arguments;
use crate::support::compile::{Change, Compiler};
use crate::support::host::{Matrix, allocate, download};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{self, Bf16, F16, F32, I4x2, I8};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::problem::{Packing, Problem};
use autokernel_core::{Extents, LaunchPlan, dim};
use autokernel_emulator::{Gpu, Module, Options};

/// Four bits in groups with zero points: teams of 8 lanes.
const SHIFTED: Packing = Packing { dtype: Bf16, packed: I4x2, group: Some(64), scales: F32, zeros: true };
/// Four bits, symmetric: teams of 16 lanes.
const SYMMETRIC: Packing = Packing { dtype: F16, packed: I4x2, group: Some(128), scales: F16, zeros: false };
/// Eight bits of whole rows: a warp each.
const BYTES: Packing = Packing { dtype: F32, packed: I8, group: None, scales: F32, zeros: false };

/// Rows and numbers of each, by the group of a problem.
fn shapes(problem: &Packing) -> [(u32, u32); 3] {
    match problem.group {
        Some(group) => [(67, 3 * group), (1, group), (9, 0)],
        None => [(21, 301), (1, 1), (2, 512)],
    }
}

/// Weights: quarters, so that many lie halfway between two numbers, with some that are no numbers, and groups of zeros, or of the smallest
/// numbers that there are.
fn weights(problem: &Packing, (n, k): (u32, u32), seed: u64) -> Matrix {
    let mut w = Matrix::integers(n, k, k + 3, seed);
    let group = problem.group.unwrap_or(k).max(1);
    for (at, weight) in w.values.iter_mut().enumerate() {
        let number = at as u32 / group;
        *weight = match at * 7 % 43 {
            0 => f64::NAN,
            1 => -0.0,
            _ if number % 5 == 4 => 0.0,
            // About halfway between two numbers, by a scale that is rounded.
            _ if number % 5 == 2 && problem.dtype == F32 => {
                let halves = if at as u32 % group == 5 { 254 } else { 2 * (at as i32 * 7 % 254) - 253 };
                (halves as f32 / 254.0 * 1.1).into()
            }
            // So small that a scale of them is 0.
            _ if number % 5 == 3 && problem.dtype == F32 => f32::from_bits(at as u32 % 5).into(),
            _ => (*weight + f64::from(number % 3)) / 4.0 * f64::from(1 + number % 2),
        };
    }
    w
}

/// Numbers by row, and of each group of a row the scale and the zero point.
fn expected(problem: &Packing, w: &Matrix) -> (Vec<i8>, Vec<f32>, Vec<f32>) {
    let (least, most) = if problem.packed == I8 { (-127.0, 127.0) } else { (-8.0, 7.0) };
    let (k, mut numbers, mut scales, mut zeros) = (w.columns as usize, Vec::new(), Vec::new(), Vec::new());
    let group = problem.group.map_or(k, |group| group as usize).max(1);
    for of_group in w.values.chunks(group) {
        let finite = || of_group.iter().filter(|weight| !weight.is_nan()).map(|weight| *weight as f32);
        let (low, high) = (finite().fold(0f32, f32::min), finite().fold(0f32, f32::max));
        let (scale, zero) = if problem.zeros {
            let scale = high / (most - least) - low / (most - least);
            (scale, if scale == 0.0 { 0.0 } else { (least - low / scale).round_ties_even().clamp(least, most) })
        } else {
            (high.max(-low) / most, 0.0)
        };
        numbers.extend(of_group.iter().map(|weight| {
            let steps = if scale == 0.0 || weight.is_nan() { 0.0 } else { *weight as f32 / scale };
            (steps.round_ties_even() + zero).clamp(least, most) as i8
        }));
        scales.push(scale.abs());
        zeros.push(zero);
    }
    (numbers, scales, zeros)
}

/// The place of number `k` of a row of 4 bits: the byte, and the bit in it.
fn place(k: usize) -> (usize, usize) {
    let (within, bit) = (k % 32, k % 8 / 2 * 32 + k % 32 / 8 * 4 + k % 2 * 16);
    assert!(within < 32);
    (k / 32 * 16 + bit / 8, bit % 8)
}

/// Runs a kernel on weights drawn by a seed, whose results are fp32 where they are a reference's, and says what is wrong.
fn run(
    problem: &Packing,
    (kernel, plan, module): (&KernelSource, &LaunchPlan, &Module),
    (arch, (n, k), seed): (Arch, (u32, u32), u64),
    is_reference: bool,
) -> Result<(), String> {
    let mut gpu = Gpu::new(match arch {
        Arch::SM_80 => autokernel_emulator::Arch::Sm80,
        _ => autokernel_emulator::Arch::Sm90a,
    });
    let of = |dtype: Dtype| if is_reference { F32 } else { dtype };
    let w = weights(problem, (n, k), seed + 1);
    let (bytes, groups) = (k / problem.packed.numbers(), problem.group.map_or(1, |group| k / group));
    let placed = w.upload(&mut gpu, "w", problem.dtype);
    // A byte of packed numbers is read as a number of 8 bits.
    let packed = allocate(&mut gpu, "packed", of(I8), n, bytes, bytes + (seed as u32 % 2), 0);
    let scales = allocate(&mut gpu, "scales", of(problem.scales), groups, n, n + 1, 0);
    let zeros = allocate(&mut gpu, "zeros", of(I8), groups, n, n + 2, 0);
    let operands: Vec<_> = [placed, packed, scales].into_iter().chain(problem.zeros.then_some(zeros)).collect();
    let signature = Problem::from(problem.clone()).signature();
    let extents = Extents::new([(dim("n"), n), (dim("k"), k)]);
    let launch = arguments::of_plan(&mut gpu, &signature, plan, extents, &operands);
    if launch.grid[0] == 0 {
        return Ok(());
    }
    let options = Options { seed, instruction_budget: 1 << 26, ..Options::default() };
    gpu.launch(module, &kernel.symbol, &launch, &options).map_err(|error| format!("{}: {error}", kernel.symbol))?;

    let (numbers, of_groups, points) = expected(problem, &w);
    let got = download(&mut gpu, packed, of(I8));
    for (at, number) in numbers.iter().enumerate() {
        let (row, at_k) = (at / k as usize, at % k as usize);
        let found = if problem.packed == I8 {
            got[at] as i8
        } else {
            let (byte, bit) = place(at_k);
            let bits = (got[row * bytes as usize + byte] as i8).cast_unsigned();
            ((bits >> bit << 4).cast_signed()) >> 4
        };
        if found != *number {
            return Err(format!("{}: number {at_k} of row {row} is {found}, not {number}", kernel.symbol));
        }
    }
    let got = download(&mut gpu, scales, of(problem.scales));
    let points_there = if problem.zeros { download(&mut gpu, zeros, of(I8)) } else { Vec::new() };
    for (at, (scale, zero)) in of_groups.iter().zip(&points).enumerate() {
        // Of groups [k / group, n].
        let there = at % groups as usize * n as usize + at / groups as usize;
        let scale = crate::support::host::rounded(problem.scales, f64::from(*scale));
        if got[there].to_bits() != scale.to_bits() {
            return Err(format!("{}: scale {at} is {}, not {scale}", kernel.symbol, got[there]));
        }
        if points_there.get(there).is_some_and(|point| *point != f64::from(*zero)) {
            return Err(format!("{}: zero point {at} is {}, not {zero}", kernel.symbol, points_there[there]));
        }
    }
    Ok(())
}

#[test]
fn every_schedule_packs_as_the_host_does() {
    let Some(compiler) = Compiler::find("every_schedule_packs_as_the_host_does") else { return };
    for (packing, arch) in [(SHIFTED, Arch::SM_90A), (BYTES, Arch::SM_80)] {
        let problem = Problem::from(packing.clone());
        let class = problem.class();
        let schedules = class.families(arch).iter().flat_map(|&family| class.schedules(family, arch));
        for schedule in schedules {
            let (kernel, plan) = problem.emit(&schedule).unwrap();
            let module = Module::parse(&compiler.ptx(&kernel, arch, None).unwrap()).unwrap();
            for (seed, shape) in (0..).zip(shapes(&packing)) {
                run(&packing, (&kernel, &plan, &module), (arch, shape, seed), false)
                    .unwrap_or_else(|reason| panic!("{schedule}: {reason}"));
            }
        }
    }
}

#[test]
fn the_reference_packs_as_the_host_does() {
    let Some(compiler) = Compiler::find("the_reference_packs_as_the_host_does") else { return };
    for packing in [SHIFTED, SYMMETRIC, BYTES] {
        let (kernel, plan) = Problem::from(packing.clone()).reference();
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_80, None).unwrap()).unwrap();
        for (seed, shape) in (0..).zip(shapes(&packing)) {
            run(&packing, (&kernel, &plan, &module), (Arch::SM_80, shape, seed), true).unwrap();
        }
    }
}

/// What is replaced by what, in which file, of which problem.
const MUTANTS: [(&str, &str, &str, &str, Packing); 7] = [
    ("another rounding", "packing_numbers.cuh", "cvt.rni.f32", "cvt.rzi.f32", SYMMETRIC),
    (
        "a reciprocal",
        "packing_numbers.cuh",
        "= quotient_of(weight, scale)",
        "= weight * quotient_of(1.0f, scale)",
        BYTES,
    ),
    (
        "zeros of a group of zeros",
        "packing_numbers.cuh",
        "scale == 0.0f || quotient != quotient",
        "quotient != quotient",
        BYTES,
    ),
    ("half a team", "packing.cuh", "mask = kLanes / 2", "mask = kLanes / 4", SHIFTED),
    ("rows beyond the last", "packing.cuh", "if (row >= args.n) return;", "", SHIFTED),
    ("the scale of another group", "packing.cuh", "scale += group * args", "scale += 0 * args", SYMMETRIC),
    ("weights beyond the last", "packing.cuh", "if (k < end) row[k] =", "row[k] =", BYTES),
];

#[test]
fn mistakes_in_packing_show() {
    let Some(compiler) = Compiler::find("mistakes_in_packing_show") else { return };
    for (name, file, before, after, packing) in MUTANTS {
        let problem = Problem::from(packing.clone());
        let (kernel, plan) = problem.emit(&problem.class().default_schedule(Arch::SM_90A)).unwrap();
        let change = Change { file, before, after };
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_90A, Some(change)).unwrap()).unwrap();
        let shows = (0..)
            .zip(shapes(&packing))
            .any(|(seed, shape)| run(&packing, (&kernel, &plan, &module), (Arch::SM_90A, shape, seed), false).is_err());
        assert!(shows, "`{name}` gives the same");
    }
}
