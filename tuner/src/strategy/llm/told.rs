//! A search in the words that the model is told.

use autokernel_core::{BlockNeeds, Occupancy, Placement};
use autokernel_runtime::roofline::Roofline;

use crate::llm::{Candidates, Figures, Left, Resources, RooflineFacts, Task, Tried};
use crate::outcome::{Measurement, Outcome};
use crate::placement::{main_kernel, placement, resident_blocks, sm_limits};
use crate::strategy::brief::Brief;
use crate::trial::Trial;

/// What the model is asked to do, and that cuBLAS takes `cublas_ms`, if that is known.
pub fn task(brief: &Brief, cublas_ms: Option<f64>) -> Task {
    let target = &brief.target;
    Task {
        problem: target.problem.clone(),
        shape: target.shape,
        group_sizes: brief.group_sizes,
        gpu: brief.gpu.clone(),
        roofline: roofline_facts(brief),
        cublas_ms,
        candidates: Candidates::new(target.problem.class(), target.arch, brief.space.iter().copied())
            .measurable(brief.measurable),
        known_good: brief.known.clone(),
        left: Left {
            evaluations: brief.evaluations as u32,
            rounds: brief.generations as u32,
            proposals_per_round: brief.evaluations.div_ceil(brief.generations.max(1)) as u32,
        },
    }
}

fn roof(brief: &Brief) -> Option<Roofline> {
    brief.gpu.roofline(brief.target.input())
}

fn roofline_facts(brief: &Brief) -> Option<RooflineFacts> {
    let (roof, work) = (roof(brief)?, brief.target.work());
    Some(RooflineFacts {
        intensity_flops_per_byte: work.intensity(),
        ridge_flops_per_byte: roof.ridge(),
        limit_tflops: roof.attainable_tflops(work.intensity()),
        limit_ms: roof.floor_ms(&work),
        compute_ms: work.flops / (roof.peak_tflops * 1e9),
        memory_ms: work.bytes / (roof.bandwidth_gb_s * 1e6),
    })
}

/// A trial with the figures that the model reasons with.
pub fn tried(trial: &Trial, brief: &Brief, cublas_ms: Option<f64>) -> Tried {
    let became = match &trial.outcome {
        Outcome::Measured(measurement) => Ok(figures(trial, measurement, brief, cublas_ms)),
        Outcome::Failed(failure) => Err(failure.clone()),
    };
    Tried { schedule: trial.schedule, became }
}

fn figures(trial: &Trial, measurement: &Measurement, brief: &Brief, cublas_ms: Option<f64>) -> Figures {
    let (resources, placement) = placed(trial, measurement, brief);
    Figures {
        measurement: *measurement,
        tflops: trial.target.tflops(measurement.median_ms),
        roofline_pct: roof(brief).map(|roof| roof.percent(&trial.target.work(), measurement.median_ms)),
        times_cublas: cublas_ms.map(|cublas_ms| cublas_ms / measurement.median_ms),
        resources,
        placement,
    }
}

/// What the kernel takes of an SM, and how its tiles fall on all of them. A replay knows no registers.
fn placed(trial: &Trial, measurement: &Measurement, brief: &Brief) -> (Resources, Option<Placement>) {
    let class = trial.target.problem.class();
    let kernel = main_kernel(&trial.schedule, &class);
    let (threads, dynamic_bytes) = kernel.as_ref().map_or((0, 0), |kernel| (kernel.threads, kernel.shared_bytes));
    let report = measurement.resources;
    let shared_bytes = dynamic_bytes + report.map_or(0, |report| report.static_shared_bytes);
    let occupancy = report.map(|report| {
        let block = BlockNeeds { threads, registers: report.registers, shared_bytes };
        Occupancy::new(&sm_limits(trial.target.arch, &brief.gpu), &block)
    });
    let resident = kernel.as_ref().and_then(resident_blocks);
    let blocks_per_sm = resident.or(occupancy.map(|occupancy| occupancy.blocks_per_sm));
    let resources = Resources {
        registers: report.map(|report| report.registers),
        shared_bytes,
        spill_bytes: report.map_or(0, |report| report.spill_store_bytes),
        occupancy,
    };
    let (shape, sms) = (trial.target.shape, brief.gpu.sm_count);
    let placement = blocks_per_sm.map(|blocks| placement(&trial.schedule, &class, shape, sms, blocks));
    (resources, placement)
}
