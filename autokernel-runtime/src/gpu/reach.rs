//! How many SMs the blocks of a kernel run on at once.

use autokernel_core::KernelStep;
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig};

use crate::{Error, Result};

/// Of a GPU with `sm_count` SMs those that a persistent kernel is launched on. A cluster does not span GPCs, so clusters of
/// four and more leave some SMs idle; a cluster beyond those that fit would begin when all others have ended.
///
/// # Errors
/// The driver's own error.
pub(super) fn reached_sms(
    function: &CudaFunction,
    kernel: &KernelStep,
    stream: &CudaStream,
    sm_count: u32,
) -> Result<u32> {
    let (cluster, Some(blocks_per_sm)) = (kernel.grid.cluster, kernel.grid.residency.blocks_per_sm()) else {
        return Ok(sm_count);
    };
    if cluster <= 1 {
        return Ok(sm_count);
    }
    let config = LaunchConfig {
        grid_dim: (cluster, 1, 1),
        block_dim: (kernel.threads, 1, 1),
        shared_mem_bytes: kernel.shared_bytes,
    };
    let clusters =
        function.occupancy_max_active_clusters(config, stream).map_err(Error::cuda("counting active clusters"))?;
    match clusters.saturating_mul(cluster) / blocks_per_sm.max(1) {
        0 => Ok(sm_count),
        reached => Ok(reached.min(sm_count)),
    }
}
