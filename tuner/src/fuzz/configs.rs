//! Mutants of configs.

use std::path::Path;

use autokernel_codegen::config::Config;

use super::mutate::mutant;
use super::{seeds, watchdog};
use crate::checkout::shipped_config;
use crate::gpu_facts::GpuFacts;
use crate::promote::incumbent;
use crate::target::Target;

#[test]
fn whatever_a_config_says_ends_as_a_config_or_as_an_error_with_its_line() {
    let mut config = Config::load(&shipped_config()).unwrap();
    config.entries.truncate(3);
    config.portfolios.truncate(1);
    config.portfolios.iter_mut().for_each(|portfolio| portfolio.images.truncate(3));
    let text = config.to_json();
    let gpu: GpuFacts = serde_json::from_str(crate::chosen::tests::H200).unwrap();
    let problem = autokernel_codegen::problem::Problem::built_in()
        .into_iter()
        .find(|problem| problem.class() == config.entries[0].problem)
        .unwrap();
    let target = Target { problem, arch: config.entries[0].arch, shape: config.entries[0].extents };
    let mut readable = 0;
    watchdog::each(seeds(), |seed| {
        let mutant = mutant(text.as_bytes(), seed);
        let Ok(mutant) = String::from_utf8(mutant) else { return };
        match Config::parse(&mutant, Path::new("best_config.json")) {
            Ok(mutant) => {
                readable += 1;
                // What a launch would take, and what is written again, can be read.
                let _ = incumbent(&mutant, &target, &gpu);
                let again = Config::parse(&mutant.to_json(), Path::new("again"));
                assert_eq!(again.unwrap(), mutant, "seed {seed}");
            }
            Err(error) => assert!(error.to_string().contains("best_config.json"), "seed {seed}: {error}"),
        }
    });
    assert!(readable > 0, "no mutant could be read: nothing was tested");
}
