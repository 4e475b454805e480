//! What a recording's file holds: columns, so that gzip finds what repeats.

use std::collections::BTreeMap;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::problem::Problem;
use autokernel_core::Extents;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::method::Method;
use crate::environment::Environment;
use crate::gpu_facts::GpuFacts;
use crate::outcome::{Failure, Measurement};

/// What the file says it is.
pub const FORMAT: &str = "autokernel-space";
/// The version that this crate reads and writes.
pub const VERSION: u32 = 1;

/// The whole file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
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
    /// The schedules, a column a knob by its name (`raster_group`); `null` where a family lacks the knob.
    pub schedules: BTreeMap<String, Vec<Value>>,
    /// The measurements, a table a shape.
    pub shapes: Vec<Table>,
}

/// The measurements at one shape. Row i is schedule i.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The shape.
    pub shape: Extents,
    /// Median time in microseconds, to four digits; `null` where there is none.
    pub median_us: Vec<Option<f64>>,
    /// Interquartile range over median in percent, to two digits; `null` where there is no time.
    pub spread_pct: Vec<Option<f64>>,
    /// The distinct reasons for which schedules failed here.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// `[row, index into failures]`; a row with neither time nor failure was not tried.
    #[serde(default)]
    pub failed: Vec<[usize; 2]>,
    /// cuBLAS with the epilogue as a kernel of its own, at the same shape in the same session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cublas: Option<Measurement>,
}

/// `value` to `digits` significant digits.
pub fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = digits - 1 - value.abs().log10().floor() as i32;
    // Through text: scaling by a power of ten and back would leave 4.3500000000000005.
    if places >= 0 {
        return format!("{value:.0$}", places as usize).parse().unwrap_or(value);
    }
    let unit = 10f64.powi(-places);
    (value / unit).round() * unit
}
