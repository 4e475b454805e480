//! A schedule as numbers.
//!
//! Its own knobs come from its JSON, whatever they are called, so a new knob needs no line here. The others are what
//! arithmetic says of it at the shape: trees find thresholds in them that no single knob has.

use std::collections::BTreeSet;

use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;
use serde_json::Value;

use crate::llm::GpuFacts;
use crate::replay::columns::{self, Columns};
use crate::target::Target;

/// Turns schedules into rows of numbers, the same way for all.
#[derive(Clone, Debug)]
pub struct Encoder {
    knobs: Vec<Knob>,
}

/// How a leaf of the JSON becomes numbers.
#[derive(Clone, Debug)]
struct Knob {
    path: String,
    /// The words it takes, where it takes words: a column each.
    words: Vec<String>,
}

/// What stands for a knob that a family lacks.
const ABSENT: f64 = -1.0;

impl Encoder {
    /// An encoder for schedules like `schedules`. Knobs with a single value say nothing and are left out.
    pub fn new(schedules: &[Schedule]) -> Self {
        let columns = columns::from_schedules(schedules.iter());
        let varies = |values: &Vec<Value>| values.iter().any(|value| *value != values[0]);
        let knob = |(path, values): (&String, &Vec<Value>)| {
            let words: BTreeSet<&str> = values.iter().filter_map(Value::as_str).collect();
            Knob { path: path.clone(), words: words.into_iter().map(str::to_owned).collect() }
        };
        Encoder { knobs: columns.iter().filter(|(_, values)| varies(values)).map(knob).collect() }
    }

    /// A row for each of `schedules` at `target`; `prior` holds the logarithm of their predicted times.
    pub fn rows(&self, schedules: &[Schedule], target: &Target, gpu: &GpuFacts, prior: &[f64]) -> Vec<Vec<f64>> {
        let columns = columns::from_schedules(schedules.iter());
        let class = target.problem.class();
        let row = |(index, schedule): (usize, &Schedule)| {
            let mut row = self.knobs(&columns, index);
            row.extend(derived(schedule, target, &class, gpu));
            row.push(prior[index]);
            row
        };
        schedules.iter().enumerate().map(row).collect()
    }

    fn knobs(&self, columns: &Columns, index: usize) -> Vec<f64> {
        let mut row = Vec::new();
        for knob in &self.knobs {
            let value = columns.get(&knob.path).map_or(&Value::Null, |values| &values[index]);
            if knob.words.is_empty() {
                row.push(number(value));
            } else {
                row.extend(knob.words.iter().map(|word| f64::from(u8::from(value.as_str() == Some(word)))));
            }
        }
        row
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Bool(value) => f64::from(u8::from(*value)),
        value => value.as_f64().unwrap_or(ABSENT),
    }
}

/// What arithmetic says of `schedule` at the shape.
fn derived(schedule: &Schedule, target: &Target, class: &ProblemClass, gpu: &GpuFacts) -> [f64; 14] {
    let geometry = schedule.geometry(class);
    let (m, n, k) = (f64::from(target.shape.m), f64::from(target.shape.n), f64::from(target.shape.k));
    let (tile_m, tile_n) = (f64::from(geometry.tile_m), f64::from(geometry.tile_n));
    let (rows, columns) = ((m / tile_m).ceil(), (n / tile_n).ceil());
    let (cluster_m, cluster_n) = (f64::from(geometry.cluster_m), f64::from(geometry.cluster_n));
    let sms = f64::from(gpu.sm_count);
    let waves = rows * columns / sms;
    let area = tile_m * tile_n;
    let stage = f64::from(geometry.tile_k) * (tile_m + tile_n) * f64::from(target.problem.input.bytes());
    let loaded = (tile_m / cluster_n + tile_n / cluster_m) * k;
    let ring = f64::from(geometry.shared_bytes) / stage;
    let group = f64::from(geometry.raster.group);
    [
        waves,
        waves.ceil() - waves, // how empty the last wave is
        waves.ceil(),
        area,
        tile_m / tile_n,
        loaded / area,                      // elements loaded for each element of C and K
        area / f64::from(geometry.threads), // accumulators, about
        f64::from(geometry.shared_bytes),
        ring, // stages, whatever the family calls them
        f64::from(geometry.threads),
        rows * tile_m * columns * tile_n / (m * n), // padding
        cluster_m * cluster_n,
        group * tile_m, // rows or columns that a group of tiles covers
        group * tile_n,
    ]
}
