//! What a measurement depends on beside its schedule.

use autokernel_codegen::headers;
use autokernel_codegen::problem::ProblemClass;
use serde::{Deserialize, Serialize};

use crate::group_sizes::GroupSizes;
use crate::objective::Objective;
use crate::regime::Regime;

/// Where a time was measured. Times from different environments are never taken for one another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// The GPU, as the driver names it.
    pub gpu: String,
    /// The driver's version.
    pub driver: String,
    /// nvcc's version.
    pub nvcc: String,
    /// Hash of the CUDA files that kernels are made of; see [`kernel_sources`].
    pub kernels: String,
    /// What the search made small: a schedule that was tried for one is tried again for the other.
    #[serde(default, skip_serializing_if = "Objective::is_time")]
    pub objective: Objective,
    /// How large the groups of grouped products were, which their extents do not say.
    #[serde(default, skip_serializing_if = "GroupSizes::is_zipf")]
    pub group_sizes: GroupSizes,
    /// In which state of the GPU schedules were timed: a schedule that was tried after a rest is tried again under load.
    #[serde(default, skip_serializing_if = "Regime::is_rest")]
    pub regime: Regime,
}

/// The hash of the CUDA files that this build makes kernels of `class` of, for [`Environment::kernels`]: 12 hexadecimal
/// digits. Files of other operations are not in it, so that theirs make no measurement old.
pub fn kernel_sources(class: &ProblemClass) -> String {
    headers::digest(&class.roots())
}

/// The day, `2026-01-31`.
pub fn today() -> String {
    day(&timestamp()).to_owned()
}

/// The day of a [`timestamp`].
pub fn day(timestamp: &str) -> &str {
    timestamp.split('T').next().unwrap_or(timestamp)
}

/// The time now, to the second: `2026-01-31T12:00:00Z`.
pub fn timestamp() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::problem::{Layout, Problem};
    use autokernel_codegen::rows;

    use super::*;

    #[test]
    fn each_operation_hashes_the_files_that_its_own_kernels_are_made_of() {
        let product = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).class();
        let function = syn::parse_str("fn double(x: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = x + x; }").unwrap();
        let row_wise = Problem::from(rows::problem(&function).unwrap()).class();
        let of_products = ["pad_rows.cuh", "skinny_sm80_matmul.cuh", "sm80_matmul.cuh", "sm90_matmul.cuh"];
        assert_eq!(kernel_sources(&product), headers::digest(&of_products), "and of no other factors");
        assert_eq!(kernel_sources(&row_wise), headers::digest(&["rows_elementwise.cuh"]));
        assert_ne!(kernel_sources(&product), kernel_sources(&row_wise));
    }
}
