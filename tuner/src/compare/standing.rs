//! How a strategy fared on one recorded shape over all seeds.

use serde::Serialize;
use statrs::statistics::{Data, OrderStatistics};

use super::contest::{Arena, Course};

/// What counts as having found the optimum.
pub const ENOUGH: f64 = 0.98;
/// Where the courses are compared, in evaluations; the whole budget is always one more.
const CHECKPOINTS: [usize; 3] = [10, 20, 40];

/// A median with its quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// A quarter is at most this.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// A quarter is at least this.
    pub upper: f64,
}

impl Quartiles {
    /// Those of `values`, of which there must be one; by the estimator that is unbiased for the median (Hyndman, Fan
    /// 1996, type 8).
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut data = Data::new(values.into_iter().collect::<Vec<f64>>());
        Quartiles { lower: data.lower_quartile(), median: data.median(), upper: data.upper_quartile() }
    }
}

/// What was reached after so many evaluations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Checkpoint {
    /// Evaluations.
    pub evaluations: usize,
    /// The best time so far as a share of the optimum, in percent.
    pub optimum_pct: Quartiles,
}

/// How a strategy fared on one recorded shape over all seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// The recording.
    pub space: String,
    /// The problem class.
    pub problem: String,
    /// The shape.
    pub shape: String,
    /// How many schedules were recorded.
    pub schedules: usize,
    /// The fastest recorded time, in milliseconds.
    pub optimum_ms: f64,
    /// The strategy.
    pub strategy: String,
    /// What it reached after 10, 20, 40 and all evaluations.
    pub reached: Vec<Checkpoint>,
    /// Evaluations until 98 % of the optimum, the median over the seeds; none if most did not get there.
    pub evaluations_to_98_pct: Option<usize>,
    /// Simulated seconds until then, the median over the seeds.
    pub seconds_to_98_pct: Option<f64>,
    /// Share of the seeds that got there, in percent.
    pub seeds_at_98_pct: f64,
    /// Simulated seconds for all evaluations, the median over the seeds.
    pub seconds: f64,
    /// What the strategy had to say in any of its searches, each once.
    pub notices: Vec<String>,
}

impl Standing {
    /// The standing of `strategy` after `courses`, one a seed, of up to `evaluations` each.
    pub fn of(arena: &Arena, strategy: &str, courses: &[Course], evaluations: usize) -> Self {
        let optimum = arena.optimum_ms;
        let checkpoints = CHECKPOINTS.into_iter().filter(|&at| at < evaluations).chain([evaluations]);
        let reached = checkpoints.map(|evaluations| Checkpoint {
            evaluations,
            optimum_pct: Quartiles::of(courses.iter().map(|course| 100.0 * course.share(evaluations, optimum))),
        });
        let first = |course: &Course| course.evaluations_to(ENOUGH, optimum);
        let there = courses.iter().filter(|course| first(course).is_some()).count();
        let mut notices: Vec<String> = courses.iter().flat_map(|course| course.notices.clone()).collect();
        notices.sort();
        notices.dedup();
        Standing {
            space: arena.space.clone(),
            problem: arena.target.problem.class().slug(),
            shape: arena.target.shape.to_string(),
            schedules: arena.len(),
            optimum_ms: optimum,
            strategy: strategy.to_owned(),
            reached: reached.collect(),
            evaluations_to_98_pct: median_reached(courses, |course| Some(first(course)? as f64)).map(|at| at as usize),
            seconds_to_98_pct: median_reached(courses, |course| course.seconds.get(first(course)? - 1).copied()),
            seeds_at_98_pct: 100.0 * there as f64 / courses.len().max(1) as f64,
            seconds: Quartiles::of(courses.iter().map(|course| course.seconds.last().copied().unwrap_or(0.0))).median,
            notices,
        }
    }
}

/// The upper median of what courses took to get there, where those that never did took for ever.
fn median_reached(courses: &[Course], took: impl Fn(&Course) -> Option<f64>) -> Option<f64> {
    let mut all: Vec<f64> = courses.iter().map(|course| took(course).unwrap_or(f64::INFINITY)).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().filter(|took| took.is_finite())
}
