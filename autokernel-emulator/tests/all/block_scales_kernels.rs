//! Products of 8-bit floats whose blocks have scales: exact, as every sum of small integers and powers of two is.

use crate::support::arguments;
use crate::support::case::SM90;
use crate::support::compile::{Change, Compiler, mutant};
use crate::support::host::{Matrix, Shape, allocate, download, product, rounded, shape};
use crate::support::sample::sample_mutants;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{emit, extents};
use autokernel_codegen::rows::Columns;
use autokernel_core::LaunchPlan;
use autokernel_emulator::{Gpu, Module, Options};

const BLOCK: u32 = 128;

/// What is multiplied.
#[derive(Clone, Copy, Debug)]
struct Form {
    x: Dtype,
    out: Dtype,
    products: usize,
    /// Columns of a head whose halves are added to each other.
    head: Option<u32>,
}

const ONE: Form = Form { x: Dtype::E4m3, out: Dtype::F32, products: 1, head: None };
const TWO: Form = Form { products: 2, ..ONE };

impl Form {
    fn problem(&self) -> Problem {
        let Form { x, out, products, head } = self;
        let names = &["w", "up"][..*products];
        let parameters: String =
            names.iter().map(|name| format!("{name}: &Matrix<{x}>, of_{name}: &Matrix<f32>, ")).collect();
        let factors: Vec<String> =
            names.iter().map(|name| format!("dot(x * of_x, ({name} * of_{name}).t())")).collect();
        let partner = head.map_or(String::new(), |head| format!(" + rotate_half(y, {head})"));
        let source = format!(
            "fn f(x: &Matrix<{x}>, of_x: &Matrix<f32>, {parameters} bias: &Row<f32>, out: &mut Matrix<{out}>) {{
                let y = {};
                out = y{partner} + bias;
            }}",
            factors.join(" - 2.0 * ")
        );
        let settings = format!("block = {BLOCK}").parse().unwrap();
        autokernel_codegen::product::problem_with(settings, &syn::parse_str(&source).unwrap()).unwrap()
    }
}

/// Whole numbers along K and the powers of two that scale blocks of `rows` rows of them; what a kernel reads, and their products.
fn scaled(rows: u32, k: u32, block_rows: u32, seed: u64) -> (Matrix, Matrix, Matrix) {
    let numbers = Matrix::integers(rows, k, k.next_multiple_of(16), seed);
    let blocks = k.div_ceil(BLOCK);
    let mut scales = Matrix::integers(rows.div_ceil(block_rows), blocks, blocks.next_multiple_of(4), seed + 100);
    scales.values.iter_mut().for_each(|scale| *scale = 2f64.powf(scale.clamp(-2.0, 2.0)));
    let mut products = numbers.clone();
    for row in 0..rows {
        for at in 0..k {
            products.values[(row * k + at) as usize] *= scales.at(row / block_rows, at / BLOCK);
        }
    }
    (numbers, scales, products)
}

/// What a launch gives and what it should; a fault's text if it goes wrong.
fn run(form: Form, compiled: &Compiled, of: Shape, seed: u64) -> Result<(Vec<f64>, Vec<f64>), String> {
    let (problem, Shape { m, n, k }) = (form.problem(), of);
    let Compiled { kernel, plan, module } = compiled;
    let mut gpu = Gpu::new(autokernel_emulator::Arch::Sm90a);
    let (x, of_x, x_scaled) = scaled(m, k, 1, seed + 1);
    let mut operands = vec![x.upload(&mut gpu, "x", form.x), of_x.upload(&mut gpu, "of_x", Dtype::F32)];
    let mut sums = vec![0.0; (m * n) as usize];
    for (number, factor) in [1.0, -2.0][..form.products].iter().enumerate() {
        let (w, of_w, w_scaled) = scaled(n, k, BLOCK, seed + 7 + number as u64);
        operands.push(w.upload(&mut gpu, "w", form.x));
        operands.push(of_w.upload(&mut gpu, "of_w", Dtype::F32));
        let products = product(&x_scaled, &w_scaled, Layout::Nt, of);
        sums.iter_mut().zip(products).for_each(|(sum, product)| *sum += factor * product);
    }
    if let Some(head) = form.head {
        sums = with_partners(&sums, n as usize, head);
    }
    let bias = Matrix::integers(1, n, n, seed + 3);
    operands.push(bias.upload(&mut gpu, "bias", Dtype::F32));
    sums.iter_mut().enumerate().for_each(|(at, sum)| *sum += bias.at(0, at as u32 % n));
    let out = allocate(&mut gpu, "out", form.out, m, n, n, 0);
    operands.push(out);
    let (launch, _workspace) =
        arguments::on(&mut gpu, arguments::MULTIPROCESSORS, &signature(&problem), plan, extents(m, n, k), &operands);
    let options = Options { seed, instruction_budget: 1 << 26, ..Options::default() };
    gpu.launch(module, &kernel.symbol, &launch, &options).map_err(|error| error.to_string())?;
    Ok((download(&mut gpu, out, form.out), sums.into_iter().map(|sum| rounded(form.out, sum)).collect()))
}

/// Each element and its partner; no number where there is none.
fn with_partners(sums: &[f64], columns: usize, head: u32) -> Vec<f64> {
    let partner = |at: usize| match Columns::RotateHalf(head).at(at % columns, columns) {
        Some((column, is_negated)) => sums[at - at % columns + column] * if is_negated { -1.0 } else { 1.0 },
        None => f64::NAN,
    };
    (0..sums.len()).map(|at| sums[at] + partner(at)).collect()
}

fn compiled(compiler: &Compiler, form: Form, schedule: &Schedule, change: Option<Change<'_>>) -> Compiled {
    let problem = form.problem();
    schedule.check(&problem.class(), Arch::SM_90A).unwrap();
    Compiled::new(compiler, emit::kernel(&problem, schedule), change)
}

/// A kernel as the emulator runs it.
struct Compiled {
    kernel: KernelSource,
    plan: LaunchPlan,
    module: Module,
}

impl Compiled {
    fn new(compiler: &Compiler, (kernel, plan): (KernelSource, LaunchPlan), change: Option<Change<'_>>) -> Self {
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_90A, change).unwrap()).unwrap();
        Compiled { kernel, plan, module }
    }

    /// Whether every element of these shapes is what it should be.
    fn check(&self, form: Form, shapes: &[(u32, u32, u32)]) {
        for (seed, &(m, n, k)) in (0..).zip(shapes) {
            let of = shape(m, n, k);
            let (got, expected) = run(form, self, of, seed).unwrap_or_else(|why| panic!("{form:?}, {of:?}: {why}"));
            let is_same = |(got, expected): (&f64, &f64)| got == expected || got.is_nan() && expected.is_nan();
            if let Some(at) = got.iter().zip(&expected).position(|pair| !is_same(pair)) {
                panic!("{form:?}, {of:?}: [{}, {}] is {}, not {}", at as u32 / n, at as u32 % n, got[at], expected[at]);
            }
        }
    }
}

/// Ragged everywhere, less than a block, several tiles each way and more blocks than scales come at once, and no K.
const SHAPES: [(u32, u32, u32); 5] = [(70, 130, 512), (5, 200, 1163), (133, 72, 16), (20, 257, 700), (9, 8, 0)];

fn check(test: &str, form: Form, schedule: Sm90Schedule) {
    let Some(compiler) = Compiler::find(test) else { return };
    compiled(&compiler, form, &Schedule::Sm90(schedule), None).check(form, &SHAPES);
}

#[test]
fn the_reference_scales_blocks_of_an_element_and_of_its_partner() {
    let test = "block_scales_kernels::the_reference_scales_blocks_of_an_element_and_of_its_partner";
    let Some(compiler) = Compiler::find(test) else { return };
    for form in [Form { head: Some(256), ..ONE }, Form { head: Some(32), ..TWO }] {
        let reference = Compiled::new(&compiler, emit::reference(&form.problem()), None);
        reference.check(form, &[(3, 300, 200), (5, 72, 16)]);
    }
}

/// One of these alone proves nothing of a schedule: some value or fault must tell each change of the kernel.
fn tells(test: &str, form: Form, schedule: Sm90Schedule, change: Change<'_>) {
    let Some(compiler) = Compiler::find(test) else { return };
    let compiled = compiled(&compiler, form, &Schedule::Sm90(schedule), Some(change));
    let is_told = (0..).zip(SHAPES).any(|(seed, (m, n, k))| match run(form, &compiled, shape(m, n, k), seed) {
        Ok((got, expected)) => got != expected,
        Err(_) => true,
    });
    assert!(is_told, "{change:?} changes nothing that is seen");
}

macro_rules! forms {
    ($($name:ident: $form:expr, $schedule:expr;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $form, $schedule);
        })*
    };
}

/// A transposed tile, to vary.
const SWAPPED: Sm90Schedule = Sm90Schedule { tile_m: 16, tile_n: 128, swap_ab: true, ..SM90 };
const PAIR: Sm90Schedule = Sm90Schedule { tile_m: 128, tile_n: 128, consumers: 2, ..SM90 };

forms! {
    blocks_are_scaled: ONE, SM90;
    blocks_of_e5m2_are_scaled_in_tiles_of_two_consumers: Form { x: Dtype::E5m2, out: Dtype::F16, ..ONE }, PAIR;
    blocks_are_scaled_in_wide_tiles:
        Form { out: Dtype::Bf16, ..ONE }, Sm90Schedule { tile_n: 256, cluster_m: 2, stages: 3, ..PAIR };
    blocks_are_scaled_in_high_tiles: ONE, Sm90Schedule { tile_m: 256, stages: 3, ..PAIR };
    blocks_are_scaled_by_consumers_in_turns: ONE, Sm90Schedule { mode: Mode::PingPong, tile_m: 64, ..PAIR };
    blocks_are_scaled_where_k_is_split: ONE, Sm90Schedule { splits: true, split_k: 4, ..PAIR };
    blocks_are_scaled_where_clusters_share_tiles:
        ONE, Sm90Schedule { stream_k: true, shared_waves: 2, tile_m: 64, tile_n: 64, consumers: 1, ..SM90 };
    blocks_are_scaled_in_transposed_tiles: ONE, SWAPPED;
    blocks_are_scaled_in_transposed_tiles_of_two_consumers_where_k_is_split:
        Form { out: Dtype::Bf16, ..ONE }, Sm90Schedule { tile_m: 40, tile_n: 256, consumers: 2, splits: true, split_k: 2, ..SWAPPED };
    blocks_are_scaled_before_heads_are_rotated:
        Form { head: Some(256), ..ONE }, Sm90Schedule { tile_n: 256, stages: 2, ..PAIR };
    blocks_of_two_products_are_scaled: TWO, Sm90Schedule { tile_n: 256, stages: 3, ..PAIR };
    blocks_of_two_products_are_scaled_in_narrow_tiles: TWO, Sm90Schedule { tile_n: 64, ..SM90 };
    blocks_of_two_products_are_scaled_in_transposed_tiles:
        TWO, Sm90Schedule { tile_m: 24, tile_n: 256, consumers: 2, ..SWAPPED };
}

const FILE: &str = "sm90_block_scales_mainloop.cuh";
const PRODUCER: &str = "sm90_block_scales.cuh";

#[test]
fn scales_of_the_wrong_row_block_or_column_are_told() {
    let test = "block_scales_kernels::scales_of_the_wrong_row_block_or_column_are_told";
    let of_columns = Sm90Schedule { tile_n: 256, stages: 3, ..PAIR };
    let split = Sm90Schedule { splits: true, split_k: 2, ..PAIR };
    let changes = [
        (ONE, SM90, mutant(FILE, "row + 8 * lower, i)", "row, i)")),
        (ONE, SM90, mutant(FILE, "(number * kAtOnce + i)", "number * kAtOnce")),
        (TWO, of_columns, mutant(FILE, "column / G::kColumns * G::kScalesOfProduct + ", "")),
        (ONE, of_columns, mutant(FILE, " + column % G::kColumns / kBlock", "")),
        (ONE, SWAPPED, mutant(FILE, "lane % 4 * 2 + odd, i)", "lane % 4 * 2, i)")),
        (ONE, SWAPPED, mutant(FILE, "return rows[sum / 4][sum % 2]", "return rows[0][sum % 2]")),
        (ONE, SM90, mutant(PRODUCER, "column / kBlock + number", "number")),
        (ONE, SM90, mutant(PRODUCER, "n_block * ld[product] + k_block + i", "n_block * ld[product] + i")),
        (ONE, SM90, mutant(PRODUCER, "full, four, origin.m);", "full, four, 0);")),
        (ONE, SM90, mutant(FILE, "number * kAtOnce + first)", "first)")),
        (ONE, split, mutant(FILE, "number * kAtOnce + first)", "number * kAtOnce)")),
    ];
    for (form, schedule, change) in sample_mutants(changes, 6, |(.., change)| *change) {
        tells(test, form, schedule, change);
    }
}

#[test]
fn a_slot_that_is_written_too_early_or_read_too_late_is_told() {
    let test = "block_scales_kernels::a_slot_that_is_written_too_early_or_read_too_late_is_told";
    let high = Sm90Schedule { tile_m: 256, stages: 3, ..PAIR };
    let changes = [
        (ONE, SM90, mutant(PRODUCER, "ptx::mbarrier_wait(shared.empty(stage), cursor.parity ^ 1);", "")),
        (ONE, SM90, mutant(PRODUCER, "        slots.advance();\n", "")),
        (ONE, SM90, mutant(FILE, "    wait_for_stage(shared, cursor);\n", "")),
        (ONE, SM90, mutant(FILE, "      ptx::wgmma_wait<1>();\n", "")),
        (ONE, high, mutant(FILE, "        ptx::wgmma_wait<0>();\n        stages", "        stages")),
        (ONE, SM90, mutant(FILE, "__syncwarp();  // whichever", "// whichever")),
    ];
    for (form, schedule, change) in sample_mutants(changes, 6, |(.., change)| *change) {
        tells(test, form, schedule, change);
    }
}
