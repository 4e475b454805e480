//! The GPU that a profile is of.

use std::path::Path;

use autokernel_codegen::arch::{Arch, Features};
use autokernel_codegen::config::Config;
use autokernel_codegen::dtype::Dtype;
use autokernel_runtime::roofline::Roofline;
use autokernel_runtime::{Datasheet, Device};
use serde::Serialize;

use super::args::ProfileArgs;
use super::error::ProfileError;
use crate::bridge::capability;
use crate::folder;
use crate::gpu::pool::{Deadlines, GpuPool};
use crate::gpu::process::WorkerCommand;
use crate::gpu::{Bench, Devices};
use crate::gpu_facts::GpuFacts;

/// The GPU of the shipped entries, taken where there is none and none is named.
const WITHOUT_GPU: &str = "h200";
/// The GPU that the tuner uses.
const DEVICE: usize = 0;

/// A GPU: this machine's, or one of the datasheets.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// What schedules depend on.
    pub facts: GpuFacts,
    /// Compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// Where the figures are from.
    pub source: String,
    #[serde(skip)]
    sheet: Option<&'static Datasheet>,
}

/// The GPU that `args` name, or this machine's with its bench if it can measure, or else that of the shipped entries.
pub fn find(args: &ProfileArgs) -> Result<(Machine, Option<Bench>), ProfileError> {
    let here = matches!(Device::gpu_count(), Ok(1..)).then(here).flatten();
    match &args.gpu {
        None => match here {
            Some(machine) => Ok((machine, bench(&args.out))),
            None => Ok((named(WITHOUT_GPU)?, None)),
        },
        Some(name) => {
            let machine = named(name)?;
            let is_here = here.is_some_and(|here| machine.is_called(&here.facts.name));
            Ok((machine, is_here.then(|| bench(&args.out)).flatten()))
        }
    }
}

fn named(name: &str) -> Result<Machine, ProfileError> {
    let sheet = Datasheet::find(name).ok_or_else(|| ProfileError::UnknownGpu {
        name: name.to_owned(),
        known: Datasheet::ALL.iter().map(|sheet| sheet.key).collect::<Vec<_>>().join(", "),
    })?;
    let facts = GpuFacts {
        name: sheet.name.to_owned(),
        sm_count: sheet.sm_count,
        shared_bytes_per_block: sheet.sm.shared_bytes_per_block,
        shared_bytes_per_sm: sheet.sm.shared_bytes,
        registers_per_sm: sheet.sm.registers,
        l2_bytes: sheet.l2_bytes,
        memory_gb_per_s: sheet.bandwidth_gb_s,
        matrix_tflops: sheet.peak.f16_tflops,
    };
    let capability = sheet.capability;
    let compute_capability = (capability.major.into(), capability.minor.into());
    Ok(Machine { facts, compute_capability, source: sheet.source.to_owned(), sheet: Some(sheet) })
}

fn here() -> Option<Machine> {
    let command = WorkerCommand::of_this_program(DEVICE).ok()?;
    let gpu = GpuPool::new(command, Deadlines::default()).gpu().ok()?;
    let sheet = Datasheet::of_driver_name(&gpu.facts.name);
    let source = format!("this machine's driver {}", gpu.driver);
    Some(Machine { facts: gpu.facts, compute_capability: gpu.compute_capability, source, sheet })
}

fn bench(out: &Path) -> Option<Bench> {
    match Bench::open(&Devices::one(DEVICE), None, Path::new("."), &folder::kernels(out)) {
        Ok(bench) => Some(bench),
        Err(error) => {
            errln!("not measured here: {error}");
            None
        }
    }
}

impl Machine {
    /// The arch of the image that a build with `config` has for this GPU.
    pub fn arch(&self, config: &Config) -> Arch {
        let own = Arch::of_gpu(capability(self.compute_capability));
        if config.archs.contains(&own) { own } else { Arch::SM_80 }
    }

    /// The arch whose resources this GPU has.
    pub fn own_arch(&self) -> Arch {
        Arch { capability: capability(self.compute_capability), features: Features::Baseline }
    }

    /// Whether it runs autokernel's kernels.
    pub fn runs_kernels(&self) -> bool {
        self.compute_capability >= (8, 0)
    }

    /// The two ceilings for inputs of that type; none if the tensor cores do not take them.
    pub fn roofline(&self, input: Dtype) -> Option<Roofline> {
        match self.sheet {
            Some(sheet) => sheet.roofline(input),
            None => self.facts.roofline(Some(input)),
        }
    }

    /// Whether the driver's `name` is of this GPU.
    pub fn is_called(&self, name: &str) -> bool {
        let other = Datasheet::of_driver_name(name).map(|sheet| sheet.key);
        self.facts.name == name || (other.is_some() && other == self.sheet.map(|sheet| sheet.key))
    }
}
