use super::*;
use crate::dtype::Dtype;
use crate::epilogue::Epilogue;
use crate::matmul;
use crate::problem::Layout;

fn problem(epilogue: &str) -> Problem {
    Problem::matmul(Dtype::Bf16, Layout::Nt, epilogue.parse::<Epilogue>().unwrap())
}

fn product(epilogue: &str) -> matmul::Problem {
    matmul::Problem::new(Dtype::Bf16, Layout::Nt, epilogue.parse::<Epilogue>().unwrap())
}

fn entry(epilogue: &str, m: u32) -> Entry {
    let problem = problem(epilogue).class();
    let schedule = problem.default_schedule(Arch::SM_90A);
    let provenance = Provenance {
        gpu: "NVIDIA H200".into(),
        driver: "580.159.04".into(),
        nvcc: "13.0.88".into(),
        sources: None,
        final_rounds: 0,
        date: "2026-11-21".into(),
        median_ms: 0.25,
        spread_pct: 0.4,
        tflops: 549.8,
        samples: 50,
        proposed_by: "local".into(),
    };
    Entry {
        problem,
        arch: Arch::SM_90A,
        extents: crate::matmul::extents(m, 4096, 4096),
        range: None,
        schedule,
        provenance,
    }
}

fn config(entries: Vec<Entry>) -> Config {
    Config { entries, ..Config::default() }
}

fn refused(text: &str) -> String {
    Config::parse(text, Path::new("best_config.json")).unwrap_err().to_string()
}

#[test]
fn a_config_reads_back_what_it_writes() {
    let config = config(vec![entry("leaky_relu", 16), entry("identity", 4096)]);
    assert_eq!(Config::parse(&config.to_json(), Path::new("x")).unwrap(), config);
}

#[test]
fn malformed_json_is_refused_with_file_line_and_reason() {
    let message = refused("{\n  \"version\": 1,\n  \"archs\": [\"sm_80\",,]\n}");
    assert_eq!(
        message,
        "best_config.json:3:21: expected value; correct the line, or restore the file from version control"
    );
}

#[test]
fn another_version_is_refused_with_the_version_that_is_read() {
    let message = refused("{\n  \"version\": 7,\n  \"archs\": [] }");
    assert!(message.starts_with("best_config.json:2:"), "{message}");
    assert!(message.contains("version 7 is not supported; this autokernel reads versions 1 to 2"), "{message}");
}

#[test]
fn an_unknown_field_is_named_with_its_line() {
    let json = config(vec![entry("relu", 16)]).to_json().replace("tile_m", "tile_mm");
    let line = json.lines().position(|line| line.contains("tile_mm")).unwrap() + 1;
    let message = refused(&json);
    assert!(message.contains("no knob `tile_mm`"), "{message}");
    let reported: usize = message.split(':').nth(1).unwrap().parse().unwrap();
    let lines_of_a_schedule = crate::schedule::Family::Sm90.knobs().len();
    assert!(
        (line..=line + lines_of_a_schedule).contains(&reported),
        "line {line} was reported as {reported}: {message}"
    );
}

#[test]
fn a_schedule_that_breaks_a_rule_is_refused_by_the_name_of_the_rule() {
    let json = config(vec![entry("relu", 16)]).to_json().replace("\"stages\": 4", "\"stages\": 8");
    let message = refused(&json);
    assert!(message.contains("schedule rule `shared_memory_fits` is broken"), "{message}");
    assert!(message.contains("matmul nt bf16 -> bf16, epilogue relu, sm_90a, 16x4096x4096"), "{message}");
    assert!(!message.contains(":0:0:"), "{message}");
}

#[test]
fn a_missing_file_is_refused_with_its_path_and_the_command_that_writes_one() {
    let message = Config::load(Path::new("no/such/best_config.json")).unwrap_err().to_string();
    assert!(message.contains("no/such/best_config.json") && message.contains("-p tuner -- --write`"), "{message}");
}

#[test]
fn a_problem_takes_its_own_entries_or_those_of_the_nearest_class() {
    let config = config(vec![entry("leaky_relu", 16), entry("relu", 16), entry("relu", 64)]);
    let count = |problem: &Problem| config.entries_for(problem, Arch::SM_90A).len();
    assert_eq!(["relu", "leaky_relu", "gelu"].map(|epilogue| count(&problem(epilogue))), [2, 1, 3]);
    assert!(config.entries_for(&problem("relu"), Arch::SM_80).is_empty());

    let half = matmul::Problem { input: Dtype::F16, output: Dtype::F16, ..product("relu") };
    let wide = matmul::Problem { output: Dtype::F32, ..product("leaky_relu") };
    let other_layout = matmul::Problem { layout: Layout::Nn, ..product("relu") };
    assert_eq!([half, wide, other_layout].map(|problem| count(&problem.into())), [2, 1, 0]);
}

#[test]
fn an_upsert_replaces_the_entry_of_the_same_class_arch_gpu_and_extents() {
    let mut config = config(vec![entry("relu", 16)]);
    assert!(config.upsert(entry("relu", 32)).is_none());
    assert!(config.upsert(entry("relu", 16)).is_some());
    let mut on_another_gpu = entry("relu", 16);
    on_another_gpu.provenance.gpu = "NVIDIA H100 80GB HBM3".into();
    assert!(config.upsert(on_another_gpu).is_none());
    assert_eq!(config.entries.len(), 3);
}

#[test]
fn an_entry_may_serve_a_range_of_sizes_among_which_its_own_is_and_one_beside_it_has_its_place() {
    let span: autokernel_core::Span = "m=1..=64".parse().unwrap();
    let mut ranged = config(vec![Entry { range: Some(span), ..entry("relu", 64) }]);
    let json = ranged.to_json();
    assert_eq!(Config::parse(&json, Path::new("x")).unwrap(), ranged);
    assert_eq!(ranged.entries[0].tuned().range, Some(span));
    for (from, to) in
        [("\"last\": 64", "\"last\": 63"), ("\"dim\": \"m\"", "\"dim\": \"rows\""), ("\"first\": 1", "\"first\": 0")]
    {
        let message = refused(&json.replace(from, to));
        assert!(message.contains("and its own extents have no such size"), "{message}");
    }
    assert!(ranged.upsert(entry("relu", 64)).is_none(), "for that size alone");
    assert!(ranged.upsert(Entry { range: Some(span), ..entry("relu", 64) }).is_some());
}

#[test]
fn a_file_of_version_1_is_read_and_written_as_version_2() {
    let now = config(vec![entry("relu", 16)]);
    let before = now.to_json().replace("\"version\": 2", "\"version\": 1").replace("\"extents\"", "\"shape\"");
    assert!(before.contains("\"shape\": {"), "{before}");
    let read = Config::parse(&before, Path::new("x")).unwrap();
    assert_eq!((read.to_json(), read), (now.to_json(), now));
}

#[test]
fn times_and_extents_that_cannot_be_are_refused_with_their_entry() {
    let whole = config(vec![entry("relu", 16)]).to_json();
    for (from, to, reason) in [
        ("\"median_ms\": 0.25", "\"median_ms\": 0.0", "was not measured: median_ms is 0;"),
        ("\"median_ms\": 0.25", "\"median_ms\": -1", "was not measured: median_ms is -1;"),
        ("\"median_ms\": 0.25", "\"median_ms\": 1e300", "was not measured: median_ms is 1"),
        ("\"spread_pct\": 0.4", "\"spread_pct\": -0.4", "spread_pct is -0.4"),
        ("\"m\": 16,", "", "matmul has the dimensions m, n, k"),
    ] {
        let message = refused(&whole.replace(from, to));
        assert!(message.contains(reason) && message.contains("epilogue relu, sm_90a"), "{message}");
    }
}

#[test]
fn saving_leaves_one_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("best_config.json");
    let config = config(vec![entry("relu", 16)]);
    config.save(&path).unwrap();
    config.save(&path).unwrap();
    assert_eq!(Config::load(&path).unwrap(), config);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_hash_of_the_kernel_sources_is_optional_and_kept() {
    let mut entry = entry("relu", 16);
    let without = config(vec![entry.clone()]).to_json();
    assert!(!without.contains("sources"), "{without}");
    entry.provenance.sources = Some("0123456789ab".into());
    let with = config(vec![entry]);
    assert_eq!(Config::parse(&with.to_json(), Path::new("x")).unwrap(), with);
}

#[test]
fn a_config_that_names_no_arch_is_refused_with_the_form() {
    let message = refused("{ \"version\": 2, \"archs\": [] }");
    assert!(message.contains("archs names no GPU") && message.contains("[\"sm_80\", \"sm_90a\"]"), "{message}");
}

#[test]
fn constants_and_factors_of_a_portfolio_that_no_fit_finds_are_refused_by_name() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../best_config.json")).unwrap();
    let shipped: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (at, wrong, reason) in [
        ("/portfolios/0/model/load_us", serde_json::json!(-1), "load_us is -1; it is from 0.1 to 3"),
        ("/portfolios/0/model/l2_gb_per_s", serde_json::json!(1e308), "l2_gb_per_s is 1e308; it is from 30 to 500"),
        ("/portfolios/0/images/1/measured_over_predicted", serde_json::json!(-1), "measured_over_predicted is -1;"),
        ("/portfolios/0/images/1/measured_over_predicted", serde_json::json!(0), "measured_over_predicted is 0;"),
        ("/portfolios/1/images", serde_json::json!([]), "a portfolio without images serves nothing; leave it out"),
    ] {
        let mut config = shipped.clone();
        *config.pointer_mut(at).unwrap() = wrong;
        let message = refused(&config.to_string());
        assert!(message.starts_with("best_config.json:1:") && message.contains(reason), "{message}");
    }
}

#[test]
fn a_folder_in_the_place_of_the_file_and_a_file_that_is_no_text_are_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let message = Config::load(folder.path()).unwrap_err().to_string();
    assert!(message.contains("a folder stands in the place of the file"), "{message}");
    let file = folder.path().join("best_config.json");
    std::fs::write(&file, [0xff, 0xfe]).unwrap();
    let message = Config::load(&file).unwrap_err().to_string();
    assert!(message.ends_with("; restore the file from version control"), "{message}");
}
