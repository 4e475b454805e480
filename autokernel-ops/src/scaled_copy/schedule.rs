//! How it is computed.

use std::fmt;

use autokernel_core::Arch;

use super::problem::Class;
use crate::knob::schedule;
use crate::rule::Rule;

schedule! {
    /// A block copies a part of a row, each thread several elements of it.
    Schedule {
        /// Threads of a block.
        threads: u32, "32, 64, 128, 256, 512, 1024", "256.";
        /// Elements that a thread copies.
        items: u32, "1 … 16", "4.";
        /// Whether the blocks begin with the last part.
        @Launch backwards: bool, "`false`, `true`", "`false`.";
    }
}

impl Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "A block copies a part of a row, each thread several elements of it.";

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
