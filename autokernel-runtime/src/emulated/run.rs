//! The kernels of one launch, one after the other on an emulated GPU.

use autokernel_core::KernelStep;
use autokernel_emulator::{Gpu, Launch, Module, Report};

use super::tensor_map;
use crate::Result;
use crate::emulation::{Emulation, emulated};
use crate::launch::{Parameter, Sources, grid, pad_rows};

/// One launch under way.
pub(super) struct Run<'r> {
    pub gpu: Gpu,
    pub module: &'r Module,
    pub emulation: &'r Emulation,
    pub reports: Vec<Report>,
}

impl Run<'_> {
    /// Runs one kernel of the plan.
    pub fn step(&mut self, kernel: &KernelStep, sources: &Sources<'_>) -> Result<()> {
        let KernelStep { symbol, threads, shared_bytes, overlaps_previous, args, .. } = kernel;
        let blocks = grid::blocks(kernel, sources.knobs, sources.extents, self.emulation.multiprocessors.max(1))?;
        if blocks == 0 {
            return Ok(());
        }
        let mut parameter = Parameter::new();
        parameter
            .pack(args, sources, |_, transfer, region| tensor_map::encode(&self.gpu, symbol, &transfer, region))?;
        let launch = Launch {
            cluster: grid::cluster(kernel, sources.knobs).map(|blocks| [blocks, 1, 1]),
            dynamic_shared: *shared_bytes,
            overlaps_previous: *overlaps_previous,
            ..Launch::new([blocks, 1, 1], [*threads, 1, 1], parameter.into_bytes(args))
        };
        self.launch(symbol, &launch)
    }

    /// Runs one kernel of the module.
    pub fn launch(&mut self, symbol: &str, launch: &Launch) -> Result<()> {
        let report = self.gpu.launch(self.module, symbol, launch, &self.emulation.options());
        self.reports.push(report.map_err(|error| emulated(symbol, error))?);
        Ok(())
    }

    /// Whether the module has the kernel that realigns operands.
    pub fn can_realign(&self) -> bool {
        self.module.kernel(pad_rows::SYMBOL).is_some()
    }
}
