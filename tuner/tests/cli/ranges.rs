//! One entry for a range of sizes, on a made-up space of three of them.

use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::Config;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::Family;
use autokernel_core::Extents;
use serde_json::Value;
use tuner::outcome::{Measurement, Outcome};
use tuner::replay::Recording;

use crate::common::{Tuner, recording_of};

const SIZES: [u32; 3] = [64, 512, 4096];
const RANGE: [&str; 6] = ["--range", "m=64..=4096", "--range-sizes", "3", "--shape", "4096x2048x1024"];

fn shape(m: u32) -> Extents {
    extents(m, 2048, 1024)
}

/// A tuner with a recording of every fourth schedule at the three sizes.
fn tuner() -> (Tuner, Recording) {
    let tuner = Tuner::without_spaces();
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
    let schedules: Vec<_> = problem.class().schedules(Family::Sm90, Arch::SM_90A).into_iter().step_by(31).collect();
    let recording = recording_of(&problem, &schedules, &SIZES.map(shape));
    std::fs::create_dir(tuner.folder().join("spaces")).unwrap();
    save(&tuner, &recording);
    (tuner, recording)
}

fn save(tuner: &Tuner, recording: &Recording) {
    recording.save(&tuner.folder().join("spaces/relu.json.gz")).unwrap();
}

fn chosen(tuner: &Tuner, options: &[&str]) -> Value {
    let output =
        tuner.run(&[&RANGE[..], options, &["--json", "--strategy", "random", "--evaluations", "100000"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["targets"].as_array().map(Vec::len), Some(3), "{document}");
    assert!(document["targets"].as_array().unwrap().iter().all(|target| target["verdict"].is_null()), "{document}");
    let ranges = document["ranges"].as_array().unwrap_or_else(|| panic!("no range: {document}"));
    assert_eq!(ranges.len(), 1);
    ranges[0].clone()
}

/// The time of a schedule at a size, over the fastest of the recording there.
fn over_optimum(recording: &Recording, schedule: &Value, m: u32) -> f64 {
    let recorded = recording.shapes.iter().find(|recorded| recorded.shape == shape(m)).unwrap();
    let timed = recorded.rows.iter().find(|(row, _)| serde_json::to_value(row).unwrap() == *schedule);
    let Some((_, Outcome::Measured(time))) = timed else { panic!("{schedule} has no time at {m}") };
    time.median_ms / recorded.optimum().unwrap().1.median_ms
}

#[test]
fn a_range_gets_one_entry_that_is_near_to_the_fastest_at_each_size_and_the_next_run_finds_it_in_use() {
    let (tuner, recording) = tuner();
    let range = chosen(&tuner, &[]);
    assert_eq!(range["promoted"], true, "{range}");
    let sizes = range["sizes"].as_array().unwrap();
    assert_eq!(sizes.iter().map(|size| size["size"].as_u64().unwrap()).collect::<Vec<_>>(), SIZES.map(u64::from));
    let mut product = 1.0;
    for (size, m) in sizes.iter().zip(SIZES) {
        let expected = over_optimum(&recording, &range["schedule"], m);
        // Times are kept to four digits.
        assert!((size["over_fastest"].as_f64().unwrap() / expected - 1.0).abs() < 2e-3, "{size}, {expected}");
        product *= expected;
    }
    // The fastest of each size were all searched: none of them is nearer to all.
    for m in SIZES {
        let recorded = recording.shapes.iter().find(|recorded| recorded.shape == shape(m)).unwrap();
        let own = serde_json::to_value(recorded.optimum().unwrap().0).unwrap();
        let of_own: f64 = SIZES.iter().map(|&m| over_optimum(&recording, &own, m)).product();
        assert!(product <= of_own * 1.002, "{product} {of_own}");
    }

    let config = Config::load(&tuner.out("best_config.json")).unwrap();
    let [entry] = config.entries.as_slice() else { panic!("{:?}", config.entries) };
    assert_eq!(entry.extents, shape(4096));
    assert_eq!(entry.range.map(|range| range.to_string()).as_deref(), Some("m = 64 to 4096"));
    assert_eq!(serde_json::to_value(entry.schedule).unwrap(), range["schedule"]);

    let config = tuner.out("best_config.json").display().to_string();
    let again = chosen(&tuner, &["--config", &config]);
    assert_eq!((&again["promoted"], &again["schedule"]), (&Value::Bool(false), &range["schedule"]), "{again}");
    let shown = tuner.sub(&["show", "--config", &config]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("for m = 64 to 4096"), "{shown}");
}

#[test]
fn the_worst_size_may_decide_in_the_place_of_the_mean() {
    // The first is best on the whole and far behind at one size, where the third is best; the second is nowhere far behind.
    let made_up = [[1.0, 1.0, 1.5], [1.25, 1.25, 1.25], [2.0, 2.0, 1.0]];
    let (tuner, mut recording) = tuner();
    let schedules: Vec<_> =
        recording.shapes[0].rows.iter().take(made_up.len()).map(|(schedule, _)| *schedule).collect();
    for (at, shape) in recording.shapes.iter_mut().enumerate() {
        let timed = |ms: &[f64; 3]| Outcome::Measured(Measurement::new(ms[at], 0.2, 20));
        shape.rows = schedules.iter().copied().zip(made_up.iter().map(timed)).collect();
    }
    save(&tuner, &recording);
    for (by, expected) in [("mean", schedules[0]), ("worst", schedules[1])] {
        let range = chosen(&tuner, &["--range-by", by]);
        assert_eq!(
            (&range["by"], &range["schedule"]),
            (&by.into(), &serde_json::to_value(expected).unwrap()),
            "{range}"
        );
    }
}

#[test]
fn sizes_are_put_in_order_and_a_range_that_lacks_some_gets_no_entry_and_says_so() {
    let (tuner, mut recording) = tuner();
    recording.shapes.rotate_left(1);
    save(&tuner, &recording);
    let range = chosen(&tuner, &[]);
    let sizes = range["sizes"].as_array().unwrap().iter();
    assert_eq!(sizes.map(|size| size["size"].as_u64().unwrap()).collect::<Vec<_>>(), SIZES.map(u64::from));
    let extents = Config::load(&tuner.out("best_config.json")).unwrap().entries[0].extents;
    assert_eq!(extents, shape(4096));

    recording.shapes.retain(|recorded| recorded.shape != shape(512));
    save(&tuner, &recording);
    let output = tuner.run(&[&RANGE[..], &["--fresh", "--json", "--strategy", "random"]].concat());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{message}");
    assert!(message.contains("it was searched at m = 64, 4096, of 64, 512, 4096"), "{message}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["ranges"].as_array().is_none_or(Vec::is_empty), "{document}");
}

#[test]
fn a_range_without_the_other_sizes_or_of_no_sizes_is_refused_with_what_to_write() {
    let (tuner, _) = tuner();
    for (args, part) in [
        (vec!["--range", "m=64..=4096"], "name a shape with --shape"),
        (vec!["--range", "m=64..4096", "--shape", "64x2048x1024"], "m=1..=64"),
        (vec!["--range", "rows=1..=64", "--shape", "64x4096x4096"], "has no `rows`"),
        (
            vec!["--range", "m=1..=64", "--shape", "64x4096x4096", "--shape", "4096x4096"],
            "--shape 4096x4096 has no `m`",
        ),
        (vec!["--range-by", "worst"], "--range"),
    ] {
        let output = tuner.run(&args);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(part), "{message}");
    }
}
