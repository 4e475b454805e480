//! What to try next, by rules on the numbers.

use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::schedule::space::Space;
use autokernel_core::{Limiter, Ms};

use super::document::Profile;
use super::emulated;
use super::kernel::{Kernel, ResourcesFrom};
use super::work::Bound;
use crate::placement::{blocks_per_tile, main_kernel, placement};
use crate::promote::Origin;

/// Slots without a tile that are worth a change, in percent of all.
const TAIL_WORTH: f64 = 10.0;
/// A kernel this close to its roof has little left to gain, in percent.
const AT_THE_ROOF: f64 = 85.0;

/// Shared memory this full leaves no room for another stage.
const FULL: f64 = 0.9;

/// What to try next, the most promising first. Each sentence has the numbers it follows from.
pub fn next(profile: &Profile) -> Vec<String> {
    let Some(kernel) = &profile.kernel else {
        return vec![format!(
            "another GPU: autokernel's kernels need compute capability 8.0, and {} has {}.{}",
            profile.gpu.facts.name, profile.gpu.compute_capability.0, profile.gpu.compute_capability.1
        )];
    };
    if kernel.occupancy.blocks_per_sm == 0 {
        return vec![does_not_fit(profile, kernel)];
    }
    let rules = [few_tiles(profile, kernel), tail(profile, kernel), roof(profile), one_block(profile, kernel)];
    let mut next: Vec<String> = rules.into_iter().flatten().collect();
    next.extend(profile.emulated.iter().flat_map(emulated::advice));
    next.extend(tune(profile, kernel));
    next
}

fn does_not_fit(profile: &Profile, kernel: &Kernel) -> String {
    let Kernel { shared_bytes, registers, threads, .. } = kernel;
    let name = &profile.gpu.facts.name;
    match kernel.occupancy.limiter {
        Limiter::SharedMemory => {
            format!(
                "fewer stages or a smaller tile: {name} cannot hold one block with {shared_bytes} bytes of shared memory"
            )
        }
        _ => format!(
            "fewer warps or a smaller tile: {name} cannot hold {threads} threads with {registers} registers each"
        ),
    }
}

/// Fewer tiles than SMs leave SMs idle.
fn few_tiles(profile: &Profile, kernel: &Kernel) -> Option<String> {
    let (blocks, sms) = (kernel.busy_blocks(), u64::from(profile.gpu.facts.sm_count));
    (blocks < sms).then(|| {
        let (tiles, idle) = (kernel.placement.tiles, sms - blocks);
        let can_share = kernel.blocks_per_tile == 1 && shares_tiles(profile, &kernel.schedule);
        let split = if can_share { "; with a long sum, blocks that share a tile would fill them" } else { "" };
        format!("a smaller tile: {tiles} tiles leave {idle} of {sms} SMs idle{split}")
    })
}

/// Whether the family of `schedule` can have several blocks work at one tile.
fn shares_tiles(profile: &Profile, schedule: &Schedule) -> bool {
    let target = &profile.target;
    let class = target.problem.class();
    let space = Space::new(schedule.family(), &class, target.arch);
    space.forms().filter_map(|form| main_kernel(&form, &class)).any(|kernel| blocks_per_tile(&kernel) > 1)
}

/// A last wave that is nearly empty: is there a tile that avoids it?
fn tail(profile: &Profile, kernel: &Kernel) -> Option<String> {
    let now = &kernel.placement;
    if now.waves < 1.0 || now.utilization_pct > 100.0 - TAIL_WORTH {
        return None;
    }
    let target = &profile.target;
    let (class, schedule) = (target.problem.class(), &kernel.schedule);
    // FLOP per element that a cluster loads, about: with much less of it more is lost than the tail costs.
    let reuse = |schedule: &Schedule| {
        let axes = main_kernel(schedule, &class).map_or_else(Vec::new, |kernel| kernel.grid.axes);
        1.0 / axes.iter().map(|axis| 1.0 / f64::from(axis.step)).sum::<f64>()
    };
    let (sms, blocks) = (profile.gpu.facts.sm_count, kernel.occupancy.blocks_per_sm);
    let space = Space::new(schedule.family(), &class, target.arch);
    let least = 0.75 * reuse(schedule);
    let alike = space.schedules().iter().filter(|other| reuse(other) >= least);
    let rated = alike.map(|other| {
        let changed = other.codes().iter().zip(schedule.codes()).filter(|(other, own)| other != own).count();
        (placement(other, &class, target.shape, sms, blocks).utilization_pct, changed, other)
    });
    // Of those that fill the slots alike, the one that changes least.
    let (then, _, best) = rated.max_by(|(a, many, _), (b, few, _)| a.total_cmp(b).then(few.cmp(many)))?;
    (then > now.utilization_pct + TAIL_WORTH / 2.0).then(|| {
        format!(
            "{}: {:.2} waves keep {:.0} % of the slots busy, it would keep {then:.0} %",
            best.changes_from(schedule).unwrap_or_default(),
            now.waves,
            now.utilization_pct
        )
    })
}

/// How far the roof is that binds.
fn roof(profile: &Profile) -> Option<String> {
    let time = profile.time.as_ref()?;
    match profile.work.bound? {
        Bound::Memory => {
            let percent = time.gb_s.datasheet_pct?;
            let at = format!("{percent:.0} % of the memory bandwidth");
            Some(if percent > AT_THE_ROOF {
                format!("fewer bytes: at {at} no schedule helps, a narrower output or more fusion would")
            } else {
                format!("more loads in flight, by stages or by smaller tiles on more SMs: it reaches {at}")
            })
        }
        Bound::Compute => {
            let percent = time.tflops.measured_pct?;
            let roof = time.tflops.measured_roof?;
            let at = format!("{percent:.0} % of the {roof:.0} TFLOP/s that were measured on this GPU");
            let (used, most) = (profile.kernel.as_ref()?.shared_bytes, profile.gpu.facts.shared_bytes_per_block);
            Some(if percent > AT_THE_ROOF {
                format!("nothing large: it reaches {at}")
            } else if f64::from(used) > FULL * f64::from(most) {
                format!(
                    "another balance of tile and stages: it reaches {at}, and shared memory is full ({used} of {most} bytes)"
                )
            } else {
                format!("larger tiles or more stages, so that the tensor cores wait less: it reaches {at}")
            })
        }
        Bound::Latency => {
            let (ms, floor) = (time.median_ms, profile.work.floor_ms?);
            Some(format!(
                "a CUDA graph, or more work a launch: it takes {} where the roofline asks for {}",
                Ms(ms),
                Ms(floor)
            ))
        }
    }
}

/// One block an SM hides no latency where blocks neither overlap their own stores nor persist.
fn one_block(profile: &Profile, kernel: &Kernel) -> Option<String> {
    let one = !kernel.is_persistent && kernel.blocks_per_tile == 1 && kernel.occupancy.blocks_per_sm == 1;
    let enough = kernel.placement.tiles >= 2 * u64::from(profile.gpu.facts.sm_count);
    (one && enough).then(|| {
        let less = match kernel.occupancy.limiter {
            Limiter::SharedMemory => "fewer stages or a smaller tile_k",
            _ => "smaller warp tiles",
        };
        format!("{less}: two blocks would share an SM, and one multiply while the other stores")
    })
}

/// What the tuner itself can do.
fn tune(profile: &Profile, kernel: &Kernel) -> Option<String> {
    let target = &profile.target;
    let is_settled = match &kernel.origin {
        Origin::Tuned { shape, other } => *shape == target.shape && other.is_none(),
        Origin::Predicted | Origin::Default(_) => false,
        Origin::Given => true,
    };
    let command = format!("tuner --problem {} --shape {}", target.problem.class().slug(), target.shape);
    match (&profile.time, &kernel.resources_from) {
        _ if !is_settled => {
            let (origin, name) = (&kernel.origin, &profile.gpu.facts.name);
            Some(format!("tuning it: its schedule is {origin}; on the {name}, `{command}`"))
        }
        (None, ResourcesFrom::Schedule { .. }) => {
            Some("nvcc for its real registers, and a GPU for its time: neither is here".to_owned())
        }
        (None, ResourcesFrom::Ptxas { .. }) => Some(format!("measuring it on the {}", profile.gpu.facts.name)),
        _ => None,
    }
}
