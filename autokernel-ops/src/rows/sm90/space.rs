//! The schedules that a search chooses from: every combination of the listed values that passes the rules.

use autokernel_core::Arch;

use super::schedule::RingSchedule;
use crate::rows::passes::Keep;
use crate::rows::problem::Class;

const THREADS: [u32; 4] = [128, 256, 512, 1024];
const ROWS: [u32; 3] = [1, 2, 4];
const VECTOR: [u32; 2] = [4, 8];
const VECTORS: [u32; 4] = [1, 2, 4, 8];
const CLUSTER: [u32; 4] = [1, 2, 4, 8];
const STAGES: [u32; 6] = [1, 2, 3, 4, 6, 8];

/// Every valid schedule for `class` on `arch`, in a fixed order.
pub fn schedules(class: &Class, arch: Arch) -> Vec<RingSchedule> {
    let mut schedules = Vec::new();
    for threads_per_row in THREADS {
        for rows_per_block in ROWS {
            for vector in VECTOR {
                for vectors in VECTORS {
                    for cluster in CLUSTER {
                        for stages in STAGES {
                            let schedule = RingSchedule {
                                threads_per_row,
                                rows_per_block,
                                vector,
                                cluster,
                                vectors,
                                stages,
                                keep: Keep::Values,
                                keeps_rows: false,
                                joins: false,
                                blocks_per_sm: 1,
                                draws: false,
                            };
                            schedules.extend(flags().map(|(keep, keeps_rows, joins)| RingSchedule {
                                keep,
                                keeps_rows,
                                joins,
                                ..schedule
                            }));
                        }
                    }
                }
            }
        }
    }
    schedules.retain(|schedule| schedule.check(class, arch).is_ok());
    schedules
}

fn flags() -> impl Iterator<Item = (Keep, bool, bool)> {
    let each = [false, true];
    let keeps = [Keep::Values, Keep::Inputs].into_iter();
    keeps.flat_map(move |keep| each.into_iter().flat_map(move |rows| each.map(|joins| (keep, rows, joins))))
}
