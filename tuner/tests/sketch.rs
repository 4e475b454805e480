//! A second operation through the whole command, which knows none: tuned on a made-up space, journaled, resumed, reported,
//! written to a config, and built from it.

mod common;

use autokernel_codegen::Build;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::Config;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;
use common::Tuner;
use tuner::outcome::{Measurement, Outcome};
use tuner::replay::{RecordedShape, Recording};

/// What a user would write.
const SOURCE: &str = "
    #[autokernel::scaled_copy(alpha = 2.0)]
    pub fn double(x: &Matrix<bf16>, out: &mut Matrix<bf16>);
";

fn declared(folder: &std::path::Path) -> Problem {
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/lib.rs"), SOURCE).unwrap();
    Build::new().declared(folder).unwrap().remove(0).problem
}

/// Times with one best schedule: 512 threads of 4 elements, from the end on.
fn made_up_ms(schedule: &Schedule) -> f64 {
    let value = |knob| f64::from(schedule.value(knob).unwrap());
    let (threads, items) = (value("threads").log2() - 9.0, value("items").log2() - 2.0);
    0.02 + 0.004 * threads.abs() + 0.003 * items.abs() + 0.001 * (1.0 - value("backwards"))
}

fn recording(problem: &Problem) -> Recording {
    let class = problem.class();
    let family = class.families(Arch::SM_90A)[0];
    let schedules = class.schedules(family, Arch::SM_90A);
    let sizes = class.dims().iter().copied().zip([8192, 4096]);
    let row = |schedule| (schedule, Outcome::Measured(Measurement::new(made_up_ms(&schedule), 0.1, 20)));
    let rows = schedules.into_iter().map(row).collect();
    let shape = RecordedShape { shape: Extents::collect(sizes).unwrap(), rows, cublas: None };
    Recording { problem: problem.clone(), shapes: vec![shape], ..common::recording_of(problem, &[], &[]) }
}

#[test]
fn another_operation_is_tuned_journaled_resumed_reported_and_built_by_what_knows_none() {
    let tuner = Tuner::without_spaces();
    let problem = declared(tuner.folder());
    std::fs::create_dir(tuner.folder().join("spaces")).unwrap();
    let recording = recording(&problem);
    recording.save(&tuner.folder().join("spaces/copy.json.gz")).unwrap();
    let (best, _) = recording.shapes[0].optimum().unwrap();

    for strategy in ["random", "local", "surrogate"] {
        let output = tuner.run(&["--strategy", strategy]);
        let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(0), "{strategy}: {stderr}");
        assert!(stdout.contains("scaled_copy"), "{strategy}: {stdout}");
    }
    let lines = tuner.journaled();
    assert!(lines.iter().all(|line| line["target"]["problem"]["operation"] == "scaled_copy"), "{:?}", lines.first());
    let history = std::fs::read_to_string(tuner.out("history.csv")).unwrap();
    assert!(history.contains("scaled_copy_bf16_8192x4096"), "{history}");
    for chart in ["learning_curve.svg", "roofline.svg"] {
        assert!(std::fs::read_to_string(tuner.out(chart)).unwrap().contains("bf16 · 2"), "{chart}");
    }

    let config = Config::load(&tuner.out("best_config.json")).unwrap();
    assert_eq!(config.entries.len(), 1);
    assert_eq!((&config.entries[0].problem, config.entries[0].schedule), (&problem.class(), best));

    let build = Build::new().source("src").config("tuner-out/best_config.json");
    let manifest = build.compile_crate(tuner.folder(), &tuner.folder().join("out")).unwrap();
    let variants = &manifest.plans[&problem.key()].variants;
    let tuned: Vec<Schedule> =
        variants.iter().filter(|variant| variant.tuned.is_some()).map(|variant| variant.schedule).collect();
    assert_eq!(tuned, [best]);
    for variant in variants {
        assert_eq!(variant.image.is_some(), manifest.not_compiled.is_none());
        assert!(variant.symbol().starts_with("autokernel_scaled_copy_bf16_"), "{}", variant.symbol());
    }
}
