//! How a final went.

use autokernel_codegen::schedule::Schedule;

use super::incumbent::Incumbent;
use super::verdict::Verdict;
use crate::evaluate::{Final, FinalTime};
use crate::trial::Trial;

/// How a search's final went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the build would use today.
    pub incumbent: Incumbent,
    /// Its time.
    pub incumbent_time: Final,
    /// The time of the safe default.
    pub default_time: Final,
    /// The time of cuBLAS with the epilogue as a kernel of its own.
    pub cublas_time: Final,
    /// The fastest of the search, measured again; `None` if the search found nothing that works.
    pub winner: Option<(Trial, FinalTime)>,
    /// The schedules of the search that met.
    pub finalists: Vec<Schedule>,
    /// Rounds of the last leg; `None` if recorded times were looked up.
    pub rounds: Option<u32>,
    /// Whether the winner replaces the incumbent, and why.
    pub verdict: Verdict,
}
