//! Workers without a GPU, which compile for those that have one.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::Tuner;
use crate::elsewhere::{SCRIPT, end, work};
use crate::gpu_support::Machine;
use crate::postgres_server::Server;

/// Tells of each kernel that it is to compile.
const TELLS: &str = r#"echo x >> "$(dirname "$0")/called""#;

const TRIALS: &str = "select count(*) from autokernel.work where kind = 'trial'";
const COMPILED: &str = "select count(*) from autokernel.work where kind = 'trial' and compiled";

/// A study with a search of 24 schedules whose worker was stopped before it took one.
struct Stage {
    server: Server,
    here: Tuner,
    gpu: Machine,
    worker: Child,
    search: Child,
    cache: tempfile::TempDir,
}

impl Stage {
    fn set(test: &str, lease: &str) -> Option<Stage> {
        let server = Server::start(test)?;
        let (here, url) = (Tuner::without_spaces(), server.url());
        assert!(here.sub(&["study", "create", &url, "--lease", lease]).status.success());
        let (gpu, cache) = (Machine::with("", TELLS, "Test GPU"), tempfile::tempdir().unwrap());
        let worker = work(&gpu, &url, &[&SCRIPT[..], &["--cache", path(cache.path())]].concat());
        server.wait_for("select count(*) from autokernel.worker", 1);
        signal(&worker, "STOP");
        let args = ["--study", &url, "--shape", "512x512x512", "--evaluations", "24", "--generations", "1", "--json"];
        let search = here.plain(&args).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        server.wait_for(TRIALS, 24);
        Some(Stage { server, here, gpu, worker, search, cache })
    }

    /// A worker that only compiles, by the nvcc of `machine`.
    fn compiler(&self, machine: &Machine) -> Child {
        let args = ["--compile", "--compile-threads", "4", "--cache", path(self.cache.path())];
        work(machine, &self.server.url(), &args)
    }

    /// Lets the worker go on, and waits for the search; its target, and what the worker said.
    fn play(&mut self) -> (Value, String) {
        signal(&self.worker, "CONT");
        let output = std::mem::replace(&mut self.search, Command::new("true").spawn().unwrap()).wait_with_output();
        let document: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        assert_eq!(document["status"], "finished", "{document}");
        let worker = std::mem::replace(&mut self.worker, Command::new("true").spawn().unwrap());
        (document["targets"][0].clone(), end(worker))
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn signal(process: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &process.id().to_string()]).status();
    assert!(status.unwrap().success());
}

#[test]
fn what_is_compiled_without_a_gpu_is_measured_without_an_nvcc_beside_the_gpu() {
    let test = "what_is_compiled_without_a_gpu_is_measured_without_an_nvcc_beside_the_gpu";
    let Some(mut stage) = Stage::set(test, "600") else { return };
    let other = Machine::new("");
    let compiler = stage.compiler(&other);
    stage.server.wait_for(COMPILED, 24);
    let status = stage.here.sub(&["study", "status", &stage.server.url()]).stdout;
    let status = String::from_utf8(status).unwrap();
    assert!(status.contains("24 waiting (24 of them compiled); 1 workers, 1 compilers"), "{status}");
    let (target, said) = stage.play();
    assert_eq!(target["tried"], 24, "{target}");
    assert_eq!(stage.gpu.evaluated().len(), 24);
    assert!(stage.gpu.legs() >= 1, "finals compile nothing new");
    assert!(!stage.gpu.path("called").exists(), "the GPU's machine has compiled");
    assert!(said.contains(" results recorded, 0 too late"), "{said}");
    assert_eq!(end(compiler), "24 schedules compiled, 0 refused\n");
    assert_eq!(stage.server.count("select count(*) from autokernel.worker"), 0, "both have taken their leave");
}

#[test]
fn what_a_killed_compiler_held_is_measured_after_all_else_and_none_of_it_is_lost() {
    let test = "what_a_killed_compiler_held_is_measured_after_all_else_and_none_of_it_is_lost";
    let Some(mut stage) = Stage::set(test, "600") else { return };
    let slow = Machine::with("", "sleep 60", "");
    let mut compiler = stage.compiler(&slow);
    stage.server.wait_for("select count(*) from autokernel.work where compile_until > now()", 4);
    compiler.kill().unwrap();
    compiler.wait().unwrap();
    let (target, _) = stage.play();
    assert_eq!(target["tried"], 24, "{target}");
    assert_eq!(stage.gpu.evaluated().len(), 24, "each once");
    let early = "select count(*) from autokernel.work held, autokernel.work other
        where held.kind = 'trial' and other.kind = 'trial' and held.compile_attempt > 0 and other.compile_attempt = 0
            and held.recorded_at < other.recorded_at";
    assert_eq!(stage.server.count(early), 0, "what somebody compiles was taken before what nobody does");
}

#[test]
fn another_compiler_takes_over_from_a_killed_one_and_records_what_nvcc_refuses() {
    let test = "another_compiler_takes_over_from_a_killed_one_and_records_what_nvcc_refuses";
    let Some(mut stage) = Stage::set(test, "3") else { return };
    let slow = Machine::with("", "sleep 60", "");
    let mut killed = stage.compiler(&slow);
    stage.server.wait_for("select count(*) from autokernel.work where compile_until > now()", 4);
    killed.kill().unwrap();
    killed.wait().unwrap();
    // By the first digit of a checksum of the source: some schedules are refused, some spill.
    let picky = Machine::with(
        "",
        r#"grep -q 'struct Schedule' kernel.cu && case "$(cksum < kernel.cu)" in
        1*) echo 'error: not this one' >&2; exit 1;;
        2*) echo "ptxas error : Registers are spilled, 4 bytes spill stores, 8 bytes spill loads" >&2; exit 1;;
        esac"#,
        "",
    );
    let compiler = stage.compiler(&picky);
    stage.server.wait_for("select count(*) from autokernel.work where compiled or result is not null", 24);
    let refused = "select count(*) from autokernel.work where result is not null";
    let refused_there = stage.server.count(refused);
    assert!(stage.server.count("select sum(compile_lost) from autokernel.work") >= 4, "nothing was taken over");
    let (target, _) = stage.play();
    let failed = |kind: &str| target["failures"][kind].as_i64().unwrap_or(0);
    assert!(failed("compile") > 0 && failed("spill") > 0, "{target}");
    assert_eq!(failed("compile") + failed("spill"), refused_there, "{target}");
    assert_eq!(stage.gpu.evaluated().len() as i64, 24 - refused_there, "no GPU has seen what nvcc refused");
    let rows = stage.server.query("select result::text from autokernel.work where result::text like '%not this one%'");
    assert_eq!(rows.len() as i64, failed("compile"), "with what nvcc said");
    assert_eq!(end(compiler), format!("{} schedules compiled, {refused_there} refused\n", 24 - refused_there));
}

#[test]
fn a_compiler_whose_cache_cannot_be_written_blames_no_schedule() {
    let test = "a_compiler_whose_cache_cannot_be_written_blames_no_schedule";
    let Some(mut stage) = Stage::set(test, "600") else { return };
    let machine = Machine::new("");
    std::fs::write(machine.path("file"), "").unwrap();
    let file = machine.path("file");
    let args = ["--compile", "--cache", path(&file)];
    let status = work(&machine, &stage.server.url(), &args).wait().unwrap();
    assert_eq!(status.code(), Some(1));
    let held = "select count(*) from autokernel.work where result is not null or compile_until is not null";
    assert_eq!(stage.server.count(held), 0, "what it held is given back");
    let (target, _) = stage.play();
    assert_eq!((&target["tried"], &target["failures"]), (&Value::from(24), &serde_json::json!({})), "{target}");
}

#[test]
fn a_compiler_must_be_told_which_folder_the_others_share() {
    let machine = Machine::new("");
    let mut worker = work(&machine, "postgres://ann@127.0.0.1:1/none", &["--compile"]);
    assert_eq!(worker.wait().unwrap().code(), Some(2));
}
