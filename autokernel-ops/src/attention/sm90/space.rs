//! The schedules that a search chooses from: every combination of the listed values that passes the rules.

use autokernel_core::Arch;

use super::rules::EXP_BY_FMA;
use super::schedule::Sm90Schedule;
use crate::attention::problem::Class;

/// Every valid schedule for `class` on `arch`, in a fixed order.
pub fn schedules(class: &Class, arch: Arch) -> Vec<Sm90Schedule> {
    let mut schedules = Vec::new();
    for consumers in 1..=3 {
        for tile_keys in (32..=256).step_by(16) {
            for stages in 2..=4 {
                for ping_pong in [false, true] {
                    for share_keys in [false, true] {
                        let of = |exp_by_fma| Sm90Schedule {
                            consumers,
                            tile_keys,
                            stages,
                            ping_pong,
                            share_keys,
                            exp_by_fma,
                        };
                        schedules.extend(EXP_BY_FMA.map(of));
                    }
                }
            }
        }
    }
    schedules.retain(|schedule| schedule.check(class, arch).is_ok());
    schedules
}
