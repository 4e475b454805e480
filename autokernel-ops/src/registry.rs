//! Every operation and every kernel family, a line each. What is not in an operation's room reaches it through here.

use std::fmt;

use autokernel_core::{Arch, LaunchPlan};
use serde::{Deserialize, Serialize};

use crate::knob::Knob;
use crate::matmul;
use crate::rule::{self, BrokenRule, RuleText};
use crate::schedule::Schedule;

/// Declares the families: the operation's room, the name, the typed schedule with its rules, and how it works.
macro_rules! families {
    ($($room:ident: $family:ident = $name:literal, $schedule:path, $rules:path, $about:path;)+) => {
        /// A kernel family: CUDA files, a table of knobs and one of rules, and the archs that it serves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Family {
            $(#[doc = concat!("`", $name, "` of `", stringify!($room), "`")] #[serde(rename = $name)] $family,)+
        }

        impl Family {
            /// Every family.
            pub const ALL: &[Family] = &[$(Family::$family,)+];

            /// Its name, in JSON and as the CUDA namespace.
            pub const fn name(self) -> &'static str {
                match self { $(Family::$family => $name,)+ }
            }

            /// The operation whose kernels it has.
            pub const fn operation(self) -> &'static str {
                match self { $(Family::$family => stringify!($room),)+ }
            }

            /// Its knobs.
            pub fn knobs(self) -> &'static [Knob] {
                match self { $(Family::$family => <$schedule>::KNOBS,)+ }
            }

            /// Its rules, for people.
            pub fn rules(self) -> Vec<RuleText> {
                match self { $(Family::$family => $rules.iter().map(rule::Rule::text).collect(),)+ }
            }

            fn registers(self, schedule: &Schedule) -> Result<u32, OtherFamily> {
                match self { $(Family::$family => <$schedule>::try_from(schedule).map(|typed| typed.registers()),)+ }
            }

            /// How its kernels work, in a paragraph.
            pub const fn about(self) -> &'static str {
                match self { $(Family::$family => $about,)+ }
            }

            pub(crate) fn write(self, schedule: &Schedule, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Family::$family => match <$schedule>::try_from(schedule) {
                        Ok(typed) => fmt::Display::fmt(&$room::Schedule::from(typed), f),
                        Err(_) => fmt::Debug::fmt(schedule, f),
                    },)+
                }
            }
        }

        $(
            impl From<$schedule> for Schedule {
                fn from(typed: $schedule) -> Self {
                    let schedule = Schedule::new(Family::$family, typed.codes());
                    schedule.expect("a typed schedule has a value for each knob of its family")
                }
            }

            impl TryFrom<&Schedule> for $schedule {
                type Error = OtherFamily;

                fn try_from(schedule: &Schedule) -> Result<Self, OtherFamily> {
                    let of_family = Some(schedule).filter(|schedule| schedule.family() == Family::$family);
                    of_family.and_then(|schedule| <$schedule>::from_codes(schedule.codes())).ok_or(OtherFamily)
                }
            }
        )+
    };
}

families! {
    matmul: Sm80 = "sm80", matmul::schedule::Sm80Schedule, matmul::SM80_RULES, matmul::SM80_ABOUT;
    matmul: Sm90 = "sm90", matmul::schedule::Sm90Schedule, matmul::SM90_RULES, matmul::SM90_ABOUT;
}

/// A schedule of another family than the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schedule is of another family")]
pub struct OtherFamily;

impl Family {
    /// The family called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Family::ALL.iter().copied().find(|family| family.name() == name)
    }

    /// The place of the knob called `name` in the table.
    pub fn knob(self, name: &str) -> Option<usize> {
        self.knobs().iter().position(|knob| knob.name == name)
    }
}

impl Schedule {
    /// The schedule that is safe on `arch` when nothing was tuned.
    pub fn default_for(class: &matmul::problem::ProblemClass, arch: Arch) -> Self {
        matmul::Schedule::default_for(class, arch).into()
    }

    /// The launch of its kernel for problems of `class`. The kernel has no name in it.
    ///
    /// # Errors
    /// It is of another operation's family.
    pub fn plan(&self, class: &matmul::problem::ProblemClass) -> Result<LaunchPlan, OtherFamily> {
        Ok(matmul::emit::plan(class, &matmul::Schedule::try_from(self)?, String::new()))
    }

    /// Registers of a thread by arithmetic alone, where nothing was compiled: about what ptxas will take.
    pub fn estimated_registers(&self) -> u32 {
        self.family().registers(self).expect("a schedule is of its own family")
    }

    /// Whether this schedule of a matrix product compiles and runs for `class` on `arch`.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, class: &matmul::problem::ProblemClass, arch: Arch) -> Result<(), BrokenRule> {
        match matmul::Schedule::try_from(self) {
            Ok(schedule) => schedule.check(class, arch),
            Err(OtherFamily) => {
                let (family, operation) = (self.family().name(), self.family().operation());
                let reason = format!("family {family} computes {operation}, not {class}; take a family of its own");
                Err(BrokenRule { rule: "family_serves_operation", reason })
            }
        }
    }
}
