//! The CUDA files that kernels begin with.

use std::collections::BTreeSet;

use autokernel_core::Dtype;

use super::many::Many;
use super::problem::Class;
use super::schedule::Schedule;

/// All of them; the reference's is none of them.
pub const ROOTS: [&str; 11] = [
    SM80.product,
    SM80.batch,
    SM80.groups,
    SM90.product,
    SM90.batch,
    SM90.groups,
    PAD_ROWS,
    PAD_BYTE_ROWS,
    INT8,
    TF32,
    WEIGHTS,
];

const PAD_ROWS: &str = "pad_rows.cuh";
const PAD_BYTE_ROWS: &str = "pad_byte_rows.cuh";
const INT8: &str = "sm90_int8.cuh";
const WEIGHTS: &str = "sm90_weights.cuh";
const TF32: &str = "ptx/sm90_wgmma_tf32.cuh";

/// Those of a family.
struct OfFamily {
    product: &'static str,
    /// What says how many products are walked over.
    batch: &'static str,
    groups: &'static str,
}

const SM80: OfFamily = OfFamily { product: "sm80_matmul.cuh", batch: "sm80_batch.cuh", groups: "sm80_groups.cuh" };
const SM90: OfFamily = OfFamily { product: "sm90_matmul.cuh", batch: "sm90_batch.cuh", groups: "sm90_groups.cuh" };

/// Those of the kernel that computes products of `class` by `schedule`, in the order in which it includes them.
pub fn of_kernel(class: &Class, schedule: &Schedule) -> Vec<&'static str> {
    match schedule {
        Schedule::Sm80(_) => SM80.of_class(class),
        Schedule::Sm90(_) => SM90.of_class(class),
    }
}

/// Those of any kernel of `class`.
pub fn of_class(class: &Class) -> Vec<&'static str> {
    let all: BTreeSet<_> = [SM80, SM90].iter().flat_map(|family| family.of_class(class)).collect();
    all.into_iter().collect()
}

impl OfFamily {
    fn of_class(&self, class: &Class) -> Vec<&'static str> {
        // That of the factors' type comes first: templates find it declared.
        let of_input = match class.input {
            Dtype::I8 => Some(INT8),
            Dtype::F32 => Some(TF32),
            Dtype::Bf16 | Dtype::F16 | Dtype::E4m3 | Dtype::E5m2 | Dtype::I4x2 | Dtype::I32 => None,
        };
        let of_many = match class.many() {
            Many::One => None,
            Many::Batch => Some(self.batch),
            Many::Groups => Some(self.groups),
        };
        let of_weights = class.weights.map(|_| WEIGHTS);
        let bytes = class.weights.map_or(class.input, |weights| weights.dtype).bytes();
        let pads = if bytes == 1 { PAD_BYTE_ROWS } else { PAD_ROWS };
        of_input.into_iter().chain([self.product]).chain(of_weights).chain(of_many).chain([pads]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::problem::{Layout, Problem};

    #[test]
    fn a_class_begins_with_the_files_of_its_own_factors_alone() {
        let roots = |input| of_class(&Problem::new(input, Layout::Nt, "identity".parse().unwrap()).class());
        assert_eq!(roots(Dtype::Bf16), ["pad_rows.cuh", "sm80_matmul.cuh", "sm90_matmul.cuh"]);
        assert_eq!(roots(Dtype::E4m3), ["pad_byte_rows.cuh", "sm80_matmul.cuh", "sm90_matmul.cuh"]);
        assert_eq!(roots(Dtype::I8), ["pad_byte_rows.cuh", "sm80_matmul.cuh", "sm90_int8.cuh", "sm90_matmul.cuh"]);
    }
}
