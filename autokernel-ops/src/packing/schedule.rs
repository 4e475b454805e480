//! How it is computed.

use std::fmt;

use autokernel_core::Arch;

use super::problem::Class;
use crate::knob::schedule;
use crate::rule::Rule;

schedule! {
    /// Teams of lanes take a group each.
    Schedule {
        /// Threads of a block.
        threads: u32, "128, 256, 512", "256.";
        /// Whether a kernel is set up while the one before still runs.
        overlap: bool, "`false`, `true`; `true` on Hopper alone", "`true`.";
    }
}

impl Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "A team of lanes, a warp at the most, has a group: each lane holds 8 of its weights, the team finds the \
                             least and the largest, and each lane writes its numbers. A block has teams for groups of as many rows, \
                             whose scales lie side by side. A warp that has a whole row reads it twice.";

    /// The schedule used where nothing was tuned.
    pub fn default_for(arch: Arch) -> Self {
        Schedule { threads: 256, overlap: arch == Arch::SM_90A }
    }

    /// Registers of a thread, about: eight weights and what divides them.
    pub fn registers(&self) -> u32 {
        40
    }
}

/// What makes a schedule impossible.
pub const RULES: &[Rule<Schedule, Class>] = &[
    Rule {
        name: "threads_are_warps",
        words: "`threads` is 128, 256 or 512",
        holds: |schedule, _, _: Arch| [128, 256, 512].contains(&schedule.threads),
        reason: |schedule, _, _| format!("a block of {} threads; take 128, 256 or 512", schedule.threads),
    },
    Rule {
        name: "launches_overlap_on_hopper",
        words: "`overlap` is for sm_90a",
        holds: |schedule, _, arch| !schedule.overlap || arch == Arch::SM_90A,
        reason: |_, _, arch| format!("{arch} has no programmatic dependent launches; take `overlap = false`"),
    },
];

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Schedule { threads, overlap } = self;
        write!(f, "packing {threads}{}", if *overlap { " overlap" } else { "" })
    }
}
