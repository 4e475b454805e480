//! A trial's outcome in a line that says why.

use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Ms, Occupancy, Placement};

use super::text::json;
use crate::llm::error::shorten;
use crate::llm::feedback::{Became, Figures, Resources};

use crate::outcome::{Failure, Measurement};

/// Most characters of a compiler's or a checker's text.
const DETAIL_CHARS: usize = 600;

/// What became of a schedule, in words; times are also given against `best_ms`.
pub fn words(became: &Became, best_ms: Option<f64>) -> String {
    match became {
        Ok(figures) => timed(figures, best_ms),
        Err(failure) => failed(failure),
    }
}

fn failed(failure: &Failure) -> String {
    match failure {
        Failure::BrokenRule { rule, detail: numbers } => {
            format!("not tried: breaks rule `{rule}`: {}", detail(numbers))
        }
        Failure::Compile { log } => format!("did not compile: {}", detail(log)),
        Failure::Spill { .. } => format!("did not compile: {}", detail(&failure.to_string())),
        Failure::CompileTimeout { limit_s } => format!("timed out: compile not finished after {limit_s} s"),
        Failure::Emulated { .. } => format!("not run: {}", detail(&failure.to_string())),
        Failure::WrongResult { detail: text } => format!("wrong result: {}", detail(text)),
        Failure::Timeout { limit_s } => format!("timed out: run not finished after {limit_s} s"),
        Failure::Crash { detail: text } => format!("crashed: {}", detail(text)),
        Failure::OutOfMemory { .. } | Failure::NotRecorded => format!("not tried: {}", detail(&failure.to_string())),
    }
}

fn timed(figures: &Figures, best_ms: Option<f64>) -> String {
    let Figures { measurement, tflops, roofline_pct, times_cublas, resources, placement } = figures;
    let Measurement { median_ms, spread_pct, .. } = measurement;
    let mut text = format!("{} ±{spread_pct:.1} %", Ms(*median_ms));
    if let Some(best) = best_ms.filter(|best| *best > 0.0 && best < median_ms) {
        text += &format!(" ({:+.1} % on the best)", (median_ms / best - 1.0) * 100.0);
    }
    text += &format!(", {tflops:.1} TFLOP/s");
    if let Some(percent) = roofline_pct {
        text += &format!(", {percent:.1} % of the roofline");
    }
    if let Some(times) = times_cublas {
        text += &format!(", {times:.3} x cuBLAS");
    }
    text += &taken(resources);
    if let Some(placement) = placement {
        text += &format!(", {}", fall(placement));
    }
    text
}

/// How tiles fall on the SMs: `512 tiles in 3.88 waves, the last 88 % full`.
pub fn fall(placement: &Placement) -> String {
    let Placement { tiles, waves, tail_pct, .. } = placement;
    format!("{tiles} tiles in {waves:.2} waves, the last {tail_pct:.0} % full")
}

fn taken(resources: &Resources) -> String {
    let Resources { registers, shared_bytes, spill_bytes, occupancy } = resources;
    let mut text = registers.map_or_else(String::new, |registers| format!(", {registers} registers"));
    text += &format!(", {shared_bytes} bytes of shared memory");
    if *spill_bytes > 0 {
        text += &format!(", {spill_bytes} bytes spilled");
    }
    if let Some(Occupancy { blocks_per_sm, warps_per_sm, percent, limiter }) = occupancy {
        text += &format!(
            ", an SM holds {blocks_per_sm} blocks ({warps_per_sm} warps, {percent:.0} %), limited by {limiter}"
        );
    }
    text
}

/// `text` on few characters, its line breaks as ` | `.
fn detail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    shorten(&lines.join(" | "), DETAIL_CHARS)
}

/// How `schedule` differs from `base`: `stages 4 → 5, raster_group 8 → 16`; in full across families.
pub fn difference(schedule: &Schedule, base: Option<&Schedule>) -> String {
    match base.and_then(|base| schedule.changes_from(base)) {
        None => json(schedule),
        Some(none) if none.is_empty() => "the best itself".to_owned(),
        Some(changes) => changes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_told_the_check_the_kernel_and_the_lines_of_what_an_emulated_gpu_refused() {
        let detail = "at 88x88x280: race: autokernel_matmul_x, block (0, 0, 0), thread (128, 0, 0), PTX line 1488, `st.shared.b32` \
                      (sm90.cuh:114, inlined at sm90_epilogue.cuh:109): read of byte 0x1 of shared memory races"
            .to_owned();
        let told = words(&Err(Failure::Emulated { detail: detail.clone() }), None);
        assert_eq!(told, format!("not run: an emulated GPU found it wrong {detail}"));
    }
}
