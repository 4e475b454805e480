//! What multiplies, and what it reaches on which GPU.

use autokernel_core::ComputeCapability;

/// The instruction by which a family multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    /// `mma.sync`, of a warp.
    MmaSync,
    /// `wgmma`, of a warpgroup.
    Wgmma,
}

/// Generations whose matrix units reach the datasheet's rate by instructions of their own alone, and what `mma.sync`
/// reaches of it: on an H200 as measured. What stands for 10 is an estimate.
const MMA_SYNC: [(u8, f64); 2] = [(9, 0.65), (10, 0.65)];

impl Instruction {
    /// Which share of the matrix units' datasheet rate it reaches at best on a GPU of that capability.
    pub fn share_of_rate(self, gpu: ComputeCapability) -> f64 {
        let slower = MMA_SYNC.iter().find(|(major, _)| *major == gpu.major);
        match self {
            Instruction::MmaSync => slower.map_or(1.0, |(_, share)| *share),
            Instruction::Wgmma => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mma_sync_is_the_whole_rate_where_there_is_nothing_faster() {
        for (major, minor) in [(8, 0), (8, 6), (8, 9), (12, 0)] {
            assert_eq!(Instruction::MmaSync.share_of_rate(ComputeCapability::new(major, minor)), 1.0);
        }
        let hopper = ComputeCapability::new(9, 0);
        assert_eq!(Instruction::MmaSync.share_of_rate(hopper), 0.65);
        assert_eq!(Instruction::Wgmma.share_of_rate(hopper), 1.0);
    }
}
