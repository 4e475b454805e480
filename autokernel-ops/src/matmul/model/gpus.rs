//! What GPUs of one generation show that their datasheets do not tell apart: at single products, of the family that loads by TMA.

use super::instruction::Instruction;
use super::load::Load;
use super::{Constants, Model, Traits};

/// The bandwidths of an H100's memory and of an H200's, in GB/s: a Hopper that nobody measured is taken for the nearer one.
const H100_GB_PER_S: f64 = 3350.0;
const H200_GB_PER_S: f64 = 4800.0;

impl Model {
    /// The same by the contention that its GPU shows.
    pub(super) fn on_its_gpu(self, image: &Traits, load: &Load) -> Self {
        if !self.is_like_an_h100(image, load) {
            return self;
        }
        let contention = self.constants.contention * self.constants.h100_contention;
        Model { constants: Constants { contention, ..self.constants }, ..self }
    }

    /// What a launch of clusters takes more than on an H200.
    pub(super) fn clusters_ms(&self, image: &Traits, load: &Load) -> f64 {
        let takes_more = image.blocks_of_cluster() > 1 && self.is_like_an_h100(image, load);
        if takes_more { self.constants.h100_clusters_us * 1e-3 } else { 0.0 }
    }

    fn is_like_an_h100(&self, image: &Traits, load: &Load) -> bool {
        let is_known = image.instruction == Instruction::Wgmma && !load.is_of_many();
        is_known && self.machine.memory_gb_per_s.powi(2) < H100_GB_PER_S * H200_GB_PER_S
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Arch, ComputeCapability, Dtype, Extents};

    use super::*;
    use crate::matmul::extents::{batched_extents, extents};
    use crate::matmul::model::Machine;
    use crate::matmul::problem::{Class, Layout, Problem};
    use crate::matmul::schedule::{Schedule, Sm90Schedule};

    fn hopper(memory_gb_per_s: f64) -> Machine {
        Machine { capability: ComputeCapability::new(9, 0), sm_count: 132, matrix_tflops: 989.4, memory_gb_per_s }
    }

    fn class() -> Class {
        Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap()).class()
    }

    fn ms_of(constants: Constants, memory_gb_per_s: f64, schedule: Schedule, extents: Extents) -> f64 {
        let model = Model { machine: hopper(memory_gb_per_s), constants };
        model.predicted_ms(&Traits::new(&class(), &schedule), &extents)
    }

    fn ms(constants: Constants, memory_gb_per_s: f64, schedule: Schedule) -> f64 {
        ms_of(constants, memory_gb_per_s, schedule, extents(250, 1536, 6144))
    }

    fn split() -> Schedule {
        Schedule::Sm90(Sm90Schedule { splits: true, split_k: 2, stages: 6, ..Sm90Schedule::PLAIN })
    }

    #[test]
    fn a_gpu_of_slower_memory_has_an_h100s_contention_and_others_an_h200s() {
        let as_h200 = Constants { contention: 0.3, h100_contention: 1.0, ..Constants::START };
        let fitted = Constants { h100_contention: 1.5, ..as_h200 };
        let as_h100 = Constants { contention: 0.45, ..as_h200 };
        for schedule in [Schedule::Sm90(Sm90Schedule::PLAIN), split()] {
            for memory in [2000.0, 3350.0, 4000.0] {
                assert_eq!(ms(fitted, memory, schedule), ms(as_h100, memory, schedule), "{memory} GB/s");
            }
            for memory in [4800.0, 8000.0] {
                assert_eq!(ms(fitted, memory, schedule), ms(as_h200, memory, schedule), "{memory} GB/s");
            }
        }
        let portable = Schedule::default_for(&class(), Arch::SM_80);
        assert_eq!(ms(fitted, 3350.0, portable), ms(as_h200, 3350.0, portable), "nothing was fitted to such images");
        let of_batch = |constants| ms_of(constants, 3350.0, split(), batched_extents(5, 761, 1536, 6144));
        assert_eq!(of_batch(fitted), of_batch(as_h200), "nor to batches");
    }

    #[test]
    fn clusters_take_longer_to_launch_on_an_h100() {
        let with = |h100_clusters_us| Constants { h100_clusters_us, ..Constants::START };
        let more = |memory, schedule| 1e3 * (ms(with(1.5), memory, schedule) - ms(with(0.5), memory, schedule));
        assert_eq!(more(3350.0, Schedule::Sm90(Sm90Schedule::PLAIN)), 0.0);
        for clustered in [Schedule::Sm90(Sm90Schedule { cluster_m: 2, ..Sm90Schedule::PLAIN }), split()] {
            assert!((more(3350.0, clustered) - 1.0).abs() < 1e-9, "{}", more(3350.0, clustered));
            assert_eq!(more(4800.0, clustered), 0.0);
        }
    }
}
