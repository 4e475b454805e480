//! Declared problems by every kind of schedule, compiled when they are run.
//!
//! `AUTOKERNEL_CASES` sets how many sizes each gets, `AUTOKERNEL_SEED` draws others, `AUTOKERNEL_KERNEL` takes one kernel alone.

use autokernel::{Arch, CompiledKernel, Device, Dtype, EmulatedKernel, Emulation, Image, LaunchPlan, matmul};
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::schedule::Schedule;
use autokernel_codegen::matmul::{Many, emit};
use autokernel_codegen::nvcc::Compiler;
use autokernel_codegen::problem;
use autokernel_codegen::product::Problem;
use gpu_tests::settings;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::catalogue::catalogue;
use crate::check::{Case, check, of_many, random};
use crate::schedules::{every_kind, of_gathered, of_transposed, of_weights};

/// A problem by a schedule.
pub struct Run {
    /// What is computed.
    pub problem: Problem,
    /// For which GPUs.
    pub arch: Arch,
    /// How.
    pub schedule: Schedule,
    /// Of each problem they count from another on, so that each `n`th of all are not of the same kinds for every problem.
    pub number: usize,
    seed: u64,
}

/// Every declared problem by a schedule of every kind that serves it.
///
/// # Panics
/// A rule refuses another schedule than it is to.
pub fn runs() -> Vec<Run> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 11));
    let only = std::env::var("AUTOKERNEL_KERNEL").ok();
    let mut runs = Vec::new();
    let kernels = catalogue().into_iter().filter(|kernel| only.as_ref().is_none_or(|only| only == kernel.name));
    for (first, kernel) in kernels.enumerate() {
        let problem = kernel.problem();
        let products = problem.class().products();
        let mut kinds = every_kind(problem.input, products);
        if problem.layout.transpose_a() {
            kinds.extend(of_transposed(products));
        }
        if problem.weights.is_some() {
            kinds.extend(of_weights(products));
        }
        if problem.class().gathers() {
            kinds.extend(of_gathered(products));
        }
        for (number, (arch, schedule)) in (first..).zip(kinds) {
            // Rules of a family say nothing of what it does not multiply.
            if !problem::Problem::from(problem.clone()).class().families(arch).contains(&schedule.family()) {
                continue;
            }
            if let Err(broken) = schedule.check(&problem.class(), arch) {
                assert!(refused_by(&problem).contains(&broken.rule), "{schedule}: {broken}");
                continue;
            }
            runs.push(Run { problem: problem.clone(), arch, schedule, number, seed: rng.random() });
        }
    }
    runs
}

/// The rules that refuse kinds of schedules for it.
fn refused_by(problem: &Problem) -> Vec<&'static str> {
    let of_many: &[&str] = match (problem.many(), problem.layout.transpose_a()) {
        (Many::One | Many::Batch, _) => &[],
        (Many::Groups | Many::Masked, false) => &["groups_are_walked_over"],
        (Many::Groups | Many::Masked, true) => &["groups_are_walked_over", OF_TRANSPOSED, SLICES_OF_TRANSPOSED],
        (Many::GroupsAlongK, _) => &["groups_along_k_have_whole_tiles", OF_TRANSPOSED, SLICES_OF_TRANSPOSED],
    };
    let of_gathered: &[&str] = if problem.class().gathers() { &["gathered_rows_are_not_shared"] } else { &[] };
    let of_types: &[&str] = match (problem.input, problem.weights) {
        _ if problem.block.is_some() => &["block_scales_fit_registers", "tile_n_begins_where_blocks_do"],
        (_, Some(_)) => &["weights_are_the_rows_of_wgmma", "fragments_fit_registers", "shared_memory_fits"],
        (Dtype::I8, None) => &["width_is_one_of_whole_numbers"],
        _ => &[],
    };
    [of_many, of_gathered, of_types].concat()
}

/// Tiles of fewer rows than a swizzle row of a transposed first factor holds.
const OF_TRANSPOSED: &str = "transposed_a_takes_whole_swizzle_rows";
const SLICES_OF_TRANSPOSED: &str = "cluster_slices_a_in_whole_swizzle_atoms";

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
