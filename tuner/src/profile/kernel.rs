//! The schedule, its resources, and how they fill the GPU.

use std::path::Path;

use autokernel_codegen::config::Config;
use autokernel_codegen::nvcc::{Compiler, Nvcc, PtxasReport};
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{BlockNeeds, Occupancy, Placement};
use serde::Serialize;

use super::args::ProfileArgs;
use super::error::ProfileError;
use super::machine::Machine;
use crate::folder;
use crate::gpu_facts::GpuFacts;
use crate::placement::{blocks_per_tile, main_kernel, placement, resident_blocks, sm_limits};
use crate::promote::{Origin, incumbent};
use crate::target::Target;

/// How a problem is computed, and how that fills the GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kernel {
    /// The schedule.
    pub schedule: Schedule,
    /// Where it is from.
    pub origin: Origin,
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a block, static and dynamic, in bytes.
    pub shared_bytes: u32,
    /// Where registers and shared memory are from.
    pub resources_from: ResourcesFrom,
    /// Blocks that an SM holds at once, and why not more.
    pub occupancy: Occupancy,
    /// How the tiles fall on the SMs.
    pub placement: Placement,
    /// Blocks that share a tile.
    #[serde(skip)]
    pub blocks_per_tile: u32,
    /// Whether blocks walk over tiles, and do not end with one.
    #[serde(skip)]
    pub is_persistent: bool,
}

impl Kernel {
    /// Blocks that have work: the tiles, times the blocks that share one.
    pub fn busy_blocks(&self) -> u64 {
        self.placement.tiles * u64::from(self.blocks_per_tile)
    }
}

/// Where the figures of a kernel's resources are from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum ResourcesFrom {
    /// ptxas compiled it.
    Ptxas {
        /// nvcc's version.
        nvcc: String,
    },
    /// The schedule's own arithmetic: registers are an estimate.
    Schedule {
        /// Why it was not compiled.
        reason: String,
    },
}

/// The kernel that `args` ask for; none if the GPU runs no kernel of autokernel's.
pub fn profile(
    args: &ProfileArgs,
    config: &Config,
    machine: &Machine,
    target: &Target,
) -> Result<Option<Kernel>, ProfileError> {
    if !machine.runs_kernels() {
        return Ok(None);
    }
    let (schedule, origin) = choose(&args.schedule, config, target, &machine.facts)?;
    let class = target.problem.class();
    class.check(&schedule, target.arch).map_err(|broken| ProfileError::Schedule(broken.to_string()))?;
    let kernel = main_kernel(&schedule, &class)
        .ok_or_else(|| ProfileError::Schedule(format!("{schedule} computes something else")))?;
    let (report, resources_from) = match compile(&args.out, target, &schedule) {
        Ok((report, nvcc)) => (report, ResourcesFrom::Ptxas { nvcc }),
        Err(reason) => {
            let registers = schedule.estimated_registers();
            (PtxasReport { registers, ..PtxasReport::default() }, ResourcesFrom::Schedule { reason })
        }
    };
    let shared_bytes = kernel.shared_bytes + report.static_shared_bytes;
    let needs = BlockNeeds { threads: kernel.threads, registers: report.registers, shared_bytes };
    let occupancy = Occupancy::new(&sm_limits(machine.own_arch(), &machine.facts), &needs);
    let placement = placement(&schedule, &class, target.shape, machine.facts.sm_count, occupancy.blocks_per_sm);
    Ok(Some(Kernel {
        schedule,
        origin,
        threads: kernel.threads,
        registers: report.registers,
        shared_bytes,
        resources_from,
        occupancy,
        placement,
        blocks_per_tile: blocks_per_tile(&kernel),
        is_persistent: resident_blocks(&kernel).is_some(),
    }))
}

fn choose(text: &str, config: &Config, target: &Target, gpu: &GpuFacts) -> Result<(Schedule, Origin), ProfileError> {
    match text {
        "tuned" => {
            let incumbent = incumbent(config, target, gpu);
            Ok((incumbent.schedule, incumbent.origin))
        }
        "default" => {
            let schedule = target.problem.class().default_schedule(target.arch);
            Ok((schedule, Origin::Default(target.arch)))
        }
        json => {
            let schedule =
                serde_json::from_str(json).map_err(|error| ProfileError::Schedule(format!("`{json}`: {error}")))?;
            Ok((schedule, Origin::Given))
        }
    }
}

/// ptxas's report with nvcc's version, or why there is none.
fn compile(out: &Path, target: &Target, schedule: &Schedule) -> Result<(PtxasReport, String), String> {
    let cache = folder::kernels(out);
    let nvcc = Nvcc::locate(Path::new("."), &cache).map_err(|_| "no nvcc here".to_owned())?;
    let version = nvcc.version.clone();
    let (source, _) = target.problem.emit(schedule).map_err(|other| other.to_string())?;
    let image = Compiler::new(nvcc, cache).compile(&source, target.arch);
    let image = image.map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())?;
    Ok((image.report, version))
}
