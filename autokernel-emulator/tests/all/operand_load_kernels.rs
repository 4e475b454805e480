//! A matrix that a body reads, by TMA into the buffers of the store: small integers, exact in every type that is here.

use crate::support::arguments::{self, Placed};
use crate::support::case::SM90;
use crate::support::compile::{Change, Compiler};
use crate::support::host::{Matrix, Shape, allocate, download, product, shape};
use crate::support::sample::{sample, sample_mutants};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{self, Bf16, F16, F32};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{emit, extents};
use autokernel_core::{Arg, LaunchPlan};
use autokernel_emulator::{Gpu, Module, Options, Report, Site};

/// What a kernel computes: `dot + bias + 4 skip`, and where there are two products the second one less.
#[derive(Clone, Copy, Debug)]
struct Form {
    skip: Dtype,
    out: Dtype,
    is_gated: bool,
    /// Whether rows are summed too, which changes nothing of what is stored.
    is_reduced: bool,
}

const PLAIN: Form = Form { skip: F16, out: F16, is_gated: false, is_reduced: false };
const FORMS: [Form; 5] = [
    PLAIN,
    Form { skip: F32, out: F32, ..PLAIN },
    // Boxes of half of the bytes of those that are stored.
    Form { skip: Bf16, out: F32, ..PLAIN },
    Form { is_gated: true, ..PLAIN },
    Form { skip: F32, out: F32, is_reduced: true, ..PLAIN },
];

impl Form {
    fn problem(self) -> Problem {
        let Form { skip, out, is_gated, is_reduced } = self;
        let second = if is_gated { "up: &Matrix<bf16>, " } else { "" };
        let (column, sum) = if is_reduced { (", sums: &mut Column<f32>", "sums = row_sum(y);") } else { ("", "") };
        let product = if is_gated { "dot(x, w.t()) - dot(x, up.t())" } else { "dot(x, w.t())" };
        let text = format!(
            "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, {second}bias: &Row<f32>, skip: &Matrix<{skip}>, \
             out: &mut Matrix<{out}>{column}) {{ let y = {product} + bias + 4.0 * skip; out = y; {sum} }}"
        );
        autokernel_codegen::product::problem(&syn::parse_str(&text).unwrap()).unwrap()
    }
}

/// Consumers that share tiles, of several blocks of rows each and of one; that take turns; clusters; boxes of fewer columns than a swizzle
/// row has; more tiles than blocks; boxes for which there are more buffers than two.
const SCHEDULES: [Sm90Schedule; 7] = [
    SM90,
    Sm90Schedule { tile_m: 128, tile_n: 192, consumers: 2, ..SM90 },
    Sm90Schedule { tile_m: 192, tile_n: 96, consumers: 3, ..SM90 },
    Sm90Schedule { tile_m: 128, tile_n: 128, consumers: 2, mode: Mode::PingPong, cluster_m: 2, ..SM90 },
    Sm90Schedule { tile_n: 256, stages: 5, consumers: 2, mode: Mode::PingPong, ..SM90 },
    Sm90Schedule { tile_m: 128, tile_n: 32, cluster_n: 2, ..SM90 },
    Sm90Schedule { tile_m: 128, tile_n: 160, stages: 5, consumers: 2, mode: Mode::PingPong, ..SM90 },
];

/// Tiles computed transposed: two boxes a block, in turns; many low ones, more than there are buffers for; one that is lower than a wgmma
/// is wide; sums that are split, of which some warps finish none.
const TRANSPOSED: [Sm90Schedule; 5] = [
    Sm90Schedule { tile_m: 112, tile_n: 128, consumers: 2, mode: Mode::PingPong, swap_ab: true, ..SM90 },
    Sm90Schedule { tile_m: 144, tile_n: 128, stages: 5, consumers: 2, mode: Mode::PingPong, swap_ab: true, ..SM90 },
    Sm90Schedule { tile_m: 80, tile_n: 256, consumers: 2, swap_ab: true, ..SM90 },
    Sm90Schedule { tile_m: 24, swap_ab: true, ..SM90 },
    Sm90Schedule { tile_m: 96, tile_n: 128, stages: 6, consumers: 2, swap_ab: true, splits: true, split_k: 3, ..SM90 },
];

/// Ragged edges and several tiles a block; less than a tile; one row; and no K.
const SHAPES: [(u32, u32, u32); 4] = [(330, 456, 72), (70, 72, 200), (1, 304, 64), (9, 24, 0)];

/// How the matrix and C lie, in elements by which rows are longer than they need be and bytes by which C begins late.
#[derive(Clone, Copy, Debug)]
struct Lies {
    skip: u32,
    out: u32,
    skew: u64,
}

const ALIGNED: Lies = Lies { skip: 0, out: 0, skew: 0 };

struct Compiled {
    form: Form,
    problem: Problem,
    kernel: KernelSource,
    plan: LaunchPlan,
    module: Module,
}

impl Compiled {
    fn new(compiler: &Compiler, form: Form, schedule: Sm90Schedule, change: Option<Change<'_>>) -> Self {
        let (problem, schedule) = (form.problem(), Schedule::Sm90(schedule));
        schedule.check(&problem.class(), Arch::SM_90A).unwrap();
        let (kernel, plan) = emit::kernel(&problem, &schedule);
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_90A, change).unwrap()).unwrap();
        Compiled { form, problem, kernel, plan, module }
    }

    /// Whether the matrix has a map.
    fn loads(&self) -> bool {
        let is_told =
            |arg: &Arg| matches!(arg, Arg::IsMapped { operand } if self.role(*operand) == autokernel_core::Role::Input);
        self.plan.kernels[0].args.iter().any(|field| is_told(&field.arg))
    }

    fn role(&self, operand: u8) -> autokernel_core::Role {
        signature(&self.problem).operands[usize::from(operand)].role
    }

    /// What was counted, or what went wrong.
    fn run(&self, of: Shape, lies: Lies, seed: u64) -> Result<Report, String> {
        let Compiled { form: Form { skip: skip_type, out: out_type, is_gated, is_reduced }, ref problem, .. } = *self;
        let Shape { m, n, k } = of;
        let mut gpu = Gpu::new(autokernel_emulator::Arch::Sm90a);
        let ld = k.next_multiple_of(8);
        let [x, w, up] = [(m, 1), (n, 2), (n, 3)].map(|(rows, draw)| Matrix::integers(rows, k, ld, draw + seed));
        let (bias, skip) = (Matrix::integers(1, n, n, 4 + seed), Matrix::integers(m, n, n + lies.skip, 5 + seed));
        let mut operands: Vec<Placed> = vec![x.upload(&mut gpu, "x", Bf16), w.upload(&mut gpu, "w", Bf16)];
        operands.extend(is_gated.then(|| up.upload(&mut gpu, "up", Bf16)));
        operands.extend([bias.upload(&mut gpu, "bias", F32), skip.upload(&mut gpu, "skip", skip_type)]);
        let out = allocate(&mut gpu, "out", out_type, m, n, n + lies.out, lies.skew);
        operands.push(out);
        operands.extend(is_reduced.then(|| allocate(&mut gpu, "sums", F32, 1, m, m, 0)));
        let of_plan = (&signature(problem), &self.plan);
        let (launches, _workspace) =
            arguments::steps(&mut gpu, arguments::MULTIPROCESSORS, of_plan.0, of_plan.1, extents(m, n, k), &operands);
        let options = Options { seed, instruction_budget: 1 << 26, ..Options::default() };
        let symbol = &self.kernel.symbol;
        let report = gpu.launch(&self.module, symbol, &launches[0], &options).map_err(|error| error.to_string())?;

        let mut sums = product(&x, &w, Layout::Nt, of);
        if is_gated {
            sums.iter_mut().zip(product(&x, &up, Layout::Nt, of)).for_each(|(sum, up)| *sum -= up);
        }
        let got = download(&mut gpu, out, out_type);
        for (at, (got, sum)) in got.into_iter().zip(sums).enumerate() {
            let (row, column) = (at as u32 / n, at as u32 % n);
            let expected = sum + bias.at(0, column) + 4.0 * skip.at(row, column);
            if got != expected {
                return Err(format!("out[{row}, {column}] is {got}, expected {expected}"));
            }
        }
        Ok(report)
    }
}

#[test]
fn a_matrix_that_comes_by_tma_is_read_right_by_every_crew_and_of_every_width() {
    let test = "a_matrix_that_comes_by_tma_is_read_right_by_every_crew_and_of_every_width";
    let Some(compiler) = Compiler::find(test) else { return };
    for (number, schedule) in (0..).zip(SCHEDULES.into_iter().chain(TRANSPOSED)) {
        let is_served = |form: &Form| {
            !form.is_gated || Schedule::Sm90(schedule).check(&form.problem().class(), Arch::SM_90A).is_ok()
        };
        let forms = FORMS.into_iter().filter(is_served);
        for form in sample(forms.collect::<Vec<_>>(), 6, number) {
            let compiled = Compiled::new(&compiler, form, schedule, None);
            assert!(compiled.loads(), "{form:?} by {schedule:?}");
            for (seed, (m, n, k)) in (0..).zip(SHAPES) {
                let what = format!("{form:?} by {}, {m}x{n}x{k}", Schedule::Sm90(schedule));
                compiled.run(shape(m, n, k), ALIGNED, seed).unwrap_or_else(|why| panic!("{what}: {why}"));
            }
        }
    }
}

#[test]
fn threads_read_a_matrix_themselves_where_it_or_c_is_not_aligned() {
    let test = "threads_read_a_matrix_themselves_where_it_or_c_is_not_aligned";
    let Some(compiler) = Compiler::find(test) else { return };
    let (m, n, k) = (256, 384, 72); // whole tiles
    for schedule in [SCHEDULES[1], SCHEDULES[3], TRANSPOSED[0]] {
        let compiled = Compiled::new(&compiler, PLAIN, schedule, None);
        let run = |n, lies| compiled.run(shape(m, n, k), lies, 7).unwrap_or_else(|why| panic!("{n}, {lies:?}: {why}"));
        let bytes = |n: u32| u64::from(m * n * PLAIN.skip.bytes());
        let by_tma = run(n, ALIGNED);
        for lies in [
            Lies { skip: 1, ..ALIGNED },
            Lies { skip: 2, out: 3, ..ALIGNED },
            Lies { skew: 2, ..ALIGNED },
            Lies { skew: 4, out: 4, ..ALIGNED },
        ] {
            let by_threads = run(n, lies);
            assert!(by_threads.counters.global.loaded >= by_tma.counters.global.loaded + bytes(n), "{lies:?}");
        }
        run(390, Lies { skip: 2, ..ALIGNED });
        run(390, ALIGNED);
    }
}

#[test]
fn elements_of_16_bits_are_read_from_where_they_were_loaded_without_bank_conflicts() {
    let test = "elements_of_16_bits_are_read_from_where_they_were_loaded_without_bank_conflicts";
    let Some(compiler) = Compiler::find(test) else { return };
    // Whole tiles.
    for (form, schedule, (m, n)) in [
        (PLAIN, SCHEDULES[1], (128, 384)),
        (PLAIN, SCHEDULES[2], (192, 192)),
        (FORMS[2], SCHEDULES[0], (192, 192)),
        (PLAIN, TRANSPOSED[0], (224, 256)),
        (FORMS[2], TRANSPOSED[3], (48, 192)),
    ] {
        let compiled = Compiled::new(&compiler, form, schedule, None);
        let report = compiled.run(shape(m, n, 64), ALIGNED, 0).unwrap();
        let is_load = |site: &&Site| ["ld.shared", "ldmatrix"].iter().any(|name| site.instruction.starts_with(name));
        let loads: Vec<&Site> = report.sites.values().filter(is_load).collect();
        let bytes = loads.iter().map(|site| site.bytes).sum::<u64>();
        let (expected, told) = (u64::from(m * n * form.skip.bytes()), Schedule::Sm90(schedule));
        assert_eq!(bytes, expected, "{form:?} by {told}");
        assert!(loads.iter().all(|site| site.bank_conflicts == 0), "{form:?} by {schedule:?}: {loads:?}");
    }
}

const FILE: &str = "sm90_operand_load.cuh";

/// A mistake: what a file has, and what is there in its place.
type Mistake = (&'static str, &'static str, &'static str);

/// Mistakes in loads by TMA, each of which must show.
const BY_TMA: [Mistake; 11] = [
    (FILE, "      ptx::mbarrier_wait(barrier(buffer), parities >> buffer & 1);\n", ""),
    (FILE, "      parities ^= 1u << buffer;\n", ""),
    // The store from a buffer may not have read it.
    (FILE, "    if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<kStoring - 1>();\n", ""),
    (FILE, "    if (!is_on || passed++ < kStoring) return;\n", "    if (!is_on) return;\n"),
    (FILE, "i < kBuffers; ++i) load_next", "i < 1; ++i) load_next"),
    (FILE, "(buffer + kBuffers - kStoring) % kBuffers", "(buffer + 1) % kBuffers"),
    (FILE, "next_chunk = is_last ? 0 : next_chunk + 1;", "next_chunk = next_chunk + 1;"),
    (FILE, "next_chunk + 1 == kChunks || ", "next_chunk == kChunks || "),
    (FILE, "|| (G::kSwapAB ? box.m + kChunk >= c.rows : box.n + kChunk >= c.columns)", ""),
    (FILE, "of_lane ^ number * 4 * kPairBytes", "of_lane + number * 4 * kPairBytes"),
    ("sm90_matmul.cuh", "    if constexpr (body::kLoads<Body>) OperandLoad<G, Body>::init(shared);\n", ""),
];

/// Mistakes in what lanes take of transposed tiles.
const BY_COLUMNS: [Mistake; 3] = [
    (FILE, "lane % 8 * kRowBytes + lane / 8 % 2 * kTmaUnitBytes", "lane % 8 * kRowBytes"),
    (FILE, "address + number * 8 * kRowBytes;", "address + number * 4 * kRowBytes;"),
    (
        "sm90_split_k.cuh",
        "consumer_warp * walk.split_k / G::kTileWarps == ",
        "consumer_warp * walk.split_k / G::kTileWarps != ",
    ),
];

/// Mistakes in what lanes copy.
const BY_LANES: [Mistake; 4] = [
    (FILE, "row + y < c.rows && ", ""),
    (FILE, "buffer + swizzled<kRowBytes>(y * kRowBytes + x * sizeof(T))", "buffer + y * kRowBytes + x * sizeof(T)"),
    (FILE, "    if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<kBuffers - 1>();\n", ""),
    (FILE, "if (number++ != body::kLoadedInput<Body>) return;", "if (++number != body::kLoadedInput<Body>) return;"),
];

/// Whether `change` shows in any of those schedules.
fn shows(compiler: &Compiler, change: Change<'_>, schedules: &[Sm90Schedule], lies: Lies) -> bool {
    schedules.iter().any(|schedule| {
        let compiled = Compiled::new(compiler, PLAIN, *schedule, Some(change));
        let mut runs = (0..2).flat_map(|seed| SHAPES[..2].iter().map(move |&(m, n, k)| (seed, shape(m, n, k))));
        runs.any(|(seed, of)| compiled.run(of, lies, seed).is_err())
    })
}

#[test]
fn a_mistake_in_loading_a_matrix_shows() {
    let Some(compiler) = Compiler::find("a_mistake_in_loading_a_matrix_shows") else { return };
    let unaligned = Lies { skip: 1, ..ALIGNED };
    let all = [
        (&BY_TMA[..], &[SCHEDULES[3], SCHEDULES[6], SCHEDULES[1]][..], ALIGNED),
        (&BY_COLUMNS, &[TRANSPOSED[0], TRANSPOSED[4]], ALIGNED),
        (&BY_LANES, &[SCHEDULES[1], TRANSPOSED[0]], unaligned),
    ];
    for (mistakes, schedules, lies) in all {
        let changes = mistakes.iter().map(|&(file, before, after)| Change { file, before, after }).collect::<Vec<_>>();
        for change in sample_mutants(changes, 2, |change| *change) {
            assert!(shows(&compiler, change, schedules, lies), "nothing shows of {change:?}");
        }
    }
}
