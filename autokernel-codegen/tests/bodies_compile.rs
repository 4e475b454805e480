//! Products with bodies: what passes the rules compiles without spills.
//!
//! `AUTOKERNEL_SOAK=1` compiles every image of the shipped portfolios, otherwise those that hold the most, and two products too.

use std::path::Path;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::Config;
use autokernel_codegen::matmul::schedule::{Mode, Raster, Schedule as Typed, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{Class, emit};
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::product::problem;
use autokernel_codegen::schedule::{Family, Schedule};

/// Images of a portfolio that are compiled; each takes seconds where the cache does not have it.
const SAMPLE: usize = 1;

/// Of which the family that reads factors where they lie has other images.
const ROW_MAJOR: &str = "fn row_major(x: &Matrix<f16>, w: &Matrix<f16>, bias: &Row<f32>, out: &mut Matrix<f16>) { out = relu(dot(x, w) + bias); }";

const BODIES: [&str; 4] = [
    "fn shifted(x: &Matrix<bf16>, w: &Matrix<bf16>, shift: f32, out: &mut Matrix<f32>) { out = dot(x, w.t()) + shift; }",
    "fn bias(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, out: &mut Matrix<bf16>) {
        out = gelu_tanh(dot(x, w.t()) + bias);
    }",
    "fn residual(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        out = gelu(dot(x, w.t()) + bias) + skip;
    }",
    // Twenty operations on operands of every kind, and two outputs.
    "fn twenty(
        x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<f32>, scale: &Column<f32>, skip: &Matrix<bf16>, alpha: f32,
        pre: &mut Matrix<bf16>, out: &mut Matrix<bf16>
    ) {
        let y = alpha * scale * dot(x, w.t()) + bias;
        pre = y;
        let gate = 1.0 / (1.0 + (-y).exp());
        let bent = if y > 0.0 { y } else { 0.2 * y };
        let mixed = gate * bent + (1.0 - gate) * skip;
        out = mixed.max(-6.0).min(6.0) + 0.5 * (y - skip).abs() + scale * skip * 0.125;
    }",
];

/// Two products of the same first factor, the plainest and a heavy one.
const GATED: [&str; 2] = [
    "fn swiglu(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        out = silu(dot(x, gate.t())) * dot(x, up.t());
    }",
    "fn geglu(
        x: &Matrix<f16>, gate: &Matrix<f16>, up: &Matrix<f16>, up_bias: &Row<f32>, gate_bias: &Row<f16>,
        scale: &Column<f32>, pre: &mut Matrix<f32>, out: &mut Matrix<f16>
    ) {
        let gated = dot(x, gate) + gate_bias;
        pre = gated;
        out = gelu_tanh(gated) * (dot(x, up) + up_bias) * scale;
    }",
];

/// Of the Hopper family, for each number of consumers the schedule with the most accumulators that the rules let through.
fn edges(problem: &Problem) -> Vec<Schedule> {
    let schedules = problem.class().schedules(Family::Sm90, Arch::SM_90A);
    let consumers = |schedule: &Schedule| match Typed::try_from(schedule) {
        Ok(Typed::Sm90(schedule)) => schedule.consumers,
        _ => 0,
    };
    let most = |crew: u32| {
        let of_crew = schedules.iter().filter(move |schedule| consumers(schedule) == crew);
        of_crew.max_by_key(|schedule| accumulators(schedule)).copied()
    };
    (1..=3).filter_map(most).collect()
}

/// Of the family that reads factors where they lie, what every kernel carries, and for each number of warps the schedule with the most
/// accumulators that the rules let through.
fn in_place(problem: &Problem) -> Vec<Schedule> {
    let class = problem.class();
    let carried = beside(problem, Family::SkinnySm80);
    let schedules = class.schedules(Family::SkinnySm80, Arch::SM_90A);
    let edges = [8, 16].into_iter().filter_map(|warps| {
        let of_crew = schedules.iter().filter(|schedule| schedule.value("warps") == Some(warps));
        of_crew.max_by_key(|schedule| accumulators(schedule)).copied()
    });
    carried.chain(edges).collect()
}

/// Those of a family that kernels carry beside the shipped portfolio.
fn beside(problem: &Problem, family: Family) -> impl Iterator<Item = Schedule> {
    problem.class().beside_portfolio(Arch::SM_90A).into_iter().filter(move |schedule| schedule.family() == family)
}

/// The images of the shipped portfolio that the rules let through, and those beside them on Hopper, those with the most accumulators first.
fn images(config: &Config, problem: &Problem, arch: Arch) -> Vec<Schedule> {
    let class = problem.class();
    let portfolio = config.portfolio_for(problem, arch);
    let mut images: Vec<Schedule> =
        portfolio.into_iter().flat_map(|portfolio| portfolio.images_for(&class)).map(|image| image.schedule).collect();
    images.extend(beside(problem, Family::Sm90).filter(|_| arch == Arch::SM_90A));
    let product: Class = problem.as_product().expect("a product").class();
    images.push(Typed::default_for(&product, arch).into());
    images.sort_by_key(|schedule| std::cmp::Reverse(accumulators(schedule)));
    images
}

fn accumulators(schedule: &Schedule) -> u32 {
    match Typed::try_from(schedule).expect("a schedule of a product") {
        Typed::Sm80(schedule) => schedule.accumulators(),
        Typed::Sm90(schedule) => schedule.accumulators(),
        Typed::Skinny(schedule) => schedule.accumulators(),
    }
}

/// That of this machine; none, with a note, where there is none.
fn compiler() -> Option<Compiler> {
    let cache: std::path::PathBuf =
        std::env::var_os("AUTOKERNEL_CACHE_DIR").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), Into::into);
    match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache) {
        Ok(nvcc) => Some(Compiler::new(nvcc, cache)),
        Err(reason) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

#[test]
fn bodies_compile_without_spills_where_factors_are_read_in_place() {
    let Some(compiler) = compiler() else { return };
    for (body, carried) in [(ROW_MAJOR, 2), (BODIES[0], 1), (BODIES[3], 1)] {
        let problem = problem(&syn::parse_str(body).unwrap()).unwrap();
        let schedules = in_place(&problem.clone().into());
        assert_eq!(schedules.len(), carried + 2, "those that are carried, and two edges: {schedules:?}");
        for schedule in schedules {
            let typed = Typed::try_from(&schedule).unwrap();
            let image = compiler.compile(&emit::kernel(&problem, &typed).0, Arch::SM_90A);
            let image = image.unwrap_or_else(|error| panic!("{problem} by {schedule}: {error}"));
            println!("{schedule}: {} registers", image.report.registers);
        }
    }
}

#[test]
fn bodies_compile_without_spills_in_the_portfolio_and_at_the_edge_of_the_rules() {
    let Some(compiler) = compiler() else { return };
    let config = Config::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../best_config.json")).unwrap();
    let is_soaked = std::env::var_os("AUTOKERNEL_SOAK").is_some();
    let (sample, gated) = if is_soaked { (usize::MAX, &GATED[..]) } else { (SAMPLE, &[][..]) };
    // nvcc takes one core.
    let (compiler, config) = (&compiler, &config);
    let refused: Vec<String> = std::thread::scope(|scope| {
        let bodies = BODIES.iter().chain(gated);
        let compiling = bodies.map(|body| scope.spawn(move || refused(body, compiler, config, sample)));
        let compiling: Vec<_> = compiling.collect();
        compiling.into_iter().flat_map(|body| body.join().expect("nothing panics in it")).collect()
    });
    assert!(refused.is_empty(), "{}", refused.join("\n\n"));
}

/// Bodies whose registers their operands and functions do not tell.
#[test]
fn partners_of_nothing_loaded_and_rows_of_the_smallest_tile_compile_without_spills() {
    let Some(compiler) = compiler() else { return };
    let turned = |pairs: &str| {
        format!(
            "fn turned(x: &Matrix<f16>, w: &Matrix<f16>, out: &mut Matrix<bf16>) {{
                let turned = dot(x, w) * 0.5 + row_index();
                let twice = dot(x, w) + dot(x, w);
                let bent = leaky_relu({pairs}, 0.2);
                out = bent * twice + 0.25 * dot(x, w) + 0.25 * {pairs};
            }}"
        )
    };
    let summed = "fn summed(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<bf16>, scale: f32, sum: &mut Column<f16>, most: &mut Column<f16>) {
        let terms = (scale * 0.0 + dot(x, w.t())) * 0.5 + dot(x, w.t()) + 0.25 * skip;
        sum = row_sum(terms * 0.5) + row_index();
        most = REDUCTION(terms * 0.5) + row_index();
    }";
    let held = Sm90Schedule { consumers: 2, mode: Mode::PingPong, stages: 3, cluster_m: 4, ..Sm90Schedule::PLAIN };
    let held = Typed::from(Sm90Schedule { tile_m: 64, tile_n: 256, ..held });
    let (warps_m, warps_n, raster) = (2, 2, Raster::PLAIN);
    let small = Typed::from(Sm80Schedule { tile_m: 32, tile_n: 32, tile_k: 32, stages: 5, warps_m, warps_n, raster });
    for (body, schedule, arch) in [
        (turned("rotate_pairs(turned)"), held, Arch::SM_90A),
        (turned("rotate_half(turned, 64)"), held, Arch::SM_90A),
        (summed.replace("REDUCTION", "row_sum"), small, Arch::SM_80),
        (summed.replace("REDUCTION", "row_max"), small, Arch::SM_80),
    ] {
        let problem = problem(&syn::parse_str(&body).unwrap()).unwrap();
        schedule.check(&problem.class(), arch).unwrap_or_else(|broken| panic!("{problem} by {schedule}: {broken:?}"));
        let image = compiler.compile(&emit::kernel(&problem, &schedule).0, arch);
        let image = image.unwrap_or_else(|error| panic!("{problem} by {schedule} for {arch}: {error}"));
        println!("{schedule} for {arch}: {} registers", image.report.registers);
    }
}

/// What nvcc refuses of the kernels of `body`.
fn refused(body: &str, compiler: &Compiler, config: &Config, sample: usize) -> Vec<String> {
    let problem = problem(&syn::parse_str(body).unwrap()).unwrap();
    let mut refused = Vec::new();
    if let Err(error) = compiler.compile(&emit::reference(&problem).0, Arch::SM_80) {
        refused.push(format!("the reference of {problem}: {error}"));
    }
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let erased = problem.clone().into();
        let edges = if arch == Arch::SM_90A { edges(&erased) } else { Vec::new() };
        for schedule in images(config, &erased, arch).into_iter().take(sample).chain(edges) {
            let typed = Typed::try_from(&schedule).unwrap();
            match compiler.compile(&emit::kernel(&problem, &typed).0, arch) {
                Ok(image) => println!("{schedule} for {arch}: {} registers", image.report.registers),
                Err(error) => refused.push(format!("{problem} by {schedule} for {arch}: {error}")),
            }
        }
    }
    refused
}
