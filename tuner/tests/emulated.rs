//! What the tuner does on an emulated GPU: the gate, with an nvcc that spoils one schedule's kernel and an evaluator that says
//! what reached it; and a profile. Skipped with a message where there is no nvcc.

#![cfg(unix)]

mod common;

use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::attention;
use autokernel_codegen::attention::plan::Sizes;
use autokernel_codegen::attention::sequences::Sequences;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::schedule::{Mode, Raster, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{self, extents};
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::rows;
use autokernel_codegen::schedule::{Family, Schedule};
use common::{Tuner, recording_of, skip};
use serde_json::Value;
use tuner::Target;
use tuner::evaluate::{About, Contender, Done, Evaluated, Evaluator, EvaluatorError, Final, Measurable, Rounds};
use tuner::gate::{Gate, Gated};
use tuner::intents::Intents;
use tuner::outcome::{Failure, Measurement, Outcome};

/// What the spoilt kernel lacks: what its lanes stage for a TMA store is not fenced.
const SPOIL: &str = r#"#!/bin/sh
if [ "$1" != --version ] && grep -q 'kStages = 3;' kernel.cu; then
    sed -i '/ptx::fence_async_proxy/d' sm90_epilogue.cuh || exit 1
fi
exec '@NVCC@' "$@"
"#;

/// The nvcc of this machine, and one in `folder` that spoils kernels of three stages.
fn nvcc(test: &str, folder: &Path) -> Option<(Nvcc, PathBuf)> {
    let nvcc = Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), folder);
    let nvcc = nvcc.inspect_err(|error| skip(test, &error.to_string())).ok()?;
    let path = folder.join("spoiling-nvcc");
    std::fs::write(&path, SPOIL.replace("@NVCC@", &nvcc.path.display().to_string())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    Some((nvcc, path))
}

/// Measures whatever comes, and remembers it.
struct Listed {
    about: About,
    reached: Arc<std::sync::Mutex<Vec<Schedule>>>,
}

impl Evaluator for Listed {
    fn about(&self) -> &About {
        &self.about
    }

    fn origin(&self) -> String {
        "made up".to_owned()
    }

    fn space(&self, _: &Target) -> Vec<Schedule> {
        Vec::new()
    }

    fn evaluate(
        &mut self,
        _: &Target,
        batch: &[Schedule],
        _: Option<&Intents>,
        done: Done<'_>,
    ) -> Result<(), EvaluatorError> {
        for &schedule in batch {
            self.reached.lock().unwrap().push(schedule);
            let outcome = Outcome::Measured(Measurement::new(1.0, 0.1, 20));
            if done(Evaluated { schedule, outcome, seconds: 0.0 }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn compare(&mut self, _: &Target, _: &[Contender], _: Rounds) -> Result<Vec<Final>, EvaluatorError> {
        Ok(Vec::new())
    }

    fn reference(&mut self, _: &Target) -> Result<Option<Measurement>, EvaluatorError> {
        Ok(None)
    }
}

const CLEAN: Sm90Schedule =
    Sm90Schedule { tile_m: 64, tile_n: 64, stages: 2, consumers: 1, mode: Mode::Cooperative, ..Sm90Schedule::PLAIN };

/// A fault of the check that must find it, in the kernel, with the lines of the PTX and of the header.
fn assert_tells_where(detail: &str) {
    for part in ["race: autokernel_matmul_", ", PTX line ", ".cuh:", "fence.proxy.async"] {
        assert!(detail.contains(part), "`{part}` is not in: {detail}");
    }
}

#[test]
fn a_spoilt_kernel_is_refused_with_its_lines_and_a_clean_one_is_measured_by_an_evaluator_and_by_the_command() {
    let test = "emulated::a_spoilt_kernel_is_refused_with_its_lines";
    let tuner = Tuner::without_spaces();
    let Some((nvcc, spoiling)) = nvcc(test, tuner.folder()) else { return };
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
    let (clean, spoilt) = (Schedule::from(CLEAN), Schedule::from(Sm90Schedule { stages: 3, ..CLEAN }));
    let target = Target { problem: problem.clone(), arch: Arch::SM_90A, shape: extents(4096, 4096, 4096) };

    let recording = recording_of(&problem, &[clean, spoilt], &[target.shape]);
    let compiler = Compiler::new(Nvcc { path: spoiling.clone(), ..nvcc }, tuner.out("kernels"));
    let reached = Arc::default();
    let about = About {
        environment: recording.environment.clone(),
        gpu: recording.gpu.clone(),
        recorded_on: None,
        measurable: Measurable::Legal,
    };
    let inner = Listed { about, reached: Arc::clone(&reached) };
    let mut gated = Gated::new(Arc::new(Gate::new(compiler, 2)), Box::new(inner));
    let mut outcomes = Vec::new();
    let mut done = |evaluated: Evaluated| {
        outcomes.push((evaluated.schedule, evaluated.outcome));
        ControlFlow::Continue(())
    };
    gated.evaluate(&target, &[spoilt, clean], None, &mut done).unwrap();
    assert_eq!(*reached.lock().unwrap(), [clean], "{outcomes:?}");
    let [(first, Outcome::Failed(Failure::Emulated { detail })), (_, Outcome::Measured(_))] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert_eq!(*first, spoilt);
    assert_tells_where(detail);

    // The same images by the command, whose journal and summary tell.
    std::fs::create_dir_all(tuner.folder().join("spaces")).unwrap();
    recording.save(&tuner.folder().join("spaces/two.json.gz")).unwrap();
    let mut command = tuner.command(&["--check", "emulate", "--strategy", "random", "--evaluations", "2"]);
    let output = command.env("AUTOKERNEL_NVCC", &spoiling).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let journaled = tuner.journaled();
    let outcome = |stages: u64| {
        let mut trials = journaled.iter().filter(|line| line["line"] == "trial");
        let trial = trials.find(|trial| trial["schedule"]["stages"] == stages);
        trial.unwrap_or_else(|| panic!("{journaled:?}"))["outcome"].clone()
    };
    assert_eq!(outcome(2)["status"], "measured");
    assert_eq!(outcome(3)["reason"], "emulated");
    assert_tells_where(outcome(3)["detail"].as_str().unwrap());
}

#[test]
fn a_profile_tells_conflicts_sectors_and_bytes_by_lines_of_the_source_and_how_tiles_share_the_cache() {
    let tuner = Tuner::new();
    let test = "emulated::a_profile_tells_conflicts_sectors_and_bytes_by_lines_of_the_source";
    let Some((nvcc, _)) = nvcc(test, tuner.folder()) else { return };
    let plain =
        Sm80Schedule { tile_m: 64, tile_n: 64, tile_k: 32, warps_m: 2, warps_n: 2, stages: 3, raster: Raster::PLAIN };
    let schedule = serde_json::to_string(&Schedule::from(matmul::Schedule::from(plain))).unwrap();
    let profile = |shape: &str, json: &[&str]| {
        let args =
            ["profile", "--emulate", "--spaces", "spaces", "--gpu", "a100", "--shape", shape, "--schedule", &schedule];
        let mut command = tuner.plain(&[&args[..], json].concat());
        let output = command.env("AUTOKERNEL_NVCC", &nvcc.path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&profile("4096x4096x128", &["--json"])).unwrap();
    let emulated = &json["emulated"];
    let (sample, bytes) = (&emulated["sample"], &emulated["bytes"]);
    assert_eq!((&sample["parts"], &sample["of"]), (&Value::from(4), &Value::from(4096)));
    // 128 x 128 of C, each of 64 x 64 from 64 rows of A and of B.
    assert_eq!(
        (&bytes["global_loaded"], &bytes["global_stored"]),
        (&Value::from(4 * 2 * 64 * 256), &Value::from(128 * 256))
    );
    assert_eq!(bytes["matrix_multiply_adds"], 128 * 128 * 128);
    for space in ["shared", "global"] {
        let accesses = emulated[space].as_array().unwrap();
        assert!(
            !accesses.is_empty() && accesses.iter().all(|access| access["source"].as_str().unwrap().contains(".cuh:"))
        );
    }
    assert!(emulated["hot_lines"][0]["warps"].as_u64() > emulated["hot_lines"][1]["warps"].as_u64());
    let reuse = |figure: &str| emulated["reuse"][figure].as_f64().unwrap();
    assert_eq!((reuse("least"), reuse("requested")), (2.0 * 4096.0 * 256.0, 4096.0 * 2.0 * 64.0 * 256.0));
    assert!(reuse("least") <= reuse("from_memory") && reuse("from_memory") <= reuse("from_memory_with_half"));

    // Rows of C that begin anywhere fill no sectors.
    let odd = profile("67x4091x72", &[]);
    for told in ["tiles, as 67x", "L2 (model)", "wavefronts are conflicts", "rows that begin at multiples of 32 bytes"]
    {
        assert!(odd.contains(told), "`{told}` is not in: {odd}");
    }
}

#[test]
fn what_emulates_says_what_it_needs_where_there_is_no_nvcc() {
    let tuner = Tuner::new();
    let refused = |mut command: std::process::Command| {
        let output = command.env("AUTOKERNEL_NVCC", "/nowhere/nvcc").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let gate = refused(tuner.command(&["--check", "emulate"]));
    assert!(
        gate.contains("AUTOKERNEL_NVCC is `/nowhere/nvcc`") && gate.contains("--check emulate needs nvcc"),
        "{gate}"
    );
    let args = ["profile", "--emulate", "--spaces", "spaces", "--gpu", "h200", "--shape", "512x512x512"];
    let profile = refused(tuner.plain(&args));
    assert!(
        profile.contains("AUTOKERNEL_NVCC is `/nowhere/nvcc`") && profile.contains("leave --emulate out"),
        "{profile}"
    );
}

#[test]
fn clean_schedules_of_every_operation_pass_with_and_without_compiled_in_dimensions() {
    let folder = tempfile::tempdir().unwrap();
    let Some((nvcc, _)) = nvcc("emulated::clean_schedules_of_every_operation_pass", folder.path()) else { return };
    let gate = Gate::new(Compiler::new(nvcc, folder.path().join("kernels")), 1);
    let softmax = "fn softmax(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        let e = (x - row_max(x)).exp();
        out = e / row_sum(e);
    }";
    let softmax = rows::problem(&syn::parse_str(softmax).unwrap()).unwrap();
    let of_rows = rows::Sm80Schedule::for_columns(&softmax.class(), 512, Arch::SM_80);
    let known = matmul::Problem::new(Dtype::F16, Layout::Nn, "identity".parse().unwrap());
    let known = matmul::Problem { known_n: Some(14_336), ..known };
    let of_known = known.class();
    let brought = rows::Sm90Schedule::for_columns(&softmax.class(), 2048, Arch::SM_90A).unwrap();
    let brought = rows::Sm90Schedule { threads_per_row: 128, rows_per_block: 2, vectors: 1, cluster: 2, ..brought };
    let cases: [(Problem, Schedule); 3] = [
        (softmax.clone().into(), of_rows.into()),
        (softmax.into(), brought.into()),
        (known.into(), matmul::Schedule::default_for(&of_known, Arch::SM_80).into()),
    ];
    for (problem, schedule) in cases {
        let shape = problem.class().probes(&schedule).unwrap()[0];
        let arch = if schedule.family() == Family::RowsSm90 { Arch::SM_90A } else { Arch::SM_80 };
        let target = Target { problem, arch, shape };
        assert_eq!(gate.check(&target, &schedule).unwrap(), Ok(()), "{schedule}");
    }
}

/// Weights of 4 bits with a scale for each group, and weights of 8 bits scaled by their columns.
const WEIGHTS: &str = "
    #[autokernel::fused_matmul(group = 64)]
    pub fn packed(x: &Matrix<bf16>, w: &Matrix<i4x2>, scales: &Matrix<f16>, out: &mut Matrix<bf16>) {
        out = dot(x, (w * scales).t());
    }
    #[autokernel::fused_matmul]
    pub fn bytes(x: &Matrix<bf16>, w: &Matrix<i8>, scale: &Row<f32>, out: &mut Matrix<f32>) {
        out = silu(dot(x, w.t()) * scale);
    }
";

#[test]
fn schedules_of_weights_of_few_bits_pass_at_shapes_that_have_whole_groups() {
    let folder = tempfile::tempdir().unwrap();
    let Some((nvcc, _)) = nvcc("emulated::schedules_of_weights_of_few_bits_pass", folder.path()) else { return };
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), WEIGHTS).unwrap();
    let gate = Gate::new(Compiler::new(nvcc, folder.path().join("kernels")), 1);
    let declared = autokernel_codegen::Build::new().declared(folder.path()).unwrap();
    assert_eq!(declared.len(), 2);
    for kernel in declared {
        let schedule = kernel.problem.class().default_schedule(Arch::SM_90A);
        let target = Target { problem: kernel.problem, arch: Arch::SM_90A, shape: extents(16, 512, 1024) };
        assert_eq!(gate.check(&target, &schedule).unwrap(), Ok(()), "{}: {schedule}", kernel.name);
        assert!(!target.problem.fits(&extents(16, 512, 1000)) || kernel.name == "bytes", "{}", kernel.name);
    }
}

/// Weights that become numbers of 4 and of 8 bits.
const PACKING: &str = "
    #[autokernel::packing(group = 64)]
    pub fn nibbles(w: &Matrix<bf16>, packed: &mut Matrix<i4x2>, scales: &mut Matrix<f16>, zeros: &mut Matrix<i8>);
    #[autokernel::packing]
    pub fn bytes(w: &Matrix<f32>, packed: &mut Matrix<i8>, scales: &mut Row<f32>);
";

/// The first weight of each pair, twice.
const SPOIL_PACKING: &str = r#"#!/bin/sh
if [ -f packing.cuh ]; then
    sed -i 's/lane % kWords \* 2 + i % 2/lane % kWords * 2/' packing.cuh || exit 1
fi
exec '@NVCC@' "$@"
"#;

#[test]
fn packing_passes_the_gate_and_one_that_takes_a_weight_twice_does_not() {
    let test = "emulated::packing_passes_the_gate_and_one_that_takes_a_weight_twice_does_not";
    let folder = tempfile::tempdir().unwrap();
    let Some((nvcc, spoiling)) = nvcc(test, folder.path()) else { return };
    std::fs::write(&spoiling, SPOIL_PACKING.replace("@NVCC@", &nvcc.path.display().to_string())).unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), PACKING).unwrap();
    let declared = autokernel_codegen::Build::new().declared(folder.path()).unwrap();
    assert_eq!(declared.len(), 2);
    let gate = Gate::new(Compiler::new(nvcc.clone(), folder.path().join("kernels")), 1);
    let spoilt = Gate::new(Compiler::new(Nvcc { path: spoiling, ..nvcc }, folder.path().join("spoilt")), 1);
    for kernel in declared {
        let schedule = kernel.problem.class().default_schedule(Arch::SM_90A);
        let shape = autokernel_codegen::problem::packing_extents(512, 1024);
        let target = Target { problem: kernel.problem, arch: Arch::SM_90A, shape };
        assert_eq!(gate.check(&target, &schedule).unwrap(), Ok(()), "{}", kernel.name);
        if kernel.name == "nibbles" {
            let failure = spoilt.check(&target, &schedule).unwrap().unwrap_err();
            assert!(matches!(&failure, Failure::Emulated { detail } if detail.contains("wrong")), "{failure:?}");
        }
    }
}

/// A causal query that sees one key too many.
const SPOIL_MASK: &str = r#"#!/bin/sh
if [ -f attention_keys.cuh ]; then
    sed -i 's/query + offset + 1)/query + offset + 2)/' attention_keys.cuh || exit 1
fi
exec '@NVCC@' "$@"
"#;

#[test]
fn attention_passes_the_gate_by_both_families_and_one_that_sees_a_key_too_many_does_not() {
    let test = "emulated::attention_passes_the_gate_by_both_families_and_one_that_sees_a_key_too_many_does_not";
    let tuner = Tuner::without_spaces();
    let Some((nvcc, spoiling)) = nvcc(test, tuner.folder()) else { return };
    std::fs::write(&spoiling, SPOIL_MASK.replace("@NVCC@", &nvcc.path.display().to_string())).unwrap();
    let problem = attention::Problem {
        dtype: Dtype::Bf16,
        head_dim: 64,
        value_dim: 64,
        causal: true,
        window: None,
        scale: 0.125,
        log_sum_exp: true,
        score: None,
        sequences: Sequences::default(),
    };
    let shape = Sizes { batch: 1, heads: 8, groups: 2, queries: 2048, keys: 2048 }.extents(&problem.class());
    let portable = attention::Sm80Schedule { warps: 4, rows_of_warp: 16, tile_keys: 32, stages: 2, share_keys: false };
    let hopper = attention::Sm90Schedule {
        consumers: 1,
        tile_keys: 32,
        stages: 2,
        ping_pong: false,
        share_keys: false,
        exp_by_fma: 0,
    };
    let schedules = [
        Schedule::from(portable),
        attention::Sm80Schedule { share_keys: true, ..portable }.into(),
        hopper.into(),
        attention::Sm90Schedule { share_keys: true, ..hopper }.into(),
    ];
    let target = Target { problem: problem.into(), arch: Arch::SM_90A, shape };
    let gate = Gate::new(Compiler::new(nvcc.clone(), tuner.out("kernels")), 2);
    for schedule in &schedules {
        assert_eq!(gate.check(&target, schedule).unwrap(), Ok(()), "{schedule}");
    }
    let gate = Gate::new(Compiler::new(Nvcc { path: spoiling, ..nvcc }, tuner.out("spoilt")), 2);
    let failure = gate.check(&target, &schedules[0]).unwrap().unwrap_err();
    assert!(matches!(failure, Failure::Emulated { .. }), "{failure:?}");
}

/// Products of groups of rows, of parts of K, and of slots of which some rows count.
const GROUPS: &str = "
    #[autokernel::fused_matmul]
    pub fn experts(x: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
        out = silu(dot(x, w.t()));
    }
    #[autokernel::fused_matmul]
    pub fn gradients(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, dw: &mut Batch<f32>) {
        dw = dot(x.t(), dy);
    }
    #[autokernel::fused_matmul]
    pub fn slots(x: &Batch<bf16>, w: &Batch<bf16>, counts: &Index, out: &mut Batch<bf16>) {
        out = dot(x, w.t());
    }
";

/// A group that begins a row before the last one ends.
const SPOIL_GROUPS: &str = r#"#!/bin/sh
if [ -f groups.cuh ] && ! grep -q reference_ kernel.cu; then
    sed -i 's/const int begin = after(0, 0);/const int begin = after(0, 0) + 1;/' groups.cuh || exit 1
fi
exec '@NVCC@' "$@"
"#;

#[test]
fn grouped_products_pass_the_gate_by_both_families_with_uneven_and_empty_groups_and_one_of_wrong_rows_does_not() {
    let test = "emulated::grouped_products_pass_the_gate_by_both_families_with_uneven_and_empty_groups_and_one_of_wrong_rows_does_not";
    let folder = tempfile::tempdir().unwrap();
    let Some((nvcc, spoiling)) = nvcc(test, folder.path()) else { return };
    std::fs::write(&spoiling, SPOIL_GROUPS.replace("@NVCC@", &nvcc.path.display().to_string())).unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), GROUPS).unwrap();
    let declared = autokernel_codegen::Build::new().declared(folder.path()).unwrap();
    assert_eq!(declared.len(), 3);
    let gate = Gate::new(Compiler::new(nvcc.clone(), folder.path().join("kernels")), 2);
    let spoilt = Gate::new(Compiler::new(Nvcc { path: spoiling, ..nvcc }, folder.path().join("spoilt")), 2);
    let raster = Raster::PLAIN;
    let portable = Sm80Schedule { tile_m: 64, tile_n: 64, tile_k: 32, warps_m: 2, warps_n: 2, stages: 3, raster };
    let hopper = Sm90Schedule { tile_m: 128, tile_n: 64, consumers: 2, ..CLEAN };
    let schedules = [Schedule::from(matmul::Schedule::from(portable)), hopper.into()];
    for kernel in declared {
        let is_of_slots = kernel.name == "slots";
        let shape = if is_of_slots {
            matmul::batched_extents(64, 256, 2048, 4096)
        } else {
            matmul::grouped_extents(64, 4096, 2048, 4096)
        };
        let target = Target { problem: kernel.problem, arch: Arch::SM_90A, shape };
        for schedule in &schedules {
            assert_eq!(gate.check(&target, schedule).unwrap(), Ok(()), "{}: {schedule}", kernel.name);
        }
        if kernel.name == "experts" {
            let failure = spoilt.check(&target, &schedules[0]).unwrap().unwrap_err();
            assert!(matches!(&failure, Failure::Emulated { detail } if detail.contains("wrong")), "{failure:?}");
        }
    }
}
