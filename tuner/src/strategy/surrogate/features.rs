//! A schedule as numbers.
//!
//! Its own knobs come from its JSON, whatever they are called, so a new knob needs no line here. The others are what
//! arithmetic says of it at the shape: trees find thresholds in them that no single knob has.

use std::collections::BTreeSet;

use autokernel_codegen::matmul::problem::OfProducts;
use autokernel_codegen::matmul::sizes;
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;
use serde_json::Value;

use crate::columns::Columns;
use crate::gpu_facts::GpuFacts;
use crate::placement::placement;
use crate::strategy::brief::Brief;
use crate::target::Target;

/// How a leaf of the JSON becomes numbers.
struct Knob<'c> {
    values: &'c [Value],
    /// The words it takes, where it takes words: a column each.
    words: BTreeSet<&'c str>,
}

/// What stands for a knob that a family lacks.
const ABSENT: f64 = -1.0;

/// A row for each of `schedules`, whose JSON `columns` holds; `prior` is the logarithm of their predicted times. Knobs
/// with a single value say nothing and are left out.
pub fn rows(columns: &Columns, schedules: &[Schedule], brief: &Brief, prior: &[f64]) -> Vec<Vec<f64>> {
    let class = brief.target.problem.class();
    let varying = columns.values().filter(|values| values.iter().any(|value| *value != values[0]));
    let knobs: Vec<Knob> =
        varying.map(|values| Knob { values, words: values.iter().filter_map(Value::as_str).collect() }).collect();
    let row = |(index, schedule): (usize, &Schedule)| {
        let mut row = Vec::new();
        knobs.iter().for_each(|knob| knob.push(index, &mut row));
        row.extend(derived(schedule, &brief.target, &class, &brief.gpu));
        row.push(prior[index]);
        row
    };
    schedules.iter().enumerate().map(row).collect()
}

impl Knob<'_> {
    fn push(&self, index: usize, row: &mut Vec<f64>) {
        let value = &self.values[index];
        if self.words.is_empty() {
            row.push(number(value));
        }
        row.extend(self.words.iter().map(|&word| f64::from(u8::from(value.as_str() == Some(word)))));
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
    let [m, n, k] = sizes(&target.shape).map(f64::from);
    let (tile_m, tile_n) = (f64::from(geometry.tile_m), f64::from(geometry.tile_n));
    let (rows, columns) = ((m / tile_m).ceil(), (n / tile_n).ceil());
    let (cluster_m, cluster_n) = (f64::from(geometry.cluster_m), f64::from(geometry.cluster_n));
    let waves = placement(schedule, class, target.shape, gpu.sm_count, 1).waves;
    let area = tile_m * tile_n;
    let stage = f64::from(geometry.tile_k) * (tile_m + tile_n) * f64::from(class.products().input.bytes());
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::columns;
    use crate::strategy::tests::brief;

    #[test]
    fn a_knob_that_the_code_does_not_know_becomes_a_column() {
        let brief = brief();
        let schedules = [brief.space[0]; 4];
        let mut columns = columns::from_schedules(schedules.iter());
        let before = rows(&columns, &schedules, &brief, &[0.0; 4]);
        assert!(before.iter().all(|row| *row == before[0]));
        columns.insert("swap_ab".to_owned(), vec![json!(true), json!(false), json!(true), json!(true)]);
        columns.insert("split.how".to_owned(), vec![json!("serial"), json!("serial"), json!("stream"), Value::Null]);
        columns.insert("constant".to_owned(), vec![json!(3); 4]);
        let after = rows(&columns, &schedules, &brief, &[0.0; 4]);
        assert_eq!(after[0].len(), before[0].len() + 1 + 2, "a flag, and a column for each of two words");
        for (index, row) in after.iter().enumerate() {
            assert!(after[..index].iter().all(|other| other != row), "row {index} is like an earlier one");
        }
    }

    #[test]
    fn every_feature_is_a_finite_number() {
        let brief = brief();
        let columns = columns::from_schedules(brief.space.iter());
        let rows = rows(&columns, &brief.space, &brief, &vec![0.0; brief.space.len()]);
        assert!(rows.iter().flatten().all(|value| value.is_finite()));
        assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    }
}
