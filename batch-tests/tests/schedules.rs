//! Every kind of schedule on batches, compiled while the test runs, on emulated GPUs, and on the GPU where there is one.
//!
//! `AUTOKERNEL_CASES` sets how many sizes each gets, `AUTOKERNEL_SEED` draws others.

use std::path::{Path, PathBuf};

use autokernel::{CompiledKernel, Device, EmulatedKernel, Emulation, Image};
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::schedule::Schedule;
use autokernel_codegen::matmul::{Many, emit};
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::product::Problem;
use batch_tests::check::{Case, check, of_many, random};
use batch_tests::declared::catalogue;
use batch_tests::schedules::every_kind;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn compiler() -> Result<Compiler, String> {
    let cache =
        std::env::var_os("AUTOKERNEL_CACHE_DIR").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
    let nvcc = Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache).map_err(|error| error.to_string())?;
    Ok(Compiler::new(nvcc, cache))
}

/// A problem by a schedule.
struct Run {
    problem: Problem,
    arch: autokernel::Arch,
    schedule: Schedule,
    seed: u64,
}

fn runs() -> Vec<Run> {
    let mut rng = StdRng::seed_from_u64(number("AUTOKERNEL_SEED", 11));
    let mut runs = Vec::new();
    for kernel in catalogue() {
        let problem = kernel.problem();
        for (arch, schedule) in every_kind(problem.class().products()) {
            let is_grouped = problem.many() == Many::Groups;
            let valid = schedule.check(&problem.class(), arch);
            if let Err(broken) = valid {
                assert!(is_grouped && broken.rule == "groups_are_walked_over", "{schedule}: {broken}");
                continue;
            }
            runs.push(Run { problem: problem.clone(), arch, schedule, seed: rng.random() });
        }
    }
    runs
}

impl Run {
    fn compiled(&self, compiler: &Compiler) -> Result<(autokernel::LaunchPlan, Vec<u8>, Vec<u8>), String> {
        let (source, plan) = emit::kernel(&self.problem, &self.schedule);
        let image = compiler.compile(&source, self.arch).map_err(|error| error.to_string())?;
        let ptx = std::fs::read(&image.ptx).map_err(|error| error.to_string())?;
        let cubin = std::fs::read(&image.cubin).map_err(|error| error.to_string())?;
        Ok((plan, ptx, cubin))
    }

    fn emulate(&self, compiler: &Compiler) -> Result<(), String> {
        let Run { problem, arch, seed, .. } = self;
        let (plan, ptx, _) = self.compiled(compiler)?;
        let mut rng = StdRng::seed_from_u64(*seed);
        let emulation = Emulation::new(*arch).seed(rng.random_range(0..4));
        let loaded = EmulatedKernel::load(&emulation, &signature(problem), &plan, &ptx).map_err(|it| it.to_string())?;
        let device = Device::emulated_with(emulation).map_err(|error| error.to_string())?;
        for number in 0..number("AUTOKERNEL_CASES", 3) {
            let mut case = random(&mut rng, problem, 140, 5);
            if number == 2 && problem.known_k.is_none() {
                let [m, n, _] = autokernel::matmul::sizes(&case.extents);
                case = Case { extents: of_many(problem, 3, [m, n, 0]), ..case };
            }
            check(&device, problem, case, |arguments| loaded.launch(arguments).map(drop))?;
        }
        Ok(())
    }

    fn on_gpu(&self, compiler: &Compiler, device: &Device) -> Result<(), String> {
        let (plan, _, cubin) = self.compiled(compiler)?;
        // SAFETY: the image was compiled from the source that was emitted with this plan.
        let loaded = unsafe { CompiledKernel::load(device, &signature(&self.problem), &plan, Image::Cubin(&cubin)) };
        let loaded = loaded.map_err(|error| error.to_string())?;
        let mut rng = StdRng::seed_from_u64(self.seed);
        for _ in 0..number("AUTOKERNEL_CASES", 20) {
            let case = random(&mut rng, &self.problem, 300, 20);
            check(device, &self.problem, case, |arguments| loaded.launch(device, arguments))?;
        }
        Ok(())
    }
}

#[test]
fn a_batch_is_the_same_by_every_kind_of_schedule() {
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    runs().par_iter().for_each(|run| {
        run.emulate(&compiler).unwrap_or_else(|report| panic!("{} by {}: {report}", run.problem, run.schedule));
    });
}

#[test]
fn a_batch_is_the_same_by_every_kind_of_schedule_on_the_gpu() {
    let device = match Device::new(0) {
        Ok(device) => device,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let of_gpu: Vec<Run> = runs().into_iter().filter(|run| run.arch == autokernel::Arch::SM_90A).collect();
    of_gpu.par_iter().for_each(|run| drop(run.compiled(&compiler)));
    for run in of_gpu {
        run.on_gpu(&compiler, &device).unwrap_or_else(|report| panic!("{} by {}: {report}", run.problem, run.schedule));
    }
}
