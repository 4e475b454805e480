//! How it is computed.

use std::fmt;

use autokernel_core::Arch;

use super::problem::Class;
use crate::knob::schedule;
use crate::rule::Rule;

schedule! {
    /// Blocks take shares of the tokens; two kernels.
    Schedule {
        /// Threads of a block.
        threads: u32, "128, 256, 512, 1024", "1024: a warp has a token.";
        /// Whether a kernel is set up while the one before still runs.
        overlap: bool, "`false`, `true`; `true` on Hopper alone", "`true`.";
    }
}

impl Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "Blocks take shares of the tokens. A warp finds the experts of a token, and a block counts those of its \
                             tokens; a second kernel adds up the counts of all blocks, so that each knows where its tokens begin \
                             in every expert's group, and writes them there in order.";

    /// The schedule used where nothing was tuned.
    pub fn default_for(arch: Arch) -> Self {
        Schedule { threads: 1024, overlap: arch == Arch::SM_90A }
    }

    /// Registers of a thread, about: few scores of a token are held by a lane.
    pub fn registers(&self) -> u32 {
        40
    }
}

/// What makes a schedule impossible.
pub const RULES: &[Rule<Schedule, Class>] = &[
    Rule {
        name: "threads_are_warps",
        words: "`threads` is 128, 256, 512 or 1024",
        holds: |schedule, _, _: Arch| [128, 256, 512, 1024].contains(&schedule.threads),
        reason: |schedule, _, _| format!("a block of {} threads; take 128, 256, 512 or 1024", schedule.threads),
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
        write!(f, "routing {threads}{}", if *overlap { " overlap" } else { "" })
    }
}
