//! The schedules that a search chooses from: every combination of the listed values that passes the rules.

use autokernel_core::Arch;

use super::default::PARKED;
use super::schedule::Sm80Schedule;
use crate::rows::passes::Keep;
use crate::rows::problem::Class;

const THREADS: [u32; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
const ROWS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const VECTOR: [u32; 3] = [2, 4, 8];
const VECTORS: [u32; 4] = [1, 2, 4, 8];
const CLUSTER: [u32; 5] = [0, 1, 2, 4, 8];
const BLOCKS_PER_SM: [u32; 5] = [0, 1, 2, 4, 8];
const STAYING_BLOCKS: [u32; 5] = [1, 2, 3, 4, 8];

/// Every valid schedule for `class` on `arch`, in a fixed order.
pub fn schedules(class: &Class, arch: Arch) -> Vec<Sm80Schedule> {
    let mut schedules = Vec::new();
    for threads_per_row in THREADS {
        for rows_per_block in ROWS {
            for vector in VECTOR {
                for vectors in VECTORS {
                    for keep in [Keep::Inputs, Keep::Values] {
                        for cluster in CLUSTER {
                            schedules.extend(BLOCKS_PER_SM.map(|blocks_per_sm| Sm80Schedule {
                                threads_per_row,
                                rows_per_block,
                                vector,
                                cluster,
                                vectors,
                                keep,
                                blocks_per_sm,
                                joins: false,
                                parked: 0,
                                keeps_rows: false,
                            }));
                        }
                    }
                }
            }
        }
    }
    schedules.retain(|schedule| schedule.check(class, arch).is_ok());
    let joining = schedules.iter().map(|schedule| Sm80Schedule { joins: true, ..*schedule });
    let joining: Vec<_> = joining.filter(|schedule| schedule.check(class, arch).is_ok()).collect();
    schedules.extend(joining);
    let staying: Vec<_> = schedules.iter().flat_map(|schedule| staying(*schedule)).collect();
    schedules.extend(staying.into_iter().filter(|schedule| schedule.check(class, arch).is_ok()));
    let parked = PARKED.iter().flat_map(|&(threads_per_row, vectors, parked)| {
        let of = |vector, keep, cluster| Sm80Schedule {
            threads_per_row,
            rows_per_block: 1,
            vector,
            cluster,
            vectors,
            keep,
            blocks_per_sm: 0,
            joins: false,
            parked,
            keeps_rows: false,
        };
        let mut all = Vec::new();
        for vector in [4, 8] {
            for keep in [Keep::Inputs, Keep::Values] {
                all.extend([0, 1].map(|cluster| of(vector, keep, cluster)));
            }
        }
        all
    });
    schedules.extend(parked.filter(|schedule| schedule.check(class, arch).is_ok()));
    schedules
}

/// The same of blocks that stay, and keep `Row`s.
fn staying(schedule: Sm80Schedule) -> Vec<Sm80Schedule> {
    if schedule.blocks_per_sm > 0 || schedule.rows_per_block > 1 {
        return Vec::new();
    }
    STAYING_BLOCKS.map(|blocks_per_sm| Sm80Schedule { blocks_per_sm, keeps_rows: true, ..schedule }).into()
}
