//! A worker and an nvcc that are shell scripts, so that everything around a GPU is tested without one.

#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]

#[path = "../common/skip.rs"]
mod skip;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use autokernel_codegen::nvcc::{Compiler, Nvcc};
use serde_json::Value;
use tuner::gpu::Bench;
use tuner::gpu::pool::{Deadlines, GpuPool};
use tuner::gpu::process::WorkerCommand;

pub use skip::skip;

/// Finds the kernel's name in the source and reports on it as ptxas does, after what a test adds.
const NVCC: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit 0; fi
@BEFORE@
: > kernel.ptx; : > kernel.cubin
for symbol in $(grep -o 'autokernel_[a-z0-9_]*(' kernel.cu | tr -d '('); do
    echo "ptxas info : Compiling entry function '$symbol' for 'sm_90a'"
    echo "ptxas info : Function properties for $symbol"
    echo "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
    echo "ptxas info : Used 100 registers, used 1 barriers"
done >&2
"#;

/// Answers everything, after the cases that a test adds. `$3` is the number of the GPU; `$stage` the number of stages and
/// `$group` the raster group of the candidate, from which its time is made up: the more stages, the longer. Each evaluation
/// is a line in `evaluated`.
const WORKER: &str = r#"#!/bin/sh
cd '@FOLDER@' || exit 1
gpu=${3:-0}
facts='{"name":"@NAME@","sm_count":132,"shared_bytes_per_block":232448,"shared_bytes_per_sm":233472,"registers_per_sm":65536,"l2_bytes":62914560,"memory_gb_per_s":4800.0,"matrix_tflops":989.4}'
final() {
    text=
    for time in $1; do
        text="$text${text:+,}{\"status\":\"timed\",\"round_ms\":[$time,$time,$time],\"sm_clock_mhz\":1700}"
    done
    echo "{\"reply\":\"finals\",\"finals\":[$text]}"
}
while read -r line; do
    stage=${line#*'"stages":'}; stage=${stage%%[,\}]*}
    group=${line#*'"raster_group":'}; group=${group%%[,\}]*}
    case "$stage" in [0-9]) tenths=$stage;; *) tenths=9$stage;; esac
    case "$line" in
    *'"request":"evaluate"'*) echo "$gpu $stage $group" >> evaluated;;
    esac
    case "$line" in
    @CASES@
    *'"request":"gpu"'*) echo "{\"reply\":\"gpu\",\"facts\":$facts,\"compute_capability\":[9,0],\"driver\":\"1.2\"}";;
    *'"request":"open"'*) echo '{"reply":"opened","buffer_sets":3,"cold_l2":true}';;
    *'"request":"final"'*)
        times=$(echo "$line" | sed 's/"schedule"/\n"schedule"/g; s/"cublas"/\n"cublas"/g' | sed -n '
            s/^"schedule".*"stages":\([0-9][0-9]\).*"raster_group":\([0-9]*\).*/1.9\1\2/p
            s/^"schedule".*"stages":\([0-9]*\).*"raster_group":\([0-9]*\).*/1.\1\2/p
            s/^"cublas".*/2.5/p')
        echo x >> finals
        final "$times";;
    *'"request":"baseline"'*) echo '{"reply":"evaluated","outcome":{"status":"measured","median_ms":2.5,"spread_pct":0.4,"samples":12},"fatal":false}';;
    *) echo "{\"reply\":\"evaluated\",\"outcome\":{\"status\":\"measured\",\"median_ms\":1.$tenths$group,\"spread_pct\":0.4,\"samples\":12},\"fatal\":false}";;
    esac
done
"#;

/// An nvcc that does something `before` it compiles, as a shell script.
pub fn nvcc(before: &str) -> String {
    NVCC.replace("@BEFORE@", before)
}

/// The scripts in a folder of their own.
pub struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    /// A worker that answers by `cases` before all else.
    pub fn new(cases: &str) -> Self {
        Machine::with(cases, "", "Test GPU")
    }

    /// As [`Machine::new`], with an nvcc that does something `before` it compiles, and a GPU of that name; both are shell.
    pub fn with(cases: &str, before: &str, name: &str) -> Self {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        machine.script("nvcc", &nvcc(before));
        let folder = machine.folder.path().display().to_string();
        let worker = WORKER.replace("@FOLDER@", &folder).replace("@CASES@", cases).replace("@NAME@", name);
        machine.script("worker", &worker);
        machine
    }

    fn script(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn pool(&self, ordinal: usize, deadlines: Deadlines) -> GpuPool {
        GpuPool::new(WorkerCommand::of(&self.path("worker"), ordinal), deadlines).of_gpu(ordinal)
    }

    pub fn compiler(&self) -> Compiler {
        let nvcc = Nvcc { path: self.path("nvcc"), version: "13.0.0".to_owned() };
        Compiler::new(nvcc, self.path("cache"))
    }

    /// A bench with that many GPUs.
    pub fn bench(&self, gpus: usize) -> Bench {
        let pools = (0..gpus).map(|ordinal| self.pool(ordinal, Deadlines::default())).collect();
        Bench::new(pools, self.compiler()).unwrap()
    }

    /// The real tuner on this machine.
    pub fn tuner(&self, args: &[&str]) -> Command {
        self.tuner_at("512x512x512", args)
    }

    /// The same at another shape.
    pub fn tuner_at(&self, shape: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tuner"));
        command.current_dir(self.folder.path()).env_remove("OPENAI_API_KEY").env("AUTOKERNEL_NVCC", self.path("nvcc"));
        command.args(["--worker", "./worker", "--shape", shape]).args(args);
        command
    }

    /// The lines of one kind, each of which must be whole, in the journal of an output folder.
    pub fn journal(&self, folder: &str, kind: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(folder).join("history.jsonl")).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["line"] == kind).collect()
    }

    /// What was evaluated: the number of the GPU, of stages, and the raster group.
    pub fn evaluated(&self) -> Vec<String> {
        std::fs::read_to_string(self.path("evaluated")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// How many legs of finals were held.
    pub fn legs(&self) -> usize {
        std::fs::read_to_string(self.path("finals")).map_or(0, |text| text.lines().count())
    }
}
