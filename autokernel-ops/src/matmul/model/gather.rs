//! What a block takes to gather the rows of its tiles of A.

use crate::matmul::problem::Class;
use crate::matmul::schedule::Schedule;

/// Of a stage of an H200 whose rows threads copy in the place of TMA, whatever their number, and of each row: what makes the times of
/// carried tiles of up to 176 rows by 128 columns (`docs/results/batches-h200/gathered-turns-schedules.txt.gz`).
const STAGE_NS: f64 = 275.0;
const ROW_NS: f64 = 1.45;

/// The milliseconds of a stage; none where TMA brings it, and where threads copy rows anyway.
pub(super) fn ms_of_stage(class: &Class, schedule: &Schedule) -> f64 {
    match schedule {
        Schedule::Sm90(schedule) if class.gathers() => (STAGE_NS + ROW_NS * f64::from(schedule.tile_m)) * 1e-6,
        _ => 0.0,
    }
}
