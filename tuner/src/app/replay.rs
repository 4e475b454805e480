//! Which recorded spaces can stand for a demand.

use autokernel_core::Extents;

use crate::demand::Demand;
use crate::target::Target;

/// Whether the recorded `target` gives the tuned entry that `demand` needs: it is of the same class, which is what
/// entries are for, at the same shape, for a GPU on which the kernel was launched.
pub fn serves(target: &Target, demand: &Demand) -> bool {
    target.shape == demand.shape
        && target.problem.class() == demand.problem.class()
        && (demand.archs.is_empty() || demand.archs.contains(&target.arch))
}

/// Why nothing `recorded` serves `demand`, and what to do.
pub fn missing(demand: &Demand, recorded: impl Iterator<Item = Target>) -> String {
    let Demand { kernel, problem, shape, archs, .. } = demand;
    let class = problem.class();
    let same_class: Vec<Target> = recorded.filter(|target| target.problem.class() == class).collect();
    let shapes: Vec<Extents> = same_class.iter().map(|target| target.shape).collect();
    let reason = if shapes.is_empty() {
        format!("no space of {} is recorded", class.slug())
    } else if shapes.contains(shape) {
        let launched: Vec<String> = archs.iter().map(ToString::to_string).collect();
        format!("no space of {} is recorded for the arch ({})", class.slug(), launched.join(", "))
    } else {
        let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
        format!("{} is recorded only at {}", class.slug(), shapes.join(", "))
    };
    format!("`{kernel}` at {shape}: {reason}; run the same command on a machine with the GPU and nvcc")
}
