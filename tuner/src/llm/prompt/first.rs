//! The first prompt: everything that stays the same from round to round.

use std::fmt::Write;

use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Ms, Placement};

use super::outcome::fall;
use super::text::{ask, json};
use super::{knobs, rules, schema};
use crate::gpu_facts::GpuFacts;
use crate::known::Known;
use crate::llm::candidates::FamilyKnobs;
use crate::llm::roofline::RooflineFacts;
use crate::llm::task::Task;
use crate::numbers;
use crate::placement::{main_kernel, placement, resident_blocks};

/// The standing instructions.
pub fn system() -> String {
    "You tune GPU kernels. You propose schedules for one kernel; a tuner compiles each, checks \
     its result and times it on the GPU, and tells you what became of it. Your aim is the lowest median time within \
     the budget. Reason from the hardware (tiles against SMs, waves and their tail, shared memory and registers, L2 \
     reuse) and from what was measured, which outweighs any expectation.\n\n\
     Answer with one JSON object and nothing else, no prose and no code fence:\n\
     {\"proposals\": [{\"why\": \"<one sentence>\", \"schedule\": {<a schedule that follows the schema>}}]}"
        .to_owned()
}

/// The task.
pub fn first(task: &Task) -> String {
    let mut text = String::new();
    for (title, body) in [
        ("Problem", format!("{}{} Target {}.", task.problem.task(&task.shape), groups(task), task.candidates.arch())),
        ("GPU", gpu(&task.gpu)),
        (
            "Roofline",
            task.roofline.map_or("The ceilings of this GPU are not known.".to_owned(), |roof| roof.to_string()),
        ),
    ] {
        let _ = writeln!(text, "# {title}\n{body}\n");
    }
    for family in task.candidates.families() {
        let _ = writeln!(text, "{}\n", kernel_family(family, task.candidates.only_listed()));
    }
    let _ = writeln!(text, "# JSON schema of your answer\n{}\n", schema::wanted(&task.candidates).schema);
    let _ = writeln!(text, "# Known good\n{}\n", known_good(task));
    if let Some(ms) = task.cublas_ms {
        let _ = writeln!(text, "# To be beaten\n{}\n", to_be_beaten(task, ms));
    }
    let mix =
        "Mix: about 40 % close to what is known to be good, 40 % that change one or two decisive knobs, 20 % bold.";
    let _ = write!(text, "# Budget\n{} {mix}", ask(&task.left));
    text
}

/// What is timed is of groups whose sizes no extents say.
fn groups(task: &Task) -> String {
    let sizes = numbers::has_groups(&task.problem).then_some(task.group_sizes);
    sizes.map_or_else(String::new, |sizes| format!(" Schedules are timed on groups of {sizes}."))
}

fn gpu(facts: &GpuFacts) -> String {
    facts.to_string()
}

fn kernel_family(family: &FamilyKnobs, recorded: bool) -> String {
    let name = family.family.name();
    let recorded = if recorded { " This is a replay: only combinations that were recorded can be tried." } else { "" };
    format!(
        "# Kernel family {name}\n{}\n\n## Knobs\n{}\n\n## Rules\nEvery proposal must keep all of them.{recorded}\n{}",
        family.family.about(),
        knobs::glossary(family),
        rules::list(family.family),
    )
}

fn known_good(task: &Task) -> String {
    if task.known_good.is_empty() {
        return "Nothing is known yet.".to_owned();
    }
    let line = |known: &Known| {
        let placed = placed(&known.schedule, task).map_or_else(String::new, |placed| format!("; {}", fall(&placed)));
        format!("- {} ({}): not measured for this shape{placed}", json(&known.schedule), known.origin)
    };
    task.known_good.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// How the tiles of `schedule` fall on the GPU, where that does not hang on what ptxas makes of it.
fn placed(schedule: &Schedule, task: &Task) -> Option<Placement> {
    let class = task.candidates.class();
    let blocks_per_sm = main_kernel(schedule, class).as_ref().and_then(resident_blocks)?;
    Some(placement(schedule, class, task.shape, task.gpu.sm_count, blocks_per_sm))
}

fn to_be_beaten(task: &Task, cublas_ms: f64) -> String {
    let tflops = task.problem.work(&task.shape).operations / (cublas_ms * 1e9);
    let share = |roof: RooflineFacts| format!(", {:.1} % of the roofline", 100.0 * roof.limit_ms / cublas_ms);
    format!(
        "cuBLAS, the fastest of its algorithms with the epilogue as a kernel of its own: {}, {tflops:.1} TFLOP/s{}.",
        Ms(cublas_ms),
        task.roofline.map_or(String::new(), share)
    )
}
