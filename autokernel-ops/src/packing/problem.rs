//! What must be computed.

use std::fmt;

use autokernel_core::{Coarse, Dim, Dimension, Dtype, Extents, Operand, Passed, Role, Signature, dim};
use serde::{Deserialize, Serialize};

use crate::weights::{PACKED_BYTES, ZERO};

/// The dimensions, in order: rows of the weights, and numbers of a row.
pub const DIMS: [Dim; 2] = [dim("n"), dim("k")];

/// The extents of so many rows of so many numbers.
///
/// ```
/// assert_eq!(autokernel_ops::packing::extents(4096, 14336).to_string(), "4096x14336");
/// ```
pub const fn extents(rows: u32, numbers: u32) -> Extents {
    Extents::new([(DIMS[0], rows), (DIMS[1], numbers)])
}

pub(super) const N: u8 = 0;
pub(super) const K: u8 = 1;

/// The operands by their numbers.
pub(super) const W: u8 = 0;
pub(super) const PACKED: u8 = 1;
pub(super) const SCALES: u8 = 2;
pub(super) const ZEROS: u8 = 3;

/// `packed[n, k]`, numbers of few bits, and for each group of them along K a scale and perhaps a zero point, from the floats `w[n, k]`:
/// `(packed - zeros) · scales` is near `w`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Type of the weights.
    pub dtype: Dtype,
    /// Type of the numbers.
    pub packed: Dtype,
    /// Numbers along K that share a scale; none where all of a row do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Type of a scale.
    pub scales: Dtype,
    /// Whether groups have zero points.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zeros: bool,
}

/// Packings that are tuned together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Type of the weights.
    pub dtype: Dtype,
    /// Type of the numbers.
    pub packed: Dtype,
    /// Numbers along K that share a scale; none where all of a row do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Whether groups have zero points.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zeros: bool,
}

impl Problem {
    /// The class whose tuned entries serve it.
    pub fn class(&self) -> Class {
        let &Problem { dtype, packed, group, zeros, .. } = self;
        Class { dtype, packed, group, zeros }
    }

    /// What a kernel takes. Scales and zero points of groups are `[k / group, n]`, those of rows `[n]`.
    pub fn signature(&self) -> Signature {
        let operand = |name: &str, role, dtype, axes: &[u8]| Operand {
            name: name.to_owned(),
            role,
            dtype,
            axes: axes.to_vec(),
            passed: Passed::ByAddress,
        };
        let of_groups: &[u8] = if self.group.is_some() { &[K, N] } else { &[N] };
        let mut operands = vec![
            operand("w", Role::Input, self.dtype, &[N, K]),
            operand("packed", Role::Output, self.packed, &[N, K]),
            operand("scales", Role::Output, self.scales, of_groups),
        ];
        operands.extend(self.zeros.then(|| operand("zeros", Role::Output, ZERO, of_groups)));
        let mut coarse = Vec::new();
        if self.packed.numbers() > 1 {
            let (indices, together) = (self.packed.numbers(), PACKED_BYTES);
            coarse.push(Coarse { operand: PACKED, axis: 1, indices, together, is_ragged: false });
        }
        if let Some(indices) = self.group {
            let of_group = |operand| Coarse { operand, axis: 0, indices, together: 1, is_ragged: false };
            coarse.extend([SCALES, ZEROS].into_iter().filter(|at| usize::from(*at) < operands.len()).map(of_group));
        }
        let dims = DIMS.map(|name| Dimension { name, known: None }).to_vec();
        Signature { dims, operands, coarse, ..Signature::default() }
    }
}

impl Class {
    /// What K is a multiple of: whole groups, and whole units of packed numbers.
    pub(super) fn granule(&self) -> u32 {
        let unit = if self.packed.numbers() > 1 { PACKED_BYTES * self.packed.numbers() } else { 1 };
        // All of them are powers of two.
        unit.max(self.group.unwrap_or(1))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, scales of {}", self.class(), self.scales)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Class { dtype, packed, group, zeros } = self;
        write!(f, "packing {dtype} to {packed}")?;
        match group {
            Some(group) => write!(f, " in groups of {group}")?,
            None => f.write_str(" by rows")?,
        }
        f.write_str(if *zeros { " with zero points" } else { "" })
    }
}
