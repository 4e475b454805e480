//! A search on a machine without a GPU, measured by workers with GPUs, whose drivers are shell scripts.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::Tuner;
use crate::gpu_support::Machine;
use crate::postgres_server::Server;

/// A worker on a machine of scripts.
pub fn work(machine: &Machine, url: &str, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tuner"));
    command.current_dir(machine.path("")).env("AUTOKERNEL_NVCC", machine.path("nvcc"));
    // What scripts make must not get among real kernels.
    command.env_remove("AUTOKERNEL_CACHE_DIR");
    command.args(["work", "--study", url]).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// The option by which a worker measures with the script.
pub const SCRIPT: [&str; 2] = ["--worker", "./worker"];

pub fn end(mut worker: Child) -> String {
    assert!(Command::new("kill").arg(worker.id().to_string()).status().unwrap().success());
    let mut said = String::new();
    std::io::Read::read_to_string(worker.stdout.as_mut().unwrap(), &mut said).unwrap();
    worker.wait().unwrap();
    said
}

#[test]
fn trials_and_finals_are_measured_by_the_workers_whose_gpu_the_search_is_for() {
    let test = "trials_and_finals_are_measured_by_the_workers_whose_gpu_the_search_is_for";
    let Some(server) = Server::start(test) else { return };
    let (here, url) = (Tuner::without_spaces(), server.url());
    assert!(here.sub(&["study", "create", &url]).status.success());
    // Compiling takes longer than an idle worker's pause: whoever is idle finds work.
    let ours = || Machine::with("", "sleep 0.6", "Test GPU");
    let machines = [ours(), ours(), Machine::with("", "", "Other GPU")];
    let workers = machines.each_ref().map(|machine| work(machine, &url, &SCRIPT));
    while server.count("select count(*) from autokernel.worker") < 3 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // Times are made up of stages and the raster's group: each of these is faster than what is in use, whichever a search tries.
    let of = ["--fix", "stages=4", "--exclude", "raster_group=8"];
    let search = [&["--study", &url, "--shape", "512x512x512", "--evaluations", "24", "--json"][..], &of].concat();
    let output = here.sub(&search);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let target = &document["targets"][0];
    assert_eq!(target["environment"]["gpu"], "Test GPU", "the kind of most workers: {target}");
    assert_eq!(target["verdict"]["promoted"], true, "{target}");
    assert!(target["verdict"]["reason"].as_str().unwrap().contains("interleaved rounds"), "{target}");

    let [one, two, other] = machines.each_ref().map(|machine| machine.evaluated().len());
    assert_eq!((one + two, other), (24, 0), "each schedule once, and none on another kind of GPU");
    assert!(one > 0 && two > 0, "{one} and {two}: one of the workers was idle");
    assert!(machines[0].legs() + machines[1].legs() >= 1, "a worker held the final");
    // The final is known as well: whoever comes later asks nobody.
    let legs = machines[0].legs() + machines[1].legs();
    assert!(here.sub(&search).status.success());
    assert_eq!(machines[0].legs() + machines[1].legs(), legs);
    let said = workers.map(end);
    assert!(said.iter().all(|said| said.contains(" results recorded, 0 too late")), "{said:?}");
    assert_eq!(server.count("select count(*) from autokernel.worker"), 0, "each has taken its leave");
}
