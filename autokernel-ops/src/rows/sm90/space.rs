//! The schedules that a search chooses from: every combination of the listed values that passes the rules.

use autokernel_core::Arch;

use super::schedule::Sm90Schedule;
use crate::rows::passes::Keep;
use crate::rows::problem::Class;

const THREADS: [u32; 4] = [128, 256, 512, 1024];
const ROWS: [u32; 3] = [1, 2, 4];
const VECTOR: [u32; 2] = [4, 8];
const VECTORS: [u32; 4] = [1, 2, 4, 8];
const CLUSTER: [u32; 4] = [1, 2, 4, 8];
const STAGES: [u32; 6] = [1, 2, 3, 4, 6, 8];
const BLOCKS_PER_SM: [u32; 6] = [1, 2, 3, 4, 6, 8];

/// Every valid schedule for `class` on `arch`, in a fixed order.
pub fn schedules(class: &Class, arch: Arch) -> Vec<Sm90Schedule> {
    let mut schedules = Vec::new();
    for threads_per_row in THREADS {
        for rows_per_block in ROWS {
            for vector in VECTOR {
                for vectors in VECTORS {
                    for cluster in CLUSTER {
                        for stages in STAGES {
                            let schedule = Sm90Schedule {
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
                            for (keep, keeps_rows, joins) in flags() {
                                let shares = Sm90Schedule { keep, keeps_rows, joins, ..schedule };
                                // Several blocks an SM are fewer threads each, of one team.
                                let drawing = BLOCKS_PER_SM.map(|blocks_per_sm| Sm90Schedule {
                                    blocks_per_sm,
                                    draws: true,
                                    ..shares
                                });
                                let drawing =
                                    drawing.into_iter().filter(|it| it.blocks_per_sm == 1 || it.rows_per_block == 1);
                                schedules.extend([shares].into_iter().chain(drawing));
                            }
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
