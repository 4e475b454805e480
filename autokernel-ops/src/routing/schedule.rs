//! How it is computed.

use std::fmt;

use autokernel_core::Arch;

use super::problem::Class;
use crate::knob::{At, Kind, Knob};
use crate::rule::Rule;
use crate::search::Search;

/// Blocks take shares of the tokens; two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Threads of a block.
    pub threads: u32,
    /// Whether a kernel is set up while the one before still runs.
    pub overlap: bool,
}

const KNOB: Knob = Knob {
    name: "threads",
    path_v1: "threads",
    at: At::Image,
    kind: Kind::Number,
    absent: None,
    told_by: None,
    meaning: &["Threads of a block."],
    legal: "128, 256, 512, 1024",
    advice: "1024: a warp has a token.",
    search: Search::PLAIN,
};

impl Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "Blocks take shares of the tokens. A warp finds the experts of a token, and a block counts those of its \
                             tokens; a second kernel adds up the counts of all blocks, so that each knows where its tokens begin \
                             in every expert's group, and writes them there in order.";

    /// Its knobs.
    pub const KNOBS: &[Knob] = &[
        KNOB,
        Knob {
            name: "overlap",
            path_v1: "overlap",
            kind: Kind::Flag,
            meaning: &["Whether a kernel is set up while the one before still runs."],
            legal: "`false`, `true`; `true` on Hopper alone",
            advice: "`true`.",
            ..KNOB
        },
    ];

    /// The schedule used where nothing was tuned.
    pub fn default_for(arch: Arch) -> Self {
        Schedule { threads: 1024, overlap: arch == Arch::SM_90A }
    }

    /// The values of its knobs.
    pub fn codes(&self) -> impl Iterator<Item = u16> {
        [self.threads as u16, u16::from(self.overlap)].into_iter()
    }

    /// The schedule whose knobs have these values.
    pub fn from_codes(codes: &[u16]) -> Option<Self> {
        let &[threads, overlap] = codes else { return None };
        Some(Schedule { threads: threads.into(), overlap: overlap == 1 })
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
