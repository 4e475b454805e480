//! The references of groups, which all other kernels of groups are held against on a GPU, themselves against fp64 on an emulated one; and
//! what numbers that are out of order or range make kernels of each family touch.

use std::path::{Path, PathBuf};

use autokernel::{Arch, Device, EmulatedKernel, Emulation, LaunchPlan};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::Many;
use autokernel_codegen::matmul::emit;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::schedule::{Schedule, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::nvcc::Nvcc;
use autokernel_codegen::product::{Problem, problem, problem_with};
use batch_tests::changed::ptx;
use batch_tests::check::{Case, check_of, of_many, random};
use batch_tests::{buffer::Values, compiler::compiler};
use gpu_tests::skip;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rayon::prelude::*;

/// Problems of random sizes and groups for each.
const CASES: usize = 16;

/// Groups of rows, slots of rows that are counted, and parts of K; with f32 results, as references have them.
const GROUPED: [(&str, &str); 4] = [
    (
        "rows",
        "fn rows(x: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, bias: &RowBatch<f32>, out: &mut Matrix<f32>) {
            out = dot(x, w.t()) + bias;
        }",
    ),
    (
        "slots",
        "fn slots(x: &Batch<f16>, gate: &Matrix<f16>, up: &Matrix<f16>, counts: &Index, out: &mut Batch<f32>) {
            out = dot(x, gate) - 2.0 * dot(x, up);
        }",
    ),
    (
        "along_k",
        "fn along_k(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, before: &Batch<f32>, dw: &mut Batch<f32>) {
            dw = before + dot(x.t(), dy);
        }",
    ),
    (
        "gathered",
        "fn gathered(x: &Matrix<bf16>, tokens: &Index, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<f32>) {
            out = dot(x[tokens], w.t());
        }",
    ),
];

/// The same of other types, with settings.
const OF_TYPES: [(&str, &str, &str); 3] = [
    (
        "packed rows",
        "group = 32",
        "fn packed(x: &Matrix<bf16>, w: &Batch<i4x2>, zeros: &Batch<i8>, scales: &Batch<f16>, offsets: &Index,
            out: &mut Matrix<f32>) {
            out = dot(x, ((w - zeros) * scales).t());
        }",
    ),
    (
        "slots of bytes",
        "",
        "fn bytes(x: &Batch<i8>, w: &Batch<i8>, of_columns: &RowBatch<f32>, counts: &Index, out: &mut Batch<f32>) {
            out = dot(x, w.t()) * of_columns;
        }",
    ),
    (
        "rows of 8-bit floats",
        "",
        "fn floats(x: &Matrix<e5m2>, w: &Batch<e5m2>, offsets: &Index, of_weights: &ScalarBatch<f32>, out: &mut Matrix<f32>) {
            out = dot(x, w.t()) * of_weights;
        }",
    ),
];

fn grouped(name: &str) -> Problem {
    let (_, source) = GROUPED.iter().find(|(other, _)| *other == name).unwrap();
    problem(&syn::parse_str(source).unwrap()).unwrap()
}

/// The first thing that goes wrong when that kernel of `problem` runs at random sizes, or at one with these numbers.
fn run(problem: &Problem, (plan, ptx): (&LaunchPlan, &str), arch: Arch, numbers: Option<&[i32]>) -> Result<(), String> {
    let mut rng = StdRng::seed_from_u64(9);
    let cases = if numbers.is_some() { 1 } else { CASES };
    (0..cases).try_for_each(|number| {
        let emulation = Emulation::new(arch).seed(number as u64 % 4);
        let loaded = EmulatedKernel::load(&emulation, &signature(problem), plan, ptx.as_bytes()).unwrap();
        let device = Device::emulated_with(emulation).unwrap();
        let drawn = random(&mut rng, problem, [40, 40, 40], 4);
        let case = match numbers {
            None => drawn,
            Some(numbers) => {
                let groups = numbers.len() as u32 - u32::from(problem.many() != Many::Masked);
                Case { extents: of_many(problem, groups, ROOM), values: Values::Integers, seed: 1 }
            }
        };
        check_of(&device, problem, case, numbers.map(<[i32]>::to_vec), |arguments| loaded.launch(arguments).map(drop))
    })
}

fn nvcc(test: &str) -> Option<Nvcc> {
    let found = Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    found.inspect_err(|reason| skip::log(test, &reason.to_string())).ok()
}

fn reference(problem: &Problem) -> (KernelSource, LaunchPlan) {
    emit::reference(problem)
}

#[test]
fn the_references_of_groups_compile_as_others_do_and_sum_what_fp64_does() {
    let test = "reference::the_references_of_groups_compile_as_others_do_and_sum_what_fp64_does";
    let compiler = match compiler(env!("CARGO_TARGET_TMPDIR")) {
        Ok(compiler) => compiler.with_whole_runtime(),
        Err(reason) => return skip::log(test, &reason),
    };
    let of_types = OF_TYPES.map(|(name, settings, source)| {
        (name, problem_with(settings.parse().unwrap(), &syn::parse_str(source).unwrap()).unwrap())
    });
    for (name, problem) in GROUPED.map(|(name, _)| (name, grouped(name))).into_iter().chain(of_types) {
        let (source, plan) = reference(&problem);
        let image = compiler.compile(&source, Arch::SM_80).unwrap_or_else(|error| panic!("{name}: {error}"));
        let ptx = std::fs::read_to_string(image.ptx).unwrap();
        run(&problem, (&plan, &ptx), Arch::SM_80, None).unwrap_or_else(|report| panic!("{name}: {report}"));
    }
}

/// A mistake in a reference, by its kernel, file and texts.
type Mistake = (&'static str, &'static str, &'static str, &'static str, &'static str);
const GROUPS: &str = "reference_groups.cuh";
const ROWS: &str = "reference_matmul.cuh";

#[rustfmt::skip] // one mistake a line reads as the table that it is
const MISTAKES: &[Mistake] = &[
    ("a group of rows begins before the last one ends", "rows", ROWS, "const int end = max(begin, min(offsets[group + 1], args.m));", "const int end = min(max(offsets[group + 1], 0), args.m);"),
    ("a group of rows ends behind the last row", "rows", ROWS, "max(begin, min(offsets[group + 1], args.m))", "max(begin, offsets[group + 1])"),
    ("the first group begins with the first row", "rows", ROWS, "int begin = min(max(offsets[0], 0), args.m);", "int begin = 0;"),
    ("a group of rows has the weights of the first", "rows", ROWS, "Args seen = Batch::of(args, group);", "Args seen = Batch::of(args, 0);"),
    ("a group does not begin where the last one ended", "rows", ROWS, "      begin = end;\n", ""),
    ("rows of the first factor are those of the results", "gathered", ROWS, "static_cast<const int32_t*>(args.a_index)[row]", "static_cast<int32_t>(row)"),
    ("a row behind the last is read", "gathered", ROWS, "return of_a < args.a_rows ? of_a : -1;", "return of_a;"),
    ("a row before the first is read", "gathered", ROWS, "row < rows && gathered >= 0 && k0", "row < rows && k0"),
    ("more rows count than a slot has", "slots", GROUPS, "min(max(Batch::counts(args)[group], 0), args.m)", "max(Batch::counts(args)[group], 0)"),
    ("every row of a slot counts", "slots", GROUPS, "seen.m = min(max(Batch::counts(args)[group], 0), args.m);", ""),
    ("every slot has the first one's count", "slots", GROUPS, "Batch::counts(args)[group]", "Batch::counts(args)[0]"),
    ("every slot is the first", "slots", GROUPS, "Args seen = Batch::of(args, group);", "Args seen = Batch::of(args, 0);"),
    ("a part of K begins before the last one ends", "along_k", GROUPS, "const int end = max(begin, min(offsets[group + 1], args.k));", "const int end = min(max(offsets[group + 1], 0), args.k);"),
    ("a part of K ends behind the last row", "along_k", GROUPS, "max(begin, min(offsets[group + 1], args.k))", "max(begin, offsets[group + 1])"),
    ("a part of K begins before the first row", "along_k", GROUPS, "min(max(offsets[0], 0), args.k)", "min(offsets[0], args.k)"),
    ("each part of K begins with the first row", "along_k", GROUPS, "Batch::of(args, group), begin, end - begin", "Batch::of(args, group), 0, end - begin"),
    ("a part of K sums a row too many", "along_k", GROUPS, "begin, end - begin)", "begin, end - begin + 1)"),
];

#[test]
fn mistakes_in_the_references_of_groups_are_caught() {
    let Some(nvcc) = nvcc("reference::mistakes_in_the_references_of_groups_are_caught") else { return };
    let missed = MISTAKES.par_iter().filter(|&&(mistake, name, file, before, after)| {
        let problem = grouped(name);
        let (source, plan) = reference(&problem);
        let ptx = ptx(&nvcc, &source, Some((file, before, after)), Arch::SM_80);
        let run = |numbers| run(&problem, (&plan, &ptx), Arch::SM_80, numbers);
        let found = HOSTILE.iter().try_for_each(|numbers| run(Some(numbers))).and_then(|()| run(None));
        println!(
            "{mistake}: {:.160}",
            found.as_ref().err().map_or("MISSED", |found| found.rsplit("GPU: ").next().unwrap())
        );
        found.is_ok()
    });
    let missed: Vec<&str> = missed.map(|(mistake, ..)| *mistake).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Rows, columns and K where numbers are hostile.
const ROOM: [u32; 3] = [70, 24, 40];

/// Numbers that are no offsets, nor counts, of so many rows or so much of K.
const HOSTILE: [&[i32]; 6] = [
    &[0, 35, 12, 70],
    &[69, 0, 69, 0],
    &[i32::MIN, i32::MAX, i32::MIN, i32::MAX],
    &[i32::MAX, i32::MAX, i32::MAX],
    &[-1, -150, -1],
    &[7, 1_000_000, i32::MIN + 1, 71],
];

#[test]
fn numbers_that_are_out_of_order_or_range_touch_nothing_outside_by_either_family_nor_by_the_reference() {
    let test =
        "reference::numbers_that_are_out_of_order_or_range_touch_nothing_outside_by_either_family_nor_by_the_reference";
    let Some(nvcc) = nvcc(test) else { return };
    let Sm90Schedule { raster, .. } = Sm90Schedule::PLAIN;
    let portable = Sm80Schedule { tile_m: 64, tile_n: 64, tile_k: 32, warps_m: 2, warps_n: 1, stages: 3, raster };
    GROUPED.par_iter().for_each(|(name, _)| {
        let problem = grouped(name);
        let products = problem.class().products();
        let hopper =
            Sm90Schedule { tile_m: 128, tile_n: 64 * products, stages: 2, consumers: 2, ..Sm90Schedule::PLAIN };
        let of = |schedule: Schedule| emit::kernel(&problem, &schedule);
        let portable = Sm80Schedule { tile_n: 32 * products, ..portable };
        let kernels =
            [(Arch::SM_80, reference(&problem)), (Arch::SM_80, of(portable.into())), (Arch::SM_90A, of(hopper.into()))];
        for (arch, (source, plan)) in kernels {
            let ptx = ptx(&nvcc, &source, None, arch);
            for numbers in HOSTILE {
                run(&problem, (&plan, &ptx), arch, Some(numbers))
                    .unwrap_or_else(|report| panic!("{name} on {arch} of {numbers:?}: {report}"));
            }
        }
    });
}
