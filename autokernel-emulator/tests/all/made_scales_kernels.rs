//! Products whose kernels make the scales of an 8-bit output, a scale for each 128 columns of a row: bit for bit what `MadeScales` says of
//! the same sums, which are exact.

use crate::support::arguments;
use crate::support::case::{SM80, SM90};
use crate::support::compile::{Change, Compiler};
use crate::support::host::{Matrix, Shape, allocate, download, product, rounded, shape};
use crate::support::sample::sample_mutants;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{self, Bf16, E4m3, E5m2, F16, F32};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{emit, extents};
use autokernel_core::LaunchPlan;
use autokernel_emulator::{Gpu, Module, Options};

const BLOCK: u32 = 128;

/// What is made, of one product or two.
#[derive(Clone, Copy, Debug)]
struct Form {
    input: Dtype,
    out: Dtype,
    is_gated: bool,
    /// Columns of rows that have one scale each; blocks have scales where there is none.
    whole_rows: Option<u32>,
}

const ONE: Form = Form { input: Bf16, out: E4m3, is_gated: false, whole_rows: None };
const TWO: Form = Form { is_gated: true, ..ONE };

impl Form {
    /// `wide` is what is scaled.
    fn problem(self) -> Problem {
        let Form { input, out, is_gated, whole_rows } = self;
        let scales = if whole_rows.is_some() { "Column" } else { "Matrix" };
        let (up, value) = match is_gated {
            true => (format!("up: &Matrix<{input}>, "), "(dot(x, w.t()) - 2.0 * dot(x, up.t())) * by + (bias - 8.0)"),
            false => (String::new(), "dot(x, w.t()) * by + (bias - 8.0)"),
        };
        let source = format!(
            "fn f(x: &Matrix<{input}>, w: &Matrix<{input}>, {up}by: &Column<f32>, bias: &Row<f32>, wide: &mut Matrix<f32>,
                 out_scales: &mut {scales}<f32>, out: &mut Matrix<{out}>) {{
                let y = {value};
                wide = y;
                out * out_scales = y;
            }}"
        );
        let settings = whole_rows.map_or_else(|| format!("block = {BLOCK}"), |n| format!("n = {n}")).parse().unwrap();
        autokernel_codegen::product::problem_with(settings, &syn::parse_str(&source).unwrap()).unwrap()
    }

    fn block(self) -> u32 {
        self.whole_rows.unwrap_or(BLOCK)
    }

    fn largest(self) -> f32 {
        if self.out == E4m3 { 448.0 } else { 57_344.0 }
    }
}

/// What multiplies rows: blocks of zeros, of numbers whose scale would be none, of ones that are no numbers, and of huge ones.
const ROWS: [f32; 7] = [1.0, 0.0, -0.125, 1e-40, f32::NAN, 3e38, 1024.0];

/// What the body takes off a bias, so that what lies beyond the last column would be the largest of its block.
const SHIFT: f64 = 8.0;

/// The scale of a block of a row, and its elements by that, as `MadeScales` says.
fn scale_block(values: &mut [f32], largest: f32) -> f32 {
    let of_block = values.iter().filter(|value| !value.is_nan()).fold(0f32, |most, value| most.max(value.abs()));
    let scale = (of_block.min(f32::MAX) / largest).max(f32::MIN_POSITIVE);
    let reciprocal = 1.0 / scale;
    values.iter_mut().for_each(|value| *value *= reciprocal);
    scale
}

/// A kernel as the emulator runs it.
struct Compiled {
    form: Form,
    problem: Problem,
    kernel: KernelSource,
    plan: LaunchPlan,
    module: Module,
    arch: Arch,
    /// What is scaled is not rounded.
    is_reference: bool,
}

impl Compiled {
    fn new(compiler: &Compiler, form: Form, schedule: &Schedule, arch: Arch, change: Option<Change<'_>>) -> Self {
        let problem = form.problem();
        schedule.check(&problem.class(), arch).unwrap();
        let (kernel, plan) = emit::kernel(&problem, schedule);
        let module = Module::parse(&compiler.ptx(&kernel, arch, change).unwrap()).unwrap();
        Compiled { form, problem, kernel, plan, module, arch, is_reference: false }
    }

    fn reference(compiler: &Compiler, form: Form) -> Self {
        let problem = form.problem();
        let (kernel, plan) = emit::reference(&problem);
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_80, None).unwrap()).unwrap();
        Compiled { form, problem, kernel, plan, module, arch: Arch::SM_80, is_reference: true }
    }

    /// The first difference from what the CPU makes, or what faults.
    fn wrong(&self, of: Shape, skew: u32, seed: u64) -> Option<String> {
        let Compiled { form, problem, kernel, plan, module, arch, is_reference } = self;
        let Shape { m, n, k } = of;
        let mut gpu = Gpu::new(match *arch {
            Arch::SM_80 => autokernel_emulator::Arch::Sm80,
            _ => autokernel_emulator::Arch::Sm90a,
        });
        let ld = k.next_multiple_of(16);
        let [x, w, up] = [(m, 1), (n, 2), (n, 3)].map(|(rows, draw)| Matrix::integers(rows, k, ld, draw + seed));
        let [mut by, mut bias] = [Matrix::integers(1, m, m, 0), Matrix::integers(1, n, n, seed + 9)];
        let factor = |row: u32| ROWS[(row as usize + seed as usize) % ROWS.len()];
        by.values = (0..m).map(|row| factor(row).into()).collect();
        // A block that an infinite element or a huge one rules, and one of zeros but for what is no number.
        bias.values.iter_mut().enumerate().for_each(|(at, bias)| match at {
            3 => *bias = f64::INFINITY,
            140 => *bias = 1e6,
            _ => *bias = if at % 2 == 0 { 0.0 } else { *bias },
        });
        let mut operands = vec![x.upload(&mut gpu, "x", form.input), w.upload(&mut gpu, "w", form.input)];
        if form.is_gated {
            operands.push(up.upload(&mut gpu, "up", form.input));
        }
        operands.push(by.upload(&mut gpu, "by", F32));
        let mut shifted = bias.clone();
        shifted.values.iter_mut().for_each(|bias| *bias += SHIFT);
        operands.push(shifted.upload(&mut gpu, "bias", F32));
        let out_type = if *is_reference { F32 } else { form.out };
        let blocks = n.div_ceil(form.block());
        let wide = allocate(&mut gpu, "wide", F32, m, n, n, 0);
        let out_scales = match form.whole_rows {
            None => allocate(&mut gpu, "out_scales", F32, m, blocks, blocks + skew, 0),
            Some(_) => allocate(&mut gpu, "out_scales", F32, 1, m, m, 0),
        };
        // Before Hopper the runtime sees to it that C begins at a multiple of 16 bytes.
        let is_moved = *arch != Arch::SM_80;
        let out = allocate(&mut gpu, "out", out_type, m, n, n + skew, if is_moved { skew.into() } else { 0 });
        operands.extend([wide, out_scales, out]);

        let (launch, _workspace) =
            arguments::on(&mut gpu, arguments::MULTIPROCESSORS, &signature(problem), plan, extents(m, n, k), &operands);
        let options = Options { seed, instruction_budget: 1 << 28, ..Options::default() };
        if let Err(error) = gpu.launch(module, &kernel.symbol, &launch, &options) {
            return Some(error.to_string());
        }

        let of_up = if form.is_gated { product(&x, &up, Layout::Nt, of) } else { vec![0.0; (m * n) as usize] };
        let sums = product(&x, &w, Layout::Nt, of).into_iter().zip(of_up).map(|(one, two)| (one - 2.0 * two) as f32);
        let values = sums.enumerate().map(|(at, sum)| {
            let (row, column) = (at as u32 / n, at as u32 % n);
            sum.mul_add(factor(row), bias.values[column as usize] as f32)
        });
        let values: Vec<f32> = values.collect();
        let [got_wide, got_scales, got] =
            [(wide, F32), (out_scales, F32), (out, out_type)].map(|(place, dtype)| download(&mut gpu, place, dtype));
        let is_same = |got: f64, expected: f64| got == expected || got.is_nan() && expected.is_nan();
        for row in 0..m {
            let mut of_row = values[(row * n) as usize..((row + 1) * n) as usize].to_vec();
            let wide = of_row.clone();
            let chunks = of_row.chunks_mut(form.block() as usize);
            let scales: Vec<f32> = chunks.map(|block| scale_block(block, form.largest())).collect();
            for (block, scale) in scales.iter().enumerate() {
                let got = got_scales[row as usize * scales.len() + block];
                if !is_same(got, f64::from(*scale)) {
                    return Some(format!("scale [{row}, {block}] is {got}, expected {scale}"));
                }
            }
            for (column, value) in of_row.iter().enumerate() {
                let at = (row * n) as usize + column;
                let bounded = if value.is_nan() { *value } else { value.clamp(-form.largest(), form.largest()) };
                let expected = if *is_reference { f64::from(*value) } else { rounded(form.out, bounded.into()) };
                if !is_same(got_wide[at], wide[column].into()) || !is_same(got[at], expected) {
                    let (got, of) = (got[at], got_wide[at]);
                    return Some(format!(
                        "[{row}, {column}] is {got} of {of}, expected {expected} of {}",
                        wide[column]
                    ));
                }
            }
        }
        None
    }
}

/// Ragged tiles and blocks, whole ones that TMA stores, less than a block, one row, and no K.
const SHAPES: [(u32, u32, u32); 5] = [(70, 200, 72), (130, 384, 64), (67, 67, 200), (1, 301, 64), (9, 150, 0)];

fn check(test: &str, form: Form, schedules: &[Schedule], arch: Arch) {
    let Some(compiler) = Compiler::find(test) else { return };
    for schedule in schedules {
        let compiled = Compiled::new(&compiler, form, schedule, arch, None);
        for (seed, (m, n, k)) in (0..).zip(SHAPES) {
            let n = form.whole_rows.unwrap_or(n);
            for skew in [0, 7] {
                let wrong = compiled.wrong(shape(m, n, k), skew, seed);
                assert_eq!(wrong, None, "{form:?}, {schedule:?}, {m}x{n}x{k}, {skew} beside");
            }
        }
    }
}

const WIDE: Sm90Schedule = Sm90Schedule { tile_m: 128, tile_n: 256, stages: 3, consumers: 2, ..SM90 };
const ONE_BLOCK: Sm90Schedule = Sm90Schedule { tile_n: 128, ..SM90 };

#[test]
fn scales_are_made_in_tiles_of_one_block_and_of_two() {
    let test = "scales_are_made_in_tiles_of_one_block_and_of_two";
    check(test, ONE, &[ONE_BLOCK, WIDE].map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn scales_are_made_by_consumers_in_turns_and_in_clusters() {
    let test = "scales_are_made_by_consumers_in_turns_and_in_clusters";
    let schedules = [
        Sm90Schedule { tile_n: 128, consumers: 2, mode: Mode::PingPong, ..SM90 },
        Sm90Schedule { cluster_m: 2, tile_m: 128, consumers: 2, ..ONE_BLOCK },
    ];
    check(test, Form { input: F16, out: E5m2, ..ONE }, &schedules.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn scales_are_made_once_where_k_is_split_or_shared() {
    let test = "scales_are_made_once_where_k_is_split_or_shared";
    let schedules = [
        Sm90Schedule { splits: true, split_k: 4, stages: 4, ..ONE_BLOCK },
        Sm90Schedule { stream_k: true, shared_waves: 1, ..ONE_BLOCK },
    ];
    check(test, Form { input: E4m3, ..ONE }, &schedules.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn scales_are_made_of_two_products() {
    let test = "scales_are_made_of_two_products";
    check(test, TWO, &[Schedule::Sm90(WIDE)], Arch::SM_90A);
}

#[test]
fn one_scale_is_made_of_a_row_that_a_tile_holds() {
    let test = "one_scale_is_made_of_a_row_that_a_tile_holds";
    let of = |n: u32| Form { whole_rows: Some(n), ..ONE };
    check(test, of(256), &[Schedule::Sm90(WIDE)], Arch::SM_90A);
    let ping_pong = Sm90Schedule { tile_m: 64, tile_n: 192, consumers: 2, mode: Mode::PingPong, ..SM90 };
    check(test, of(150), &[Schedule::Sm90(ping_pong)], Arch::SM_90A);
    // Tiles of two blocks, of which the second has no columns.
    check(
        test,
        of(50),
        &[Schedule::Sm90(Sm90Schedule { splits: true, split_k: 4, stages: 4, ..ONE_BLOCK })],
        Arch::SM_90A,
    );
    let portable = Sm80Schedule { tile_m: 32, tile_n: 128, warps_m: 2, warps_n: 1, ..SM80 };
    check(test, of(77), &[Schedule::Sm80(portable)], Arch::SM_80);
    check(test, Form { whole_rows: Some(128), ..TWO }, &[Schedule::Sm90(WIDE)], Arch::SM_90A);
}

#[test]
fn scales_are_made_before_hopper() {
    let test = "scales_are_made_before_hopper";
    let schedules = [
        Sm80Schedule { tile_m: 32, tile_n: 128, warps_m: 2, warps_n: 1, ..SM80 },
        Sm80Schedule { tile_m: 32, tile_n: 256, warps_m: 2, warps_n: 2, ..SM80 },
    ];
    check(test, ONE, &schedules.map(Schedule::Sm80), Arch::SM_80);
}

#[test]
fn the_reference_makes_the_same_scales_and_leaves_elements_unrounded() {
    let Some(compiler) = Compiler::find("the_reference_makes_the_same_scales_and_leaves_elements_unrounded") else {
        return;
    };
    for form in [ONE, TWO] {
        assert_eq!(Compiled::reference(&compiler, form).wrong(shape(37, 150, 21), 3, 0), None, "{form:?}");
        let of_rows = Form { whole_rows: Some(100), ..form };
        assert_eq!(Compiled::reference(&compiler, of_rows).wrong(shape(37, 100, 21), 3, 0), None, "{of_rows:?}");
    }
}

/// One of these alone proves nothing of a schedule: some value or fault must tell each change of the kernel.
#[test]
fn each_change_of_how_scales_are_made_is_told() {
    let Some(compiler) = Compiler::find("each_change_of_how_scales_are_made_is_told") else { return };
    let changes = [
        ("mask <= 2; mask *= 2) all", "mask <= 1; mask *= 2) all"),
        ("fminf(largest, kLargestFinite)", "largest"),
        (", kLeastScale);", ", 0.0f);"),
        ("fmaxf(largest[pair], fabsf(values[number]))", "fmaxf(largest[pair], values[number])"),
        ("kWhole || place", "true || place"),
        ("at.row + 8 * pair", "at.row"),
        ("[number] = scale;\n    }\n  }\n}\n\n// The body", "[0] = scale;\n    }\n  }\n}\n\n// The body"),
        ("if (at.column == first) ", ""),
        ("        block[i + 1] *= reciprocal;\n", ""),
    ];
    let changes = changes.map(|(before, after)| Change { file: "body_scaled.cuh", before, after });
    for change in sample_mutants(changes, 6, |change| *change) {
        let changed = Compiled::new(&compiler, ONE, &Schedule::Sm90(WIDE), Arch::SM_90A, Some(change));
        let is_told = (0..).zip(SHAPES).any(|(seed, (m, n, k))| changed.wrong(shape(m, n, k), 0, seed).is_some());
        assert!(is_told, "{change:?} changes nothing that is seen");
    }
}
