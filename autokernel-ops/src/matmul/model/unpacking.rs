//! What weights of few bits take of an SM, which makes floats of them before it multiplies.

use crate::matmul::problem::Class;
use crate::matmul::schedule::Schedule;

/// Numbers that an SM unpacks and multiplies in a nanosecond where little else holds it up.
struct Rate {
    /// Beside so many rows at most.
    rows: u32,
    /// By one warpgroup, and by two or more.
    of_4_bits: [f64; 2],
    of_8_bits: [f64; 2],
}

/// Of an H200: beside 16 rows kernels that load nothing, less what a launch of a short K takes (`docs/results/weights-h200/pieces.txt`); beside others
/// what makes the times of carried kernels (`docs/results/weights-h200/shown.txt`) of a prediction. Warps multiply up to 32 rows on their own.
const RATES: [Rate; 4] = [
    Rate { rows: 8, of_4_bits: [87.0, 90.0], of_8_bits: [60.0, 62.0] },
    Rate { rows: 16, of_4_bits: [72.0, 78.0], of_8_bits: [52.0, 55.0] },
    Rate { rows: 32, of_4_bits: [50.0, 55.0], of_8_bits: [40.0, 44.0] },
    Rate { rows: u32::MAX, of_4_bits: [40.0, 45.0], of_8_bits: [28.0, 32.0] },
];

/// Bytes of a number of the second factor.
pub(super) fn bytes_of_number(class: &Class) -> f64 {
    let dtype = class.of_b();
    f64::from(dtype.bytes()) / f64::from(dtype.numbers())
}

/// Numbers that an SM unpacks in a millisecond; without end where there is nothing to.
pub(super) fn numbers_per_ms(class: &Class, schedule: &Schedule) -> f64 {
    let (Some(weights), Schedule::Sm90(schedule)) = (class.weights, schedule) else { return f64::INFINITY };
    let rate = RATES.iter().find(|rate| schedule.tile_m <= rate.rows);
    let of_bits = |rate: &Rate| if weights.dtype.numbers() > 1 { rate.of_4_bits } else { rate.of_8_bits };
    rate.map_or(f64::INFINITY, |rate| of_bits(rate)[usize::from(schedule.consumers > 1)] * 1e6)
}
