//! A launch: checked, then run cluster by cluster.

use super::cluster::{Cluster, Released};
use super::context::Context;
use super::tally::Tally;
use crate::check::Orders;
use crate::device::{Arch, GlobalMemory, MAX_BLOCK_THREADS};
use crate::fault::{LaunchError, RunError};
use crate::launch::{Launch, Options};
use crate::ptx::{Kernel, Module};
use crate::report::Report;

/// Runs the kernel called `name`.
pub(crate) fn launch(
    memory: &mut GlobalMemory,
    arch: Arch,
    module: &Module,
    name: &str,
    launch: &Launch,
    options: &Options,
) -> Result<Report, RunError> {
    let kernel = module.kernel(name).ok_or_else(|| LaunchError::NoKernel(name.to_owned()))?;
    let cluster = check(kernel, launch, arch)?;
    let mut variables = Vec::new();
    for variable in module.variables.iter() {
        let pointer = memory.upload(&variable.name, &variable.bytes).map_err(|_| LaunchError::Variables)?;
        variables.push(pointer);
    }
    let addresses = variables.iter().map(|pointer| pointer.0).collect();
    let context = Context::new(kernel, launch, options, arch, cluster, addresses);
    let result = run(memory, &context);
    for pointer in variables {
        // It was allocated above, so this cannot fail.
        let _ = memory.free(pointer);
    }
    result
}

fn run(memory: &mut GlobalMemory, context: &Context<'_>) -> Result<Report, RunError> {
    let checks = context.options.checks;
    let mut orders = Orders::new(checks.uninitialised, checks.races);
    let mut tally = Tally::new(context.kernel, context.options.instruction_budget);
    let (mut released, mut registers) = (Released::default(), Vec::new());
    for number in 0..context.clusters().iter().product() {
        if orders.are_many() {
            let shadows = memory.allocations_mut().map(|allocation| allocation.shadow.as_mut_slice());
            // Where something was passed on, it still matters which thread did what.
            if released.is_empty() { orders.merge(shadows) } else { orders.collect(shadows) }
        }
        let mut cluster = Cluster::new(context, memory, &mut orders, &mut tally, &mut released, &mut registers, number);
        cluster.run()?;
        registers.extend(cluster.warps.into_iter().map(|warp| warp.registers));
    }
    Ok(tally.into_report(context.kernel))
}

/// What the driver checks; gives the blocks of a cluster.
fn check(kernel: &Kernel, launch: &Launch, arch: Arch) -> Result<[u32; 3], LaunchError> {
    let refuse = |what, extents, reason: String| Err(LaunchError::Extents { what, extents, reason });
    let count = |extents: [u32; 3]| extents.iter().fold(1u64, |count, &extent| count.saturating_mul(extent.into()));
    let cluster = kernel.cluster.or(launch.cluster).unwrap_or([1; 3]);

    let most = kernel.max_threads.map_or(MAX_BLOCK_THREADS, |extents| count(extents).min(MAX_BLOCK_THREADS));
    if !(1..=most).contains(&count(launch.block)) {
        return refuse("block", launch.block, format!("1 to {most} threads"));
    }
    if let Some(required) = kernel.required_threads.filter(|required| *required != launch.block) {
        return refuse("block", launch.block, format!("the kernel requires {required:?}"));
    }
    if !(1..=u64::from(u32::MAX >> 1)).contains(&count(launch.grid)) {
        return refuse("grid", launch.grid, "1 to 2^31 - 1 blocks".to_owned());
    }
    if !(1..=u64::from(arch.max_cluster_blocks())).contains(&count(cluster)) {
        return refuse("cluster", cluster, format!("1 to {} blocks", arch.max_cluster_blocks()));
    }
    if kernel.cluster.is_some() && launch.cluster.is_some_and(|asked| Some(asked) != kernel.cluster) {
        return refuse("cluster", cluster, "the launch asks for another than the kernel fixes".to_owned());
    }
    if launch.grid.iter().zip(cluster).any(|(blocks, cluster)| blocks % cluster != 0) {
        return refuse("grid", launch.grid, format!("a multiple of the cluster {cluster:?}"));
    }
    if launch.parameters.len() != kernel.parameter_bytes as usize {
        let (given, expected) = (launch.parameters.len(), kernel.parameter_bytes);
        return Err(LaunchError::Parameters { given, expected });
    }
    let needed = u64::from(kernel.shared.dynamic_start()) + u64::from(launch.dynamic_shared);
    if needed > u64::from(arch.max_shared_bytes()) {
        return Err(LaunchError::SharedMemory { needed, limit: arch.max_shared_bytes() });
    }
    Ok(cluster)
}
