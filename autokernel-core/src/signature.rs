//! What a kernel takes: its operands and the dimensions that they share.

use serde::{Deserialize, Serialize};

use crate::{Dim, Dtype, Extents, Numbers};

/// The operands of a kernel and the dimensions that tie them together. Launch checks, the launch log, test buffers and
/// documentation all read this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Every dimension; operands name them by their number here.
    pub dims: Vec<Dimension>,
    /// In the order of the function's parameters.
    pub operands: Vec<Operand>,
    /// Pairs of dimensions by their numbers: the first is a multiple of the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub multiples: Vec<(u8, u8)>,
    /// The axes of operands along which an element stands for more than one index of the dimension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coarse: Vec<Coarse>,
    /// What operands of whole numbers may hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<Numbers>,
    /// What the attribute calls the sizes of dimensions, by their numbers, where that is not the dimension's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(u8, String)>,
}

/// An axis of an operand along which an element stands for several indices of the dimension: of numbers of 4 bits there are two in a
/// byte, and a scale is of a group. The dimension is a multiple of that, or the last element stands for fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coarse {
    /// The operand, by its number.
    pub operand: u8,
    /// The axis, from 0, outermost first.
    pub axis: u8,
    /// Indices of the dimension an element.
    pub indices: u32,
    /// Elements that stand for theirs together, so that there are whole such units.
    pub together: u32,
    /// Whether the last element may stand for fewer indices than the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ragged: bool,
}

/// A dimension of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// Its name in extents.
    pub name: Dim,
    /// Its size, where that was compiled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<u32>,
}

/// A tensor that a kernel reads or writes. Its last axis is contiguous; the others have any stride.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// The parameter's name.
    pub name: String,
    /// Whether it is read or written.
    pub role: Role,
    /// The type of its elements.
    pub dtype: Dtype,
    /// The number of the dimension along each of its axes, outermost first, or [`OWN_AXIS`]. None for a scalar.
    pub axes: Vec<u8>,
    /// How a launch hands it over.
    #[serde(default, skip_serializing_if = "Passed::is_by_address")]
    pub passed: Passed,
}

/// Stands where the number of a dimension does, of an axis that no other operand shares: as many rows as a table has of which an
/// index picks some. It is no dimension of the problem, as nothing that is chosen depends on its size.
pub const OWN_AXIS: u8 = u8::MAX;

/// How a launch hands an operand to a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passed {
    /// As the address of its first element.
    #[default]
    ByAddress,
    /// As an `f32` among the launch's arguments.
    ByValue,
    /// As the address of the first of bounds, between which lie parts of something: one more than the dimension along its axis
    /// counts.
    Bounds,
}

impl Passed {
    const fn is_by_address(&self) -> bool {
        matches!(self, Passed::ByAddress)
    }
}

/// What a kernel does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It is read.
    Input,
    /// Each of its elements is written, and none is read.
    Output,
}

impl Signature {
    /// The names of the dimensions, in order.
    pub fn names(&self) -> impl Iterator<Item = Dim> + '_ {
        self.dims.iter().map(|dimension| dimension.name)
    }

    /// The number of the dimension called `name`.
    pub fn number(&self, name: Dim) -> Option<u8> {
        self.names().position(|known| known == name).and_then(|at| u8::try_from(at).ok())
    }

    /// What is said of that axis of an operand, where an element of it stands for several indices.
    pub fn coarse(&self, operand: usize, axis: usize) -> Option<&Coarse> {
        self.coarse.iter().find(|it| (usize::from(it.operand), usize::from(it.axis)) == (operand, axis))
    }

    /// How many elements `indices` of the dimension along that axis are.
    pub fn elements(&self, operand: usize, axis: usize, indices: u32) -> u32 {
        self.coarse(operand, axis).map_or(indices, |coarse| indices.div_ceil(coarse.indices.max(1)))
    }

    /// What the size of a dimension must be a multiple of, so that each operand has whole units of its elements along it.
    pub fn granule(&self, dim: u8) -> u32 {
        let along = |it: &&Coarse| {
            let axes = self.operands.get(usize::from(it.operand)).map(|operand| &operand.axes);
            axes.and_then(|axes| axes.get(usize::from(it.axis))) == Some(&dim)
        };
        let units = self
            .coarse
            .iter()
            .filter(|it| !it.is_ragged)
            .filter(along)
            .map(|it| it.indices.max(1).saturating_mul(it.together.max(1)));
        units.fold(1, least_common_multiple)
    }

    /// The least extents from these on of which operands have whole elements; those that were compiled in are whole already.
    pub fn whole(&self, extents: &Extents) -> Extents {
        let whole = |(number, (dim, size)): (usize, (Dim, u32))| {
            let granule = u8::try_from(number).map_or(1, |number| self.granule(number));
            (dim, size.checked_next_multiple_of(granule).unwrap_or(size))
        };
        Extents::collect(extents.iter().enumerate().map(whole)).unwrap_or(*extents)
    }

    /// What the attribute calls the size of dimension `number`.
    pub fn setting(&self, number: usize) -> Option<&str> {
        let other = self.settings.iter().find(|(of, _)| usize::from(*of) == number);
        other.map(|(_, setting)| setting.as_str()).or_else(|| Some(self.dims.get(number)?.name.as_str()))
    }

    /// The operands that are read.
    pub fn inputs(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().filter(|operand| operand.role == Role::Input)
    }

    /// The operands that are written.
    pub fn outputs(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().filter(|operand| operand.role == Role::Output)
    }
}

fn least_common_multiple(a: u32, b: u32) -> u32 {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor.max(1)).saturating_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim;

    /// `w[n, k]`, of which a byte holds two numbers and sixteen bytes stand together, and `scales[k / 48, n]`.
    fn packed() -> Signature {
        let dims = ["m", "n", "k"].map(|name| Dimension { name: dim(name), known: None }).to_vec();
        let operand = |axes: [u8; 2]| Operand {
            name: String::new(),
            role: Role::Input,
            dtype: Dtype::I4x2,
            axes: axes.to_vec(),
            passed: Passed::ByAddress,
        };
        let coarse = vec![
            Coarse { operand: 0, axis: 1, indices: 2, together: 16, is_ragged: false },
            Coarse { operand: 1, axis: 0, indices: 48, together: 1, is_ragged: false },
        ];
        Signature { dims, operands: vec![operand([1, 2]), operand([2, 1])], coarse, ..Signature::default() }
    }

    #[test]
    fn a_dimension_has_whole_elements_of_every_operand_where_it_is_a_multiple_of_all_their_units() {
        let signature = packed();
        assert_eq!([0, 1, 2].map(|dim| signature.granule(dim)), [1, 1, 96]);
        let extents = |k| Extents::new([(dim("m"), 3), (dim("n"), 5), (dim("k"), k)]);
        for (k, whole) in [(0, 0), (1, 96), (96, 96), (97, 192), (u32::MAX, u32::MAX)] {
            assert_eq!(signature.whole(&extents(k)), extents(whole));
        }
        assert_eq!(Signature::default().whole(&extents(7)), extents(7));
    }

    #[test]
    fn there_are_fewer_elements_along_an_axis_whose_elements_stand_for_several_indices() {
        let signature = packed();
        let found = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(operand, axis)| signature.elements(operand, axis, 96));
        assert_eq!(found, [96, 48, 2, 96]);
    }
}
