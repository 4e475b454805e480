//! What a recording has measured so far, line by line, so that it can go on where it was stopped.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::outcome::{Measurement, Outcome};

/// What all lines of a log have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// What is measured.
    pub problem: Problem,
    /// For which target.
    pub arch: Arch,
    /// Where.
    pub environment: Environment,
}

/// One line after the header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "snake_case")]
pub enum Line {
    /// A schedule that was tried.
    Schedule {
        /// At which shape.
        shape: Extents,
        /// Which.
        schedule: Schedule,
        /// What became of it.
        outcome: Outcome,
    },
    /// cuBLAS.
    Cublas {
        /// At which shape.
        shape: Extents,
        /// Its time.
        measurement: Measurement,
    },
}

/// The log of a recording.
#[derive(Debug)]
pub struct Log {
    file: File,
    /// What was tried, by shape.
    pub rows: HashMap<Extents, HashMap<Schedule, Outcome>>,
    /// cuBLAS, by shape.
    pub cublas: HashMap<Extents, Measurement>,
}

/// A log that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It cannot be read or written.
    #[error("{}: {source}; check that the folder is there and writable", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It belongs to another recording.
    #[error(
        "{} holds measurements of another problem, GPU, driver, nvcc or kernel; delete it, or record to another --out",
        .0.display()
    )]
    Other(PathBuf),
}

impl Log {
    /// Opens the log at `path`, or begins it. A last line that a crash cut short is dropped.
    ///
    /// # Errors
    /// It cannot be read or written, or is another recording's.
    pub fn open(path: &Path, header: &Header) -> Result<Self, LogError> {
        let io = |source| LogError::Io { path: path.to_owned(), source };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        let mut log = Log { file: file.try_clone().map_err(io)?, rows: HashMap::new(), cublas: HashMap::new() };
        let mut whole = 0;
        let mut reader = BufReader::new(&mut file);
        let mut line = String::new();
        while reader.read_line(&mut line).map_err(io)? > 0 && line.ends_with('\n') {
            if whole == 0 {
                if serde_json::from_str::<Header>(&line).ok().as_ref() != Some(header) {
                    return Err(LogError::Other(path.to_owned()));
                }
            } else if let Ok(line) = serde_json::from_str(&line) {
                log.remember(line);
            }
            whole += line.len() as u64;
            line.clear();
        }
        drop(reader);
        file.set_len(whole).map_err(io)?;
        log.file.seek(std::io::SeekFrom::End(0)).map_err(io)?;
        if whole == 0 {
            log.write(header).map_err(io)?;
        }
        Ok(log)
    }

    /// Appends a line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, line: Line) -> std::io::Result<()> {
        self.write(&line)?;
        self.remember(line);
        Ok(())
    }

    fn write(&mut self, line: &impl Serialize) -> std::io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)
    }

    fn remember(&mut self, line: Line) {
        match line {
            Line::Schedule { shape, schedule, outcome } => {
                self.rows.entry(shape).or_default().insert(schedule, outcome);
            }
            Line::Cublas { shape, measurement } => {
                self.cublas.insert(shape, measurement);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::Layout;

    use super::*;

    const SHAPE: Extents = extents(1, 2, 3);

    fn header(gpu: &str) -> Header {
        let text = |text: &str| text.to_owned();
        Header {
            problem: Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()),
            arch: Arch::SM_90A,
            environment: Environment {
                gpu: text(gpu),
                driver: text("1"),
                nvcc: text("13"),
                kernels: text("0"),
                objective: Default::default(),
                group_sizes: Default::default(),
                regime: Default::default(),
            },
        }
    }

    fn line(arch: Arch, ms: f64) -> Line {
        let schedule = header("").problem.class().default_schedule(arch);
        Line::Schedule { shape: SHAPE, schedule, outcome: Outcome::Measured(Measurement::new(ms, 0.5, 10)) }
    }

    #[test]
    fn what_was_measured_is_there_after_a_crash_in_the_middle_of_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("space.log");
        let mut log = Log::open(&path, &header("H200")).unwrap();
        log.append(line(Arch::SM_90A, 1.0)).unwrap();
        drop(log);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"row\":\"schedule\",\"sha").unwrap();

        let mut log = Log::open(&path, &header("H200")).unwrap();
        assert_eq!(log.rows[&SHAPE].len(), 1);
        log.append(line(Arch::SM_80, 2.0)).unwrap();
        assert_eq!(Log::open(&path, &header("H200")).unwrap().rows[&SHAPE].len(), 2);
    }

    #[test]
    fn a_log_of_another_gpu_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("space.log");
        drop(Log::open(&path, &header("H200")).unwrap());
        assert!(matches!(Log::open(&path, &header("A100")), Err(LogError::Other(_))));
    }
}
