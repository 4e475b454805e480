//! The profile for people.

use std::fmt;

use autokernel_core::Ms;

use super::document::Profile;
use super::kernel::{Kernel, ResourcesFrom};
use super::line::line;
use super::time::Time;
use super::work::Bound;

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
            Bound::Latency => "latency",
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Profile { target, gpu, work, .. } = self;
        writeln!(f, "{target}")?;
        let (major, minor) = gpu.compute_capability;
        let facts = &gpu.facts;
        line(f, "GPU", &format!("{}, compute capability {major}.{minor}, {} SMs", facts.name, facts.sm_count))?;
        line(f, "", &gpu.source)?;
        line(
            f,
            "work",
            &format!("{:.2} GFLOP, {:.2} MB, {:.0} FLOP/B", work.flop / 1e9, work.bytes / 1e6, work.intensity),
        )?;
        match (work.bound, work.ridge, work.floor_ms, work.peak_tflops) {
            (Some(bound), Some(ridge), Some(floor), Some(peak)) => {
                let roofs = format!("{peak:.0} TFLOP/s and {:.0} GB/s", facts.memory_gb_per_s);
                line(f, "bound", &format!("{bound}: {roofs} meet at {ridge:.0} FLOP/B; at least {}", Ms(floor)))?;
            }
            _ => line(f, "bound", "unknown: the tensor cores do not take its types")?,
        }
        if let Some(kernel) = &self.kernel {
            kernel_lines(f, kernel, facts.sm_count)?;
        }
        if let Some(emulated) = &self.emulated {
            emulated.write(f)?;
        }
        match &self.time {
            Some(time) => time_lines(f, time)?,
            None => line(f, "time", "nobody has measured it")?,
        }
        traffic_line(f, self)?;
        for (index, next) in self.next.iter().enumerate() {
            line(f, if index == 0 { "try next" } else { "" }, next)?;
        }
        Ok(())
    }
}

fn kernel_lines(f: &mut fmt::Formatter<'_>, kernel: &Kernel, sm_count: u32) -> fmt::Result {
    line(f, "schedule", &format!("{} ({})", kernel.schedule, kernel.origin))?;
    let from = match &kernel.resources_from {
        ResourcesFrom::Ptxas { nvcc } => format!("by ptxas of nvcc {nvcc}"),
        ResourcesFrom::Schedule { reason } => format!("by the schedule's arithmetic: {reason}"),
    };
    let Kernel { threads, registers, shared_bytes, occupancy, placement, .. } = kernel;
    line(f, "block", &format!("{threads} threads, {registers} registers each, {shared_bytes} bytes shared, {from}"))?;
    let blocks = match occupancy.blocks_per_sm {
        1 => "1 block".to_owned(),
        count => format!("{count} blocks"),
    };
    let percent = occupancy.percent;
    line(f, "occupancy", &format!("{percent:.0} %, {blocks} an SM, limited by {}", occupancy.limiter))?;
    let (tiles, slots, tail) = (placement.tiles, placement.slots, placement.tail_pct);
    let busy = placement.utilization_pct;
    line(
        f,
        "waves",
        &format!(
            "{:.2}: {tiles} tiles in {slots} slots of {sm_count} SMs; the last wave is {tail:.0} % full, {busy:.0} % of all slots busy",
            placement.waves
        ),
    )
}

fn time_lines(f: &mut fmt::Formatter<'_>, time: &Time) -> fmt::Result {
    line(f, "time", &format!("{} ± {:.1} %, {}", Ms(time.median_ms), time.spread_pct, time.origin))?;
    for (rate, unit) in [(&time.tflops, "TFLOP/s"), (&time.gb_s, "GB/s")] {
        let mut words = format!("{:.0} {unit}", rate.value);
        if let Some(percent) = rate.datasheet_pct {
            words += &format!(", {percent:.0} % of the datasheet's roof");
        }
        if let (Some(roof), Some(percent)) = (rate.measured_roof, rate.measured_pct) {
            words += &format!(", {percent:.0} % of the highest measured ({roof:.0})");
        }
        line(f, "", &words)?;
    }
    match time.roofline_pct {
        Some(percent) => line(f, "", &format!("{percent:.0} % of the roofline at this intensity")),
        None => Ok(()),
    }
}

fn traffic_line(f: &mut fmt::Formatter<'_>, profile: &Profile) -> fmt::Result {
    let traffic = &profile.work.traffic;
    let mb = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
    if traffic.saved_pct == 0.0 {
        return line(f, "fusion", "a plain product: there is nothing to fuse");
    }
    let words = format!(
        "saves {:.0} % of the output's traffic ({} → {}) and {:.0} % in all ({} → {})",
        traffic.output_saved_pct,
        mb(traffic.output_unfused),
        mb(traffic.output_fused),
        traffic.saved_pct,
        mb(traffic.unfused),
        mb(traffic.fused)
    );
    line(f, "fusion", &words)
}
