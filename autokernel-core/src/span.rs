//! Sizes of one dimension that one tuned entry serves.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Dim, Extents};

/// The sizes of a dimension from the first to the last, both among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The dimension.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub dim: Dim,
    /// The least size.
    pub first: u32,
    /// The largest.
    pub last: u32,
}

/// A text that is no span.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no range of sizes; write a dimension and its sizes from the first to the last, as in m=1..=64")]
pub struct ParseSpanError(String);

impl Span {
    /// Whether it says anything of a problem that has these extents: they have its dimension, with one of its sizes.
    pub fn is_of(&self, extents: &Extents) -> bool {
        self.first >= 1 && extents.get(self.dim).is_some_and(|size| (self.first..=self.last).contains(&size))
    }

    /// Whether `extents` are those of `others` in each other dimension, and have one of its sizes.
    pub fn holds(&self, others: &Extents, extents: &Extents) -> bool {
        let same = |(dim, size): (Dim, u32)| dim == self.dim || others.get(dim) == Some(size);
        self.is_of(extents) && others.iter().count() == extents.iter().count() && extents.iter().all(same)
    }

    /// `extents` with this size of its dimension.
    pub fn at(&self, extents: &Extents, size: u32) -> Option<Extents> {
        extents.get(self.dim)?;
        Extents::collect(extents.iter().map(|(dim, own)| (dim, if dim == self.dim { size } else { own })))
    }

    /// At most `count` of its sizes, each a like factor above the one before, the first and the last among them.
    pub fn spread(&self, count: u32) -> Vec<u32> {
        let (first, last) = (f64::from(self.first.max(1)), f64::from(self.last.max(1)));
        let steps = count.max(2) - 1;
        let size = |step: u32| first * (last / first).powf(f64::from(step) / f64::from(steps));
        let mut sizes: Vec<u32> = (0..=steps).map(|step| size(step).round() as u32).collect();
        sizes.dedup();
        sizes
    }

    /// How many sizes there are.
    pub const fn count(&self) -> u32 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} to {}", self.dim, self.first, self.last)
    }
}

impl FromStr for Span {
    type Err = ParseSpanError;

    fn from_str(text: &str) -> Result<Self, ParseSpanError> {
        let read = || {
            let (dim, sizes) = text.split_once('=')?;
            let (first, last) = sizes.split_once("..=")?;
            let size = |text: &str| text.trim().parse().ok().filter(|&size: &u32| size > 0);
            let span = Span { dim: Dim::try_from_str(dim.trim()).ok()?, first: size(first)?, last: size(last)? };
            (span.first < span.last).then_some(span)
        };
        read().ok_or_else(|| ParseSpanError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim;

    fn extents(m: u32, n: u32) -> Extents {
        Extents::new([(dim("m"), m), (dim("n"), n)])
    }

    const SPAN: Span = Span { dim: dim("m"), first: 1, last: 64 };

    #[test]
    fn a_span_holds_its_own_sizes_beside_the_same_others() {
        let holds = |m, n| SPAN.holds(&extents(64, 4096), &extents(m, n));
        assert_eq!([holds(1, 4096), holds(17, 4096), holds(64, 4096)], [true; 3]);
        assert_eq!([holds(0, 4096), holds(65, 4096), holds(17, 4095)], [false; 3]);
        let other = Extents::new([(dim("rows"), 17), (dim("n"), 4096)]);
        assert!(!SPAN.holds(&extents(64, 4096), &other) && SPAN.at(&other, 3).is_none());
        assert_eq!(SPAN.at(&extents(64, 4096), 3), Some(extents(3, 4096)));
    }

    #[test]
    fn sizes_are_spread_by_a_like_factor_from_the_first_to_the_last_and_each_is_there_once() {
        assert_eq!(SPAN.spread(7), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(SPAN.spread(0), [1, 64]);
        let few = Span { first: 5, last: 7, ..SPAN };
        assert_eq!((few.spread(9), few.count()), (vec![5, 6, 7], 3));
    }

    #[test]
    fn a_span_is_read_as_a_user_writes_it_and_anything_else_is_refused_with_the_form() {
        assert_eq!("m=1..=64".parse(), Ok(SPAN));
        for wrong in ["m=1..64", "1..=64", "m=0..=64", "m=64..=1", "m=7..=7", "m=1..=", "manydimensions=1..=2", ""] {
            let message = wrong.parse::<Span>().unwrap_err().to_string();
            assert!(message.contains(wrong) && message.contains("m=1..=64"), "{message}");
        }
    }
}
