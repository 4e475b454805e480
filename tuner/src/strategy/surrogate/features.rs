//! A schedule as numbers.
//!
//! Its own knobs come from its family's table, whatever they mean. The others are what arithmetic says of it at the
//! shape: trees find thresholds in them that no single knob has.

use std::collections::BTreeSet;

use autokernel_codegen::knob::Kind;
use autokernel_codegen::matmul::{self, sizes};
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::{Family, Schedule};

use crate::gpu_facts::GpuFacts;
use crate::knobs::Column;
use crate::placement::placement;
use crate::strategy::brief::Brief;
use crate::target::Target;

/// How a knob becomes numbers.
enum Numbers<'c> {
    /// Its value.
    Value(&'c [Option<u16>]),
    /// Whether it has each of the named values that occur.
    Names(&'c [Option<u16>], BTreeSet<u16>),
}

/// What stands for a knob that a family lacks.
const ABSENT: f64 = -1.0;

/// A row for each of `schedules`, whose knobs `columns` holds; `prior` is the logarithm of their predicted times. Knobs
/// with a single value say nothing and are left out.
pub fn rows(columns: &[Column], schedules: &[Schedule], brief: &Brief, prior: &[f64]) -> Vec<Vec<f64>> {
    let class = brief.target.problem.class();
    let varying = columns.iter().filter(|column| column.codes.iter().any(|code| *code != column.codes[0]));
    let knobs: Vec<Numbers<'_>> = varying.map(Numbers::of).collect();
    let families: BTreeSet<Family> = schedules.iter().map(|schedule| schedule.family()).collect();
    let row = |(index, schedule): (usize, &Schedule)| {
        let mut row = Vec::new();
        if families.len() > 1 {
            row.extend(families.iter().map(|family| truth(*family == schedule.family())));
        }
        knobs.iter().for_each(|knob| knob.push(index, &mut row));
        row.extend(derived(schedule, &brief.target, &class, &brief.gpu));
        row.push(prior[index]);
        row
    };
    schedules.iter().enumerate().map(row).collect()
}

impl<'c> Numbers<'c> {
    fn of(column: &'c Column) -> Self {
        match column.knob.kind {
            Kind::Number | Kind::Flag => Numbers::Value(&column.codes),
            Kind::Choice(_) => Numbers::Names(&column.codes, column.codes.iter().flatten().copied().collect()),
        }
    }

    fn push(&self, index: usize, row: &mut Vec<f64>) {
        match self {
            Numbers::Value(codes) => row.push(codes[index].map_or(ABSENT, f64::from)),
            Numbers::Names(codes, known) => row.extend(known.iter().map(|code| truth(codes[index] == Some(*code)))),
        }
    }
}

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// What arithmetic says of `schedule` at the shape.
fn derived(schedule: &Schedule, target: &Target, class: &ProblemClass, gpu: &GpuFacts) -> Vec<f64> {
    let waves = placement(schedule, class, target.shape, gpu.sm_count, 1).waves;
    let (Some(product), Ok(typed)) = (target.problem.as_product(), matmul::Schedule::try_from(schedule)) else {
        return vec![waves, waves.ceil() - waves, waves.ceil()];
    };
    let geometry = typed.geometry(&product.class());
    let [m, n, k] = sizes(&target.shape).map(f64::from);
    let (tile_m, tile_n) = (f64::from(geometry.tile_m), f64::from(geometry.tile_n));
    let of_c = f64::from(geometry.columns);
    let (rows, columns) = ((m / tile_m).ceil(), (n / of_c).ceil());
    let (cluster_m, cluster_n) = (f64::from(geometry.cluster_m), f64::from(geometry.cluster_n));
    let area = tile_m * tile_n;
    let stage = f64::from(geometry.tile_k) * (tile_m + tile_n) * f64::from(product.input.bytes());
    let loaded = (tile_m / cluster_n + tile_n / cluster_m) * k;
    let ring = f64::from(geometry.shared_bytes) / stage;
    let group = f64::from(geometry.raster.group);
    vec![
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
        rows * tile_m * columns * of_c / (m * n), // padding
        cluster_m * cluster_n,
        group * tile_m, // rows or columns that a group of tiles covers
        group * of_c,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs;
    use crate::strategy::tests::brief;

    #[test]
    fn a_knob_that_varies_is_a_number_or_one_for_each_of_its_names_that_occur() {
        let brief = brief();
        let base = brief.space[0];
        let width = |schedules: &[Schedule]| {
            let rows = rows(&knobs::columns(schedules), schedules, &brief, &vec![0.0; schedules.len()]);
            for (index, row) in rows.iter().enumerate() {
                assert!(rows[..index].iter().all(|other| other != row), "row {index} is like an earlier one");
            }
            rows[0].len()
        };
        let alone = width(&[base]);
        assert_eq!(width(&[base, base.with("swap_ab", 1).unwrap()]), alone + 1, "a flag");
        assert_eq!(width(&[base, base.with("stages", 7).unwrap()]), alone + 1, "a number");
        assert_eq!(width(&[base, base.with("mode", 1).unwrap()]), alone + 2, "two names");
    }

    #[test]
    fn every_feature_is_a_finite_number_also_of_several_families() {
        let brief = brief();
        let other = brief.target.problem.class().default_schedule(autokernel_codegen::arch::Arch::SM_80);
        let schedules: Vec<Schedule> = brief.space.iter().copied().chain([other]).collect();
        let rows = rows(&knobs::columns(&schedules), &schedules, &brief, &vec![0.0; schedules.len()]);
        assert!(rows.iter().flatten().all(|value| value.is_finite()));
        assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    }
}
