//! Schedules with their knobs by name, of which a room has an enum with one kernel family each.

/// Declares a room's `Schedule`: for each kernel family its comment, its name in the room, its schedule, and its rules, which are of
/// the room's classes.
macro_rules! typed_schedules {
    ($class:ty; $($(#[doc = $line:literal])+ $family:ident($schedule:ty, $rules:path),)+) => {
        /// A schedule of one of the kernel families, with its knobs by name: what rules, plans, emission and models read. Everything
        /// outside this room holds [`crate::Schedule`] instead.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Schedule {
            $($(#[doc = $line])+ $family($schedule),)+
        }

        impl Schedule {
            /// Whether it compiles without spills and runs for `class` on `arch`.
            ///
            /// # Errors
            /// The first broken rule.
            pub fn check(
                &self,
                class: &$class,
                arch: ::autokernel_core::Arch,
            ) -> ::std::result::Result<(), $crate::rule::BrokenRule> {
                match self { $(Schedule::$family(schedule) => $crate::rule::check($rules, schedule, class, arch),)+ }
            }
        }

        impl ::std::fmt::Display for Schedule {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self { $(Schedule::$family(schedule) => ::std::fmt::Display::fmt(schedule, f),)+ }
            }
        }

        impl From<Schedule> for $crate::Schedule {
            fn from(schedule: Schedule) -> Self {
                match schedule { $(Schedule::$family(schedule) => schedule.into(),)+ }
            }
        }

        impl TryFrom<&$crate::Schedule> for Schedule {
            type Error = $crate::family::OtherFamily;

            fn try_from(schedule: &$crate::Schedule) -> Result<Self, $crate::family::OtherFamily> {
                $(if let Ok(schedule) = <$schedule>::try_from(schedule) {
                    return Ok(Schedule::$family(schedule));
                })+
                Err($crate::family::OtherFamily)
            }
        }

        $(
            impl From<$schedule> for Schedule {
                fn from(schedule: $schedule) -> Self {
                    Schedule::$family(schedule)
                }
            }
        )+
    };
}

pub(crate) use typed_schedules;
