//! Mutants of journals.

use std::path::Path;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::Config;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::problem::{Layout, Problem};

use super::mutate::mutant;
use super::{seeds, watchdog};
use crate::environment::Environment;
use crate::journal::{parse_trials, sealed};
use crate::outcome::{Failure, Measurement, Outcome};
use crate::report::{Results, page_of};
use crate::target::Target;
use crate::trial::Trial;

/// One of so many mutants that can be read becomes a page, which takes longer.
const PAGES: u64 = 100;

pub(super) fn trials() -> Vec<Trial> {
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "leaky_relu".parse().unwrap());
    let schedules = problem.class().schedules(problem.class().families(Arch::SM_90A)[0], Arch::SM_90A);
    let outcome = |at: usize| match at {
        2 => Outcome::Failed(Failure::Crash { detail: "an \"odd\" text\n\u{0}ü".to_owned() }),
        at => Outcome::Measured(Measurement::new(0.25 + at as f64, 0.5, 10)),
    };
    let trial = |at: usize| Trial {
        at: "2000-01-01T00:00:00Z".to_owned(),
        generation: 1 + at as u32 / 2,
        number: 1 + at as u32,
        seed: Some(7),
        proposed_by: "surrogate".to_owned().into(),
        why: None,
        target: Target { problem: problem.clone(), arch: Arch::SM_90A, shape: extents(512, 512, 512) }.into(),
        schedule: schedules[at],
        environment: Environment {
            gpu: "NVIDIA H200".to_owned(),
            driver: "1".to_owned(),
            nvcc: "2".to_owned(),
            kernels: "3".to_owned(),
            objective: Default::default(),
            group_sizes: Default::default(),
            regime: Default::default(),
        }
        .into(),
        outcome: outcome(at),
        seconds: 0.5,
    };
    (0..4).map(trial).collect()
}

#[test]
fn no_change_of_a_sealed_journal_is_read_as_another_trial() {
    let trials = trials();
    let journal = sealed(&trials);
    assert_eq!(parse_trials(&journal, Path::new("j")).unwrap(), trials);
    watchdog::each(seeds(), |seed| {
        let read = parse_trials(&mutant(&journal, seed), Path::new("j")).unwrap_or_default();
        let stranger = read.iter().find(|trial| !trials.contains(trial));
        assert!(stranger.is_none(), "seed {seed}: {stranger:?}");
    });
}

#[test]
fn whatever_a_journal_without_checksums_says_ends_as_trials_or_as_an_error() {
    let lines: Vec<String> = trials().iter().map(|trial| format!("{}\n", crate::journal::unsealed(trial))).collect();
    let journal = lines.concat().into_bytes();
    let mut readable = 0;
    watchdog::each(seeds(), |seed| {
        let Ok(trials) = parse_trials(&mutant(&journal, seed), Path::new("j")) else { return };
        readable += 1;
        if readable % PAGES == 1 && !trials.is_empty() {
            page_of(trials, Results::default(), Config::default()).unwrap();
        }
    });
    assert!(readable > 0, "no mutant could be read: nothing was tested");
}
