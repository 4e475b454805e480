//! Measuring kernels: one clock, stated statistics, and comparisons that cancel drift.
//!
//! - [`Timer`] times launches with the GPU's own events, each launch with a cold or a warm L2, or many back to back.
//! - [`Timing`] says what was seen: median, minimum, and spread = interquartile range / median, in percent.
//! - [`Timer::warm_up`] runs until the clocks have settled, so that the first samples are not faster than the last.
//! - [`Timer::interleave`] runs several candidates in turn, round after round, and compares them within each round:
//!   a chip whose clock drifts by 3 % between two separate measurements changes such a ratio by almost nothing.
//! - [`sets_to_exceed_l2`] says how many sets of buffers a batch must rotate through to stay cold.
//!
//! Fill buffers with random data: a GPU computes on zeros with less power, hence at higher clocks, and on one H200 a
//! product of zeros ran 13 % faster.

mod brake;
mod interleave;
mod statistics;
mod timer;
mod warm_up;

pub use interleave::{Interleaved, Work};
pub use statistics::{Statistics, Timing};
pub use timer::{Cache, Timer};
pub use warm_up::{WarmUp, WarmUpReport};

/// How many sets of buffers to rotate through so that none is still in L2 when it is used again.
///
/// Between two uses of a set, the others move at least twice the L2's size: `ceil(2 * l2_bytes / bytes_per_set) + 1`.
pub fn sets_to_exceed_l2(bytes_per_set: u64, l2_bytes: u64) -> usize {
    let others = l2_bytes.saturating_mul(2).div_ceil(bytes_per_set.max(1));
    usize::try_from(others).unwrap_or(usize::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_moves_twice_the_l2_between_two_uses_of_a_set() {
        assert_eq!(sets_to_exceed_l2(60 << 20, 60 << 20), 3);
        assert_eq!(sets_to_exceed_l2(1 << 40, 60 << 20), 2);
        assert_eq!(sets_to_exceed_l2(1, 4), 9);
        assert_eq!(sets_to_exceed_l2(0, u64::MAX), usize::MAX);
    }
}
