//! The launch log that a program writes with `AUTOKERNEL_RECORD`.

use std::path::{Path, PathBuf};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::problem::Problem;
use autokernel_core::Extents;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::error::DemandError;

/// A launch log. Its lines add up: each program, thread and second writes its own.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchLog {
    /// The file.
    pub path: PathBuf,
    /// Its launches, equal ones summed, in the order of their first lines.
    pub launches: Vec<Launches>,
    /// The first line that is no launch, and how many there are.
    broken: Option<(usize, String, usize)>,
}

/// The launches of one kernel at one shape.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Launches {
    /// The function that was called.
    pub kernel: String,
    /// What it computes.
    pub problem: LoggedProblem,
    /// At which shape.
    pub shape: Extents,
    /// The arch of the GPU; none on a CPU, or on a GPU that this version does not know.
    #[serde(default, deserialize_with = "known_arch")]
    pub arch: Option<Arch>,
    /// How often.
    pub count: u64,
}

/// A problem as the runtime logged it: the fields that the attribute's build wrote, which this version may not know.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct LoggedProblem(Map<String, Value>);

/// How the fields of dimensions that are compiled in begin.
const KNOWN: &str = "known_";

impl LaunchLog {
    /// Reads the log at `path`. A line that is no launch, such as one cut short by a full disk, is left out; see
    /// [`note`](Self::note).
    ///
    /// # Errors
    /// The file cannot be read, or holds no launch.
    pub fn load(path: &Path) -> Result<Self, DemandError> {
        let path = path.to_owned();
        // Read as bytes: a damaged line must not cost the others.
        let bytes = std::fs::read(&path).map_err(|source| DemandError::LaunchLog { path: path.clone(), source })?;
        let text = String::from_utf8_lossy(&bytes);
        let mut log = LaunchLog { path, launches: Vec::new(), broken: None };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str(line) {
                Ok(launches) => log.add(launches),
                Err(error) => log.broken.get_or_insert_with(|| (number + 1, error.to_string(), 0)).2 += 1,
            }
        }
        if log.launches.is_empty() {
            let reason = log.broken.map(|(line, error, _)| format!(" (line {line}: {error})")).unwrap_or_default();
            return Err(DemandError::NoLaunches { path: log.path, reason });
        }
        Ok(log)
    }

    fn add(&mut self, new: Launches) {
        let same = |known: &&mut Launches| known.is_of(&new);
        match self.launches.iter_mut().find(same) {
            Some(known) => known.count = known.count.saturating_add(new.count),
            None => self.launches.push(new),
        }
    }

    /// What was left out, if anything was.
    pub fn note(&self) -> Option<String> {
        let (line, error, count) = self.broken.as_ref()?;
        let path = self.path.display();
        Some(format!("{path}:{line}: {error}; {count} lines that are no launches are left out"))
    }
}

impl Launches {
    fn is_of(&self, other: &Launches) -> bool {
        (&self.kernel, &self.problem, self.shape, self.arch) == (&other.kernel, &other.problem, other.shape, other.arch)
    }
}

impl LoggedProblem {
    /// Whether this is `problem`.
    pub fn is(&self, problem: &Problem) -> bool {
        written(problem) == self.0
    }

    /// Whether this is `problem`, whatever dimensions either has compiled in.
    pub fn is_up_to_dimensions(&self, problem: &Problem) -> bool {
        let free = |mut fields: Map<String, Value>| {
            fields.retain(|name, _| !name.starts_with(KNOWN));
            fields
        };
        free(written(problem)) == free(self.0.clone())
    }

    /// The problem, if all its parts are built in.
    ///
    /// # Errors
    /// Which part is not.
    pub fn problem(&self) -> Result<Problem, String> {
        serde_json::from_value(Value::Object(self.0.clone())).map_err(|error| error.to_string())
    }
}

/// As a log has it: read back from its text, in which an `f32` has its own digits and not those of the `f64` that it is.
fn written(problem: &Problem) -> Map<String, Value> {
    let text = serde_json::to_string(problem).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn known_arch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arch>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.and_then(|name| name.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use autokernel_codegen::matmul::sizes;

    fn line(m: u32, arch: &str, count: u64) -> String {
        format!(
            r#"{{"kernel":"up","problem":{{"operation":"matmul","input":"bf16","output":"bf16","layout":"nt","epilogue":"gelu","known_n":8}},"shape":{{"m":{m},"n":8,"k":4}},"arch":{arch},"entry":null,"count":{count}}}"#
        )
    }

    fn load(text: &str) -> Result<LaunchLog, DemandError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shapes.jsonl");
        std::fs::write(&path, text).unwrap();
        LaunchLog::load(&path)
    }

    #[test]
    fn lines_of_the_same_launch_add_up() {
        let lines = [line(1, "null", 2), line(9, "null", 5), line(1, "null", 40), line(1, "\"sm_90a\"", 100)];
        let log = load(&lines.join("\n")).unwrap();
        let counts: Vec<_> =
            log.launches.iter().map(|launches| (sizes(&launches.shape)[0], launches.arch, launches.count)).collect();
        assert_eq!(counts, [(1, None, 42), (9, None, 5), (1, Some(Arch::SM_90A), 100)]);
        assert_eq!(log.note(), None);
    }

    #[test]
    fn a_body_is_known_again_by_its_constants_whatever_digits_they_have() {
        let problem = |constant: &str| {
            let function = format!(
                "fn norm(x: &Matrix<f32>, out: &mut Matrix<f32>) {{ out = x / (row_mean(x * x) + {constant}); }}"
            );
            Problem::from(autokernel_codegen::rows::problem(&syn::parse_str(&function).unwrap()).unwrap())
        };
        for (constant, other) in [("1e-6", "2e-6"), ("0.7", "0.70001"), ("448.0", "449.0")] {
            let json = serde_json::to_string(&problem(constant)).unwrap();
            let line = format!(
                r#"{{"kernel":"norm","problem":{json},"shape":{{"rows":1,"columns":2}},"arch":null,"count":1}}"#
            );
            let log = load(&line).unwrap();
            let logged = &log.launches[0].problem;
            assert!(logged.is(&problem(constant)) && logged.is_up_to_dimensions(&problem(constant)), "{constant}");
            assert!(!logged.is(&problem(other)), "{constant}");
        }
    }

    #[test]
    fn a_line_that_is_cut_short_costs_no_other_and_is_named() {
        let whole = line(1, "null", 2);
        let log = load(&format!("{}\n\n{whole}\n\u{1}\n{whole}", &whole[..40])).unwrap();
        assert_eq!(log.launches[0].count, 4);
        let note = log.note().unwrap();
        assert!(note.contains("shapes.jsonl:1: ") && note.contains("2 lines"), "{note}");
    }

    #[test]
    fn a_log_without_launches_says_how_to_record_one() {
        for text in ["", "\n", "not JSON"] {
            let message = load(text).unwrap_err().to_string();
            assert!(message.contains("AUTOKERNEL_RECORD="), "{message}");
        }
        let message = LaunchLog::load(Path::new("not/there.jsonl")).unwrap_err().to_string();
        assert!(message.contains("AUTOKERNEL_RECORD=not/there.jsonl"), "{message}");
    }

    #[test]
    fn a_gpu_that_this_version_does_not_know_is_no_reason_to_drop_its_launches() {
        let log = load(&line(1, "\"sm_75\"", 2)).unwrap();
        assert_eq!((log.launches[0].arch, log.launches[0].count), (None, 2));
    }
}
