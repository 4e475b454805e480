//! Compiles the kernels of these tests with the schedules of their own best_config.json alone: what ships with
//! autokernel changes with every tuning, and would multiply by the number of epilogues here. For programs that only a GPU runs,
//! row-wise bodies are also compiled one schedule at a time, for a narrow and a wide row.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::schedule::{Mode, Raster, RasterOrder, Sm90Schedule};
use autokernel_codegen::nvcc::{CompileError, Compiler, Nvcc};
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::rows::{self, Schedule as RowsOrRing, problem as problem_of_rows, sm90};
use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::{matmul, product};
use rayon::prelude::*;

include!("src/bodies/timed.rs");
include!("src/bodies/timed_block_scales.rs");
include!("src/bodies/timed_fp8.rs");
include!("src/bodies/timed_fp8_output.rs");
include!("src/bodies/timed_loss.rs");
include!("src/bodies/timed_math.rs");
include!("src/bodies/timed_types.rs");
include!("src/bodies/timed_weights.rs");
include!("src/shared/names.rs");
include!("src/rows/bodies.rs");

fn main() {
    // SAFETY: a build script's main thread is its only one here.
    unsafe { std::env::remove_var("DEP_AUTOKERNEL_CONFIG") };
    // Which image of attention a launch chooses is tested here, so that fewer would not do: each serves other extents.
    let is_attention = |problem: &Problem| matches!(problem, Problem::Attention(_));
    autokernel_codegen::Build::new().source("src").all_images_of(is_attention).run();
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names it"));
    let text = rows(&out).unwrap_or_else(|error| panic!("row-wise kernels: {error}"));
    std::fs::write(out.join("rows_images.rs"), text).expect("OUT_DIR is writable");
    let text = timed(&out).unwrap_or_else(|error| panic!("products with bodies: {error}"));
    std::fs::write(out.join("timed_images.rs"), text).expect("OUT_DIR is writable");
    let text = shared(&out).unwrap_or_else(|error| panic!("products whose tiles are shared: {error}"));
    std::fs::write(out.join("shared_images.rs"), text).expect("OUT_DIR is writable");
}

/// An array of `RowsImage`s in Rust, empty without nvcc or a GPU to run them on.
fn rows(out: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let Some(compiler) = compiler(out)?.filter(|_| is_for_gpu()) else { return Ok("&[]".to_owned()) };
    let mut jobs = Vec::new();
    for body in &BODIES {
        for ty in ["bf16", "f16", "f32"] {
            let function = syn::parse_str(&body.source.replace("TYPE", ty))?;
            let problem = problem_of_rows(&function)?;
            let of_widths =
                WIDTHS.iter().map(|&columns| rows::Sm80Schedule::for_columns(&problem.class(), columns, Arch::SM_90A));
            // Beside reductions that are made in one pass those that are not.
            let schedules = of_widths.flat_map(|schedule| [schedule, rows::Sm80Schedule { joins: false, ..schedule }]);
            let carried = sm90::portfolio(&problem.class(), Arch::SM_90A);
            let all: BTreeSet<_> =
                schedules.map(RowsOrRing::from).chain(carried.into_iter().map(RowsOrRing::from)).collect();
            jobs.extend(all.into_iter().map(|schedule| (body.name, ty, problem.clone(), schedule)));
        }
    }
    let images: Vec<PathBuf> = jobs
        .par_iter()
        .map(|(_, _, problem, schedule)| compiler.compile(&schedule.kernel(problem).0, Arch::SM_90A))
        .map(|compiled| compiled.map(|image| image.cubin))
        .collect::<Result<_, CompileError>>()?;
    let mut text = "&[\n".to_owned();
    for (number, (image, (name, ty, problem, schedule))) in images.into_iter().zip(&jobs).enumerate() {
        let (_, plan) = schedule.kernel(problem);
        let cubin = out.join(format!("rows_{number}.cubin"));
        std::fs::copy(&image, &cubin)?;
        let [problem, schedule, plan] = [
            serde_json::to_string(problem)?,
            serde_json::to_string(&autokernel_codegen::rows::AnySchedule::from(*schedule))?,
            serde_json::to_string(&plan)?,
        ];
        writeln!(
            text,
            "RowsImage {{ name: {name:?}, dtype: {ty:?}, problem: {problem:?}, schedule: {schedule:?}, plan: {plan:?}, \
             cubin: include_bytes!({:?}) }},",
            cubin.display().to_string()
        )?;
    }
    text.push(']');
    Ok(text)
}

/// An array of `TimedImage`s in Rust, empty without nvcc or the feature `speed`: each body by schedules that lead on large
/// shapes.
fn timed(out: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let Some(compiler) = compiler(out)?.filter(|_| is_for_speed()) else { return Ok("&[]".to_owned()) };
    let [narrow, wide] = [8, 16].map(|group| Raster { group, ..Raster::PLAIN });
    let plain = Sm90Schedule { consumers: 2, stages: 6, mode: Mode::PingPong, raster: narrow, ..Sm90Schedule::PLAIN };
    let schedules = [
        plain,
        Sm90Schedule { raster: wide, ..plain },
        Sm90Schedule { tile_n: 160, stages: 5, ..plain },
        Sm90Schedule { tile_n: 160, stages: 5, raster: wide, ..plain },
        Sm90Schedule { tile_m: 64, tile_n: 256, stages: 5, raster: wide, ..plain },
        Sm90Schedule { tile_m: 64, tile_n: 256, stages: 5, cluster_m: 2, ..plain },
        Sm90Schedule { tile_n: 256, stages: 4, mode: Mode::Cooperative, ..plain },
    ];
    // Whose rows of tiles leave fewer SMs idle.
    let tall = Sm90Schedule { tile_m: 112, swap_ab: true, ..plain };
    let taller = Sm90Schedule { tile_m: 176, stages: 5, ..tall };
    let of_other_rows = [tall, taller].map(|tile| [tile, Sm90Schedule { mode: Mode::Cooperative, ..tile }]);
    let broad = Sm90Schedule { tile_m: 96, tile_n: 256, stages: 4, mode: Mode::Cooperative, ..tall };
    let mut jobs = Vec::new();
    for (name, source) in TIMED {
        let problem = product::problem(&syn::parse_str(source)?)?;
        let problem = if name == "plain" { matmul::Problem { body: None, ..problem } } else { problem };
        let schedules = schedules.into_iter().chain(of_other_rows.into_iter().flatten()).chain([broad]);
        jobs.extend(schedules.map(|schedule| (name, Problem::Matmul(problem.clone()), schedule.into())));
    }
    let (name, source) = SWIGLU;
    let problem = Problem::Matmul(product::problem(&syn::parse_str(source)?)?);
    jobs.extend(gated_schedules().map(|schedule| (name, problem.clone(), schedule.into())));
    for (name, source) in TIMED_FP8 {
        let problem = Problem::Matmul(product::problem(&syn::parse_str(source)?)?);
        jobs.extend(fp8_schedules().map(|schedule| (name, problem.clone(), schedule.into())));
    }
    for (number, (name, source)) in TIMED_FP8_OUTPUT.into_iter().flatten().enumerate() {
        let problem = Problem::Matmul(product::problem(&syn::parse_str(source)?)?);
        // Factors of 16 bits first.
        let of_factors = if number < 2 { schedules.to_vec() } else { fp8_schedules().to_vec() };
        jobs.extend(of_factors.into_iter().map(|schedule| (name, problem.clone(), schedule.into())));
    }
    for (of_factors, bodies) in TIMED_FP8_SCALES.into_iter().enumerate() {
        // Factors of 16 bits first; of the schedules of 8 bits every other one that holds whole blocks.
        let of_bytes = fp8_schedules().into_iter().filter(|it| !it.swap_ab).step_by(2);
        let schedules = if of_factors == 0 { schedules.to_vec() } else { of_bytes.collect() };
        for (name, settings, source) in bodies {
            let problem = Problem::Matmul(product::problem_with(settings.parse()?, &syn::parse_str(source)?)?);
            jobs.extend(schedules.iter().map(|schedule| (name, problem.clone(), (*schedule).into())));
        }
    }
    let (name, source) = I8_SCALED;
    let scaled = Problem::Matmul(product::problem(&syn::parse_str(source)?)?);
    let sums = |input| Problem::matmul(input, Layout::Nt, "identity".parse().expect("a built-in epilogue"));
    for (name, problem) in [(name, scaled), (I8_SUMS, sums(Dtype::I8)), (TF32_SUMS, sums(Dtype::F32))] {
        jobs.extend(fp8_schedules().map(|schedule| (name, problem.clone(), schedule.into())));
    }
    for (name, settings, source) in TIMED_WEIGHTS {
        let problem = Problem::Matmul(product::problem_with(settings.parse()?, &syn::parse_str(source)?)?);
        let ships = if name == WEIGHTS_BF16 { Vec::new() } else { problem.class().portfolio(Arch::SM_90A) };
        let others = weights_schedules(name).into_iter().map(Schedule::from).filter(|it| !ships.contains(it));
        jobs.extend(ships.iter().copied().chain(others).map(|schedule| (name, problem.clone(), schedule)));
    }
    let (name, source) = BLOCK_SCALES;
    let problem = Problem::Matmul(product::problem_with("block = 128".parse()?, &syn::parse_str(source)?)?);
    let ships = problem.class().portfolio(Arch::SM_90A);
    let others = block_scales_schedules().map(Schedule::from).into_iter().filter(|it| !ships.contains(it));
    jobs.extend(ships.iter().copied().chain(others).map(|schedule| (name, problem.clone(), schedule)));
    for (name, source) in TIMED_MATH.into_iter().chain(TIMED_LOSS) {
        let problem = Problem::Matmul(product::problem(&syn::parse_str(source)?)?);
        jobs.extend(schedules.map(|schedule| (name, problem.clone(), schedule.into())));
    }
    for ((name, source), columns) in [
        (BEHIND, 8192),
        (COPY, 8192),
        (NORM_BEHIND, 8192),
        (QUANTISE, 8192),
        (QUANTISE_ROWS, 8192),
        (SCALED_BEHIND, 8192),
        (LOSS_BEHIND, 32_768),
    ] {
        let problem = problem_of_rows(&syn::parse_str(source)?)?;
        let schedule = rows::Sm80Schedule::for_columns(&problem.class(), columns, Arch::SM_90A);
        jobs.push((name, Problem::Rows(problem), schedule.into()));
    }

    timed_images(&compiler, out, "timed", jobs)
}

/// An array of `TimedImage`s in Rust, empty without nvcc or a GPU to run them on: the plain product by schedules whose
/// clusters share tiles, and by the same whose tiles are whole; and by images whose launches say how many blocks share one.
/// What is right few of them tell.
fn shared(out: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let Some(compiler) = compiler(out)?.filter(|_| is_for_gpu()) else { return Ok("&[]".to_owned()) };
    let (_, source) = TIMED[0];
    let problem = product::problem(&syn::parse_str(source)?)?;
    let problem = Problem::Matmul(matmul::Problem { body: None, ..problem });
    let schedules = stream_k_schedules();
    let measured = if is_for_speed() { schedules.len() } else { 3 };
    let mut jobs = Vec::new();
    for schedule in &schedules[..measured] {
        jobs.push((WHOLE, problem.clone(), (*schedule).into()));
        for shared_waves in [1, 2] {
            let schedule = Sm90Schedule { stream_k: true, shared_waves, ..*schedule };
            jobs.push((SHARED, problem.clone(), schedule.into()));
        }
    }
    jobs.extend(split_k_schedules().map(|schedule| (SPLIT, problem.clone(), schedule.into())));
    timed_images(&compiler, out, "shared", jobs)
}

/// An array of `TimedImage`s in Rust, of those jobs that keep the rules.
fn timed_images(
    compiler: &Compiler,
    out: &Path,
    file: &str,
    mut jobs: Vec<(&str, Problem, Schedule)>,
) -> Result<String, Box<dyn std::error::Error>> {
    jobs.retain(|(_, problem, schedule)| problem.class().check(schedule, Arch::SM_90A).is_ok());

    let emitted: Vec<_> = jobs.iter().map(|(_, problem, schedule)| problem.emit(schedule)).collect::<Result<_, _>>()?;
    let mut text = "&[\n".to_owned();
    let images = compile(compiler, &emitted, |(source, _)| source.clone())?;
    for (number, (image, ((name, problem, schedule), (_, plan)))) in
        images.into_iter().zip(jobs.iter().zip(&emitted)).enumerate()
    {
        let cubin = out.join(format!("{file}_{number}.cubin"));
        std::fs::copy(&image, &cubin)?;
        let [problem, plan] = [serde_json::to_string(problem)?, serde_json::to_string(plan)?];
        writeln!(
            text,
            "TimedImage {{ name: {name:?}, problem: {problem:?}, schedule: {:?}, plan: {plan:?}, cubin: \
             include_bytes!({:?}) }},",
            schedule.to_string(),
            cubin.display().to_string()
        )?;
    }
    text.push(']');
    Ok(text)
}

/// Whether a GPU will run what is built: one is at hand, or this is a release build, which goes to one.
fn is_for_gpu() -> bool {
    Path::new("/dev/nvidiactl").exists() || std::env::var("PROFILE").is_ok_and(|profile| profile == "release")
}

/// Schedules for two products that may lead: large tiles for many rows, transposed ones for few.
fn gated_schedules() -> [Sm90Schedule; 28] {
    let [narrow, broad] = [8, 16].map(|group| Raster { group, ..Raster::PLAIN });
    let plain = Sm90Schedule { consumers: 2, raster: narrow, ..Sm90Schedule::PLAIN };
    let wide = Sm90Schedule { tile_n: 256, ..plain };
    let ping_pong = Sm90Schedule { mode: Mode::PingPong, stages: 5, ..plain };
    let few = Sm90Schedule { swap_ab: true, tile_m: 16, consumers: 1, stages: 12, ..plain };
    let more = Sm90Schedule { tile_m: 64, stages: 8, ..few };
    let slim = Sm90Schedule { tile_n: 96, stages: 7, ..ping_pong };
    [
        wide,
        Sm90Schedule { cluster_m: 2, ..wide },
        Sm90Schedule { cluster_n: 2, ..wide },
        Sm90Schedule { tile_m: 256, tile_n: 128, cluster_n: 2, ..wide },
        Sm90Schedule { tile_n: 128, stages: 6, ..wide },
        Sm90Schedule { swap_ab: true, ..wide },
        Sm90Schedule { stages: 6, ..ping_pong },
        Sm90Schedule { stages: 6, raster: broad, ..ping_pong },
        Sm90Schedule { stages: 6, cluster_m: 2, ..ping_pong },
        Sm90Schedule { stages: 6, cluster_n: 2, raster: broad, ..ping_pong },
        Sm90Schedule { stages: 6, swap_ab: true, ..ping_pong },
        Sm90Schedule { stages: 6, swap_ab: true, raster: broad, ..ping_pong },
        Sm90Schedule { tile_n: 192, ..ping_pong },
        slim,
        Sm90Schedule { raster: Raster { order: RasterOrder::AlongN, ..broad }, ..slim },
        Sm90Schedule { tile_m: 64, tile_n: 192, stages: 6, raster: broad, ..ping_pong },
        Sm90Schedule { tile_n: 160, ..ping_pong },
        Sm90Schedule { tile_n: 160, raster: broad, ..ping_pong },
        Sm90Schedule { tile_m: 64, tile_n: 256, raster: broad, ..ping_pong },
        Sm90Schedule { tile_m: 64, tile_n: 256, cluster_m: 2, ..ping_pong },
        more,
        Sm90Schedule { splits: true, split_k: 2, ..more },
        Sm90Schedule { cluster_n: 2, ..more },
        Sm90Schedule { tile_n: 256, consumers: 2, stages: 5, ..more },
        few,
        Sm90Schedule { splits: true, split_k: 2, ..few },
        Sm90Schedule { splits: true, split_k: 4, ..few },
        Sm90Schedule { tile_n: 256, consumers: 2, stages: 6, ..few },
    ]
}

/// Schedules for 8-bit floats that may lead: large tiles for many rows, transposed ones for few, and in turn for many under load.
fn fp8_schedules() -> [Sm90Schedule; 27] {
    let [narrow, broad] = [8, 16].map(|group| Raster { group, ..Raster::PLAIN });
    let plain = Sm90Schedule { consumers: 2, raster: narrow, ..Sm90Schedule::PLAIN };
    let wide = Sm90Schedule { tile_n: 256, ..plain };
    let ping_pong = Sm90Schedule { mode: Mode::PingPong, stages: 6, ..plain };
    let in_turn = Sm90Schedule { swap_ab: true, ..ping_pong };
    let few = Sm90Schedule { swap_ab: true, tile_m: 16, consumers: 1, stages: 12, ..plain };
    let more = Sm90Schedule { tile_m: 64, stages: 8, ..few };
    [
        wide,
        Sm90Schedule { cluster_m: 2, ..wide },
        Sm90Schedule { cluster_m: 2, raster: broad, ..wide },
        Sm90Schedule { cluster_n: 2, ..wide },
        Sm90Schedule { tile_m: 256, tile_n: 128, cluster_n: 2, ..wide },
        Sm90Schedule { tile_m: 256, tile_n: 128, cluster_m: 2, ..wide },
        ping_pong,
        Sm90Schedule { cluster_m: 2, ..ping_pong },
        Sm90Schedule { cluster_m: 2, raster: broad, ..ping_pong },
        Sm90Schedule { tile_n: 160, stages: 5, cluster_m: 2, ..ping_pong },
        Sm90Schedule { tile_n: 192, stages: 4, ..ping_pong },
        Sm90Schedule { tile_n: 192, stages: 4, cluster_m: 2, ..ping_pong },
        Sm90Schedule { tile_m: 64, tile_n: 256, stages: 5, cluster_m: 2, ..ping_pong },
        Sm90Schedule { tile_m: 112, tile_n: 192, stages: 5, ..in_turn },
        Sm90Schedule { tile_m: 112, tile_n: 192, stages: 5, raster: broad, ..in_turn },
        Sm90Schedule { tile_m: 96, tile_n: 192, stages: 5, ..in_turn },
        Sm90Schedule { tile_m: 120, ..in_turn },
        Sm90Schedule { tile_m: 168, stages: 5, ..in_turn },
        more,
        Sm90Schedule { splits: true, split_k: 2, ..more },
        Sm90Schedule { cluster_n: 2, ..more },
        Sm90Schedule { tile_n: 256, consumers: 2, stages: 5, ..more },
        few,
        Sm90Schedule { tile_n: 64, ..few },
        Sm90Schedule { splits: true, split_k: 2, ..few },
        Sm90Schedule { splits: true, split_k: 4, tile_n: 64, ..few },
        Sm90Schedule { splits: true, split_k: 8, consumers: 2, ..few },
    ]
}

/// Schedules that may lead where blocks have scales, beside those that ship: large tiles for many rows, transposed ones for few.
fn block_scales_schedules() -> [Sm90Schedule; 17] {
    let [narrow, broad] = [8, 16].map(|group| Raster { group, ..Raster::PLAIN });
    let square = Sm90Schedule { consumers: 2, stages: 5, raster: narrow, ..Sm90Schedule::PLAIN };
    let high = Sm90Schedule { tile_m: 256, stages: 4, ..square };
    let few =
        Sm90Schedule { swap_ab: true, tile_m: 16, consumers: 1, stages: 10, raster: narrow, ..Sm90Schedule::PLAIN };
    let more = Sm90Schedule { tile_m: 64, stages: 6, ..few };
    [
        square,
        Sm90Schedule { cluster_m: 2, ..square },
        Sm90Schedule { mode: Mode::PingPong, ..square },
        Sm90Schedule { consumers: 1, tile_m: 64, stages: 8, ..square },
        high,
        Sm90Schedule { cluster_n: 2, ..high },
        Sm90Schedule { cluster_m: 2, ..high },
        Sm90Schedule { cluster_n: 2, raster: broad, ..high },
        more,
        Sm90Schedule { splits: true, split_k: 2, ..more },
        Sm90Schedule { splits: true, split_k: 4, ..more },
        Sm90Schedule { tile_n: 64, ..more },
        few,
        Sm90Schedule { tile_n: 64, ..few },
        Sm90Schedule { splits: true, split_k: 2, ..few },
        Sm90Schedule { splits: true, split_k: 4, ..few },
        Sm90Schedule { splits: true, split_k: 8, consumers: 2, ..few },
    ]
}

/// Schedules that may lead for weights of few bits, or beside those for bf16: transposed tiles, for few rows and for many.
fn weights_schedules(name: &str) -> Vec<Sm90Schedule> {
    let raster = Raster { group: 8, ..Raster::PLAIN };
    let few = Sm90Schedule { swap_ab: true, tile_m: 16, consumers: 1, stages: 8, raster, ..Sm90Schedule::PLAIN };
    let pair = Sm90Schedule { consumers: 2, ..few };
    let many = Sm90Schedule { tile_m: 128, stages: 4, ..pair };
    let upright = Sm90Schedule { swap_ab: false, tile_m: 128, stages: 6, ..pair };
    let splits = |it: Sm90Schedule| [1, 2, 4].map(|split_k| Sm90Schedule { splits: split_k > 1, split_k, ..it });
    // What blocks read of the other factor again counts beside weights of 4 bits: wide tiles whose K more of them share, and tiles of 8.
    let wide = Sm90Schedule { tile_n: 256, stages: 5, ..pair };
    let of_eight = [pair, wide].map(|it| Sm90Schedule { tile_m: 8, ..it });
    let of_sixteen = [Sm90Schedule { tile_n: 64, ..few }, few, pair, wide];
    let mut schedules: Vec<_> = of_sixteen.into_iter().chain(of_eight).flat_map(splits).collect();
    schedules.extend([
        Sm90Schedule { tile_n: 64, stages: 12, ..few },
        Sm90Schedule { tile_m: 8, tile_n: 64, stages: 12, ..few },
        Sm90Schedule { tile_n: 64, stages: 12, splits: true, split_k: 2, ..few },
        Sm90Schedule { stream_k: true, shared_waves: 1, ..pair },
        Sm90Schedule { stream_k: true, shared_waves: 1, ..wide },
        Sm90Schedule { cluster_n: 2, ..wide },
        Sm90Schedule { tile_n: 192, consumers: 3, stages: 6, ..pair },
        Sm90Schedule { cluster_n: 2, ..pair },
        Sm90Schedule { mode: Mode::PingPong, ..pair },
        Sm90Schedule { tile_m: 64, stages: 4, ..pair },
        many,
        Sm90Schedule { stages: 2, ..many },
        Sm90Schedule { cluster_m: 2, ..many },
        Sm90Schedule { tile_m: 256, stages: 2, ..many },
        Sm90Schedule { tile_n: 256, stages: 2, ..many },
    ]);
    if name == WEIGHTS_BF16 {
        schedules.extend([upright, Sm90Schedule { mode: Mode::PingPong, ..upright }]);
        schedules.push(Sm90Schedule { tile_n: 256, cluster_m: 2, stages: 4, ..upright });
    }
    schedules
}

/// Schedules that lead where there are some waves of tiles: the first three in each mode, of the eight that can share tiles.
fn stream_k_schedules() -> [Sm90Schedule; 14] {
    let raster = Raster { group: 8, ..Raster::PLAIN };
    let cooperative = Sm90Schedule { tile_n: 192, consumers: 2, stages: 5, raster, ..Sm90Schedule::PLAIN };
    let ping_pong = Sm90Schedule { mode: Mode::PingPong, tile_n: 96, stages: 7, ..cooperative };
    let wide = Sm90Schedule { tile_n: 256, stages: 4, ..cooperative };
    let square = Sm90Schedule { tile_n: 128, stages: 6, ..ping_pong };
    [
        cooperative,
        Sm90Schedule { cluster_m: 2, ..ping_pong },
        Sm90Schedule { swap_ab: true, tile_m: 64, tile_n: 128, stages: 8, ..cooperative },
        Sm90Schedule { cluster_m: 2, ..cooperative },
        Sm90Schedule { cluster_n: 2, ..cooperative },
        Sm90Schedule { tile_n: 160, stages: 6, ..cooperative },
        Sm90Schedule { tile_n: 128, stages: 6, ..cooperative },
        ping_pong,
        wide,
        Sm90Schedule { cluster_m: 2, ..wide },
        Sm90Schedule { tile_m: 256, tile_n: 128, ..wide },
        square,
        Sm90Schedule { cluster_m: 2, ..square },
        Sm90Schedule { tile_m: 64, tile_n: 256, stages: 5, ..square },
    ]
}

/// Images that split K as a launch says: tiles of four, eight and twelve warps, and one that lost for want of a split.
fn split_k_schedules() -> [Sm90Schedule; 4] {
    let raster = Raster { group: 8, ..Raster::PLAIN };
    let few =
        Sm90Schedule { tile_m: 32, tile_n: 64, stages: 12, swap_ab: true, splits: true, raster, ..Sm90Schedule::PLAIN };
    [
        few,
        Sm90Schedule { tile_m: 8, tile_n: 128, consumers: 2, ..few },
        Sm90Schedule { tile_m: 24, tile_n: 192, stages: 6, consumers: 3, ..few },
        Sm90Schedule { tile_m: 64, tile_n: 128, stages: 6, swap_ab: false, ..few },
    ]
}

/// Whether speed is measured.
fn is_for_speed() -> bool {
    std::env::var_os("CARGO_FEATURE_SPEED").is_some()
}

/// nvcc, if there is one.
fn compiler(out: &Path) -> Result<Option<Compiler>, std::env::VarError> {
    let cache = autokernel_codegen::build::cache_folder(out);
    let nvcc = Nvcc::locate(Path::new(&std::env::var("CARGO_MANIFEST_DIR")?), &cache);
    Ok(nvcc.ok().map(|nvcc| Compiler::new(nvcc, cache)))
}

/// The cubin of each job, compiled on all cores.
fn compile<J: Sync>(
    compiler: &Compiler,
    jobs: &[J],
    source: impl Fn(&J) -> KernelSource + Sync,
) -> Result<Vec<PathBuf>, CompileError> {
    let cubin = |job: &J| compiler.compile(&source(job), Arch::SM_90A).map(|image| image.cubin);
    jobs.par_iter().map(cubin).collect()
}
