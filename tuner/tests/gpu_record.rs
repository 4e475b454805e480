//! Recording a space, with a worker and an nvcc that are shell scripts: what is measured, kept, and gone on with.
#![cfg(unix)]

mod gpu_support;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use autokernel_codegen::matmul::extents;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::schedule::Family;
use autokernel_core::Extents;
use tuner::gpu::Bench;
use tuner::gpu::cli::ProblemSpec;
use tuner::gpu::pool::{Deadlines, GpuPool};
use tuner::gpu::process::WorkerCommand;
use tuner::gpu::record::{Plan, record};
use tuner::gpu::sampling::Effort;
use tuner::replay::Recording;

const RASTERS: usize = 12;
const SHAPE: Extents = extents(512, 512, 512);

/// Answers everything; the candidate with raster along_n/32 crashes it. Each evaluation is a line in `evaluated`.
const WORKER: &str = r#"
facts='{"name":"Test GPU","sm_count":132,"shared_bytes_per_block":232448,"shared_bytes_per_sm":233472,"registers_per_sm":65536,"l2_bytes":62914560,"memory_gb_per_s":4800.0,"matrix_tflops":989.4}'
measured='{"reply":"evaluated","outcome":{"status":"measured","median_ms":0.5,"spread_pct":0.4,"samples":12},"fatal":false}'
timed='{"status":"timed","round_ms":[1.0,1.0,1.0],"sm_clock_mhz":1700}'
while read -r line; do case "$line" in
    *'"request":"gpu"'*) echo "{\"reply\":\"gpu\",\"facts\":$facts,\"compute_capability\":[9,0],\"driver\":\"1.2\"}";;
    *'"request":"open"'*) echo '{"reply":"opened","buffer_sets":3,"cold_l2":true}';;
    *'"request":"final"'*) echo "{\"reply\":\"finals\",\"finals\":[$timed,$timed,$timed,$timed]}";;
    *'"request":"baseline"'*) echo "$measured";;
    *) echo x >> evaluated
       case "$line" in *'"along_n","raster_group":32'*) exit 1;; *) echo "$measured";; esac;;
esac; done
"#;

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let nvcc = folder.path().join("nvcc");
        std::fs::write(&nvcc, gpu_support::nvcc("")).unwrap();
        std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
        Fixture { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bench(&self) -> Bench {
        let script = format!("cd '{}'; {WORKER}", self.folder.path().display());
        let command = WorkerCommand { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] };
        let nvcc = Nvcc { path: self.path("nvcc"), version: "13.0.0".to_owned() };
        let pool = GpuPool::new(command, Deadlines::default());
        Bench::new(vec![pool], Compiler::new(nvcc, self.path("cache"))).unwrap()
    }

    fn plan(&self, images: usize) -> Plan {
        Plan {
            problem: "bf16:nt:relu".parse::<ProblemSpec>().unwrap().0,
            family: Family::Sm90,
            shapes: vec![SHAPE],
            images: Some(images),
            rasters_for_top: None,
            selection: None,
            order: 0,
            effort: Effort::QUICK,
            limit: None,
            out: self.path("space.json.gz"),
            command: "tuner record".to_owned(),
        }
    }

    fn evaluations(&self) -> usize {
        std::fs::read_to_string(self.path("evaluated")).map_or(0, |text| text.lines().count())
    }
}

fn rows(path: &Path) -> (usize, usize) {
    let recording = Recording::load(path).unwrap();
    let rows = &recording.shapes[0].rows;
    (rows.len(), rows.iter().filter(|(_, outcome)| outcome.median_ms().is_none()).count())
}

#[test]
fn every_raster_of_every_image_is_measured_or_has_its_reason() {
    let fixture = Fixture::new();
    let plan = fixture.plan(2);
    let mut bench = fixture.bench();
    let recording = record(&mut bench, &plan).unwrap();
    assert_eq!(rows(&plan.out), (2 * RASTERS, 2));
    assert_eq!(bench.replaced(), 2, "each crash costs a worker");
    assert!(recording.shapes[0].cublas.is_some());
    assert_eq!((recording.environment.gpu.as_str(), recording.environment.driver.as_str()), ("Test GPU", "1.2"));
    assert!(recording.method.coverage.unwrap().starts_with("24 of "));
}

#[test]
fn a_recording_goes_on_where_it_was_and_tries_nothing_twice() {
    let fixture = Fixture::new();
    record(&mut fixture.bench(), &fixture.plan(1)).unwrap();
    assert_eq!(fixture.evaluations(), RASTERS);
    record(&mut fixture.bench(), &fixture.plan(3)).unwrap();
    assert_eq!(fixture.evaluations(), 3 * RASTERS);
    record(&mut fixture.bench(), &fixture.plan(3)).unwrap();
    assert_eq!(fixture.evaluations(), 3 * RASTERS);
    assert_eq!(rows(&fixture.path("space.json.gz")), (3 * RASTERS, 3));
}

#[test]
fn a_recording_out_of_time_keeps_what_it_has() {
    let fixture = Fixture::new();
    let plan = Plan { limit: Some(Duration::ZERO), ..fixture.plan(2) };
    assert!(record(&mut fixture.bench(), &plan).unwrap().shapes.is_empty());
    record(&mut fixture.bench(), &fixture.plan(1)).unwrap();
    record(&mut fixture.bench(), &plan).unwrap();
    assert_eq!(rows(&plan.out).0, RASTERS);
}

#[test]
fn thinned_rasters_leave_one_for_the_slower_images() {
    let fixture = Fixture::new();
    let plan = Plan { rasters_for_top: Some(1), ..fixture.plan(3) };
    record(&mut fixture.bench(), &plan).unwrap();
    assert_eq!(rows(&plan.out).0, 2 + RASTERS);
}
