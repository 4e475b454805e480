//! Products with bodies by the way of a user, wherever their operands lie: on the CPU and on emulated GPUs; and every mode of
//! the Hopper family, compiled while the test runs. What they must give is computed in fp64 from the body that the build
//! embedded.
//!
//! `AUTOKERNEL_CASES` sets how many shapes each kernel gets, `AUTOKERNEL_SEED` draws others.

use std::path::{Path, PathBuf};

use autokernel::{Arch, Argument, Device, Dtype, EmulatedKernel, Emulation, Extents, matmul};
use autokernel_codegen::matmul::emit;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::Class;
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::matmul::space::families;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::product::Problem;
use gpu_tests::bodies::declared::{self, Declared, catalogue};
use gpu_tests::bodies::{check_declared, check_launch};
use gpu_tests::host::Values;
use gpu_tests::place::Place;
use gpu_tests::{in_place, settings, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

/// Why nothing can be launched, if so.
fn not_compiled() -> Option<String> {
    let reason = |kernel: Declared| kernel.kernel.descriptor().unwrap().not_compiled.clone();
    catalogue().into_iter().find_map(reason)
}

#[test]
fn every_declared_body_is_computed_on_the_cpu() {
    check_declared(&Device::cpu(), 10, 200);
}

#[test]
fn every_declared_body_is_computed_on_an_emulated_gpu_of_each_arch() {
    if let Some(reason) = not_compiled() {
        let test = "declared_bodies::every_declared_body_is_computed_on_an_emulated_gpu_of_each_arch";
        return skip::log(test, &reason);
    }
    for arch in [Arch::SM_80, Arch::SM_90A] {
        check_declared(&Device::emulated_with(Emulation::new(arch).seed(5)).unwrap(), 3, 150);
    }
}

/// A schedule of each mode that stores in a way of its own, with tiles of the same columns of C for one product and for two.
fn modes(class: &Class) -> Vec<(Arch, Schedule)> {
    let products = class.products();
    // A width between powers of two; of whole numbers wgmma has fewer.
    let between = if class.input == Dtype::I8 { 48 } else { 40 };
    let plain = Sm90Schedule { tile_m: 64, tile_n: 64 * products, ..Sm90Schedule::PLAIN };
    let swapped = Sm90Schedule { swap_ab: true, tile_m: 16, ..plain };
    let sm90 = [
        Sm90Schedule { tile_m: 128, consumers: 2, ..plain },
        Sm90Schedule { tile_m: 192, consumers: 3, stages: 3, ..plain },
        Sm90Schedule { mode: Mode::PingPong, consumers: 2, ..plain },
        Sm90Schedule { cluster_m: 2, tile_n: 128 * products, ..plain },
        Sm90Schedule { cluster_n: 2, ..plain },
        Sm90Schedule { splits: true, split_k: 2, ..plain },
        Sm90Schedule { stream_k: true, shared_waves: 2, ..plain },
        swapped,
        Sm90Schedule { tile_m: between, stages: 5, ..swapped },
        Sm90Schedule { splits: true, split_k: 4, ..swapped },
        Sm90Schedule { mode: Mode::PingPong, consumers: 2, tile_m: 24, ..swapped },
        Sm90Schedule { mode: Mode::PingPong, consumers: 2, stream_k: true, shared_waves: 1, ..swapped },
    ];
    let sm80 = Sm80Schedule {
        tile_m: 64,
        tile_n: 32 * products,
        // As deep in bytes whatever an element is.
        tile_k: 64 / class.input.bytes(),
        warps_m: 2,
        warps_n: 1,
        stages: 3,
        raster: Sm90Schedule::PLAIN.raster,
    };
    let sm90 = sm90.map(|schedule| (Arch::SM_90A, schedule.into()));
    [(Arch::SM_80, sm80.into())].into_iter().chain(sm90).collect()
}

/// The bodies that are run here in the modes. Kernels of one kind take the same way whatever a body makes of it: those stand side by
/// side, and share the modes.
const SAMPLED: [&str; 11] = [
    "residual",
    "scaled",
    "wide",
    "accumulate",
    "swiglu",
    "geglu",
    "fp8_scaled",
    "fp8_swiglu",
    "int8_scaled",
    "int8_swiglu",
    "tf32_residual",
];
/// Ordinarily a body is run in one of so many modes, the next in others; in all of them with `AUTOKERNEL_SOAK=1`.
const SAMPLE: usize = 2;

fn compiler() -> Result<Compiler, String> {
    let cache =
        std::env::var_os("AUTOKERNEL_CACHE_DIR").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
    let nvcc = Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache).map_err(|error| error.to_string())?;
    Ok(Compiler::new(nvcc, cache))
}

/// Small enough for an interpreter, with edges that tiles, pairs and vectors do not divide.
fn shapes(rng: &mut StdRng, problem: &Problem) -> [Extents; 3] {
    let mut extent = |most: u32| rng.random_range(1..=most);
    let whole = matmul::extents(128, 128, 64);
    let shapes =
        [whole, matmul::extents(extent(140), extent(140), extent(150)), matmul::extents(extent(70), extent(70), 0)];
    shapes.map(|shape| gpu_tests::shapes::with_known(&shape, problem))
}

#[test]
fn a_body_is_the_same_in_every_mode_of_its_schedule() {
    let test = "declared_bodies::a_body_is_the_same_in_every_mode_of_its_schedule";
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => return skip::log(test, &reason),
    };
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 43));
    let mut runs = Vec::new();
    let in_place = Declared { name: "accumulate", kernel: &in_place::accumulate::KERNEL };
    for kernel in declared::catalogue().into_iter().chain([in_place]) {
        let Some(turn) = SAMPLED.iter().position(|name| *name == kernel.name) else { continue };
        let problem = Problem { known_n: None, ..kernel.problem() };
        let class = problem.class();
        let modes = (turn..).zip(modes(&class)).filter(|(number, (arch, schedule))| {
            let is_sampled = number.is_multiple_of(settings::one_of(SAMPLE));
            is_sampled && families(class.input, *arch).contains(&schedule.family())
        });
        runs.extend(modes.map(|(_, (arch, schedule))| {
            (kernel.name, Run { problem: problem.clone(), arch, schedule, seed: rng.random() })
        }));
    }
    // nvcc and the interpreter take one core each time.
    runs.par_iter().for_each(|(name, run)| {
        run.check(&compiler).unwrap_or_else(|report| panic!("{name} by {}: {report}", run.schedule));
    });
}

/// A body in one mode, on shapes that a seed draws.
struct Run {
    problem: Problem,
    arch: Arch,
    schedule: Schedule,
    seed: u64,
}

impl Run {
    /// What nvcc refuses or is computed wrong.
    fn check(&self, compiler: &Compiler) -> Result<(), String> {
        let Run { problem, arch, schedule, seed } = self;
        assert_eq!(schedule.check(&problem.class(), *arch), Ok(()));
        let mut rng = StdRng::seed_from_u64(*seed);
        let (source, plan) = emit::kernel(problem, schedule);
        let image = compiler.compile(&source, *arch).map_err(|error| format!("{problem}: {error}"))?;
        let ptx = std::fs::read(&image.ptx).map_err(|error| error.to_string())?;
        let emulation = Emulation::new(*arch).seed(rng.random_range(0..4));
        let loaded = EmulatedKernel::load(&emulation, &signature(problem), &plan, &ptx);
        let loaded = loaded.map_err(|error| error.to_string())?;
        let device = Device::emulated_with(emulation).map_err(|error| error.to_string())?;
        for shape in shapes(&mut rng, problem) {
            let seed = rng.random();
            let mut places = StdRng::seed_from_u64(seed);
            let place = |rows, columns| Place::random(&mut places, rows, columns);
            let launch = |arguments: &mut [Argument<'_>]| loaded.launch(arguments).map(drop);
            check_launch(&device, problem, (shape, Values::Uniform, seed), place, launch)?;
        }
        Ok(())
    }
}
