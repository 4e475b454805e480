//! The schedules that a search chooses from: every combination of the listed values that passes the rules.

use autokernel_core::Arch;

use super::schedule::Sm80Schedule;
use crate::attention::problem::Class;

/// Every valid schedule for `class` on `arch`, in a fixed order.
pub fn schedules(class: &Class, arch: Arch) -> Vec<Sm80Schedule> {
    let mut schedules = Vec::new();
    for warps in [4, 8] {
        for rows_of_warp in [16, 32] {
            for tile_keys in (16..=256).step_by(16) {
                for stages in 2..=6 {
                    for share_keys in [false, true] {
                        schedules.push(Sm80Schedule { warps, rows_of_warp, tile_keys, stages, share_keys });
                    }
                }
            }
        }
    }
    schedules.retain(|schedule| schedule.check(class, arch).is_ok());
    schedules
}
