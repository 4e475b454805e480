//! The CUDA files that kernels begin with.

use std::collections::BTreeSet;

use autokernel_core::Dtype;

use super::many::Many;
use super::problem::Class;
use super::schedule::Schedule;
use super::{skinny, sm90};
use crate::body::FP8;

/// All of them; the reference's is none of them.
pub const ROOTS: [&str; 39] = [
    SM80.product,
    SM80.batch,
    SM80.groups,
    SM80.groups_along_k,
    SKINNY,
    SM90.product,
    SM90.batch,
    SM90.groups,
    SM90.groups_along_k,
    PAD_ROWS,
    PAD_BYTE_ROWS,
    FP8_OUTPUT,
    INT8_OUTPUT,
    FP8_SM80,
    FP8_PAIRS_SM80,
    FP8_PAIRS_SM90,
    INT8_SM80,
    INT8_SM90,
    TF32_SM80,
    TF32_SM90,
    WEIGHTS_SM80,
    WEIGHTS_SM90,
    WEIGHTS_OF_MANY,
    BLOCK_SCALES,
    BLOCK_SCALES_OF_MANY,
    ROTATED,
    REPEATED,
    ROTATED_SM90,
    SCALED,
    SCALED_SM90,
    HEIGHTS,
    JOINED,
    UNSTORED,
    REDUCED_SM90,
    UNSTORED_SM90,
    UNSTORED_SM80,
    OPERAND_LOAD,
    GATHER_SM80,
    GATHER_SM90,
];

const SKINNY: &str = "skinny_sm80_matmul.cuh";
const PAD_ROWS: &str = "pad_rows.cuh";
const PAD_BYTE_ROWS: &str = "pad_byte_rows.cuh";
const FP8_OUTPUT: &str = "fp8.cuh";
const INT8_OUTPUT: &str = "int8_output.cuh";
const FP8_SM80: &str = "sm80_fp8.cuh";
const FP8_PAIRS_SM80: &str = "sm80_fp8_pairs.cuh";
const FP8_PAIRS_SM90: &str = "ptx/sm90_wgmma_fp8_pairs.cuh";
const INT8_SM80: &str = "sm80_int8.cuh";
const INT8_SM90: &str = "sm90_int8.cuh";
const WEIGHTS_SM80: &str = "sm80_weights.cuh";
const WEIGHTS_SM90: &str = "sm90_weights.cuh";
const WEIGHTS_OF_MANY: &str = "sm90_weights_batch.cuh";
const BLOCK_SCALES: &str = "sm90_block_scales.cuh";
const BLOCK_SCALES_OF_MANY: &str = "sm90_block_scales_batch.cuh";
const HEIGHTS: &str = "sm90_heights.cuh";
const TF32_SM80: &str = "sm80_tf32.cuh";
const TF32_SM90: &str = "ptx/sm90_wgmma_tf32.cuh";
const ROTATED: &str = "body_rotated.cuh";
const REPEATED: &str = "body_repeated.cuh";
const ROTATED_SM90: &str = "sm90_rotated.cuh";
const SCALED: &str = "body_scaled.cuh";
const SCALED_SM90: &str = "sm90_scaled.cuh";

const JOINED: &str = "body_joined.cuh";
const UNSTORED: &str = "body_unstored.cuh";
const REDUCED_SM90: &str = "sm90_reduced.cuh";
const UNSTORED_SM90: &str = "sm90_unstored.cuh";
const UNSTORED_SM80: &str = "sm80_unstored.cuh";
const OPERAND_LOAD: &str = "sm90_operand_load.cuh";
const GATHER_SM80: &str = "sm80_gather.cuh";
const GATHER_SM90: &str = "sm90_gather.cuh";

/// On which side of the product a file stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Behind,
}

/// Those of a family.
struct OfFamily {
    product: &'static str,
    /// What says how factors of a type are multiplied, where the product does not.
    elements: fn(&Class) -> Option<&'static str>,
    /// What says how weights of few bits are multiplied, and whether the product finds that declared.
    weights: (&'static str, Side),
    /// What says how elements that see partners are stored, where the product does not.
    rotated: Option<&'static str>,
    /// What says how an output is stored whose scales the kernel makes.
    scaled: Option<&'static str>,
    /// What says how rows are reduced where K is 0, if there are pairs of numbers or no C.
    reduced: Option<&'static str>,
    /// What leaves C out.
    unstored: &'static str,
    /// What brings a matrix that a body reads.
    operand_load: Option<&'static str>,
    /// What brings a first factor whose rows an index picks.
    gather: &'static str,
    /// What says how many products are walked over.
    batch: &'static str,
    groups: &'static str,
    groups_along_k: &'static str,
    /// Whether a C that is not aligned has a stand-in, but where the device alone knows which rows it has.
    realigns_c: bool,
}

const SM80: OfFamily = OfFamily {
    product: "sm80_matmul.cuh",
    elements: |class| match class.input {
        Dtype::I8 => Some(INT8_SM80),
        Dtype::F32 => Some(TF32_SM80),
        Dtype::E4m3 | Dtype::E5m2 if class.second.is_some() => Some(FP8_PAIRS_SM80),
        Dtype::E4m3 | Dtype::E5m2 => Some(FP8_SM80),
        _ => None,
    },
    weights: (WEIGHTS_SM80, Side::Before),
    rotated: None,
    scaled: None,
    reduced: None,
    unstored: UNSTORED_SM80,
    operand_load: None,
    gather: GATHER_SM80,
    batch: "sm80_batch.cuh",
    groups: "sm80_groups.cuh",
    groups_along_k: "sm80_groups_along_k.cuh",
    realigns_c: true,
};
const SM90: OfFamily = OfFamily {
    product: "sm90_matmul.cuh",
    elements: |class| match class.input {
        Dtype::I8 => Some(INT8_SM90),
        Dtype::F32 => Some(TF32_SM90),
        Dtype::E4m3 | Dtype::E5m2 if class.second.is_some() => Some(FP8_PAIRS_SM90),
        _ => None,
    },
    weights: (WEIGHTS_SM90, Side::Behind),
    rotated: Some(ROTATED_SM90),
    scaled: Some(SCALED_SM90),
    reduced: Some(REDUCED_SM90),
    unstored: UNSTORED_SM90,
    operand_load: Some(OPERAND_LOAD),
    gather: GATHER_SM90,
    batch: "sm90_batch.cuh",
    groups: "sm90_groups.cuh",
    groups_along_k: "sm90_groups_along_k.cuh",
    realigns_c: false,
};

/// Those of the kernel that computes products of `class` by `schedule`, in the order in which it includes them.
pub fn of_kernel(class: &Class, schedule: &Schedule) -> Vec<&'static str> {
    match schedule {
        Schedule::Sm80(_) => SM80.of_class(class),
        // Nothing is realigned.
        Schedule::Skinny(_) => narrow_outputs(class).chain(of_body(class)).chain([SKINNY]).collect(),
        Schedule::Sm90(schedule) => {
            let heights = schedule.has_heights().then_some(HEIGHTS);
            SM90.of_class(class).into_iter().chain(heights).collect()
        }
    }
}

/// Those of any kernel of `class`.
pub fn of_class(class: &Class) -> Vec<&'static str> {
    let skinny = skinny::serves(class).then_some(SKINNY);
    let all: BTreeSet<_> = [SM80, SM90].iter().flat_map(|family| family.of_class(class)).chain(skinny).collect();
    all.into_iter().collect()
}

/// Those of the reference, in order.
pub fn of_reference(class: &Class) -> Vec<&'static str> {
    let product = match class.many() {
        _ if class.partners().is_some() => "reference_rotated.cuh",
        _ if class.made().is_some() => "reference_scaled.cuh",
        _ if class.joins_rows() => "reference_joined.cuh",
        Many::One | Many::Batch | Many::Groups => "reference_matmul.cuh",
        Many::Masked | Many::GroupsAlongK => "reference_groups.cuh",
    };
    let stored = narrow_outputs(class).filter(|file| *file == INT8_OUTPUT);
    stored.chain(of_body(class)).chain([product]).collect()
}

/// What bodies of a class read and see, which templates find declared.
fn of_body(class: &Class) -> impl Iterator<Item = &'static str> {
    let repeated = class.has_repeated().then_some(REPEATED);
    let wrapped = class.partners().map(|_| ROTATED).into_iter().chain(class.made().map(|_| SCALED));
    repeated.into_iter().chain(wrapped).chain(class.joins_rows().then_some(JOINED))
}

/// What outputs of 8 bits are rounded by.
fn narrow_outputs(class: &Class) -> impl Iterator<Item = &'static str> {
    let writes = |types: &[Dtype]| class.outputs().any(|(_, dtype)| types.contains(&dtype));
    let (fp8, int8) = (writes(&FP8), writes(&[Dtype::I8]));
    fp8.then_some(FP8_OUTPUT).into_iter().chain(int8.then_some(INT8_OUTPUT))
}

impl OfFamily {
    /// Whether what a launch may realign has elements of a byte: factors, and of a family that stores by vectors C.
    fn realigns_bytes(&self, class: &Class) -> bool {
        let c = (self.realigns_c && !class.many().counts_rows_on_device()).then_some(class.output);
        [class.of_b()].into_iter().chain(c).any(|dtype| dtype.bytes() == 1)
    }

    fn of_class(&self, class: &Class) -> Vec<&'static str> {
        // That of the factors' type comes first: templates find it declared.
        let of_input = (self.elements)(class);
        let of_many = match class.many() {
            Many::One => None,
            Many::Batch => Some(self.batch),
            Many::Masked | Many::Groups => Some(self.groups),
            Many::GroupsAlongK => Some(self.groups_along_k),
        };
        let weights = |side| class.weights.and(Some(self.weights)).filter(|of| of.1 == side).map(|of| of.0);
        let of_scales = weights(Side::Behind).or(class.block.map(|_| BLOCK_SCALES));
        let of_each = if class.block.is_some() { BLOCK_SCALES_OF_MANY } else { WEIGHTS_OF_MANY };
        let of_each = class.has_scales_of_each().then_some(of_each);
        let pads = if self.realigns_bytes(class) { PAD_BYTE_ROWS } else { PAD_ROWS };
        let stored = class.partners().and(self.rotated).or(class.made().and(self.scaled));
        let writes_c = class.writes_c();
        let unstored = (!writes_c).then_some(self.unstored);
        let reduced = self.reduced.filter(|_| class.joins_rows() || !writes_c);
        let before = narrow_outputs(class).chain(of_input).chain(of_body(class)).chain((!writes_c).then_some(UNSTORED));
        before
            .chain(weights(Side::Before))
            .chain([self.product])
            .chain(class.gathers().then_some(self.gather))
            .chain(self.operand_load.filter(|_| sm90::loads_operands(class)))
            .chain(stored)
            .chain(unstored)
            .chain(reduced)
            .chain(of_scales)
            .chain(of_many)
            .chain(of_each)
            .chain([pads])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::problem::{Layout, Problem};

    #[test]
    fn a_class_begins_with_the_files_of_its_own_factors_alone() {
        let roots = |input| of_class(&Problem::new(input, Layout::Nt, "identity".parse().unwrap()).class());
        assert_eq!(
            roots(Dtype::Bf16),
            ["pad_rows.cuh", "skinny_sm80_matmul.cuh", "sm80_matmul.cuh", "sm90_matmul.cuh"]
        );
        assert_eq!(roots(Dtype::E4m3), ["pad_byte_rows.cuh", "sm80_fp8.cuh", "sm80_matmul.cuh", "sm90_matmul.cuh"]);
        let pair =
            Problem { second: Some(Dtype::E4m3), ..Problem::new(Dtype::E5m2, Layout::Nt, "identity".parse().unwrap()) };
        assert_eq!(
            of_class(&pair.class()),
            [
                "pad_byte_rows.cuh",
                "ptx/sm90_wgmma_fp8_pairs.cuh",
                "sm80_fp8_pairs.cuh",
                "sm80_matmul.cuh",
                "sm90_matmul.cuh"
            ]
        );
        assert_eq!(
            roots(Dtype::I8),
            ["pad_byte_rows.cuh", "sm80_int8.cuh", "sm80_matmul.cuh", "sm90_int8.cuh", "sm90_matmul.cuh"]
        );
    }
}
