//! `--crate` and `--shapes-from`: what a crate declares and what a program launched, tuned on a made-up space.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{Tuner, cube, gpu, recording_of};
use autokernel_codegen::Build;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::Config;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::{extents, grouped_extents, sizes};
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::space::Space;
use autokernel_codegen::schedule::{Family, Schedule};
use autokernel_core::Extents;
use tuner::Target;
use tuner::group_sizes::GroupSizes;
use tuner::promote::incumbent;
use tuner::replay::Recording;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const MANIFEST: &str = "[package]\nname = \"app\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";

/// Stands in for nvcc, so that the build of a crate takes no time.
const NVCC: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo 'release 13.0, V13.0.0'; exit 0; fi
symbol=$(sed -n 's/^\(autokernel_[a-z0-9_]*\)(.*/\1/p' kernel.cu)
echo ptx > kernel.ptx; echo cubin > kernel.cubin
echo "ptxas info    : Compiling entry function '$symbol' for 'sm_90a'" >&2
echo "ptxas info    : Used 168 registers, used 1 barriers" >&2
"#;

fn up(m: u32) -> Extents {
    extents(m, 4096, 1024)
}

fn down(m: u32) -> Extents {
    extents(m, 1024, 4096)
}

/// A folder with the example as the crate `app`, and made-up spaces of its two kernels and of a built-in one.
fn tuner_with_app() -> Tuner {
    let tuner = Tuner::without_spaces();
    let spaces = tuner.folder().join("spaces");
    std::fs::create_dir(&spaces).unwrap();
    for (epilogue, shapes) in [
        ("gelu_tanh", [up(16), up(4096)].as_slice()),
        ("identity", &[down(16), down(99)]),
        ("leaky_relu", &[cube(4096)]),
    ] {
        space(epilogue, shapes).save(&spaces.join(format!("{epilogue}.json.gz"))).unwrap();
    }
    write_app(&tuner.folder().join("app"), MANIFEST);
    tuner
}

/// A sample of a made-up space: large enough to find a winner in, with what is in use.
fn space(epilogue: &str, shapes: &[Extents]) -> Recording {
    let shipped = Config::load(&Path::new(ROOT).join("best_config.json")).unwrap();
    let problem = problem(epilogue);
    let mut in_use: Vec<Schedule> = shipped.entries.iter().map(|entry| entry.schedule).collect();
    in_use.push(problem.class().default_schedule(Arch::SM_90A));
    let portfolio = shipped.portfolio_for(&problem, Arch::SM_90A).expect("products have one on Hopper");
    let images: Vec<Schedule> = portfolio.images.iter().map(|image| image.schedule.image()).collect();
    let is_in_use = |schedule: &Schedule| in_use.contains(schedule) || images.contains(&schedule.image());
    let space = Space::new(Family::Sm90, &problem.class(), Arch::SM_90A);
    let sampled = space.schedules().iter().enumerate();
    let sampled = sampled.filter(|(at, schedule)| at % 31 == 0 || is_in_use(schedule));
    let mut sampled: Vec<Schedule> = sampled.map(|(_, schedule)| *schedule).collect();
    // Where nobody tuned a launch takes an image of the portfolio as it suits the shape, by tiles that the space need not have.
    for &shape in shapes {
        let target = Target { problem: problem.clone(), arch: Arch::SM_90A, shape };
        let chosen = incumbent(&shipped, &target, &gpu()).schedule;
        if !sampled.contains(&chosen) {
            sampled.push(chosen);
        }
    }
    recording_of(&problem, &sampled, shapes)
}

fn problem(epilogue: &str) -> Problem {
    Problem::matmul(Dtype::Bf16, Layout::Nt, epilogue.parse().unwrap())
}

fn write_app(root: &Path, manifest: &str) {
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("Cargo.toml"), manifest).unwrap();
    for file in ["build.rs", "src/main.rs"] {
        std::fs::copy(Path::new(ROOT).join("examples/linear-layer").join(file), root.join(file)).unwrap();
    }
}

/// A line as the runtime writes it.
fn line(kernel: &str, epilogue: &str, shape: Extents, arch: &str, count: u64) -> String {
    let known = if kernel == "up" { r#","known_n":4096,"known_k":1024"# } else { "" };
    let [m, n, k] = sizes(&shape);
    format!(
        r#"{{"kernel":"{kernel}","problem":{{"operation":"matmul","input":"bf16","output":"bf16","layout":"nt","epilogue":"{epilogue}"{known}}},"shape":{{"m":{m},"n":{n},"k":{k}}},"arch":{arch},"entry":null,"count":{count}}}"#
    )
}

fn log(tuner: &Tuner, lines: &[String]) {
    std::fs::write(tuner.folder().join("shapes.jsonl"), lines.join("\n") + "\n").unwrap();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn assert_finished(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// The classes and shapes of a config's entries.
fn entries(path: &Path) -> Vec<String> {
    let config = Config::load(path).unwrap();
    config.entries.iter().map(|entry| format!("{} {}", entry.problem.slug(), entry.extents)).collect()
}

/// The targets that a run tuned, in order.
fn tuned(tuner: &Tuner) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    for line in tuner.journaled() {
        let target: tuner::Target = serde_json::from_value(line["target"].clone()).unwrap();
        targets.push(target.slug());
    }
    targets.dedup();
    targets
}

#[test]
fn a_crates_kernels_are_tuned_at_their_known_dimensions_into_its_own_config() {
    let tuner = tuner_with_app();
    let script = tuner.folder().join("app/build.rs");
    let before = std::fs::metadata(&script).unwrap().modified().unwrap();
    let output = tuner.run(&["--crate", "app", "--write"]);
    assert_finished(&output);
    let config = tuner.folder().join("app/best_config.json");
    assert_eq!(
        entries(&config),
        ["matmul_gelu_tanh_bf16_bf16_nt 16x4096x1024", "matmul_gelu_tanh_bf16_bf16_nt 4096x4096x1024"],
        "{}",
        text(&output.stdout)
    );
    assert!(!tuner.folder().join("best_config.json").exists(), "that is not the crate's");
    let after = std::fs::metadata(&script).unwrap().modified().unwrap();
    assert!(after > before, "cargo watches a new config only after the build script ran again");

    let notes = text(&output.stderr);
    for missing in ["`up` at 128x4096x1024", "`up` at 1024x4096x1024"] {
        assert!(notes.contains(missing), "{missing}: {notes}");
    }
    assert!(
        notes.contains("recorded only at 16x4096x1024, 4096x4096x1024; run the same command on a machine"),
        "{notes}"
    );
    assert!(notes.contains("`down` (src/main.rs") && notes.contains("add --shapes-from"), "the remedy: {notes}");
    assert!(notes.contains("declare them in its attribute (n = …, k = …)"), "{notes}");
}

#[cfg(unix)]
#[test]
fn the_build_of_a_tuned_crate_prefers_its_winners() {
    const CHILD: &str = "AUTOKERNEL_TEST_CRATE";
    if let Some(root) = std::env::var_os(CHILD).map(PathBuf::from) {
        let manifest = Build::new().compile_crate(&root, &root.join("out")).unwrap();
        let plans: Vec<_> = manifest
            .plans
            .values()
            .filter(|plan| plan.problem.field("epilogue").as_deref() == Some("gelu_tanh"))
            .collect();
        let shapes: Vec<String> =
            plans[0].variants.iter().filter_map(|variant| Some(variant.tuned.as_ref()?.extents.to_string())).collect();
        assert_eq!((plans.len(), shapes), (1, vec!["16x4096x1024".to_owned(), "4096x4096x1024".to_owned()]));
        return;
    }
    let tuner = tuner_with_app();
    assert_finished(&tuner.run(&["--crate", "app/Cargo.toml", "--write"]));
    let nvcc = tuner.folder().join("nvcc");
    std::fs::write(&nvcc, NVCC).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "the_build_of_a_tuned_crate_prefers_its_winners"]);
    child.env(CHILD, tuner.folder().join("app")).env("AUTOKERNEL_NVCC", nvcc);
    child.env("AUTOKERNEL_CACHE_DIR", tuner.folder().join("cache"));
    // As in a build of the crate: the entries that autokernel ships come second.
    child.env("DEP_AUTOKERNEL_CONFIG", concat!(env!("CARGO_MANIFEST_DIR"), "/../best_config.json"));
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stdout));
}

#[test]
fn a_machine_without_cargo_tunes_a_crate_too() {
    let tuner = tuner_with_app();
    let mut command = tuner.command(&["--crate", "app", "--m", "16", "--write"]);
    let output = command.env("CARGO", "no-such-cargo").output().unwrap();
    assert_finished(&output);
    let config = tuner.folder().join("app/best_config.json");
    assert_eq!(entries(&config), ["matmul_gelu_tanh_bf16_bf16_nt 16x4096x1024"]);
}

#[test]
fn the_recorded_spaces_of_row_wise_kernels_are_searched_without_a_gpu() {
    let tuner = Tuner::without_spaces();
    let root = tuner.folder().join("app");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("Cargo.toml"), "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
        .unwrap();
    let source = "#[autokernel::rows]
        fn softmax(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
            let e = (x - row_max(x)).exp();
            out = e / row_sum(e);
        }";
    std::fs::write(root.join("src/lib.rs"), source).unwrap();
    let spaces = Path::new(ROOT).join("tuner/spaces");
    let notes = text(&tuner.run(&["--crate", "app", "--spaces", spaces.to_str().unwrap()]).stderr);
    assert!(notes.contains("nothing says its columns; record a run"), "its attribute has no setting for them: {notes}");
    let shapes = ["--shape", "4096x16384", "--shape", "2048x65536", "--shape", "16384x4096"];
    let args = [&["--crate", "app", "--spaces", spaces.to_str().unwrap(), "--evaluations", "60"], &shapes[..]].concat();
    let output = tuner.run(&args);
    assert_finished(&output);
    let printed = text(&output.stdout);
    let best = printed.lines().filter(|line| line.contains("best  ")).filter_map(|line| {
        let (share, _) = line.split_once(" % of the recorded optimum")?;
        share.rsplit(' ').next()?.parse::<f64>().ok()
    });
    let best: Vec<f64> = best.collect();
    assert!(best.len() == 3 && best.iter().all(|share| *share >= 90.0), "{best:?} in\n{printed}");
}

#[test]
fn the_rows_of_a_crates_kernels_may_be_named() {
    let tuner = tuner_with_app();
    let output = tuner.run(&["--crate", "app", "--m", "4096,7"]);
    assert_finished(&output);
    assert_eq!(tuned(&tuner), ["matmul_gelu_tanh_bf16_bf16_nt_4096x4096x1024"]);
    assert!(text(&output.stderr).contains("`up` at 7x4096x1024"));
}

#[test]
fn what_took_most_operations_is_tuned_first_and_top_cuts_the_rest() {
    let tuner = tuner_with_app();
    let few = line("up", "gelu_tanh", up(4096), "null", 1);
    let many = line("up", "gelu_tanh", up(16), "null", 300);
    let builtin = line("builtin", "leaky_relu(0.01)", cube(4096), "null", 1);
    log(&tuner, &[few, many.clone(), builtin, many]);
    assert_finished(&tuner.run(&["--shapes-from", "shapes.jsonl"]));
    let order = [
        "matmul_leaky_relu_bf16_bf16_nt_4096x4096x4096",
        "matmul_gelu_tanh_bf16_bf16_nt_16x4096x1024",
        "matmul_gelu_tanh_bf16_bf16_nt_4096x4096x1024",
    ];
    assert_eq!(tuned(&tuner), order);

    let output = tuner.run(&["--shapes-from", "shapes.jsonl", "--top", "2", "--fresh"]);
    assert_finished(&output);
    assert_eq!(tuned(&tuner), order[..2]);
    assert!(text(&output.stderr).contains("--top 2: 2 of 3 shapes, with 86 % of the operations"), "{output:?}");
}

#[test]
fn a_crate_is_tuned_at_the_shapes_that_it_launched() {
    let tuner = tuner_with_app();
    let lines = [
        line("up", "gelu_tanh", up(16), "null", 9),
        line("down", "identity", down(99), "null", 9),
        line("another_crates", "tanh", down(16), "null", 9),
    ];
    log(&tuner, &lines);
    let output = tuner.run(&["--crate", "app", "--shapes-from", "shapes.jsonl", "--write"]);
    assert_finished(&output);
    assert_eq!(
        entries(&tuner.folder().join("app/best_config.json")),
        ["matmul_identity_bf16_bf16_nt 99x1024x4096", "matmul_gelu_tanh_bf16_bf16_nt 16x4096x1024"]
    );
    let notes = text(&output.stderr);
    assert!(notes.contains("does not declare them: another_crates"), "{notes}");

    log(&tuner, &lines[1..]);
    let output = tuner.run(&["--crate", "app", "--shapes-from", "shapes.jsonl"]);
    assert!(text(&output.stderr).contains("`up` (src/main.rs"), "{output:?}");
    assert!(text(&output.stderr).contains("was not launched in the recorded run"), "{output:?}");
}

#[test]
fn a_kernel_that_got_known_dimensions_since_it_was_recorded_keeps_its_launches() {
    let tuner = tuner_with_app();
    let main = tuner.folder().join("app/src/main.rs");
    let source = std::fs::read_to_string(&main).unwrap();
    std::fs::write(&main, source.replace("matmul(transpose_b)", "matmul(transpose_b, n = 1024, k = 4096)")).unwrap();
    log(&tuner, &[line("down", "identity", down(99), "null", 9)]);
    assert_finished(&tuner.run(&["--crate", "app", "--shapes-from", "shapes.jsonl"]));
    assert_eq!(tuned(&tuner), ["matmul_identity_bf16_bf16_nt_99x1024x4096"]);
}

#[test]
fn launches_on_a_gpu_that_nothing_is_recorded_of_are_named() {
    let tuner = tuner_with_app();
    log(
        &tuner,
        &[line("up", "gelu_tanh", up(16), "\"sm_120\"", 9), line("up", "gelu_tanh", up(4096), "\"sm_90a\"", 9)],
    );
    let output = tuner.run(&["--shapes-from", "shapes.jsonl", "--arch", "auto"]);
    assert_finished(&output);
    assert_eq!(tuned(&tuner), ["matmul_gelu_tanh_bf16_bf16_nt_4096x4096x1024"]);
    assert!(text(&output.stderr).contains("for the arch (sm_120)"), "{output:?}");
}

#[test]
fn where_nothing_can_be_tuned_each_problem_says_why() {
    let tuner = tuner_with_app();
    log(&tuner, &[line("up", "gelu_tanh", up(17), "null", 9), line("own", "mine", up(17), "null", 9)]);
    let output = tuner.run(&["--shapes-from", "shapes.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.contains("`up` at 17x4096x1024: matmul_gelu_tanh_bf16_bf16_nt is recorded only at"), "{message}");
    assert!(message.contains("`own` at 17x4096x1024") && message.contains("with --crate"), "{message}");
}

#[test]
fn a_shape_that_keeps_what_it_uses_is_not_taken_over_by_a_winner_at_another() {
    let tuner = tuner_with_app();
    let gelu_tanh = space("gelu_tanh", &[up(4096)]);
    let config = tuner.folder().join("app/best_config.json");
    // The best schedule at 4096 rows, known from another class: nothing can beat it there.
    let (schedule, _) = gelu_tanh.shapes[0].optimum().unwrap();
    let mut shipped = Config::load(&Path::new(ROOT).join("best_config.json")).unwrap();
    let mut entry =
        shipped.entries.iter().find(|entry| entry.problem.field("layout").as_deref() == Some("nt")).unwrap().clone();
    entry.problem = problem("relu").class();
    entry.provenance.gpu = gpu().name;
    (entry.extents, entry.schedule) = (up(4096), schedule);
    shipped.entries = vec![entry];
    shipped.save(&config).unwrap();

    assert_finished(&tuner.run(&["--crate", "app", "--write"]));
    let after = Config::load(&config).unwrap();
    let kept = after
        .entries
        .iter()
        .find(|entry| entry.problem.field("epilogue").as_deref() == Some("gelu_tanh") && entry.extents == up(4096))
        .unwrap();
    assert_eq!((kept.schedule, kept.provenance.proposed_by.as_str()), (schedule, "incumbent"));
    assert!(
        after
            .entries
            .iter()
            .any(|entry| entry.problem.field("epilogue").as_deref() == Some("gelu_tanh") && entry.extents == up(16))
    );
}

#[test]
fn an_op_selects_the_kernels_of_one_attribute() {
    for (op, epilogues) in [("matmul", vec!["identity"]), ("fused_matmul", vec!["gelu_tanh", "leaky_relu"])] {
        let tuner = tuner_with_app();
        assert_finished(&tuner.run(&["--op", op, "--evaluations", "2", "--generations", "1"]));
        let mut found: Vec<String> =
            tuned(&tuner).iter().map(|slug| slug["matmul_".len()..slug.find("_bf16").unwrap()].to_owned()).collect();
        found.dedup();
        assert_eq!(found, epilogues);
    }
}

#[test]
fn a_workspace_gives_its_one_crate_with_kernels_or_names_them() {
    let tuner = tuner_with_app();
    let workspace = tuner.folder().join("workspace");
    let member = |name: &str| MANIFEST.replace("app", name);
    write_app(&workspace.join("one"), &member("one"));
    std::fs::create_dir_all(workspace.join("plain/src")).unwrap();
    std::fs::write(workspace.join("plain/Cargo.toml"), member("plain")).unwrap();
    std::fs::write(workspace.join("plain/src/lib.rs"), "").unwrap();
    std::fs::write(workspace.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n").unwrap();
    assert_finished(&tuner.run(&["--crate", "workspace", "--m", "16", "--write"]));
    assert!(workspace.join("one/best_config.json").is_file());

    write_app(&workspace.join("two"), &member("two"));
    let output = tuner.run(&["--crate", "workspace"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.contains("is a workspace of 2") && message.contains("workspace/two"), "{message}");
}

#[test]
fn a_folder_that_is_no_crate_or_declares_nothing_is_refused_with_the_remedy() {
    let tuner = tuner_with_app();
    let plain = tuner.folder().join("plain");
    std::fs::create_dir_all(plain.join("src")).unwrap();
    std::fs::write(plain.join("Cargo.toml"), MANIFEST).unwrap();
    std::fs::write(plain.join("src/lib.rs"), "").unwrap();
    std::fs::create_dir(tuner.folder().join("broken")).unwrap();
    std::fs::write(tuner.folder().join("broken/Cargo.toml"), "[package").unwrap();
    for (folder, reason) in [
        ("nowhere", "has no Cargo.toml"),
        ("plain", "declares no kernel; write `#[autokernel"),
        ("broken", "cargo metadata"),
    ] {
        let output = tuner.run(&["--crate", folder]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(reason), "{reason}: {output:?}");
    }
}

#[test]
fn the_sources_and_config_that_a_build_script_names_are_its_crates() {
    let tuner = tuner_with_app();
    let app = tuner.folder().join("app");
    std::fs::rename(app.join("src/main.rs"), app.join("kernels.rs")).unwrap();
    std::fs::write(app.join("src/main.rs"), "fn main() {}").unwrap();
    let script = "fn main() { autokernel_codegen::Build::new().source(\"kernels.rs\").config(\"mine.json\").run(); }";
    std::fs::write(app.join("build.rs"), script).unwrap();
    assert_finished(&tuner.run(&["--crate", "app", "--m", "16", "--write"]));
    assert_eq!(entries(&app.join("mine.json")), ["matmul_gelu_tanh_bf16_bf16_nt 16x4096x1024"]);
}

/// A crate of one kernel of grouped rows, and a recorded space of it.
fn tuner_with_experts() -> Tuner {
    let tuner = Tuner::without_spaces();
    let root = tuner.folder().join("app");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("Cargo.toml"), MANIFEST).unwrap();
    std::fs::write(root.join("src/main.rs"), format!("#[autokernel::fused_matmul]\n{EXPERTS}\nfn main() {{}}"))
        .unwrap();
    let space = Space::new(Family::Sm90, &experts().class(), Arch::SM_90A);
    let some: Vec<Schedule> = space.schedules().iter().step_by(97).copied().collect();
    let mut recording = recording_of(&experts(), &some, &[grouped_extents(64, 8192, 2048, 7168)]);
    recording.shapes[0].cublas = None;
    recording.environment.group_sizes = GroupSizes::Even;
    std::fs::create_dir(tuner.folder().join("spaces")).unwrap();
    recording.save(&tuner.folder().join("spaces/experts.json.gz")).unwrap();
    tuner
}

const EXPERTS: &str = "pub fn experts(x: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
    out = dot(x, w.t());
}";

fn experts() -> Problem {
    autokernel_codegen::product::problem(&syn::parse_str(EXPERTS).unwrap()).unwrap().into()
}

#[test]
fn a_crates_grouped_product_is_searched_at_a_shape_that_counts_groups_and_what_is_told_names_their_sizes() {
    let tuner = tuner_with_experts();
    let output = tuner.run(&["--crate", "app", "--shape", "8192x2048x7168x64", "--evaluations", "20"]);
    assert_finished(&output);
    let printed = text(&output.stdout);
    assert!(printed.contains("8192x2048x7168x64") && printed.contains("groups       even sizes"), "{printed}");
    let environment = &tuner.journaled()[0]["environment"];
    assert_eq!(environment["group_sizes"], "even");
}

#[test]
fn launches_of_grouped_products_in_a_log_are_demanded_with_their_groups() {
    let tuner = tuner_with_experts();
    let problem = serde_json::to_string(&experts()).unwrap();
    let shape = r#"{"m":8192,"n":2048,"k":7168,"groups":64}"#;
    let line =
        format!(r#"{{"kernel":"experts","problem":{problem},"shape":{shape},"arch":null,"entry":null,"count":3}}"#);
    log(&tuner, &[line]);
    let args = ["--crate", "app", "--shapes-from", "shapes.jsonl", "--evaluations", "12"];
    let output = tuner.run(&args);
    assert_finished(&output);
    assert!(text(&output.stdout).contains("8192x2048x7168x64"), "{output:?}");
    // What was launched with other groups is another shape.
    let missing = tuner.run(&["--crate", "app", "--shape", "8192x2048x7168x8"]);
    assert!(text(&missing.stderr).contains("recorded only at 8192x2048x7168x64"), "{missing:?}");
}
