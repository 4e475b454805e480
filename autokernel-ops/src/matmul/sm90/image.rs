//! Which tiles an image of several heights has: those that it is asked for and that break no rule.

use autokernel_core::Arch;

use super::Sm90Schedule;
use super::heights::asked_for;
use super::rules::RULES;
use crate::matmul::problem::Class;
use crate::rule;

/// The tiles of the image of `schedule`, lowest first, each as the schedule that has it; none where the image has one alone. Those
/// that break a rule for `class` are left out.
pub fn heights(class: &Class, schedule: &Sm90Schedule) -> impl Iterator<Item = Sm90Schedule> {
    let of = class.clone();
    asked_for(class, schedule).filter(move |tile| {
        let alone = Sm90Schedule { split_k: 1, ..tile.alone() };
        rule::check(RULES, &alone, &of, Arch::SM_90A).is_ok()
    })
}

impl Sm90Schedule {
    /// Whether its image has tiles of several heights.
    pub fn has_heights(&self) -> bool {
        self.rows_up_to > 0
    }

    /// The same tile in an image that has no other.
    pub fn alone(self) -> Self {
        Sm90Schedule { rows_up_to: 0, ..self }
    }
}
