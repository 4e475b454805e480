//! A recorded space in memory.

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read};
use std::path::Path;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::files;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::error::{ContentError, RecordingError};
use super::format::{self, File, Table, rounded};
use super::method::Method;
use crate::columns::{self, ColumnsError};
use crate::environment::Environment;
use crate::gpu_facts::GpuFacts;
use crate::outcome::{Failure, Measurement, Outcome};

/// Most bytes of a recording, unpacked: 10⁵ schedules at ten shapes take some thirty million.
const MOST_BYTES: u64 = 256 << 20;

/// Every schedule of one problem on one GPU, measured at several shapes.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What was measured.
    pub problem: Problem,
    /// For which target.
    pub arch: Arch,
    /// Where.
    pub environment: Environment,
    /// On which GPU.
    pub gpu: GpuFacts,
    /// How.
    pub method: Method,
    /// The measurements.
    pub shapes: Vec<RecordedShape>,
}

/// What was measured at one shape.
#[derive(Clone, Debug)]
pub struct RecordedShape {
    /// The shape.
    pub shape: Extents,
    /// What became of each schedule that was tried, in the order of the space.
    pub rows: Vec<(Schedule, Outcome)>,
    /// cuBLAS with the epilogue as a kernel of its own.
    pub cublas: Option<Measurement>,
}

impl RecordedShape {
    /// The fastest schedule of all.
    pub fn optimum(&self) -> Option<(Schedule, Measurement)> {
        let timed = self.rows.iter().filter_map(|(schedule, outcome)| Some((*schedule, *outcome.measurement()?)));
        timed.min_by(|(_, a), (_, b)| a.median_ms.total_cmp(&b.median_ms))
    }

    /// The forms of the schedules that take at most `factor` times as long as the fastest; one may come twice.
    pub fn within(&self, factor: f64) -> impl Iterator<Item = Schedule> + '_ {
        let best = self.optimum().map_or(f64::INFINITY, |(_, measurement)| measurement.median_ms);
        let fast = move |outcome: &Outcome| outcome.median_ms().is_some_and(|ms| ms <= factor * best);
        self.rows.iter().filter(move |(_, outcome)| fast(outcome)).map(|(schedule, _)| schedule.form())
    }
}

impl Recording {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, or is not a recording whose parts fit together; the message says where.
    pub fn load(path: &Path) -> Result<Self, RecordingError> {
        Recording::load_within(path, MOST_BYTES)
    }

    /// The same, of at most so many bytes, unpacked: a megabyte can be of gigabytes.
    pub(crate) fn load_within(path: &Path, most: u64) -> Result<Self, RecordingError> {
        let io = |source| RecordingError::Io { path: path.to_owned(), source };
        let invalid = |reason| RecordingError::Invalid { path: path.to_owned(), reason };
        let file = BufReader::new(std::fs::File::open(path).map_err(io)?);
        let mut unpacked = GzDecoder::new(file).take(most);
        let parsed = Recording::parse(&mut unpacked);
        parsed.map_err(|reason| match unpacked.limit() {
            0 => invalid(format!("it unpacks to more than {} MiB, as no recording does", most >> 20)),
            _ => invalid(reason),
        })
    }

    /// The recording in `json`.
    pub(crate) fn parse(json: impl Read) -> Result<Self, String> {
        let file: File = serde_json::from_reader(BufReader::new(json)).map_err(|error| error.to_string())?;
        Recording::from_file(file).map_err(|error| error.to_string())
    }

    /// What is packed.
    #[cfg(test)]
    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.to_file()).unwrap()
    }

    /// Replaces the file at `path` in one step.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), RecordingError> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        let compressed =
            serde_json::to_writer(&mut gzip, &self.to_file()).map_err(Into::into).and_then(|()| gzip.finish());
        compressed
            .and_then(|bytes| files::replace(path, &bytes))
            .map_err(|source| RecordingError::Io { path: path.to_owned(), source })
    }

    fn from_file(file: File) -> Result<Self, ContentError> {
        let File { format, version, problem, arch, environment, gpu, method, schedules, shapes } = file;
        if (format.as_str(), version) != (format::FORMAT, format::VERSION) {
            return Err(ContentError::Version { format, version });
        }
        gpu.check()?;
        let schedules = columns::to_schedules(&schedules)?;
        let class = problem.class();
        let mut seen = HashSet::new();
        for (row, schedule) in schedules.iter().enumerate() {
            class.check(schedule, arch).map_err(|broken| ContentError::Rule { row, broken })?;
            if !seen.insert(schedule) {
                return Err(ContentError::Twice { row });
            }
        }
        let read = |table: Table| {
            let shape = class.ordered(&table.shape)?;
            read_table(Table { shape, ..table }, &schedules, method.samples)
        };
        let shapes = shapes.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Recording { problem, arch, environment, gpu, method, shapes })
    }

    fn to_file(&self) -> File {
        let mut rows: Vec<Schedule> = Vec::new();
        let mut row_of = HashMap::new();
        for (schedule, _) in self.shapes.iter().flat_map(|shape| &shape.rows) {
            row_of.entry(*schedule).or_insert_with(|| {
                rows.push(*schedule);
                rows.len() - 1
            });
        }
        File {
            format: format::FORMAT.to_owned(),
            version: format::VERSION,
            problem: self.problem.clone(),
            arch: self.arch,
            environment: self.environment.clone(),
            gpu: self.gpu.clone(),
            method: self.method.clone(),
            schedules: columns::from_schedules(rows.iter()),
            shapes: self.shapes.iter().map(|shape| write_table(shape, &row_of)).collect(),
        }
    }
}

fn read_table(table: Table, schedules: &[Schedule], samples: u32) -> Result<RecordedShape, ContentError> {
    let Table { shape, median_us, spread_pct, failures, failed, cublas } = table;
    for (name, column) in [("median_us", &median_us), ("spread_pct", &spread_pct)] {
        if column.len() != schedules.len() {
            let (rows, expected) = (column.len(), schedules.len());
            return Err(ColumnsError::Length { column: format!("{shape}: {name}"), rows, expected }.into());
        }
    }
    if let Some(Err(implausible)) = cublas.as_ref().map(Measurement::check) {
        return Err(ContentError::Cublas { shape: shape.to_string(), implausible });
    }
    let wrong = |row, reason: &str| ContentError::Row { shape: shape.to_string(), row, reason: reason.to_owned() };
    let mut reasons: HashMap<usize, &Failure> = HashMap::new();
    for [row, index] in failed {
        let failure = failures.get(index).ok_or_else(|| wrong(row, "its failure is not listed"))?;
        reasons.insert(row, failure);
    }
    let mut rows = Vec::new();
    for (row, schedule) in schedules.iter().enumerate() {
        let outcome = match (median_us[row], reasons.get(&row)) {
            (Some(us), None) => {
                let measured = Measurement::new(rounded(us / 1e3, 6), spread_pct[row].unwrap_or(0.0), samples);
                measured.check().map_err(|implausible| wrong(row, &implausible.to_string()))?;
                Outcome::Measured(measured)
            }
            (Some(_), Some(_)) => return Err(wrong(row, "it has both a time and a failure")),
            (None, Some(failure)) => Outcome::Failed((*failure).clone()),
            (None, None) => continue,
        };
        rows.push((*schedule, outcome));
    }
    Ok(RecordedShape { shape, rows, cublas })
}

fn write_table(recorded: &RecordedShape, row_of: &HashMap<Schedule, usize>) -> Table {
    let mut table = Table {
        shape: recorded.shape,
        median_us: vec![None; row_of.len()],
        spread_pct: vec![None; row_of.len()],
        failures: Vec::new(),
        failed: Vec::new(),
        cublas: recorded.cublas,
    };
    for (schedule, outcome) in &recorded.rows {
        let row = row_of[schedule];
        match outcome {
            Outcome::Measured(measurement) => {
                table.median_us[row] = Some(rounded(measurement.median_ms * 1e3, 4));
                table.spread_pct[row] = Some(rounded(measurement.spread_pct, 2));
            }
            Outcome::Failed(failure) => {
                let index = table.failures.iter().position(|known| known == failure).unwrap_or_else(|| {
                    table.failures.push(failure.clone());
                    table.failures.len() - 1
                });
                table.failed.push([row, index]);
            }
        }
    }
    table
}
