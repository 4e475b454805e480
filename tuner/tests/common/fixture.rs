//! A made-up space for tests. Its times follow a model of a GPU with made-up irregularities; they were measured
//! nowhere, so they stay out of `tuner/spaces`.

use std::path::Path;
use std::sync::LazyLock;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::schedule::{Mode, RasterOrder, Sm90Schedule};
use autokernel_codegen::matmul::{extents, flops, sizes};
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::space::Space;
use autokernel_codegen::schedule::{Family, Schedule};
use autokernel_core::Extents;
use hmac_sha256::Hash;
use tuner::GpuFacts;
use tuner::environment::Environment;
use tuner::outcome::{Failure, Measurement, Outcome};
use tuner::replay::{Method, RecordedShape, Recording};

/// The GPU that was never there.
pub const GPU: &str = "Imaginary GPU of the tests";

/// A made-up recording of the Hopper family.
pub fn recording(epilogue: &str, layout: Layout, shapes: &[Extents]) -> Recording {
    let problem = Problem::matmul(Dtype::Bf16, layout, epilogue.parse().unwrap());
    let space = Space::new(Family::Sm90, &problem.class(), Arch::SM_90A);
    recording_of(&problem, space.schedules(), shapes)
}

/// A made-up recording of some schedules.
pub fn recording_of(problem: &Problem, schedules: &[Schedule], shapes: &[Extents]) -> Recording {
    let rows = |shape: Extents| schedules.iter().map(|schedule| (*schedule, outcome(schedule, shape))).collect();
    let recorded = |&shape: &Extents| RecordedShape { shape, rows: rows(shape), cublas: Some(cublas(shape)) };
    Recording {
        arch: Arch::SM_90A,
        environment: Environment {
            gpu: GPU.to_owned(),
            driver: "0.0".to_owned(),
            nvcc: "0.0".to_owned(),
            kernels: "none".to_owned(),
            objective: Default::default(),
            group_sizes: Default::default(),
            regime: Default::default(),
        },
        gpu: gpu(),
        method: Method {
            data: "none".to_owned(),
            cache: "cold".to_owned(),
            samples: 20,
            date: "2000-01-01".to_owned(),
            command: "tests/common".to_owned(),
            coverage: None,
        },
        shapes: shapes.iter().map(recorded).collect(),
        problem: problem.clone(),
    }
}

/// A made-up recording of LeakyReLU at 4096³ and a tall shape, and its file. Made once: it takes a second.
static SPACE: LazyLock<(Recording, Vec<u8>)> = LazyLock::new(|| {
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "leaky_relu".parse().unwrap());
    let class = problem.class();
    let default = class.default_schedule(Arch::SM_90A);
    let mut schedules = class.schedules(Family::Sm90, Arch::SM_90A);
    schedules.retain(|schedule| *schedule == default || is_in_space(schedule));
    let recording = recording_of(&problem, &schedules, &[cube(4096), extents(512, 4096, 2048)]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(SPACE_FILE);
    recording.save(&file).unwrap();
    (recording, std::fs::read(file).unwrap())
});
/// A fifth of all schedules, drawn once and for all, as a search of fourteen thousand takes seconds; and the tile of which the
/// models of the tests propose schedules.
fn is_in_space(schedule: &Schedule) -> bool {
    let codes: Vec<u32> = schedule.codes().iter().map(|code| u32::from(*code)).collect();
    let is_proposed = |s: Sm90Schedule| (s.tile_m, s.tile_n) == (128, 256);
    Sm90Schedule::try_from(schedule).is_ok_and(is_proposed) || draw(&[&[5], codes.as_slice()].concat()) < 0.2
}
const SPACE_FILE: &str = "leaky_relu.json.gz";

/// Writes the made-up space into `folder`.
pub fn write_space(folder: &Path) -> &'static Recording {
    let (recording, file) = &*SPACE;
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(SPACE_FILE), file).unwrap();
    recording
}

/// m = n = k.
pub fn cube(edge: u32) -> Extents {
    extents(edge, edge, edge)
}

/// Facts of a large Hopper.
pub fn gpu() -> GpuFacts {
    GpuFacts {
        name: GPU.to_owned(),
        sm_count: 132,
        shared_bytes_per_block: 232_448,
        shared_bytes_per_sm: 233_472,
        registers_per_sm: 65_536,
        l2_bytes: 60 << 20,
        memory_gb_per_s: 4800.0,
        matrix_tflops: 989.0,
    }
}

fn cublas(shape: Extents) -> Measurement {
    Measurement::new(flops(&shape) / 650e9 + 0.01, 0.3, 20)
}

/// What becomes of `schedule`, the same in every run.
pub fn outcome(schedule: &Schedule, shape: Extents) -> Outcome {
    let Ok(s) = &Sm90Schedule::try_from(schedule) else { return Outcome::Failed(Failure::NotRecorded) };
    if draw(&[3, s.tile_m, s.tile_n, s.stages, s.consumers, s.cluster_m]) < 0.01 {
        return Outcome::Failed(Failure::WrongResult { detail: "made up".to_owned() });
    }
    Outcome::Measured(Measurement::new(modelled_ms(s, shape), 0.2 + 0.3 * draw(&[4, s.tile_m, s.tile_n]), 20))
}

fn modelled_ms(s: &Sm90Schedule, shape: Extents) -> f64 {
    let [m, n, k] = sizes(&shape);
    let (tile_m, tile_n) = (f64::from(s.tile_m), f64::from(s.tile_n));
    let clusters = f64::from(s.cluster_m * s.cluster_n);
    let across = |extent: u32, tile: u32, cluster: u32| f64::from(extent.div_ceil(tile).div_ceil(cluster) * cluster);
    let tiles = across(m, s.tile_m, s.cluster_m) * across(n, s.tile_n, s.cluster_n);
    let slots = (132.0 / clusters).floor() * clusters;
    let waves = (tiles / slots).ceil();
    let area = tile_m * tile_n;
    let per_consumer = area / f64::from(if s.mode == Mode::PingPong { 1 } else { s.consumers });
    let pace = 0.72 * (1.0 - (-area / 9000.0).exp()) * (1.0 - (-per_consumer / 3500.0).exp());
    let latency = 1.0 + 0.6 * (-f64::from(s.stages) * (tile_m + tile_n) / 420.0).exp();
    let multiply = 2.0 * area * f64::from(k) / (989e9 / 132.0 * pace) * latency;
    let store = area * 2.0 / 30e6 * if s.mode == Mode::PingPong { 0.25 } else { 1.0 };
    let raster = raster_factor(s, shape);
    let quirks = quirk(1, 0.05, &[s.tile_m, s.tile_n, s.consumers, u32::from(s.mode == Mode::PingPong)])
        + quirk(2, 0.03, &[s.tile_m, s.tile_n, s.cluster_m, s.cluster_n])
        + quirk(3, 0.012, &[s.tile_n, s.stages])
        + quirk(4, 0.008, &[s.raster.group, s.cluster_m, s.tile_m])
        + quirk(5, 0.004, &[s.tile_m, s.tile_n, s.stages, s.raster.group, s.cluster_n, s.consumers, m]);
    (waves * (multiply + store) * raster + 0.004) * (1.0 + quirks)
}

/// Misses in L2 grow as the group leaves what suits the tile.
fn raster_factor(s: &Sm90Schedule, shape: Extents) -> f64 {
    let [m, n, k] = sizes(&shape);
    let aspect = f64::from(s.tile_n) / f64::from(s.tile_m);
    let along_m = s.raster.order == RasterOrder::AlongM;
    let ideal = (132.0 * if along_m { aspect } else { 1.0 / aspect }).sqrt();
    let off = (f64::from(s.raster.group) / ideal).log2();
    let bytes = 2.0 * (f64::from(m) + f64::from(n)) * f64::from(k);
    let pressure = (bytes / 60e6).min(2.0);
    1.0 + 0.02 * pressure * off * off + if along_m == (m >= n) { 0.0 } else { 0.006 }
}

/// A made-up irregularity of this relative size.
fn quirk(kind: u32, size: f64, knobs: &[u32]) -> f64 {
    let mut parts = vec![kind + 100];
    parts.extend(knobs);
    let bell: f64 = (0..4).map(|i| draw(&[parts.as_slice(), &[i]].concat()) - 0.5).sum();
    size * bell * 1.7
}

/// A number in 0..1 that depends on `parts` alone.
fn draw(parts: &[u32]) -> f64 {
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    let hash = Hash::hash(&bytes);
    f64::from(u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])) / f64::from(u32::MAX)
}
