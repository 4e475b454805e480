//! Declared problems by every kind of schedule, compiled when they are run.
//!
//! `AUTOKERNEL_CASES` sets how many sizes each gets, `AUTOKERNEL_SEED` draws others.

use autokernel::{Arch, CompiledKernel, Device, EmulatedKernel, Emulation, Image, LaunchPlan, matmul};
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::schedule::Schedule;
use autokernel_codegen::matmul::{Many, emit};
use autokernel_codegen::nvcc::Compiler;
use autokernel_codegen::product::Problem;
use gpu_tests::settings;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::check::{Case, check, of_many, random};
use crate::declared::catalogue;
use crate::schedules::every_kind;

/// A problem by a schedule.
pub struct Run {
    /// What is computed.
    pub problem: Problem,
    /// For which GPUs.
    pub arch: Arch,
    /// How.
    pub schedule: Schedule,
    seed: u64,
}

/// Every declared problem by a schedule of every kind that serves it.
///
/// # Panics
/// A rule refuses another schedule than it is to.
pub fn runs() -> Vec<Run> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 11));
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
    /// Its launch plan, PTX and cubin.
    ///
    /// # Errors
    /// nvcc's own.
    pub fn compiled(&self, compiler: &Compiler) -> Result<(LaunchPlan, Vec<u8>, Vec<u8>), String> {
        let (source, plan) = emit::kernel(&self.problem, &self.schedule);
        let image = compiler.compile(&source, self.arch).map_err(|error| error.to_string())?;
        let ptx = std::fs::read(&image.ptx).map_err(|error| error.to_string())?;
        let cubin = std::fs::read(&image.cubin).map_err(|error| error.to_string())?;
        Ok((plan, ptx, cubin))
    }

    /// Holds it against fp64 on an emulated GPU, at sizes of each kind.
    ///
    /// # Errors
    /// A report of what is wrong.
    pub fn emulate(&self, compiler: &Compiler) -> Result<(), String> {
        let Run { problem, arch, seed, .. } = self;
        let (plan, ptx, _) = self.compiled(compiler)?;
        let mut rng = StdRng::seed_from_u64(*seed);
        let emulation = Emulation::new(*arch).seed(rng.random_range(0..4));
        let loaded = EmulatedKernel::load(&emulation, &signature(problem), &plan, &ptx).map_err(|it| it.to_string())?;
        let device = Device::emulated_with(emulation).map_err(|error| error.to_string())?;
        for number in 0..settings::number("AUTOKERNEL_CASES", 3) {
            let mut case = random(&mut rng, problem, [140; 3], 5);
            if number == 2 && problem.known_k.is_none() {
                let [m, n, _] = matmul::sizes(&case.extents);
                case = Case { extents: of_many(problem, 3, [m, n, 0]), ..case };
            }
            check(&device, problem, case, |arguments| loaded.launch(arguments).map(drop))?;
        }
        Ok(())
    }

    /// The same on a GPU.
    ///
    /// # Errors
    /// A report of what is wrong.
    pub fn on_gpu(&self, compiler: &Compiler, device: &Device) -> Result<(), String> {
        let (plan, _, cubin) = self.compiled(compiler)?;
        // SAFETY: the image was compiled from the source that was emitted with this plan.
        let loaded = unsafe { CompiledKernel::load(device, &signature(&self.problem), &plan, Image::Cubin(&cubin)) };
        let loaded = loaded.map_err(|error| error.to_string())?;
        let mut rng = StdRng::seed_from_u64(self.seed);
        for _ in 0..settings::number("AUTOKERNEL_CASES", 20) {
            let case = random(&mut rng, &self.problem, [300; 3], 20);
            check(device, &self.problem, case, |arguments| loaded.launch(device, arguments))?;
        }
        Ok(())
    }
}
