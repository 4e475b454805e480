//! What becomes of the sums of a product on the CPU.

use crate::Element;

/// What is applied to sums, in place: each becomes a function of itself alone, as how many of them are handed over at once depends on
/// the shape.
pub type RowEpilogue = fn(&mut [f32]);

/// Sums that an epilogue is handed at once: they and what they become stay in the first cache.
const AT_ONCE: usize = 512;

/// Epilogue and the one rounding.
pub(super) fn store<O: Element>(mut sums: impl Iterator<Item = f32>, epilogue: RowEpilogue, target: &mut [O]) {
    let mut wide = [0.0; AT_ONCE];
    for target in target.chunks_mut(AT_ONCE) {
        let wide = &mut wide[..target.len()];
        wide.iter_mut().zip(&mut sums).for_each(|(wide, sum)| *wide = sum);
        epilogue(wide);
        O::narrow(wide, target);
    }
}
