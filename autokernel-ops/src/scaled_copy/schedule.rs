//! How it is computed.

use std::fmt;

use autokernel_core::Arch;

use super::problem::Class;
use crate::knob::{At, Kind, Knob};
use crate::rule::Rule;
use crate::search::Search;

/// A block copies a part of a row, each thread several elements of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Threads of a block.
    pub threads: u32,
    /// Elements that a thread copies.
    pub items: u32,
    /// Whether the blocks begin with the last part.
    pub backwards: bool,
}

const KNOB: Knob = Knob {
    name: "threads",
    path_v1: "threads",
    at: At::Image,
    kind: Kind::Number,
    absent: None,
    told_by: None,
    meaning: &["Threads of a block."],
    legal: "32, 64, 128, 256, 512, 1024",
    advice: "256.",
    search: Search::PLAIN,
};

impl Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "A block copies a part of a row, each thread several elements of it.";

    /// Its knobs.
    pub const KNOBS: &[Knob] = &[
        KNOB,
        Knob {
            name: "items", path_v1: "items", meaning: &["Elements that a thread copies."], legal: "1 … 16", ..KNOB
        },
        Knob {
            name: "backwards",
            path_v1: "backwards",
            at: At::Launch,
            kind: Kind::Flag,
            meaning: &["Whether the blocks begin with the last part."],
            legal: "`false`, `true`",
            ..KNOB
        },
    ];

    /// The values of its knobs.
    pub fn codes(&self) -> impl Iterator<Item = u16> {
        [self.threads as u16, self.items as u16, u16::from(self.backwards)].into_iter()
    }

    /// The schedule whose knobs have these values.
    pub fn from_codes(codes: &[u16]) -> Option<Self> {
        let &[threads, items, backwards] = codes else { return None };
        Some(Schedule { threads: threads.into(), items: items.into(), backwards: backwards == 1 })
    }

    /// Registers of a thread, about.
    pub fn registers(&self) -> u32 {
        16 + self.items
    }

    /// Elements that a block copies.
    pub fn step(&self) -> u32 {
        self.threads * self.items
    }
}

/// What makes a schedule impossible.
pub const RULES: &[Rule<Schedule, Class>] = &[
    Rule {
        name: "threads_are_warps",
        words: "`threads` is a power of two from 32 to 1024.",
        holds: |schedule, _, _: Arch| schedule.threads.is_power_of_two() && (32..=1024).contains(&schedule.threads),
        reason: |schedule, _, _| format!("a block of {} threads; take 32, 64, … or 1024", schedule.threads),
    },
    Rule {
        name: "items_fit_registers",
        words: "`items` is from 1 to 16.",
        holds: |schedule, _, _| (1..=16).contains(&schedule.items),
        reason: |schedule, _, _| format!("{} elements a thread; take 1 to 16", schedule.items),
    },
];

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Schedule { threads, items, backwards } = self;
        write!(f, "copy {threads}x{items}{}", if *backwards { " backwards" } else { "" })
    }
}
